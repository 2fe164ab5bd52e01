"""The words of a message that call a command, such as `/kb list 2` and `／知识库 列表 2`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nonebot.adapters.onebot.v11 import Message, MessageSegment

_WORD_CHARS = 20
# A separate word, such as kbb and 资料库, but not a path such as var/lib.
_LIKE_A_COMMAND = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Call:
    """The first word of a message that begins like a command.

    `start` is what came before the word, usually a slash; `arguments` is everything after the word.
    """

    start: str
    word: str
    arguments: Message

    @property
    def text(self) -> str:
        """The text of the arguments."""
        return self.arguments.extract_plain_text().strip()

    @property
    def is_like_a_command(self) -> bool:
        """Whether somebody who writes this probably means a command, even if there is none of that name."""
        return bool(self.start and len(self.word) <= _WORD_CHARS and _LIKE_A_COMMAND.fullmatch(self.word))


def read_call(message: Message, starts: Iterable[str]) -> Call | None:
    """Return the call at the beginning of a message, or None if it does not begin with one of `starts` and a word.

    The parts of the message are left as they are: text never becomes an @ or a picture.
    """
    if not message or not message[0].is_text():
        return None
    text = str(message[0].data["text"]).lstrip()
    for start in sorted(starts, key=len, reverse=True):
        if text.startswith(start):
            rest = text[len(start) :]
            word = "" if rest[:1].isspace() else next(iter(rest.split(maxsplit=1)), "")
            if word:
                return Call(start, word, _without_margin(rest[len(word) :], message[1:]))
    return None


def split_word(text: str) -> tuple[str, str]:
    """Return the first word of a text and the rest, either of which may be empty.

    >>> split_word(" 列表  2 3")
    ('列表', '2 3')
    """
    word, *rest = [*text.split(maxsplit=1), ""][:2]
    return word, rest[0].strip() if rest else ""


def _without_margin(text: str, others: Message) -> Message:
    """Return the message that begins with `text`, without the blanks in front."""
    rest = list(others)
    text = text.lstrip()
    while not text and rest and rest[0].is_text():
        text = str(rest.pop(0).data["text"]).lstrip()
    return Message([*([MessageSegment.text(text)] if text else []), *rest])
