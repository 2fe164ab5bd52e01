"""Retrievals as the real retriever returns them, built by hand, and a retriever that returns them by question."""

from collections.abc import Callable, Sequence

from services.index.models import Hit, IndexedChunk
from services.retrieval.models import (
    Candidate,
    Question,
    Reference,
    Retrieval,
    RetrievalMetrics,
    RetrievalStatus,
    Strictness,
    Verdict,
)


def candidate(
    text: str = "差旅费在三十日内报销。",
    *,
    file: str = "规章.pdf",
    page: int = 2,
    heading: str = "",
    score: float | None = 0.7,
    cosine: float | None = 0.9,
    coverage: float = 0.5,
    verdict: Verdict = Verdict.APPROVED,
    matched: Sequence[str] = ("差旅",),
) -> Candidate:
    """Return a candidate with the metadata that the index keeps."""
    metadata = {"file": file, "page": page, "heading": heading, "ordinal": 0}
    chunk = IndexedChunk(chunk_id=f"{file}{text}", build_id=file, ordinal=0, text=text, metadata=metadata)
    return Candidate(Hit(chunk, cosine, 1.0, frozenset(matched)), coverage, 0.9, score, verdict)


def retrieval(
    *candidates: Candidate, status: RetrievalStatus | None = None, warning: str = "", expansions: Sequence[str] = ()
) -> Retrieval:
    """Return the retrieval that follows from candidates with their verdicts, with the threshold 0.50."""
    approved = [item for item in candidates if item.verdict is Verdict.APPROVED]
    if status is None:
        low = RetrievalStatus.LOW_CONFIDENCE if candidates else RetrievalStatus.NO_RECALL
        status = RetrievalStatus.USABLE if approved else low
    references = tuple(
        Reference(number, 1, str(item.hit.chunk.metadata["file"]), 1, 2, "", item.hit.chunk.text, 0.7)
        for number, item in enumerate(approved, start=1)
    )
    scores = [item.rerank_score for item in candidates if item.rerank_score is not None]
    return Retrieval(
        status=status,
        references=references,
        candidates=candidates,
        metrics=RetrievalMetrics(len(candidates), len(scores), len(approved), 0.9, max(scores, default=None)),
        term_weights={"差旅": 2.0},
        threshold=0.5,
        expansions=tuple(expansions),
        chunk_count=100,
        warning=warning,
    )


class ScriptedRetriever:
    """A retriever that returns or raises what `answer` does."""

    def __init__(self, answer: Callable[[str], Retrieval]) -> None:
        self._answer = answer
        self.asked: list[tuple[str, Question]] = []

    async def retrieve_twice(
        self,
        collection: str,
        question: Question,
        *,
        strictness: Strictness = Strictness.ASKED,
    ) -> Retrieval:
        """Return the scripted outcome."""
        assert strictness is Strictness.ASKED
        self.asked.append((collection, question))
        return self._answer(question.text)
