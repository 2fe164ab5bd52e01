"""The best sentences of the best passages, quoted word for word: the answer without a language model.

Which sentence, says a small trained network; the one before and after it are shown with it where they fit. Measured by
`benchmarks.quality.extraction`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.answering.sentence_model import FEATURES, describe_sentences, is_table, load_sentence_model
from services.retrieval.models import Reference

PASSAGES = 3
_MAX_QUOTE_CHARS = 300
# The logarithm of how probable the best sentence of another passage must be beside the first; on CMRC one question in
# eight then gets a second quotation.
_SECOND_BEST = math.log(0.5)
_SENTENCE_END = re.compile(r"(?<=[。！？!?；;\n])")


@dataclass(frozen=True, slots=True)
class Quote:
    """Consecutive sentences of one reference, as they stand there."""

    reference: Reference
    text: str


def quotes(question: str, references: Sequence[Reference], weights: Mapping[str, float]) -> list[Quote]:
    """One or two quotations that answer the question best; none only when there are no references.

    `weights` gives the inverse document frequency of the question's terms.
    """
    passages = [sentences(reference.text) for reference in references[:PASSAGES]]
    places = [(number, position) for number, passage in enumerate(passages) for position in range(len(passage))]
    if not places:
        return []
    features = describe_sentences(question, passages, weights)
    model = load_sentence_model()
    best = max(_answering(places, passages), key=model.scores(features).__getitem__)
    # Where two documents say as much, both are shown, whichever of them is ranked first.
    features[:, [FEATURES.index("second_passage"), FEATURES.index("later_passage")]] = 0.0
    scores = model.scores(features)
    others = [index for index in _answering(places, passages) if places[index][0] != places[best][0]]
    second = max(others, key=scores.__getitem__, default=best)
    chosen = [best]
    if second != best and scores[second] >= scores[best] + _SECOND_BEST:
        chosen.append(second)
    return [Quote(references[places[index][0]], _shown(passages, places[index])) for index in chosen]


def _answering(places: Sequence[tuple[int, int]], passages: Sequence[Sequence[str]]) -> list[int]:
    """The sentences that may be chosen: the head of a table says what is asked, its rows answer."""
    return [
        index
        for index, (number, position) in enumerate(places)
        if position or len(passages[number]) == 1 or not is_table(passages[number])
    ]


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


def neighbourhood(passage: Sequence[str], position: int) -> range:
    """The sentence at `position`, the one after and the one before it, as far as they fit in a quotation."""
    first = last = position
    size = len(passage[position])
    for neighbour in (position + 1, position - 1):
        if 0 <= neighbour < len(passage) and size + len(passage[neighbour]) <= _MAX_QUOTE_CHARS:
            size += len(passage[neighbour])
            first, last = min(first, neighbour), max(last, neighbour)
    return range(first, last + 1)


def _shown(passages: Sequence[Sequence[str]], place: tuple[int, int]) -> str:
    """The sentence with its neighbours; a table row keeps its header instead."""
    passage, position = passages[place[0]], place[1]
    if is_table(passage):
        return (passage[0] * (position > 0) + passage[position]).strip()[:_MAX_QUOTE_CHARS]
    text = "".join(passage[index] for index in neighbourhood(passage, position)).strip()
    return text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + "…"
