"""Uploaded files as the various OneBot clients describe them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nonebot.adapters.onebot.v11 import MessageSegment

from services.knowledge.service import clean_name
from services.records.stored_values import UploadSource


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file as an event describes it.

    `size` is in bytes, or 0 if it is unknown. `url` is only set if it can be fetched over HTTP.
    """

    name: str
    file_id: str
    size: int
    busid: int
    url: str

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "UploadedFile":
        """Create one from a notice, from a file segment or from an entry of a file list, of any client."""
        url = _whole(data.get("url"))
        return cls(
            name=clean_name(str(data.get("name") or data.get("file_name") or data.get("file") or "")),
            file_id=_whole(data.get("id") or data.get("file_id") or data.get("path")),
            size=whole_number(data.get("size") or data.get("file_size")),
            busid=whole_number(data.get("busid")),
            url=url if url.startswith(("http://", "https://")) else "",
        )

    @classmethod
    def in_message(cls, message: list[MessageSegment]) -> "UploadedFile | None":
        """Return the file of a message, if any. QQ sends a file as the only element of a message."""
        segment = next((segment for segment in message if segment.type == "file"), None)
        return None if segment is None else cls.read(segment.data)

    @classmethod
    def of(cls, name: str, size: int, source: UploadSource) -> "UploadedFile":
        """Return the file of an unfinished upload."""
        return cls(name, source.file_id, size, source.busid, source.url)

    def source(self, via: int | None) -> UploadSource:
        """Return what is kept of the file in order to fetch it again; `via` as in `qq.chat.Chat`."""
        return UploadSource(file_id=self.file_id, busid=self.busid, url=self.url, via=via)


def _whole(value: object) -> str:
    """Return a text without half characters, which could not be stored."""
    return str(value or "").encode("utf-8", "ignore").decode()


def whole_number(value: object) -> int:
    """Return a number that a client may write as text, or 0 for anything else."""
    try:
        number = int(str(value or 0))
    except ValueError:
        return 0
    return number if 0 <= number < 1 << 63 else 0
