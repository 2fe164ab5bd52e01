"""What retrieval gives."""

from dataclasses import dataclass
from enum import StrEnum

from services.index.models import Hit


class RetrievalStatus(StrEnum):
    """What the gate said."""

    USABLE = "usable"
    LOW_CONFIDENCE = "low_confidence"
    NO_RECALL = "no_recall"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit with its rank score and the share (0 to 1) of the question's rare words that it contains."""

    hit: Hit
    score: float
    coverage: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """An approved passage with its place. `number` counts from 1 in order of rank; `page` is None where unknown."""

    number: int
    document_number: int
    name: str
    version: int
    page: int | None
    heading: str
    text: str
    score: float

    @property
    def place(self) -> str:
        """Where the passage stands, on one line: file, then page or heading path.

        >>> Reference(1, 4, "手册.pdf", 1, 3, "", "…", 0.9).place
        '手册.pdf 第3页'
        >>> Reference(1, 4, "预算.xlsx", 1, 2, "人员", "…", 0.9).place
        '预算.xlsx · 人员'
        """
        # A sheet is known by its name, which is its heading; nobody counts sheets.
        is_sheet = bool(self.heading) and self.name.lower().endswith(".xlsx")
        if self.page is not None and not is_sheet:
            return f"{self.name} 第{self.page}页"
        return f"{self.name} · {self.heading}" if self.heading else self.name


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The outcome for one question.

    `references` passed the gate, best first. `nearest` names the documents that came closest, best first, for saying
    what there is when nothing passed. `term_weights` gives the inverse document frequency of every term of the
    question within this collection. `degraded` is one Chinese sentence when only part of the search could be done.
    """

    status: RetrievalStatus
    references: tuple[Reference, ...]
    nearest: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    term_weights: dict[str, float]
    degraded: str = ""
