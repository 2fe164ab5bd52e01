"""Load Excel workbooks; each sheet is a page with a table."""

import datetime as dt
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from zipfile import ZipFile

from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.cell.read_only import EmptyCell, ReadOnlyCell
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.colors import Color
from openpyxl.styles.fills import PatternFill
from openpyxl.worksheet.worksheet import Worksheet

from services.knowledge.loaders.colours import WHITE, Colour, blends, from_hex
from services.knowledge.loaders.struck import struck
from services.knowledge.loaders.tables import Grid, sparse_table_sections, with_single_headers
from services.knowledge.loaders.xlsx_layout import MergedRows, SheetLayout, read_layout
from services.knowledge.models import Omissions, Section

_PERCENT = re.compile(r"^0(?:\.(0+))?%$")
_VISIBLE = "visible"
# The limit of Excel; a file may declare more.
_MOST_ROWS = 1_048_576
_LEAST_POINTS = 1.0
_HEADER_ROWS = 12
# The colours 64 and 65 of the indexed palette are the foreground and background colours of the system.
_INDEXED = {0: (0, 0, 0), 1: WHITE, 8: (0, 0, 0), 9: WHITE, 64: (0, 0, 0), 65: WHITE}
_THEME = {0: WHITE, 1: (0, 0, 0)}

_Cell = Cell | MergedCell | ReadOnlyCell | EmptyCell


def load(path: Path, omissions: Omissions) -> Iterator[Section]:
    """Yield a table for each visible sheet, with the sheet's name as heading and its number among all sheets as page.

    Cells have the values that Excel stored, not formulas; a formula that no program has computed yet is empty. Hidden
    sheets, rows, columns and cells are left out, because their author did not intend them to be read.
    """
    # Given a path, openpyxl would check the extension, and stored files have none.
    with path.open("rb") as file:
        reader = ExcelReader(file, read_only=True, data_only=True)
        reader.read()
        parts = {sheet.name: relation.target for sheet, relation in reader.parser.find_sheets()}
        for number, name in enumerate(reader.wb.sheetnames, start=1):
            sheet = reader.wb[name]
            # A chart sheet has no cells.
            if not hasattr(sheet, "iter_rows"):
                continue
            # Some programs write wrong dimensions, from one cell to the full grid, and openpyxl would trust them.
            sheet.reset_dimensions()
            if sheet.sheet_state == _VISIBLE:
                layout = _layout(reader.archive, parts[name])
                rows = _with_single_header(_rows(sheet, layout, omissions), layout)
                yield from sparse_table_sections(rows, number, (name,))
            elif not omissions.hidden_text:
                omissions.hidden_text = any(cell.value is not None for row in _cells(sheet) for cell in row)
        reader.wb.close()


def _layout(archive: ZipFile, part: str) -> SheetLayout:
    with archive.open(part) as source:
        return read_layout(source)


def _cells(sheet: Worksheet) -> Iterator[tuple[_Cell, ...]]:
    return sheet.iter_rows(max_row=_MOST_ROWS)


def _with_single_header(rows: Iterator[tuple[int, dict[int, str]]], layout: SheetLayout) -> Iterator[dict[int, str]]:
    """Yield the rows with a header of several rows as one; it is among the first rows, and the sheet may be long."""
    rows = _with_gaps(rows)
    first = list(islice(rows, _HEADER_ROWS))
    columns = sorted({column for _, row in first for column in row})
    places = {number: place for place, (number, _) in enumerate(first)}
    grid = Grid([[row.get(column, "") for column in columns] for _, row in first])
    for merge in layout.merges:
        if merge.first_row in places and merge.first_column in columns:
            covered = sum(merge.first_column <= column <= merge.last_column for column in columns)
            height = sum(merge.first_row <= number <= merge.last_row for number in places)
            place = columns.index(merge.first_column)
            grid.spans[places[merge.first_row], place] = covered, height
    for row in with_single_headers(grid, fills_columns=False):
        yield {column: text for column, text in zip(columns, row, strict=False) if text}
    yield from (row for _, row in rows)


def _with_gaps(rows: Iterator[tuple[int, dict[int, str]]]) -> Iterator[tuple[int, dict[int, str]]]:
    """Yield the rows with an empty one for every gap between them."""
    last = 0
    for number, row in rows:
        if last and number > last + 1:
            yield number - 1, {}
        yield number, row
        last = number


def _rows(sheet: Worksheet, layout: SheetLayout, omissions: Omissions) -> Iterator[tuple[int, dict[int, str]]]:
    """Yield the number and the visible texts of each row by column.

    Merged cells have their text in the first column of each row.
    """
    merged = MergedRows(layout.merges)
    for number, cells in enumerate(_cells(sheet), start=1):
        merged.enter(number)
        row: dict[int, str] = {}
        for column, cell in enumerate(cells, start=1):
            if cell.value is None or not (text := shown(cell.value, cell.number_format)):
                continue
            merge = merged.at(column)
            is_covered = merge is not None and (merge.first_row, merge.first_column) != (number, column)
            if is_covered or layout.hides_column(column) or number in layout.hidden_rows or not _is_drawn(cell):
                # A zero that is not shown is not hidden text.
                omissions.hidden_text |= cell.value != 0
                continue
            if cell.font.strike:
                text = struck(text)
            if merge is not None:
                merge.text = text
            row[column] = text
        if row:
            yield number, {**merged.repeated(number), **row}


def _is_drawn(cell: _Cell) -> bool:
    """Return whether a cell's format shows its value, in a readable size and a colour different from its background."""
    if isinstance(cell, EmptyCell) or _is_blanked(cell.value, cell.number_format):
        return False
    font, fill = cell.font, cell.fill
    if font.sz is not None and font.sz <= _LEAST_POINTS:
        return False
    colour = _colour(font.color)
    if colour is None:
        return True
    background: Colour | None = WHITE
    if not isinstance(fill, PatternFill):
        background = None
    elif fill.fill_type is not None:
        background = _colour(fill.fgColor) if fill.fill_type == "solid" else None
    return background is None or not blends(colour, background)


def _colour(colour: Color | None) -> Colour | None:
    """Return a colour that is given in full, or is black or white of the theme or palette; None for any other."""
    if colour is None:
        return None
    if colour.type == "rgb":
        return from_hex(str(colour.rgb)[-6:])
    if colour.type == "theme" and not colour.tint:
        return _THEME.get(colour.theme)
    return _INDEXED.get(colour.indexed) if colour.type == "indexed" else None


def _is_blanked(value: object, number_format: str) -> bool:
    """Return whether the section of a number format that applies to this value is empty, as all are in `;;;`.

    The sections are for positive numbers, negative numbers, zero and text (ECMA-376 part 1, 18.8.31).
    """
    sections = number_format.split(";")
    if isinstance(value, str):
        return len(sections) > 3 and not sections[3].strip()
    if len(sections) < 2 or isinstance(value, bool):
        return False
    place = 0
    if isinstance(value, int | float):
        place = 1 if value < 0 else 2 if value == 0 and len(sections) > 2 else 0
    return not sections[place].strip()


def shown(value: object, number_format: str | None = None) -> str:
    """Return a cell's value as shown to a reader: dates without midnight, percentages, numbers without float noise."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "是" if value else "否"
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ", "minutes")
    if isinstance(value, dt.time):
        return value.isoformat("minutes")
    if isinstance(value, int | float):
        percent = _PERCENT.match(number_format or "")
        if percent:
            return f"{value:.{len(percent[1] or '')}%}"
        return str(value) if isinstance(value, int) else format(value, ".15g")
    return str(value)
