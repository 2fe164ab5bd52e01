"""Rebuild tables without lines between their columns from the gaps that run through their rows."""

from collections.abc import Sequence
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
    and every row begins in the first column.
    """
    tables: list[AlignedTable] = []
    for block in _blocks([_parts(line) for line in text_lines(marks)]):
        columns = _columns(block)
        if len(block) < _LEAST_ROWS or max(map(len, block)) < _LEAST_COLUMNS or not _is_tabular(block, columns):
            continue
        rows = _rows(block, columns)
        tables.append(AlignedTable(rows, [mark for row in block for part in row for mark in part.marks]))
    return tables


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
