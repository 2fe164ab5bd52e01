"""Read the layout of a worksheet: hidden rows and columns, and merged cells.

openpyxl reads these only together with all cells of the sheet, in five times the memory.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO
from xml.parsers import expat

from openpyxl.utils.cell import range_boundaries

from services.knowledge.loaders.tables import repeated

_READ_BYTES = 1 << 16
# Excel draws nothing in a row of a smaller height (points) or a column of a smaller width (characters).
_LEAST_SIZE = 0.5


@dataclass(slots=True)
class Merge:
    """Merged cells: the first and last row and column, counted from 1, and the text of the first cell."""

    first_row: int
    last_row: int
    first_column: int
    last_column: int
    text: str = ""


@dataclass(slots=True)
class SheetLayout:
    """The hidden rows, ranges of hidden columns, and merged cells of one sheet."""

    hidden_rows: set[int] = field(default_factory=set[int])
    hidden_columns: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    merges: list[Merge] = field(default_factory=list[Merge])

    def hides_column(self, column: int) -> bool:
        """Return whether a column, counted from 1, is hidden."""
        return any(first <= column <= last for first, last in self.hidden_columns)


class MergedRows:
    """Tracks the merged cells of a sheet while its rows are read from top to bottom."""

    def __init__(self, merges: list[Merge]) -> None:
        self._coming = sorted(merges, key=lambda merge: merge.first_row, reverse=True)
        self._active: list[Merge] = []
        self._starts: list[int] = []

    def enter(self, row: int) -> None:
        """Start a row, counted from 1; rows come in ascending order."""
        if any(merge.last_row < row for merge in self._active) or (self._coming and self._coming[-1].first_row <= row):
            while self._coming and self._coming[-1].first_row <= row:
                self._active.append(self._coming.pop())
            self._active = sorted(
                (merge for merge in self._active if merge.last_row >= row), key=lambda merge: merge.first_column
            )
            self._starts = [merge.first_column for merge in self._active]

    def at(self, column: int) -> Merge | None:
        """Return the merged cells that a column of this row belongs to, None for a cell that is not merged."""
        place = bisect_right(self._starts, column) - 1
        return self._active[place] if place >= 0 and column <= self._active[place].last_column else None

    def repeated(self, row: int) -> Mapping[int, str]:
        """Return the texts that continue from the rows above into this row, by column."""
        coming = (merge for merge in self._active if merge.first_row < row)
        return {merge.first_column: text for merge in coming if (text := repeated(merge.text))}


def read_layout(source: IO[bytes]) -> SheetLayout:
    """Return the layout of a sheet from its XML, which must not declare entities."""
    layout = SheetLayout()
    row = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal row
        match name.rpartition(" ")[2]:
            case "row":
                row = _integer(attributes.get("r"), row + 1)
                if _is_hidden(attributes, "ht"):
                    layout.hidden_rows.add(row)
            case "col" if _is_hidden(attributes, "width"):
                layout.hidden_columns.append((_integer(attributes.get("min"), 1), _integer(attributes.get("max"), 1)))
            case "mergeCell":
                first_column, first_row, last_column, last_row = range_boundaries(attributes.get("ref", ""))
                if first_column and first_row and last_column and last_row:
                    layout.merges.append(Merge(first_row, last_row, first_column, last_column))
            case _:
                pass

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = start
    while block := source.read(_READ_BYTES):
        parser.Parse(block)
    parser.Parse(b"", True)
    return layout


def _is_hidden(attributes: dict[str, str], size: str) -> bool:
    if attributes.get("hidden") in ("1", "true"):
        return True
    try:
        return float(attributes.get(size, "1")) < _LEAST_SIZE
    except ValueError:
        return False


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else default
