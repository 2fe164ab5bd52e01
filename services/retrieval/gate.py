"""The gate: the stage that decides what may be shown to a model or a person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.retrieval.identifiers import contains_any
from services.retrieval.models import Candidate, Verdict


@dataclass(frozen=True, slots=True)
class GateRules:
    """The minimum values for a candidate.

    `min_vector_similarity` does not apply to a chunk without a vector. If there are `identifiers`, a candidate's text,
    place or document name must contain one of them.
    """

    min_vector_similarity: float
    min_rerank_score: float
    min_qualified_count: int
    identifiers: frozenset[str] = frozenset()


def judge(candidates: Sequence[Candidate], rules: GateRules) -> list[Candidate]:
    """Return every candidate with its verdict, best first: by rerank score if there is one, then by fused score.

    Only APPROVED candidates may be used. If fewer than `min_qualified_count` qualify, none is approved, as the
    specification requires.
    """
    judged = [replace(candidate, verdict=_verdict(candidate, rules)) for candidate in candidates]
    if sum(candidate.verdict is Verdict.APPROVED for candidate in judged) < rules.min_qualified_count:
        judged = [
            replace(candidate, verdict=Verdict.TOO_FEW_QUALIFIED)
            if candidate.verdict is Verdict.APPROVED
            else candidate
            for candidate in judged
        ]
    return sorted(judged, key=_order)


def _verdict(candidate: Candidate, rules: GateRules) -> Verdict:
    score, cosine = candidate.rerank_score, candidate.hit.cosine
    if score is None or not candidate.hit.chunk.text.strip():
        return Verdict.NOT_RERANKED
    # Written so that NaN does not pass.
    if not score >= rules.min_rerank_score:
        return Verdict.BELOW_SCORE
    if cosine is not None and not cosine >= rules.min_vector_similarity:
        return Verdict.BELOW_SIMILARITY
    if rules.identifiers and not contains_any(_searched(candidate), rules.identifiers):
        return Verdict.OTHER_IDENTIFIER
    return Verdict.APPROVED


def _searched(candidate: Candidate) -> str:
    chunk = candidate.hit.chunk
    return f"{chunk.text}\n{chunk.context}\n{candidate.place}"


def _order(candidate: Candidate) -> tuple[float, float, str]:
    score = -1.0 if candidate.rerank_score is None else candidate.rerank_score
    return -score, -candidate.fused, candidate.hit.chunk.chunk_id
