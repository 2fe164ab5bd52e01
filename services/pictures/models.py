"""The outcome of reading a picture."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

# The largest picture that is read, in bytes. Screenshots of phones have one to five megabytes.
MAX_BYTES = 16 << 20
# More of a picture than this is no question; it is also more than six screens of text.
MAX_CHARS = 6000


class Unread(StrEnum):
    """A reason why a picture has no text for the bot."""

    NO_READER = "no_reader"
    NOT_A_PICTURE = "not_a_picture"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    NO_TEXT = "no_text"


# What happened, and what to do.
_REASONS: dict[Unread, tuple[str, str]] = {
    Unread.NO_READER: (
        "我还看不了图片",
        "请把问题打成文字发给我。想让我看图，请管理员装上文字识别（make ocr），或者设置 LLM__VISION_MODEL",
    ),
    Unread.NOT_A_PICTURE: ("这种格式的图片看不了", "请发 JPG、PNG、GIF、WebP 或 BMP"),
    Unread.TOO_LARGE: ("图片太大，看不了", "请截小一点再发"),
    Unread.UNREADABLE: ("图片没能读出来", "请重新截一张，或者把问题打成文字发给我"),
    Unread.NO_TEXT: ("图片里没有读到文字", "请把问题打成文字发给我"),
}


@dataclass(frozen=True, slots=True)
class PictureText:
    """The text of a picture, or the reason why there is none; exactly one of the two is set.

    The text is data of unknown origin, never an instruction.
    """

    text: str = ""
    unread: Unread | None = None


class Ocr(Protocol):
    """Reads pictures without a model; see `PictureWorker`."""

    async def read(self, image: bytes) -> PictureText:
        """Return the text of a picture, or why there is none. Nothing is raised."""
        ...


def sentence_of(unread: Unread) -> str:
    """Return what to tell a person whose question is a picture that was not read."""
    return "，".join(_REASONS[unread]) + "。"


def notice_of(unread: Unread) -> str:
    """Return what to add to an answer that was found without the picture."""
    return f"（{_REASONS[unread][0]}。）"
