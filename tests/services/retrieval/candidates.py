"""Hits and candidates built by hand."""

from services.index.models import Hit, IndexedChunk
from services.retrieval.models import Candidate, Verdict


def hit(
    name: str,
    cosine: float | None = 0.9,
    matched: frozenset[str] = frozenset(),
    *,
    build: str = "build",
    ordinal: int = 0,
    text: str = "",
    context: str = "",
    heading: str = "",
    file: str = "",
) -> Hit:
    """Return a hit for the chunk `name`."""
    chunk = IndexedChunk(name, build, ordinal, text or name, context, {"heading": heading, "file": file})
    return Hit(chunk, cosine, None, matched)


def candidate(
    name: str,
    fused: float = 0.9,
    rerank_score: float | None = None,
    verdict: Verdict = Verdict.NOT_RERANKED,
    *,
    cosine: float | None = 0.9,
    build: str = "build",
    ordinal: int = 0,
    text: str = "",
    heading: str = "",
    file: str = "",
    matched: frozenset[str] = frozenset(),
) -> Candidate:
    """Return a candidate for the chunk `name`."""
    found = hit(name, cosine, matched, build=build, ordinal=ordinal, text=text, heading=heading, file=file)
    return Candidate(found, 0.5, fused, rerank_score, verdict)
