"""The best sentences of the best passages, quoted word for word: the answer without a language model.

A sentence's score is the share of the question's terms it holds, weighted by inverse document frequency, plus a bonus
for a number where the question asks for one, for what the sentence before it holds, and for its passage's rank. On
CMRC 2018 this picks a sentence with the answer within a point of the same formula with embeddings.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.index.tokens import index_terms
from services.retrieval.models import Reference

_PASSAGES = 3
_MAX_QUOTES = 2
_MAX_QUOTE_CHARS = 300
_NUMBER_BONUS = 0.1
_BEFORE_WEIGHT = 0.15
_PASSAGE_WEIGHT = 0.2
# A second quotation must be nearly as good as the first, or it only distracts.
_SECOND_SHARE = 0.8
_ASKS_NUMBER = re.compile(
    r"多少|几|何时|什么时候|哪年|哪天|日期|时间|多久|多长|多大|多远|多高|价格|费用|电话|how many|how much|when", re.I
)
_HAS_NUMBER = re.compile(r"\d|[一二三四五六七八九十百千万]+[年月日天元个人次点]")
_SENTENCE_END = re.compile(r"(?<=[。！？!?；;\n])")


@dataclass(frozen=True, slots=True)
class Quote:
    """Consecutive sentences of one reference, as they stand there."""

    reference: Reference
    text: str


@dataclass(frozen=True, slots=True)
class _Sentence:
    reference: Reference
    position: int
    score: float


def quotes(question: str, references: Sequence[Reference], weights: Mapping[str, float]) -> list[Quote]:
    """One or two quotations that answer the question best; none only when there are no references.

    `weights` gives the inverse document frequency of the question's terms.
    """
    texts = [sentences(reference.text) for reference in references[:_PASSAGES]]
    asks_number = bool(_ASKS_NUMBER.search(question))
    scored = sorted(
        (
            sentence
            for rank, (reference, parts) in enumerate(zip(references, texts, strict=False))
            for sentence in _score(reference, parts, weights, asks_number, rank)
        ),
        key=lambda sentence: -sentence.score,
    )
    chosen: list[_Sentence] = []
    for sentence in scored:
        if any(sentence.reference is other.reference for other in chosen):
            continue
        if chosen and sentence.score < _SECOND_SHARE * chosen[0].score:
            break
        chosen.append(sentence)
        if len(chosen) == _MAX_QUOTES:
            break
    parts_of = {reference.number: parts for reference, parts in zip(references, texts, strict=False)}
    return [Quote(item.reference, _with_neighbours(parts_of[item.reference.number], item.position)) for item in chosen]


def sentences(text: str) -> list[str]:
    """The text cut behind each sentence end and line; pieces under six characters go with the next one."""
    parts: list[str] = []
    pending = ""
    for piece in _SENTENCE_END.split(text):
        pending += piece
        if len(pending.strip()) >= 6:
            parts.append(pending)
            pending = ""
    if pending.strip():
        parts.append(pending)
    return parts


def _score(
    reference: Reference, parts: Sequence[str], weights: Mapping[str, float], asks_number: bool, rank: int
) -> list[_Sentence]:
    total = sum(weights.values()) or 1.0
    scored: list[_Sentence] = []
    before = 0.0
    for position, part in enumerate(parts):
        coverage = sum(weights.get(term, 0.0) for term in set(index_terms(part))) / total
        score = coverage + _BEFORE_WEIGHT * before + _PASSAGE_WEIGHT * (1 - rank / _PASSAGES)
        if asks_number and _HAS_NUMBER.search(part):
            score += _NUMBER_BONUS
        scored.append(_Sentence(reference, position, score))
        before = coverage
    return scored


def _with_neighbours(parts: Sequence[str], position: int) -> str:
    """The sentence, then the one after and the one before it, as far as they fit; a table row keeps its header."""
    if " | " in parts[position]:
        header = parts[0] if position > 0 and " | " in parts[0] else ""
        return (header + parts[position]).strip()[:_MAX_QUOTE_CHARS]
    first = last = position
    size = len(parts[position])
    for neighbour in (position + 1, position - 1):
        if 0 <= neighbour < len(parts) and size + len(parts[neighbour]) <= _MAX_QUOTE_CHARS:
            size += len(parts[neighbour])
            first, last = min(first, neighbour), max(last, neighbour)
    text = "".join(parts[first : last + 1]).strip()
    return text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + "…"
