"""A small HTTP/1.1 server on loopback whose handlers control every byte, so that they can also break the protocol."""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """A request. Header names are in lower case. `time` is `time.perf_counter()` in seconds."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    time: float = field(default_factory=time.perf_counter)


class Exchange:
    """A request and the methods to answer it, correctly or not."""

    def __init__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._writer = writer
        self._chunked = False
        self.reusable = True

    async def send(
        self, status: int, body: bytes = b"", *, content_type: str = "application/octet-stream", **headers: str
    ) -> None:
        """Send a complete response. The keyword `retry_after="1"` becomes the header `Retry-After: 1`."""
        await self.start(status, length=len(body), content_type=content_type, **headers)
        await self.write(body)

    async def send_json(self, status: int, value: Any, **headers: str) -> None:
        """Send a complete response with a JSON value."""
        body = json.dumps(value, ensure_ascii=False).encode()
        await self.send(status, body, content_type="application/json", **headers)

    async def start(
        self, status: int, *, length: int | None, content_type: str = "application/octet-stream", **headers: str
    ) -> None:
        """Send the head. `length` is the declared length in bytes, correct or not. None means chunked."""
        self._chunked = length is None
        fields = {"content-type": content_type, **{name.replace("_", "-"): value for name, value in headers.items()}}
        fields |= {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}
        head = "".join(f"{name.title()}: {value}\r\n" for name, value in fields.items())
        self._writer.write(f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{head}\r\n".encode("latin-1"))
        await self._writer.drain()

    async def write(self, data: bytes) -> None:
        """Send a part of the body."""
        if data:
            self._writer.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)
            await self._writer.drain()

    async def finish(self) -> None:
        """End a chunked body."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def close(self) -> None:
        """Close the connection after the bytes that were written."""
        self.reusable = False

    def abort(self) -> None:
        """Abort the connection at once and discard unsent bytes."""
        self.reusable = False
        self._writer.transport.abort()


class LoopbackServer:
    """Serves requests on 127.0.0.1. Subclasses implement `handle`. `close` raises the errors of handlers."""

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._errors: list[Exception] = []

    @property
    def address(self) -> str:
        """The scheme, host and port, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def listen(self) -> None:
        """Accept connections on a free port, or on the same port again after `refuse`."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Stop listening and cut all connections, so that the operating system refuses new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def close(self) -> None:
        """Stop the server. Raise the errors of handlers as an `ExceptionGroup`."""
        await self.refuse()
        if self._errors:
            raise ExceptionGroup("handlers of the test server failed", self._errors)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Use a separate task: on Python 3.11 asyncio logs an error if its connection task is cancelled.
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # The client may disconnect at any time, in particular if it reaches one of its limits.
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while (request := await _read_request(reader)) is not None:
                    exchange = Exchange(request, writer)
                    await self.handle(exchange)
                    if not exchange.reusable or request.headers.get("connection", "").lower() == "close":
                        break
        except Exception as error:  # noqa: BLE001 - `close` raises it, which fails the test
            self._errors.append(error)
        finally:
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    line = await reader.readline()
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    if "chunked" in headers.get("transfer-encoding", ""):
        raise ValueError("the test server does not read chunked requests")
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Request(method, unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True)), headers, body)
