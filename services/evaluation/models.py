"""A test set, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.retrieval.models import Candidate, Retrieval, RetrievalStatus, Verdict


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of a test set. `expected` is None where the row does not say whether it should be answered.

    `document` names the file that should be found, or is empty; then `expected` is True unless the row says otherwise.
    """

    text: str
    expected: bool | None = None
    document: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the gate made of one question.

    `retrieval` is None when searching failed; `failure` is then, or when reranking failed, the sentence that says why.
    `seconds` is the time of the retrieval.
    """

    question: Sample
    retrieval: Retrieval | None
    failure: str
    seconds: float

    @property
    def answered(self) -> bool | None:
        """Whether the bot would answer; None where that could not be told."""
        if self.retrieval is None or self.failure:
            return None
        return self.retrieval.status is RetrievalStatus.USABLE

    @property
    def best(self) -> Candidate | None:
        """The candidate that decided: the best approved one, or the one that came closest."""
        return None if self.retrieval is None else best_candidate(self.retrieval)

    @property
    def found_document(self) -> bool | None:
        """Whether an approved passage is from the named file; None where nothing was named or approved."""
        if not self.question.document or not self.answered or self.retrieval is None:
            return None
        return any(same_file(reference.name, self.question.document) for reference in self.retrieval.references)

    @property
    def right(self) -> bool | None:
        """Whether it went as expected; None where nothing was expected or nothing can be told."""
        if self.question.expected is None or self.answered is None:
            return None
        return self.answered == self.question.expected and self.found_document is not False


def best_candidate(retrieval: Retrieval) -> Candidate | None:
    """The best approved candidate, else the one that came closest."""
    approved = (candidate for candidate in retrieval.candidates if candidate.verdict is Verdict.APPROVED)
    return next(approved, next(iter(retrieval.candidates), None))


def same_file(name: str, wanted: str) -> bool:
    """Whether a person who writes `wanted` means the file `name`: case and a left-out extension do not matter.

    >>> same_file("规章.PDF", "规章.pdf"), same_file("v1.2 手册.docx", "v1.2 手册"), same_file("甲.md", "甲.pdf")
    (True, True, False)
    """
    name, wanted = name.casefold(), wanted.strip().casefold()
    return wanted in (name, name.rpartition(".")[0])


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcomes of a test set, in its order. `planned` counts its questions; fewer outcomes: it was broken off."""

    outcomes: Sequence[Outcome]
    planned: int

    @property
    def answered(self) -> int:
        """How many questions would be answered."""
        return sum(outcome.answered is True for outcome in self.outcomes)

    @property
    def silent(self) -> int:
        """How many would not."""
        return sum(outcome.answered is False for outcome in self.outcomes)

    @property
    def failed(self) -> int:
        """How many could not be tried."""
        return sum(outcome.answered is None for outcome in self.outcomes)

    @property
    def labelled(self) -> int:
        """How many were tried that say what is expected; the figures below are of these."""
        return sum(self._count(answered, expected) for answered in (True, False) for expected in (True, False))

    @property
    def precision(self) -> float | None:
        """Of those answered, the share that should be; None where none was answered."""
        return _ratio(self._count(True, True), self._count(True, True) + self._count(True, False))

    @property
    def recall(self) -> float | None:
        """Of those that should be answered, the share that is; None where none should be."""
        return _ratio(self._count(True, True), self._count(True, True) + self._count(False, True))

    @property
    def f1(self) -> float | None:
        """2TP / (2TP + FP + FN), the harmonic mean of precision and recall; None where nothing is positive."""
        twice = 2 * self._count(True, True)
        return _ratio(twice, twice + self._count(True, False) + self._count(False, True))

    @property
    def with_document(self) -> int:
        """How many named a file and were answered."""
        return sum(outcome.found_document is not None for outcome in self.outcomes)

    @property
    def right_document(self) -> int:
        """How many of these were answered from it."""
        return sum(outcome.found_document is True for outcome in self.outcomes)

    @property
    def wrong(self) -> list[Outcome]:
        """What did not go as expected: answered but should not, from another file, not answered but should."""
        wrong = [outcome for outcome in self.outcomes if outcome.right is False]
        return sorted(wrong, key=lambda outcome: (not outcome.answered, outcome.question.expected is True))

    def _count(self, answered: bool, expected: bool) -> int:
        return sum(outcome.answered is answered and outcome.question.expected is expected for outcome in self.outcomes)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
