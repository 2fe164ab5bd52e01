"""The best sentences of the best passages, quoted word for word: the answer without a language model.

A small trained network chooses the sentence; the sentences before and after it are shown with it where they fit. The
choice is measured by `benchmarks.quality.extraction`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.grounding.sentence_model import (
    CELLS,
    FEATURES,
    Floats,
    describe_sentences,
    load_sentence_model,
    table_heads,
)
from services.knowledge.loaders.line_headings import line_heading
from services.retrieval.identifiers import contains_any, identifiers
from services.retrieval.models import Reference
from services.text.sentences import ENDS, rough_sentences

PASSAGES = 3
_COVERAGE = FEATURES.index("coverage")
_MAX_QUOTE_CHARS = 300
# The minimum logarithm of the ratio between the probability of another passage's best sentence and that of the first
# one. With this value one question in eight of CMRC gets a second quotation.
_SECOND_BEST = math.log(0.5)
_CODE = re.compile(r"(?:^|(?<=\n))(```|~~~).*?(?:\n\1[^\n]*(?:\n|$)|$)", re.DOTALL)
_MARKDOWN_HEADING = re.compile(r"#{1,6}\s")
_HEADING_CHARS = 30
_SAYS = re.compile(rf"[{ENDS}，,：:]")
_ANNOUNCES = ("：", ":", "？", "?")


@dataclass(frozen=True, slots=True)
class Quote:
    """Consecutive sentences of one reference, verbatim."""

    reference: Reference
    text: str


def quotes(question: str, references: Sequence[Reference], weights: Mapping[str, float]) -> list[Quote]:
    """Return the one or two quotations that answer the question best, or none if there are no references.

    `weights` gives the inverse document frequency of the question's terms. If the question names identifiers, what is
    quoted contains one of them or is below a heading that does, as far as there is such a sentence.
    """
    passages = [sentences(reference.text) for reference in references[:PASSAGES]]
    places = [(number, position) for number, passage in enumerate(passages) for position in range(len(passage))]
    if not places:
        return []
    headings = [reference.heading for reference in references[:PASSAGES]]
    features = describe_sentences(question, passages, headings, weights)
    model = load_sentence_model()
    wanted = identifiers(question)
    answering = _answering(passages, features)
    if wanted:
        answering = _about(wanted, passages, headings, answering)
    best = max(answering, key=model.scores(features).__getitem__)
    # If two documents say the same, both are shown, whichever of them is ranked first.
    features[:, [FEATURES.index("second_passage"), FEATURES.index("later_passage")]] = 0.0
    scores = model.scores(features)
    others = [index for index in answering if places[index][0] != places[best][0]]
    second = max(others, key=scores.__getitem__, default=best)
    chosen = [best]
    if second != best and scores[second] >= scores[best] + _SECOND_BEST:
        chosen.append(second)
    return [Quote(references[places[index][0]], _shown(passages, places[index], wanted)) for index in chosen]


def _about(
    wanted: frozenset[str], passages: Sequence[Sequence[str]], headings: Sequence[str], answering: Sequence[int]
) -> list[int]:
    """Return those of `answering` that are about what the question names: better not the bare heading, or else all."""
    named: list[int] = []
    bare: list[int] = []
    index = 0
    for passage, heading in zip(passages, headings, strict=True):
        is_below = contains_any(heading, wanted)
        for sentence in passage:
            contains = contains_any(sentence, wanted)
            is_heading = _is_heading(sentence)
            if is_heading:
                is_below = contains
            if contains or (is_below and not identifiers(sentence)):
                (bare if is_heading else named).append(index)
            index += 1
    allowed = set(answering)
    return (
        [index for index in named if index in allowed] or [index for index in bare if index in allowed] or [*answering]
    )


def _is_heading(sentence: str) -> bool:
    """Return whether a line is a heading, or a short line that names something and says nothing about it."""
    line = sentence.strip()
    if _MARKDOWN_HEADING.match(line):
        return "\n" not in line
    heading = line_heading(line)
    if heading is not None:
        return not heading.is_text or heading.is_complete
    is_short = len(line) <= _HEADING_CHARS and CELLS not in line and sentence.endswith("\n")
    return is_short and not _SAYS.search(line) and bool(identifiers(line))


def _answering(passages: Sequence[Sequence[str]], features: Floats) -> list[int]:
    """Return the sentences that may be chosen; of a table, the rows that contain most of the question's words.

    The header of a table says what is asked. Its rows differ only in what they are about, and a model that was trained
    on prose knows nothing of that.
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
    """Split the text after each sentence end and line; pieces under six characters join the next one.

    A block of code stays whole, together with the line that announces it.
    """
    parts: list[str] = []
    pending = ""
    for piece in _pieces(text):
        # A table row is one sentence even if it is short: joined to another row, its cells would be in other columns.
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
        before = list(_prose(text[place : code.start()]))
        announced = bool(before) and before[-1].rstrip().endswith(_ANNOUNCES)
        yield from before[:-1] if announced else before
        yield (before[-1] if announced else "") + code[0]
        place = code.end()
    yield from _prose(text[place:])


