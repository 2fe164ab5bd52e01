"""The HTTP connection to a service of models: it follows no redirects and limits the size of responses."""

from collections.abc import AsyncIterator
from typing import Any

from httpx2 import AsyncByteStream
from openai import DefaultAsyncHttpxClient

# Compressed responses can grow when decoded, so requests ask for none. Gzip is still accepted: it expands a chunk of
# 64 KiB to at most 66 MB.
_ACCEPTED_ENCODINGS = frozenset({"", "identity", "gzip"})
_BODY_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class ResponseTooLong(Exception):
    """Raised when a service sends more than the connection reads, or uses an encoding that hides the size."""


class BoundedConnection(DefaultAsyncHttpxClient):
    """An HTTP client for the openai package.

    Redirects are returned like any other response: following one would send the question, the passages and the API key
    to an address that was never configured. A response of more than `max_bytes` raises `ResponseTooLong`; a stream may
    have `max_stream_bytes`, since every piece of it comes in a frame of its own.
    """

    def __init__(self, *, max_bytes: int, max_stream_bytes: int = 0) -> None:
        super().__init__(follow_redirects=False, headers={"accept-encoding": "identity"})
        self._max_bytes = max_bytes
        self._max_stream_bytes = max_stream_bytes or max_bytes

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read the whole response, unless a stream was requested and is sent."""
        streamed = bool(options.get("stream"))
        options["stream"] = True
        response = await super().send(request, **options)
        stream = response.stream
        plain = response.is_success and _encoding(response) in ("", "identity")
        if streamed and plain and isinstance(stream, AsyncByteStream):
            response.stream = _BoundedStream(stream, self._max_stream_bytes)
            return response
        try:
            body = await self._body(response)
        finally:
            await response.aclose()
        headers = [item for item in response.headers.multi_items() if item[0].lower() not in _BODY_HEADERS]
        return type(response)(
            response.status_code, headers=headers, content=body, request=request, extensions=response.extensions
        )

    async def _body(self, response: Any) -> bytes:
        encoding = _encoding(response)
        if encoding not in _ACCEPTED_ENCODINGS:
            raise ResponseTooLong(f"content-encoding {encoding[:40]!r}")
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > self._max_bytes:
                raise ResponseTooLong(f"more than {self._max_bytes} bytes")
        return bytes(body)


class _BoundedStream(AsyncByteStream):
    """The body of a response as it arrives, up to a number of bytes."""

    def __init__(self, stream: AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > self._max_bytes:
                raise ResponseTooLong(f"more than {self._max_bytes} bytes")
            yield part

    async def aclose(self) -> None:
        """Close the response."""
        await self._stream.aclose()


def _encoding(response: Any) -> str:
    return response.headers.get("content-encoding", "").strip().lower()
