"""A retriever whose verdicts the test decides, and a clock that runs only while somebody waits."""

from collections.abc import Callable
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
from services.retrieval.timing import StageTimes
from tests.services.proactive.messages import START


def usable(build_id: str = "build", first: int = 0, score: float = 0.9) -> Retrieval:
    """What the gate let through: one passage."""
    reference = Reference(1, 1, "手册.md", 1, None, "安装", "先装依赖。", score, build_id, first, first + 1)
    metrics = RetrievalMetrics(30, 8, 1, 0.9, score)
    return Retrieval(RetrievalStatus.USABLE, (reference,), metrics=metrics, chunk_count=40)


def rejected(status: RetrievalStatus = RetrievalStatus.LOW_CONFIDENCE, score: float | None = 0.3) -> Retrieval:
    """What the gate did not let through."""
    return Retrieval(status, metrics=RetrievalMetrics(30, 8, 0, 0.8, score), chunk_count=40)


class ScriptedRetriever(Retriever):
    """Gives `found` for the questions in it, else rejects; keeps who asked what, and how strictly."""

    def __init__(self) -> None:
        self.found: dict[str, Retrieval] = {}
        self.asked: list[tuple[str, Question, Strictness, bool]] = []
        self.error: Exception | None = None

    async def retrieve(
        self,
        collection: str,
        question: Question,
        *,
        strictness: Strictness = Strictness.ASKED,
        expand: bool = True,
        times: StageTimes | None = None,
    ) -> Retrieval:
        self.asked.append((collection, question, strictness, expand))
        if self.error is not None:
            raise self.error
        return self.found.get(question.text, rejected())


@dataclass
class Clock:
    """Time for a service. `meanwhile` is what happens while somebody waits; the wait then is over."""

    present: datetime = START
    waits: list[float] = field(default_factory=list[float])
    meanwhile: Callable[[], None] = lambda: None

    def __call__(self) -> datetime:
        return self.present

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.waits.append(seconds)
        self.present += timedelta(seconds=seconds)
        self.meanwhile()

    def advance(self, **duration: float) -> None:
        """Let more time pass, for example `hours=1`."""
        self.present += timedelta(**duration)
