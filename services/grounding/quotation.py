"""Chosen parts of a passage as a person reads them: whole items, rows with the names of their columns."""

import re
from collections.abc import Sequence, Set

from services.grounding.passage import Part, Role
from services.index.tokens import index_terms_of_normal, normalise
from services.text.sentences import rough_sentences
from services.text.tables import cells

_MAX_LINE_CHARS = 300
# Of a longer cell only the sentences with most of the question's words are shown, if the row is too long.
_LONG_CELL_CHARS, _CELL_CHARS = 60, 120
_OMITTED = "……"
# A cell of a head that can only be a value, as in a form with a name and a value beside each other. A year may be a
# name, and so may the number of a lesson or a model such as AX3000.
_VALUE = re.compile(r"(?!(?:19|20)\d\d$)[A-Za-z]?\d{3,}[\d.,%-]*|[\d.]*\d%|1\d{10}")


def shown(parts: Sequence[Part], chosen: Set[int], terms: Set[str] = frozenset()) -> str:
    """Return the chosen parts in the order of the passage, as text for QQ.

    A row is written as 列：值 with the names of its columns, because QQ shows no tables; `terms` are the index terms of
    the question, which decide what is shown of long cells. Where parts between two chosen ones are missing inside of
    the text, a line says so; the head and the rows of a table need none.
    """
    lines: list[str] = []
    pending = ""
    last: int | None = None
    for place in sorted(chosen):
        part = parts[place]
        if part.role is Role.TABLE_HEAD and any(parts[other].head == place for other in chosen):
            last = place
            continue
        is_row = part.role in (Role.ROW, Role.TABLE_HEAD)
        omits = last is not None and place > last + 1 and not is_row
        if pending and (omits or is_row):
            lines.append(pending.strip("\n"))
            pending = ""
        if omits:
            lines.append(_OMITTED)
        if is_row:
            head = parts[part.head].text if part.head is not None else ""
            lines.append(shown_row(head, part.text, terms))
        else:
            pending += part.text
        last = place
    if pending:
        lines.append(pending.strip("\n"))
    return "\n".join(line.rstrip() for line in lines if line.strip()).strip()


def shown_row(head: str, row: str, terms: Set[str] = frozenset()) -> str:
    """Return a row of a table with the names of its columns, without its empty cells.

    A row of a form, which has no head, is a label with its value. A row that cannot be matched to its head, or whose
    head holds values itself, keeps only its cells. Of a row that is too long, the long cells are cut to the sentences
    with most of `terms`.

    >>> shown_row("项目 | 结果 | 单位", "血红蛋白 | 159 | g/L")
    '项目：血红蛋白；结果：159；单位：g/L'
    """
    names, values = cells(head), cells(row)
    if sum(map(len, values)) > _MAX_LINE_CHARS:
        values = [_shortened(value, terms) for value in values]
    if not names and len(values) == 2:
        return _cut("：".join(filter(None, values)))
    if len(names) < len(values) or any(_VALUE.fullmatch(name) for name in names):
        return _cut(" / ".join(value for value in values if value))
    pairs = [(name, value) for name, value in zip(names, values, strict=False) if value]
    return _cut("；".join(f"{name}：{value}" if name and name != value else value for name, value in pairs))


def _shortened(cell: str, terms: Set[str]) -> str:
    """Return the run of sentences of a long cell that begins with the one with most of the terms."""
    if len(cell) <= _LONG_CELL_CHARS:
        return cell
    sentences = list(rough_sentences(cell))
    found = [len(terms & set(index_terms_of_normal(normalise(sentence)))) for sentence in sentences]
    first = found.index(max(found))
    text = sentences[first]
    for sentence in sentences[first + 1 :]:
        if len(text) + len(sentence) > _CELL_CHARS:
            break
        text += sentence
    text = text if len(text) <= _CELL_CHARS else text[:_CELL_CHARS]
    return ("…" if first else "") + text.strip() + ("" if cell.endswith(text) else "…")


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LINE_CHARS else text[:_MAX_LINE_CHARS] + "…"
