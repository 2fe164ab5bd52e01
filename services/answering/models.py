"""What an answer is."""

from dataclasses import dataclass
from enum import StrEnum


class AnswerKind(StrEnum):
    """How an answer came about."""

    WRITTEN = "written"
    EXCERPT = "excerpt"
    NOTHING_FOUND = "nothing_found"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Source:
    """One line of the list of sources; `number` is the one in the text."""

    number: int
    place: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer ready to be laid out.

    `cited` tells whether the text itself carries the numbers of `sources`; otherwise they are for comparison only.
    `notice` is one Chinese sentence about what did not go as it should, or empty.
    """

    kind: AnswerKind
    text: str
    sources: tuple[Source, ...] = ()
    cited: bool = True
    notice: str = ""
