"""What the bot can say: a text, a picture, a file or a merged forward.

A text is a plain `str`, because it has no other property. It is always sent as a text segment, so nothing in it becomes
a CQ code.
"""

from dataclasses import dataclass

from qq.render.drawings import Drawing


@dataclass(frozen=True, slots=True)
class Picture:
    """Pictures under a caption, in one message. `text` says the same in words and is sent if a picture cannot be."""

    drawings: tuple[Drawing, ...]
    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class File:
    """A file, and the line that follows it. The line is not sent if QQ does not accept the file."""

    name: str
    content: bytes
    note: str


@dataclass(frozen=True, slots=True)
class Forward:
    """A merged forward with one text for each node, and the line that follows it, because a forward cannot quote."""

    nodes: tuple[str, ...]
    note: str


Reply = str | Picture | File | Forward
