"""The media host of the simulated QQ, which serves files and images at addresses that cannot be guessed."""

import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

PATH = "/sandbox/files/"
_KEPT_BYTES = 256 << 20
_PIECE_BYTES = 256 << 10
# The response of QQ's media host if the key in a link is too old.
_EXPIRED = b'{"retcode":-5503007,"retmsg":"download url has expired"}'
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True, slots=True)
class Medium:
    """A file or image at an address."""

    name: str
    content: bytes
    url: str


class MediaHost:
    """Hosts up to 256 MB in memory and drops the oldest media first.

    `address` is the bot's own address without a trailing slash.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._media: OrderedDict[str, Medium] = OrderedDict()
        self._bytes = 0
        self._expired = False

    def host(self, name: str, content: bytes) -> Medium:
        """Make content available at a new address."""
        key = secrets.token_urlsafe(24)
        medium = Medium(name, content, f"{self._address}{PATH}{key}?fname=")
        self._media[key] = medium
        self._bytes += len(content)
        while self._bytes > _KEPT_BYTES and len(self._media) > 1:
            _, oldest = self._media.popitem(last=False)
            self._bytes -= len(oldest.content)
        return medium

    def expire_links(self, expired: bool) -> None:
        """Set whether every download is answered as if its link were too old."""
        self._expired = expired

    async def serve(self, request: Request) -> Response:
        """Serve one download. Only images are displayed inline; anything else is an attachment."""
        medium = self._media.get(str(request.path_params["key"]))
        if medium is None:
            return Response(b"no such file", 404, media_type="text/plain")
        # The page requests media without `fname`, which never expires: real clients download media on arrival.
        if self._expired and "fname" in request.query_params:
            return Response(_EXPIRED, 400, media_type="application/json")
        kind = image_type(medium.content)
        disposition = "inline" if kind else f"attachment; filename*=UTF-8''{quote(medium.name)}"
        headers = {"content-disposition": disposition, "content-length": str(len(medium.content))}
        return StreamingResponse(
            _pieces(medium.content), media_type=kind or "application/octet-stream", headers=headers
        )


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _PIECE_BYTES):
        yield content[start : start + _PIECE_BYTES]


def image_type(content: bytes) -> str:
    """Return the media type of an image that QQ can display, by its first bytes, or an empty string."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if content.startswith(signature)), "")
