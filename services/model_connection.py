"""The HTTP connection to a model service: it follows no redirects and limits the size of responses."""

from typing import Any

from openai import DefaultAsyncHttpxClient

# Compressed responses can grow when decoded, so requests ask for none. Gzip is still accepted: it expands a chunk of
# 64 KiB to at most 66 MB.
_ACCEPTED_ENCODINGS = frozenset({"", "identity", "gzip"})
_BODY_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class ResponseTooLong(Exception):
    """Raised when a service sends more than the connection reads, or uses an encoding that hides the size."""


class ModelConnection(DefaultAsyncHttpxClient):
    """An HTTP client for the openai package.

    Redirects are returned like any other response: following one would send the question, the passages and the API key
    to an address that was never configured. A response of more than `max_bytes` raises `ResponseTooLong`.
    """

    def __init__(self, *, max_bytes: int) -> None:
        super().__init__(follow_redirects=False, headers={"accept-encoding": "identity"})
        self._max_bytes = max_bytes

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read the whole response, even if a stream was requested."""
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
