"""Rebuild tables without lines between their columns from the gaps that run through their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from services.knowledge.loaders.pdf_layout import Mark, line_text, text_lines

_CELL_GAP_EM = 0.9
# Rows are as far apart as lines of text, at most this many letter heights.
_MOST_ROW_STEP_EM = 2.6
_LEAST_COLUMNS, _LEAST_ROWS = 3, 3
_GUTTER_EM = 0.4
# Longer cells are columns of prose.
_MOST_MEDIAN_CHARS, _PROSE_CHARS, _MOST_PROSE_SHARE = 14, 30, 0.2
_LEAST_PROSE_LINES = 6
_LEAST_PROSE_WIDTH, _LEAST_PROSE_SHARE = 0.6, 0.6
_MOST_FIGURE_CHARS = 24
_FIGURE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class _Part:
    """Characters of a line without a wide gap between them."""

    marks: tuple[Mark, ...]

    @property
    def left(self) -> float:
        return self.marks[0].left

    @property
    def right(self) -> float:
        return max(mark.right for mark in self.marks)


@dataclass(frozen=True, slots=True)
class AlignedTable:
    """A table whose columns are only aligned. `rows` are its texts, None if they cannot be told with certainty."""

    rows: list[list[str]] | None
    marks: list[Mark]


def aligned_tables(marks: Sequence[Mark]) -> list[AlignedTable]:
    """Return the tables with at least three aligned columns, one of them figures, and two rows under a header.

    A table is certain if each of its columns has one part of the header, every row has at most one part in each column,
    and every row begins in the first column. On a page of two columns of prose, a table in one of them is read without
    the lines of the other.
    """
    tables: list[AlignedTable] = []
    lines = [_parts(line) for line in text_lines(marks)]
    gutter = _gutter(lines)
    if gutter is not None:
        halves = [mark for mark in marks if mark.right <= gutter], [mark for mark in marks if mark.left >= gutter]
        for half, other in (halves, halves[::-1]):
            beside = [_parts(line) for line in text_lines(other)]
            found = _tables([_parts(line) for line in text_lines(half)])
            tables += [
                table for table in found if not _is_crossed(table, lines, gutter) and _is_beside_prose(table, beside)
            ]
        taken = {id(mark) for table in tables for mark in table.marks}
        lines = [_parts(line) for line in text_lines(mark for mark in marks if id(mark) not in taken)]
    return [*tables, *_tables(lines)]


def _tables(lines: list[list[_Part]]) -> Iterator[AlignedTable]:
    for block in _blocks(lines):
        columns = _columns(block)
        if len(block) >= _LEAST_ROWS and max(map(len, block)) >= _LEAST_COLUMNS and _is_tabular(block, columns):
            yield AlignedTable(_rows(block, columns), [mark for row in block for part in row for mark in part.marks])


def _gutter(lines: list[list[_Part]]) -> float | None:
    """Return the middle of the gap between two columns of prose, None on a page that has not two."""
    prose = [part for line in lines for part in line if len(part.marks) > _PROSE_CHARS]
    if len(prose) < 2 * _LEAST_PROSE_LINES:
        return None
    middle = (min(part.left for part in prose) + max(part.right for part in prose)) / 2
    left = sorted(part.right for part in prose if part.right <= middle + _CELL_GAP_EM * part.marks[0].size)
    right = sorted(part.left for part in prose if part.left >= middle - _CELL_GAP_EM * part.marks[0].size)
    if min(len(left), len(right)) < _LEAST_PROSE_LINES or left[-1] >= right[0]:
        return None
    return (left[-1] + right[0]) / 2


def _is_crossed(table: AlignedTable, lines: list[list[_Part]], gutter: float) -> bool:
    """Return whether anything at the height of a table stands in both columns of the page."""
    return any(part.left < gutter < part.right for line in _at_height(table, lines) for part in line)


def _is_beside_prose(table: AlignedTable, lines: list[list[_Part]]) -> bool:
    """Return whether the lines of the other column at the height of a table are prose, not more of the table."""
    beside = _at_height(table, lines)
    width = max((line[-1].right for line in lines), default=0.0) - min((line[0].left for line in lines), default=0.0)
    prose = sum(len(line) == 1 and line[0].right - line[0].left >= _LEAST_PROSE_WIDTH * width for line in beside)
    return prose >= _LEAST_PROSE_SHARE * len(beside)


def _at_height(table: AlignedTable, lines: list[list[_Part]]) -> list[list[_Part]]:
    top, bottom = min(mark.base for mark in table.marks), max(mark.base for mark in table.marks)
    return [line for line in lines if top <= line[0].marks[0].base <= bottom]


def _parts(line: Sequence[Mark]) -> list[_Part]:
    parts: list[list[Mark]] = []
    right = 0.0
    for mark in line:
        if not parts or mark.left - right > _CELL_GAP_EM * mark.size:
            parts.append([])
            right = mark.right
        parts[-1].append(mark)
        right = max(right, mark.right)
    return [_Part(tuple(part)) for part in parts]


def _blocks(lines: list[list[_Part]]) -> list[list[list[_Part]]]:
    """Return runs of lines with several parts, at the distance of rows."""
    blocks: list[list[list[_Part]]] = [[]]
    for line in lines:
        if len(line) < 2:
            blocks.append([])
            continue
        if blocks[-1]:
            last, first = blocks[-1][-1][0].marks[0], line[0].marks[0]
            if first.base - last.base > _MOST_ROW_STEP_EM * max(first.size, last.size):
                blocks.append([])
        blocks[-1].append(line)
    return [_from_header(block) for block in blocks if block]


def _from_header(block: list[list[_Part]]) -> list[list[_Part]]:
    """Return a block without the lines above its header, which is the first line without figures in all columns."""
    most = max(map(len, block))
    for place, line in enumerate(block):
        if len(line) == most and not any(_is_figure(part) for part in line):
            return block[place:]
    return block


def _columns(block: list[list[_Part]]) -> list[tuple[float, float]]:
    """Return the columns from left to right: the extents of parts that overlap each other."""
    columns: list[tuple[float, float]] = []
    for left, right in sorted((part.left, part.right) for line in block for part in line):
        if columns and left <= columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], right)
        else:
            columns.append((left, right))
    return columns


def _is_tabular(block: list[list[_Part]], columns: list[tuple[float, float]]) -> bool:
    lengths = [len(part.marks) for line in block for part in line]
    long = sum(length > _PROSE_CHARS for length in lengths)
    if median(lengths) > _MOST_MEDIAN_CHARS or long > _MOST_PROSE_SHARE * len(block):
        return False
    full = sum(len(line) >= _LEAST_COLUMNS for line in block)
    if full < _LEAST_ROWS:
        return False
    figures = [sum(_is_figure(part) for line in block for part in line if part.left >= left) for left, _ in columns]
    return any(count >= _FIGURE_SHARE * (len(block) - 1) for count in figures[1:] or figures)


def _is_figure(part: _Part) -> bool:
    return len(part.marks) <= _MOST_FIGURE_CHARS and any(mark.text.isdigit() for mark in part.marks)


def _rows(block: list[list[_Part]], columns: list[tuple[float, float]]) -> list[list[str]] | None:
    size = block[0][0].marks[0].size
    header = block[0]
    if len(header) != len(columns) or any(_is_figure(part) for part in header):
        return None
    if any(after[0] - before[1] < _GUTTER_EM * size for before, after in pairwise(columns)):
        return None
    rows: list[list[str]] = []
    for line in block:
        row = [""] * len(columns)
        for part in line:
            column = next(number for number, (left, right) in enumerate(columns) if left <= part.left <= right)
            if row[column]:
                return None
            row[column] = line_text(part.marks)
        if not row[0]:
            return None
        rows.append(row)
    return rows