def _prose(text: str) -> Iterator[str]:
    """Yield the sentences of each line; a table row stays whole, whatever its cells contain."""
    for line in text.splitlines(keepends=True):
        if CELLS in line:
            yield line
        else:
            yield from rough_sentences(line)


def neighbourhood(passage: Sequence[str], position: int, wanted: frozenset[str] = frozenset()) -> range:
    """Return the sentence at `position` with the ones after and before it, as far as they fit in a quotation.

    The range never crosses the beginning of another item or paragraph, and extends back to an earlier line only if that
    line asks or announces something. If identifiers are `wanted`, no sentence that names only others is included.
    """
    first = last = position
    size = len(passage[position])
    for neighbour in (position + 1, position - 1):
        if 0 <= neighbour < len(passage) and size + len(passage[neighbour]) <= _MAX_QUOTE_CHARS:
            before, after = sorted((neighbour, position))
            continues = _continues(passage[before], passage[after], forwards=neighbour > position)
            if continues and not (wanted and _is_about_another(passage[neighbour], wanted)):
                size += len(passage[neighbour])
                first, last = min(first, neighbour), max(last, neighbour)
    return range(first, last + 1)


def _is_about_another(sentence: str, wanted: frozenset[str]) -> bool:
    return bool(identifiers(sentence)) and not contains_any(sentence, wanted)


def _continues(before: str, after: str, *, forwards: bool) -> bool:
    gap = before[len(before.rstrip()) :] + after[: len(after) - len(after.lstrip())]
    announced = before.rstrip().endswith(_ANNOUNCES)
    # A line with a heading starts an item of its own.
    if line_heading(after) or (gap.count("\n") > 1 and not announced):
        return False
    return forwards or announced or "\n" not in gap


def _shown(passages: Sequence[Sequence[str]], place: tuple[int, int], wanted: frozenset[str]) -> str:
    """Return the sentence with its neighbours; a table row comes with its header instead."""
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
    text = "".join(passage[index] for index in neighbourhood(passage, position, wanted)).strip()
    return text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + "…"


def _shown_row(head: str, row: str) -> str:
    """Return a row below its header; if both are too long, each cell after the name of its column."""
    text = (head + row).strip()
    if len(text) > _MAX_QUOTE_CHARS and head:
        named = zip(head.strip("\n").split(CELLS), row.strip("\n").split(CELLS), strict=False)
        text = "；".join(f"{name.strip()}：{cell.strip()}" for name, cell in named if cell.strip())
    return text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + "…"


def _asks(sentence: str) -> bool:
    """Return whether this sentence begins a question with its answer, which is shown as a unit."""
    heading = line_heading(sentence)
    return heading is not None and heading.is_complete
