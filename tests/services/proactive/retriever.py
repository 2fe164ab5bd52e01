"""A retriever with verdicts that the test sets, and a clock that advances only during waits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from services.retrieval.models import (
    Question,
    Reference,
    Retrieval,
    RetrievalMetrics,
    RetrievalStatus,
    Strictness,
)
from services.retrieval.retriever import Retriever
from tests.services.proactive.messages import START


def usable(build_id: str = "build", first: int = 0, score: float = 0.9) -> Retrieval:
    """Return a retrieval with one passage that passed the gate."""
    reference = Reference(1, 1, "手册.md", 1, None, "安装", "先装依赖。", score, build_id, first, first + 1)
    metrics = RetrievalMetrics(30, 8, 1, 0.9, score)
    return Retrieval(RetrievalStatus.USABLE, (reference,), metrics=metrics, chunk_count=40)


def rejected(status: RetrievalStatus = RetrievalStatus.LOW_CONFIDENCE, score: float | None = 0.3) -> Retrieval:
    """Return a retrieval that did not pass the gate."""
    return Retrieval(status, metrics=RetrievalMetrics(30, 8, 0, 0.8, score), chunk_count=40)


class ScriptedRetriever(Retriever):
    """Returns `found` for the questions in it and rejects all others; records who asked what, and how strictly."""

    def __init__(self) -> None:
        self.found: dict[str, Retrieval] = {}
        self.asked: list[tuple[str, Question, Strictness]] = []
        self.error: Exception | None = None

    async def retrieve(
        self,
        collection: str,
        question: Question,
        *,
        strictness: Strictness = Strictness.ASKED,
        words: Sequence[str] = (),
    ) -> Retrieval:
        self.asked.append((collection, question, strictness))
        if self.error is not None:
            raise self.error
        return self.found.get(question.text, rejected())


@dataclass
class Clock:
    """The time of a service. `meanwhile` happens during a wait, after which the wait is over."""

    present: datetime = START
    waits: list[float] = field(default_factory=list[float])
    meanwhile: Callable[[], None] = lambda: None

    def __call__(self) -> datetime:
        return self.present

    async def sleep(self, seconds: float) -> None:
        """Advance the time by the wait."""
        self.waits.append(seconds)
        self.present += timedelta(seconds=seconds)
        self.meanwhile()

    def advance(self, **duration: float) -> None:
        """Advance the time, for example by `hours=1`."""
        self.present += timedelta(**duration)
