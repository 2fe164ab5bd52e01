"""Rebuild the tables of a PDF page from its ruled lines and from where its text stands.

A value in a wrong row is worse than none, so a table whose text does not fit its cells is reported as uncertain.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.knowledge.loaders.pdf_columns import aligned_tables
from services.knowledge.loaders.pdf_grid import Grid, GridCell, grids
from services.knowledge.loaders.pdf_layout import (
    Mark,
    PageLayout,
    cell_text,
    drawn_lines,
    is_gap,
    line_text,
    text_lines,
)
from services.knowledge.loaders.tables import Cell, is_header, laid_out, last_header, with_single_headers

# A character that sticks out of its cell by more than this share of its size crosses the line.
_MOST_OVERHANG_EM = 0.35
_SAME_BASE_EM = 0.3
_FIGURE = re.compile(r"[-+−±<>≤≥~≈¥￥$(（\[]?\s*\d[\d,.:]*\s*[%‰)）\]]?(?:\s*[A-Za-z/%]{1,6})?")
# Crossed lines with text in fewer of their cells are a drawing.
_LEAST_FILLED_SHARE = 0.3
_SAME_EDGE = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class PageTable:
    """A table on a page.

    `rows` are its texts by row and column, None if they are uncertain. `text` has its lines, and `columns` the edges of
    its columns if they are drawn.
    """

    rows: list[list[str]] | None
    text: str
    columns: tuple[float, ...] = ()

    def continues(self, above: "PageTable") -> bool:
        """Return whether this table is as wide as the one that ends directly above it, such as on the page before."""
        return (
            bool(self.rows and above.rows and self.columns and above.columns)
            and abs(self.columns[0] - above.columns[0]) <= _SAME_EDGE
            and abs(self.columns[-1] - above.columns[-1]) <= _SAME_EDGE
        )

    def rows_below(self, above: "PageTable") -> list[list[str]]:
        """Return the rows of a table that continues the one above, with the header of that table.

        A header that is repeated is not doubled. Columns without a known name are numbered.
        """
        rows = self.rows or []
        header = last_header(above.rows or [])
        first, *below = [{column: text for column, text in enumerate(row) if text} for row in rows[:4]]
        if list(first.values()) == list(header.values()) or is_header(first, below):
            return rows
        names: list[str] = []
        for left, right in zip(self.columns, self.columns[1:], strict=False):
            found = [
                text
                for column, text in header.items()
                if left - _SAME_EDGE <= above.columns[column] < right - _SAME_EDGE
            ]
            names.append(found[0] if len(found) == 1 else f"第 {len(names) + 1} 列")
        return [names, *rows]


def page_lines(layout: PageLayout) -> list[str | PageTable]:
    """Return the lines of a page in the order of drawing, with each table in the place of its text."""
    places: dict[int, PageTable] = {}
    for table, numbers in _tables(layout):
        places |= dict.fromkeys(numbers, table)
    lines: list[str | PageTable] = []
    placed: set[PageTable] = set()
    pending: list[Mark] = []
    for number, mark in enumerate(layout.marks):
        table = places.get(number)
        if table is None:
            pending.append(mark)
        elif table not in placed:
            placed.add(table)
            lines += map(line_text, drawn_lines(pending))
            lines.append(table)
            pending = []
    return [*lines, *map(line_text, drawn_lines(pending))]


def _tables(layout: PageLayout) -> Iterator[tuple[PageTable, set[int]]]:
    """Yield the tables with the numbers of their characters."""
    left = dict(enumerate(layout.marks))
    for grid in sorted(grids(layout.across, layout.down), key=lambda grid: (grid.rows[0], grid.columns[0])):
        inside: dict[GridCell, list[Mark]] = defaultdict(list)
        numbers: set[int] = set()
        last: tuple[Mark, GridCell] | None = None
        has_crossing = False
        for number, mark in left.items():
            place = grid.place(*mark.middle)
            if place is not None:
                cell = grid.cells[place]
                has_crossing |= last is not None and last[1] != cell and _is_one_word(last[0], mark)
                last = mark, cell
                inside[cell].append(mark)
                numbers.add(number)
        if len({cell.column for cell in inside}) < 2 or len({cell.row for cell in inside}) < 2:
            continue
        if not grid.is_regular and len(inside) < _LEAST_FILLED_SHARE * len(set(grid.cells.values())):
            continue
        rows = _rows(grid, inside) if not has_crossing and _fits(grid, inside) else None
        yield PageTable(rows, _text([left[number] for number in sorted(numbers)]), grid.columns), numbers
        for number in numbers:
            del left[number]
    numbers_of = {id(mark): number for number, mark in left.items()}
    for table in aligned_tables(list(left.values())):
        yield PageTable(table.rows, _text(table.marks)), {numbers_of[id(mark)] for mark in table.marks}


def _text(marks: Sequence[Mark]) -> str:
    return "\n".join(map(line_text, text_lines(marks)))


def _is_one_word(mark: Mark, following: Mark) -> bool:
    """Return whether two characters in a row are drawn as one string without a space."""
    return mark.string == following.string and mark.base == following.base and not is_gap(mark, following)


def _fits(grid: Grid, inside: dict[GridCell, list[Mark]]) -> bool:
    """Return whether every character lies within one cell."""
    if not grid.is_regular:
        return False
    for cell, marks in inside.items():
        left, right = grid.columns[cell.column], grid.columns[cell.column + cell.columns]
        for mark in marks:
            most = _MOST_OVERHANG_EM * mark.size
            if mark.is_turned or mark.left < left - most or mark.right > right + most:
                return False
    return True


def _rows(grid: Grid, inside: dict[GridCell, list[Mark]]) -> list[list[str]] | None:
    """Return the texts by row and column, None if a row of the grid holds several rows that cannot be told apart."""
    by_row: dict[int, list[GridCell]] = defaultdict(list)
    for cell in sorted(set(grid.cells.values()), key=lambda cell: (cell.row, cell.column)):
        by_row[cell.row].append(cell)
    rows: list[list[Cell]] = []
    for row in range(len(grid.rows) - 1):
        cells = by_row[row]
        if all(cell.rows == 1 for cell in cells) and len(cells) == len({cell.column for cell in cells}):
            texts = _split_rows([inside.get(cell, []) for cell in cells])
        else:
            texts = [[cell_text(inside.get(cell, [])) for cell in cells]]
        if texts is None:
            return None
        rows += [[Cell(text, cell.columns, cell.rows) for text, cell in zip(row, cells, strict=True)] for row in texts]
    return with_single_headers(laid_out(rows))


def _split_rows(cells: Sequence[list[Mark]]) -> list[list[str]] | None:
    """Return the rows that stand in one row of a grid without lines between them, usually one.

    Several are told apart if every line has its figure in the same column. Return None if they cannot be told apart.
    """
    lines = [text_lines(marks) for marks in cells]
    filled = [found for found in lines if found]
    whole = [[cell_text(marks) for marks in cells]]
    count = len(filled[0]) if filled else 0
    if len(filled) < 2 or count < 2 or any(len(found) != count for found in filled):
        return whole
    most = _SAME_BASE_EM * filled[0][0][0].size
    for row in zip(*filled, strict=True):
        bases = [line[0].base for line in row]
        if max(bases) - min(bases) > most:
            return whole
    texts = [[line_text(line) for line in found] if found else [""] * count for found in lines]
    if any(all(map(_FIGURE.fullmatch, column)) for column in texts):
        return [[column[place] for column in texts] for place in range(count)]
    return None if count > 2 else whole
