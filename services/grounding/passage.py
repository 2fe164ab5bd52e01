"""The parts of a passage that can be quoted: sentences, rows of tables, list items and blocks of code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from services.knowledge.loaders.line_headings import line_heading
from services.retrieval.identifiers import identifiers
from services.text.numerals import COUNTING_SIGNS
from services.text.sentences import ENDS, rough_sentences
from services.text.tables import CELLS, cells

_CODE = re.compile(r"(?:^|(?<=\n))(```|~~~).*?(?:\n\1[^\n]*(?:\n|$)|$)", re.DOTALL)
_MARKDOWN_HEADING = re.compile(r"#{1,6}\s")
_HEADING_CHARS = 30
_SAYS = re.compile(rf"[{ENDS}，,：:]")
_ANNOUNCES = re.compile(r"(?:[：:？?]|(?:如下|以下|下列|下表|下面|下述)[^。！？；\n]{0,16}[。.]?)[\s*）)」』]*$")
_ITEM = re.compile(
    r"\s*(?:[-*·•●▪◦+]\s|[（(]?\d{1,2}[)）.、．]\s?\D|[①-⑳]|[（(]?[一二三四五六七八九十]{1,3}[)）、.．]|[a-zA-Z][)）.]\s)"
)
_FIGURES = re.compile(rf"[¥$￥≥≤<>~约]?\s*[\d半{COUNTING_SIGNS}]")
_LABEL_CHARS = 16


class Role(StrEnum):
    """What a part of a passage is to the person who reads it."""

    SENTENCE = "sentence"
    HEADING = "heading"
    ITEM = "item"
    TABLE_HEAD = "table_head"
    ROW = "row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a passage as it stands in it, with its line end.

    `head` is the position of the head of the table that a row belongs to. `announces` is set if the part says that
    something follows, and `starts_paragraph` if an empty line or the beginning of the passage is before it.
    """

    text: str
    role: Role
    head: int | None = None
    announces: bool = False
    starts_paragraph: bool = False


def parts_of(text: str) -> list[Part]:
    """Return the parts of a passage in order. Joined, their texts are the passage."""
    texts = sentences(text)
    heads = table_heads(texts)
    forms = _forms(texts, heads)
    parts: list[Part] = []
    for (before, part), head, place in zip(pairwise(["\n\n", *texts]), heads, range(len(texts)), strict=True):
        gap = before[len(before.rstrip()) :] + part[: len(part) - len(part.lstrip())]
        starts_line = "\n" in gap or place == 0
        parts.append(
            Part(
                part,
                Role.ROW if head in forms else _role(part, head, place, starts_line=starts_line),
                head if head != place and head not in forms else None,
                _ANNOUNCES.search(part.rstrip()) is not None,
                gap.count("\n") > 1,
            )
        )
    return parts


def _forms(texts: Sequence[str], heads: Sequence[int | None]) -> frozenset[int]:
    """Return the heads of those tables whose first row is no head: forms with a label and its value beside each other.

    A head names columns, and the values of a column are of one kind. A form has figures and words below each other.
    """
    tables: dict[int, list[list[str]]] = {}
    for text, head in zip(texts, heads, strict=True):
        if head is not None:
            tables.setdefault(head, []).append(cells(text))
    return frozenset(head for head, rows in tables.items() if _is_form(rows))


def _is_form(rows: Sequence[Sequence[str]]) -> bool:
    if len(rows[0]) != 2 or any(len(row) > 2 for row in rows):
        return False
    if any(_FIGURES.match(row[0]) or len(row[0]) > _LABEL_CHARS for row in rows):
        return False
    first, *others = [_FIGURES.match(row[1]) is not None for row in rows if len(row) > 1 and row[1]] or [False]
    return first or (any(others) and not all(others))


def _role(text: str, head: int | None, place: int, *, starts_line: bool) -> Role:
    if head is not None:
        return Role.TABLE_HEAD if head == place else Role.ROW
    if is_code(text):
        return Role.CODE
    if starts_line and is_heading(text):
        return Role.HEADING
    return Role.ITEM if starts_line and _ITEM.match(text) else Role.SENTENCE


def is_heading(sentence: str) -> bool:
    """Return whether a line is a heading, or a short line that names something and says nothing about it."""
    line = sentence.strip()
    if _MARKDOWN_HEADING.match(line):
        return "\n" not in line
    heading = line_heading(line)
    if heading is not None:
        return not heading.is_text or heading.is_complete
    is_short = len(line) <= _HEADING_CHARS and CELLS not in line and sentence.endswith("\n")
    return is_short and not _SAYS.search(line) and bool(identifiers(line))


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


def table_heads(passage: Sequence[str]) -> list[int | None]:
    """Return for each sentence the position of the head of its table, or None outside tables.

    The head of a table has its own position. Code and a line that has no other row beside it are no table, though they
    may contain a bar.
    """
    rows = [CELLS in sentence and not is_code(sentence) for sentence in passage]
    heads: list[int | None] = []
    for place, is_row in enumerate(rows):
        before = heads[-1] if heads else None
        begins = is_row and before is None and place + 1 < len(rows) and rows[place + 1]
        heads.append(place if begins else before if is_row else None)
    return heads


def is_code(sentence: str) -> bool:
    """Return whether a sentence is a block of code."""
    return "```" in sentence or "~~~" in sentence


def _pieces(text: str) -> Iterator[str]:
    place = 0
    for code in _CODE.finditer(text):
        before = list(_prose(text[place : code.start()]))
        announced = bool(before) and before[-1].rstrip().endswith(("：", ":", "？", "?"))
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
