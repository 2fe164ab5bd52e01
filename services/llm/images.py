"""Images in a prompt."""

import base64
from collections.abc import Sequence

from langchain_core.messages import HumanMessage

from services.errors import ModelError

# DashScope takes ten megabytes for an image in the request, the smallest limit that was found in the documentation of
# the providers; base64 adds a third.
MAX_IMAGE_BYTES = 7 * 1024 * 1024
_TYPES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"BM": "image/bmp",
}


def image_type(data: bytes) -> str:
    """Return the MIME type of an image by its first bytes, empty if it is none that models take.

    >>> image_type(b"GIF89a...."), image_type(b"<svg>")
    ('image/gif', '')
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _TYPES.items() if data.startswith(mark)), "")


def image_message(text: str, images: Sequence[bytes]) -> HumanMessage:
    """Return a message of `text` with images, whose types are read from their bytes.

    Raise `ModelError` for an image of more than `MAX_IMAGE_BYTES` or of an unknown type.
    """
    parts: list[str | dict[object, object]] = [{"type": "text", "text": text}]
    for image in images:
        kind = image_type(image)
        if not kind:
            raise ModelError("这张图片的格式看不了，请发 JPG、PNG、GIF 或 WebP。", repr(image[:16]))
        if len(image) > MAX_IMAGE_BYTES:
            raise ModelError(f"这张图片太大了，最多 {MAX_IMAGE_BYTES // 1024 // 1024} MB。", f"{len(image)} bytes")
        url = f"data:{kind};base64,{base64.b64encode(image).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return HumanMessage(content=parts)
