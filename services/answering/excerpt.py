"""The best sentences of the best passages, quoted word for word: the answer without a language model.

Which sentence, says a small trained network; the one before and after it are shown with it where they fit. Measured by
`benchmarks.quality.extraction`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.answering.sentence_model import (
    CELLS,
    FEATURES,
    Floats,
    describe_sentences,
    load_sentence_model,
    table_heads,
)
from services.knowledge.loaders.line_headings import line_heading
from services.retrieval.models import Reference

PASSAGES = 3
_COVERAGE = FEATURES.index("coverage")
_MAX_QUOTE_CHARS = 300
# The logarithm of how probable the best sentence of another passage must be beside the first; on CMRC one question in
# eight then gets a second quotation.
_SECOND_BEST = math.log(0.5)
_SENTENCE_END = re.compile(r"(?<=[。！？!?；;\n])")
_CODE = re.compile(r"(?:^|(?<=\n))(```|~~~).*?(?:\n\1[^\n]*(?:\n|$)|$)", re.DOTALL)
_ANNOUNCES = ("：", ":", "？", "?")


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
    headings = [reference.heading for reference in references[:PASSAGES]]
    features = describe_sentences(question, passages, headings, weights)
    model = load_sentence_model()
    answering = _answering(passages, features)
    best = max(answering, key=model.scores(features).__getitem__)
    # Where two documents say as much, both are shown, whichever of them is ranked first.
    features[:, [FEATURES.index("second_passage"), FEATURES.index("later_passage")]] = 0.0
    scores = model.scores(features)
    others = [index for index in answering if places[index][0] != places[best][0]]
    second = max(others, key=scores.__getitem__, default=best)
    chosen = [best]
    if second != best and scores[second] >= scores[best] + _SECOND_BEST:
        chosen.append(second)
    return [Quote(references[places[index][0]], _shown(passages, places[index])) for index in chosen]


def _answering(passages: Sequence[Sequence[str]], features: Floats) -> list[int]:
    """The sentences that may be chosen: of a table those rows that hold most of the question's words.

    The head of a table says what is asked. Its rows are alike but for the one that is asked for, of which a model that
    was trained on prose knows nothing.
    """
    chosen: list[int] = []
    start = 0
    for passage in passages:
        most: dict[int, float] = {}
        heads = table_heads(passage)
        rows = {place: head for place, head in enumerate(heads) if head is not None and place != head}
        for place, head in rows.items():
            most[head] = max(most.get(head, 0.0), features[start + place, _COVERAGE])
        for place, head in enumerate(heads):
            is_best_row = place in rows and features[start + place, _COVERAGE] == most[rows[place]]
            if is_best_row or head is None or head not in most:
                chosen.append(start + place)
        start += len(passage)
    return chosen


def sentences(text: str) -> list[str]:
    """The text cut behind each sentence end and line; pieces under six characters go with the next one.

    A block of code stays whole, with the line that announces it.
    """
    parts: list[str] = []
    pending = ""
    for piece in _pieces(text):
        # A row of a table is one sentence however short: joined to another, its cells would be in other columns.
        is_row = CELLS in piece
        if is_row and pending.strip():
            parts.append(pending)
            pending = ""
        pending += piece
        if is_row or len(pending.strip()) >= 6:
            parts.append(pending)
            pending = ""
    if pending.strip():
        parts.append(pending)
    return parts


def _pieces(text: str) -> Iterator[str]:
    place = 0
    for code in _CODE.finditer(text):
        before = [piece for piece in _prose(text[place : code.start()]) if piece]
        announced = bool(before) and before[-1].rstrip().endswith(_ANNOUNCES)
        yield from before[:-1] if announced else before
        yield (before[-1] if announced else "") + code[0]
        place = code.end()
    yield from _prose(text[place:])


def _prose(text: str) -> Iterator[str]:
    """Give the sentences of each line; a row of a table stays whole, whatever stands in its cells."""
    for line in text.splitlines(keepends=True):
        if CELLS in line:
            yield line
        else:
            yield from _SENTENCE_END.split(line)


def neighbourhood(passage: Sequence[str], position: int) -> range:
    """The sentence at `position` with the one after and the one before it, as far as they fit in a quotation.

    Not over the beginning of another item or paragraph, nor back to another line but one that asks or announces.
    """
    first = last = position
    size = len(passage[position])
    for neighbour in (position + 1, position - 1):
        if 0 <= neighbour < len(passage) and size + len(passage[neighbour]) <= _MAX_QUOTE_CHARS:
            before, after = sorted((neighbour, position))
            if _continues(passage[before], passage[after], forwards=neighbour > position):
                size += len(passage[neighbour])
                first, last = min(first, neighbour), max(last, neighbour)
    return range(first, last + 1)


def _continues(before: str, after: str, *, forwards: bool) -> bool:
    gap = before[len(before.rstrip()) :] + after[: len(after) - len(after.lstrip())]
    announced = before.rstrip().endswith(_ANNOUNCES)
    # What a line heads is an item of its own.
    if line_heading(after) or (gap.count("\n") > 1 and not announced):
        return False
    return forwards or announced or "\n" not in gap


def _shown(passages: Sequence[Sequence[str]], place: tuple[int, int]) -> str:
    """The sentence with its neighbours; a table row keeps its header instead."""
    passage, position = passages[place[0]], place[1]
    head = table_heads(passage)[position]
    if head is not None:
        return _shown_row(passage[head] if head != position else "", passage[position])
    whole = "".join(passage).strip()
    if len(whole) <= _MAX_QUOTE_CHARS and [_asks(sentence) for sentence in passage] == [
        True,
        *[False] * (len(passage) - 1),
    ]:
        return whole
    text = "".join(passage[index] for index in neighbourhood(passage, position)).strip()
    return text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + "…"


def _shown_row(head: str, row: str) -> str:
    """Return a row below its head; where both are too long, each cell behind the name of its column."""
    text = (head + row).strip()
    if len(text) > _MAX_QUOTE_CHARS and head:
        named = zip(head.strip("\n").split(CELLS), row.strip("\n").split(CELLS), strict=False)
        text = "；".join(f"{name.strip()}：{cell.strip()}" for name, cell in named if cell.strip())
    return text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + "…"


def _asks(sentence: str) -> bool:
    """Whether this begins a question with its answer, which is shown as one."""
    heading = line_heading(sentence)
    return heading is not None and heading.is_complete
