"""The gate: the stage that decides what may be shown to a model or a person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.retrieval.conflicts import AskedQuestion, contradicts
from services.retrieval.identifiers import contains_any, identifiers
from services.retrieval.models import Candidate, Verdict


@dataclass(frozen=True, slots=True)
class GateRules:
    """The minimum values for a candidate.

    `min_vector_similarity` does not apply to a chunk without a vector. `identifiers` are those that the question names.
    A candidate whose text, place and document name contain none of them is about something else if it names other
    identifiers, or if no candidate contains any of them. A page of a manual names none and may follow one that does.
    `asked` is what else the question names: a candidate about another year or another article is refused too. Once
    enough candidates qualify, others need only `min_companion_score`: the question is answered here, and they may hold
    a part of the answer.
    """

    min_vector_similarity: float
    min_rerank_score: float
    min_qualified_count: int
    identifiers: frozenset[str] = frozenset()
    asked: AskedQuestion | None = None
    min_companion_score: float | None = None


def judge(candidates: Sequence[Candidate], rules: GateRules) -> list[Candidate]:
    """Return every candidate with its verdict, best first: by rerank score if there is one, then by fused score.

    Only APPROVED candidates may be used. If fewer than `min_qualified_count` qualify, none is approved, as the
    specification requires.
    """
    others = _about_others(candidates, rules.identifiers)
    judged = _judged(candidates, others, rules, rules.min_rerank_score)
    if sum(candidate.verdict is Verdict.APPROVED for candidate in judged) >= rules.min_qualified_count:
        if rules.min_companion_score is not None:
            lowest = min(rules.min_rerank_score, rules.min_companion_score)
            judged = _judged(candidates, others, rules, lowest)
    else:
        judged = [
            replace(candidate, verdict=Verdict.TOO_FEW_QUALIFIED)
            if candidate.verdict is Verdict.APPROVED
            else candidate
            for candidate in judged
        ]
    return sorted(judged, key=_order)


def _judged(
    candidates: Sequence[Candidate], others: Sequence[bool], rules: GateRules, min_score: float
) -> list[Candidate]:
    return [
        replace(candidate, verdict=_verdict(candidate, rules, min_score, is_about_another=is_about_another))
        for candidate, is_about_another in zip(candidates, others, strict=True)
    ]


def _verdict(candidate: Candidate, rules: GateRules, min_score: float, *, is_about_another: bool) -> Verdict:
    score, cosine = candidate.rerank_score, candidate.hit.cosine
    if score is None or not candidate.hit.chunk.text.strip():
        return Verdict.NOT_RERANKED
    # Written so that NaN does not pass.
    if not score >= min_score:
        return Verdict.BELOW_SCORE
    if cosine is not None and not cosine >= rules.min_vector_similarity:
        return Verdict.BELOW_SIMILARITY
    if is_about_another:
        return Verdict.OTHER_IDENTIFIER
    if rules.asked is not None and contradicts(rules.asked, candidate):
        return Verdict.OTHER_SUBJECT
    return Verdict.APPROVED


def _about_others(candidates: Sequence[Candidate], asked: frozenset[str]) -> list[bool]:
    """Return for each candidate whether it is about something else than the identifiers that the question names."""
    if not asked:
        return [False] * len(candidates)
    texts = [_searched(candidate) for candidate in candidates]
    named = [contains_any(text, asked) for text in texts]
    is_known = any(named)
    return [
        not is_named and (not is_known or bool(identifiers(text))) for text, is_named in zip(texts, named, strict=True)
    ]


def _searched(candidate: Candidate) -> str:
    chunk = candidate.hit.chunk
    return f"{chunk.text}\n{chunk.context}\n{candidate.place}"


def _order(candidate: Candidate) -> tuple[float, float, str]:
    score = -1.0 if candidate.rerank_score is None else candidate.rerank_score
    return -score, -candidate.fused, candidate.hit.chunk.chunk_id
