"""The types of approved answers."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from services.records.conversations import Source


class FaqOrigin(StrEnum):
    """How an answer came to be approved.

    REVIEW: an admin approved a draft. IMPORT: it came in a table. CORRECTION: an admin corrected an answer, or wrote
    the pair themselves. SUGGESTION: an admin accepted what a member had answered.
    """

    REVIEW = "review"
    IMPORT = "import"
    CORRECTION = "correction"
    SUGGESTION = "suggestion"


class FaqBand(StrEnum):
    """How surely an approved question is the one that was asked.

    DIRECT: it is, and its answer may be given. ASK: it may be one of a few; the person has to choose. NONE: it is not.
    """

    DIRECT = "direct"
    ASK = "ask"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Approver:
    """A person who answers for an answer: their QQ number, and their name in the group or an empty string."""

    user_id: int
    name: str = ""

    def __str__(self) -> str:
        """Return the person as others read of them: the name with the number, or the number alone."""
        return f"{self.name}（{self.user_id}）" if self.name else str(self.user_id)


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the answer to it, as people write them; both are cleaned, and the question is one line."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class FaqEntry:
    """An approved answer to a question, in its current version.

    The numbers 〔n〕 in `answer` are exactly those of `sources`. `changed` names the documents that the answer rests on
    and that have changed since; it is then not given until somebody confirms it.
    """

    source_type: ClassVar[str] = "qa_dataset"

    number: int
    version: int
    question: str
    answer: str
    sources: tuple[Source, ...]
    origin: FaqOrigin
    approver: Approver
    approved_at: datetime
    changed: tuple[str, ...] = ()

    @property
    def stale(self) -> bool:
        """Whether the answer has to be confirmed before it is given again."""
        return bool(self.changed)


@dataclass(frozen=True, slots=True)
class FaqMatch:
    """The outcome of a look-up.

    `entry` is the answer if the band is DIRECT, `choices` are one to three entries if it is ASK, most likely first.
    `stale` would have been the answer if its documents had not changed.
    """

    band: FaqBand
    entry: FaqEntry | None = None
    choices: tuple[FaqEntry, ...] = ()
    stale: FaqEntry | None = None


class Change(StrEnum):
    """What writing a pair did. SAME: there already was an entry with this question and this answer."""

    ADDED = "added"
    REPLACED = "replaced"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Written:
    """The entry that holds a pair now. `before` is the answer that it had until then, if the change is REPLACED."""

    change: Change
    entry: FaqEntry
    before: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A pair that was not written; `reason` is one Chinese sentence."""

    reason: str
