"""The file host of the simulated QQ, which serves files over real HTTP and fails in the ways such hosts fail."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from tests.e2e.http_server import Exchange, LoopbackServer, Request


@dataclass(frozen=True, slots=True)
class HostedFile:
    """A file at an address. `url` ends in `?fname=`, as NapCat's and Lagrange's links do."""

    id: str
    name: str
    content: bytes
    url: str


Answer = Callable[[Exchange, HostedFile], Awaitable[None]]
_CHUNK = 64 * 1024


@dataclass(slots=True)
class _Fault:
    answer: Answer
    remaining: int | None


class FileServer(LoopbackServer):
    """Hosts files at `/files/<id>?fname=<name>`.

    Every fault takes two parameters. `file` is an id or a file name, which need not exist yet, or None for every file.
    `times` is the number of requests that fail, or None for all until `restore`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self._files: dict[str, HostedFile] = {}
        self._faults: dict[str | None, _Fault] = {}

    def host(self, name: str, content: bytes) -> HostedFile:
        """Make a file available at a new address."""
        key = hashlib.sha256(f"{len(self._files)}/{name}".encode()).hexdigest()[:32]
        self._files[key] = HostedFile(key, name, content, f"{self.address}/files/{key}?fname=")
        return self._files[key]

    def downloads(self, file: str) -> list[Request]:
        """Return the requests for a file, given by id or name."""
        return [request for request in self.requests if (hosted := self._find(request)) and file in _keys(hosted)]

    def fail(
        self, status: int, body: bytes = b"", *, file: str | None = None, times: int | None = None, **headers: str
    ) -> None:
        """Answer with an HTTP error, for example 404, or 400 `download url has expired`."""

        async def answer(exchange: Exchange, _: HostedFile) -> None:
            await exchange.send(status, body, content_type="text/plain", **headers)

        self._faults[file] = _Fault(answer, times)

    def expire(self, *, file: str | None = None, times: int | None = None) -> None:
        """Answer like QQ's media host if the key in the link is too old."""
        self.fail(400, b'{"retcode":-5503007,"retmsg":"download url has expired"}', file=file, times=times)

    def redirect(self, url: str, *, status: int = 302, file: str | None = None, times: int | None = None) -> None:
        """Redirect the client to an address."""
        self.fail(status, file=file, times=times, location=quote(url, safe="/:?=&%#[]@"))

    def slow(self, seconds: float, *, file: str | None = None, times: int | None = None) -> None:
        """Send the whole file: the head at once, and the body in ten parts spread over `seconds`."""

        async def answer(exchange: Exchange, hosted: HostedFile) -> None:
            await exchange.start(200, length=len(hosted.content))
            step = max(1, -(-len(hosted.content) // 10))
            for start in range(0, len(hosted.content), step):
                await asyncio.sleep(seconds / 10)
                await exchange.write(hosted.content[start : start + step])

        self._faults[file] = _Fault(answer, times)

    def hang(self, *, file: str | None = None, times: int | None = None) -> None:
        """Accept the request and never answer."""

        async def answer(exchange: Exchange, _: HostedFile) -> None:
            await asyncio.Event().wait()

        self._faults[file] = _Fault(answer, times)

    def drop(self, after: int, *, file: str | None = None, times: int | None = None) -> None:
        """Declare the true length, send `after` bytes, then cut the connection."""

        async def answer(exchange: Exchange, hosted: HostedFile) -> None:
            await exchange.start(200, length=len(hosted.content))
            await exchange.write(hosted.content[:after])
            # Wait until the bytes are sent: an aborted socket discards its queue.
            await asyncio.sleep(0.05)
            exchange.abort()

        self._faults[file] = _Fault(answer, times)

    def endless(self, *, file: str | None = None, times: int | None = None) -> None:
        """Send a chunked body that never ends."""

        async def answer(exchange: Exchange, _: HostedFile) -> None:
            await exchange.start(200, length=None)
            while True:
                await exchange.write(b"0" * _CHUNK)

        self._faults[file] = _Fault(answer, times)

    def declare_length(self, length: int, *, file: str | None = None, times: int | None = None) -> None:
        """Send the actual bytes with a wrong Content-Length, then close."""

        async def answer(exchange: Exchange, hosted: HostedFile) -> None:
            await exchange.start(200, length=length)
            await exchange.write(hosted.content)
            exchange.close()

        self._faults[file] = _Fault(answer, times)

    def restore(self, *, file: str | None = None) -> None:
        """End the faults of a file, or all faults for None."""
        if file is None:
            self._faults.clear()
        else:
            self._faults.pop(file, None)

    async def handle(self, exchange: Exchange) -> None:
        """Serve one download."""
        self.requests.append(exchange.request)
        hosted = self._find(exchange.request)
        if hosted is None:
            await exchange.send(404, b"no such file", content_type="text/plain")
        elif (fault := self._take_fault(hosted)) is not None:
            await fault(exchange, hosted)
        else:
            name = quote(exchange.request.query.get("fname", ""))
            await exchange.send(200, hosted.content, content_disposition=f"attachment; filename*=UTF-8''{name}")

    def _find(self, request: Request) -> HostedFile | None:
        return self._files.get(request.path.removeprefix("/files/")) if request.path.startswith("/files/") else None

    def _take_fault(self, hosted: HostedFile) -> Answer | None:
        for key in (*_keys(hosted), None):
            fault = self._faults.get(key)
            if fault is None:
                continue
            if fault.remaining is not None:
                fault.remaining -= 1
                if fault.remaining <= 0:
                    del self._faults[key]
            return fault.answer
        return None


def _keys(hosted: HostedFile) -> tuple[str, str]:
    return hosted.id, hosted.name
