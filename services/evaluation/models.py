"""A test set and its outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.retrieval.models import Candidate, Retrieval, RetrievalStatus, Verdict


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of a test set.

    `expected` is None if the row does not say whether it should be answered. `document` names the file that should be
    found, or is empty. If it is set, `expected` is True unless the row says otherwise.
    """

    text: str
    expected: bool | None = None
    document: str = ""


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    """The decision of the gate on one question.

    `retrieval` is None if the search failed. `failure` is the sentence that says why the search or the reranking
    failed, or is empty. `seconds` is the time of the retrieval.
    """

    question: Sample
    retrieval: Retrieval | None
    failure: str
    seconds: float

    @property
    def answered(self) -> bool | None:
        """Whether the bot would answer, or None if this is unknown."""
        if self.retrieval is None or self.failure:
            return None
        return self.retrieval.status is RetrievalStatus.USABLE

    @property
    def best(self) -> Candidate | None:
        """The candidate that decided: the best approved one, or else the one that came closest."""
        return None if self.retrieval is None else best_candidate(self.retrieval)

    @property
    def found_document(self) -> bool | None:
        """Whether an approved passage is from the named file, or None if no file was named or nothing was approved."""
        if not self.question.document or not self.answered or self.retrieval is None:
            return None
        return any(same_file(reference.name, self.question.document) for reference in self.retrieval.references)

    @property
    def right(self) -> bool | None:
        """Whether the outcome is as expected, or None if nothing was expected or the outcome is unknown."""
        if self.question.expected is None or self.answered is None:
            return None
        return self.answered == self.question.expected and self.found_document is not False


def best_candidate(retrieval: Retrieval) -> Candidate | None:
    """Return the best approved candidate, or else the one that came closest."""
    approved = (candidate for candidate in retrieval.candidates if candidate.verdict is Verdict.APPROVED)
    return next(approved, next(iter(retrieval.candidates), None))


def same_file(name: str, wanted: str) -> bool:
    """Return whether a person who writes `wanted` means the file `name`, ignoring case and an omitted extension.

    >>> same_file("规章.PDF", "规章.pdf"), same_file("v1.2 手册.docx", "v1.2 手册"), same_file("甲.md", "甲.pdf")
    (True, True, False)
    """
    name, wanted = name.casefold(), wanted.strip().casefold()
    return wanted in (name, name.rpartition(".")[0])


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcomes of a test set, in its order.

    `planned` is the number of its questions. If there are fewer outcomes, the run was aborted.
    """

    outcomes: Sequence[SampleOutcome]
    planned: int

    @property
    def answered(self) -> int:
        """The number of questions that would be answered."""
        return sum(outcome.answered is True for outcome in self.outcomes)

    @property
    def silent(self) -> int:
        """The number of questions that would not be answered."""
        return sum(outcome.answered is False for outcome in self.outcomes)

    @property
    def failed(self) -> int:
        """The number of questions that could not be tested."""
        return sum(outcome.answered is None for outcome in self.outcomes)

    @property
    def labelled(self) -> int:
        """The number of tested questions with an expected outcome, on which the figures below are based."""
        return sum(self._count(answered, expected) for answered in (True, False) for expected in (True, False))

    @property
    def precision(self) -> float | None:
        """The share of the answered questions that should be answered, or None if none was answered."""
        return _ratio(self._count(True, True), self._count(True, True) + self._count(True, False))

    @property
    def recall(self) -> float | None:
        """The share of the questions that should be answered that are answered, or None if there are none."""
        return _ratio(self._count(True, True), self._count(True, True) + self._count(False, True))

    @property
    def f1(self) -> float | None:
        """2TP / (2TP + FP + FN), the harmonic mean of precision and recall, or None if nothing is positive."""
        twice = 2 * self._count(True, True)
        return _ratio(twice, twice + self._count(True, False) + self._count(False, True))

    @property
    def with_document(self) -> int:
        """The number of questions that named a file and were answered."""
        return sum(outcome.found_document is not None for outcome in self.outcomes)

    @property
    def right_document(self) -> int:
        """The number of these that were answered from that file."""
        return sum(outcome.found_document is True for outcome in self.outcomes)

    @property
    def wrong(self) -> list[SampleOutcome]:
        """The unexpected outcomes: wrongly answered, answered from another file, wrongly not answered."""
        wrong = [outcome for outcome in self.outcomes if outcome.right is False]
        return sorted(wrong, key=lambda outcome: (not outcome.answered, outcome.question.expected is True))

    def _count(self, answered: bool, expected: bool) -> int:
        return sum(outcome.answered is answered and outcome.question.expected is expected for outcome in self.outcomes)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
