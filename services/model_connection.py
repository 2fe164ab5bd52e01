"""The HTTP connection to a model service: it follows no redirect and reads no more than was asked for."""

from typing import Any

from openai import DefaultAsyncHttpxClient

# What decoding may multiply, a service is asked not to send; gzip grows a chunk of 64 KiB to 66 MB at most.
_ACCEPTED_ENCODINGS = frozenset({"", "identity", "gzip"})
_BODY_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class ResponseTooLong(Exception):
    """A service sent more than the connection reads, or in an encoding that hides how much."""


class ModelConnection(DefaultAsyncHttpxClient):
    """An HTTP client for the openai package.

    A redirect is a response like any other: following it would carry the question, the passages and the key to an
    address that nobody configured. A response is read up to `max_bytes`; a longer one raises `ResponseTooLong`.
    """

    def __init__(self, *, max_bytes: int) -> None:
        super().__init__(follow_redirects=False, headers={"accept-encoding": "identity"})
        self._max_bytes = max_bytes

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read the whole response, also where a stream was asked for."""
        options["stream"] = True
        response = await super().send(request, **options)
        try:
            body = await self._body(response)
        finally:
            await response.aclose()
        headers = [item for item in response.headers.multi_items() if item[0].lower() not in _BODY_HEADERS]
        return type(response)(
            response.status_code, headers=headers, content=body, request=request, extensions=response.extensions
        )

    async def _body(self, response: Any) -> bytes:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _ACCEPTED_ENCODINGS:
            raise ResponseTooLong(f"content-encoding {encoding[:40]!r}")
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > self._max_bytes:
                raise ResponseTooLong(f"more than {self._max_bytes} bytes")
        return bytes(body)
