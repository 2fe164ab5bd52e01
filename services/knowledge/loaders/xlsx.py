"""Excel workbooks: one sheet is one page with a table."""

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path

import openpyxl

from services.knowledge.loaders.outline import table_sections
from services.knowledge.models import Section

_PERCENT = re.compile(r"^0(?:\.(0+))?%$")
_VISIBLE = "visible"


def load(path: Path) -> Iterator[Section]:
    """A table for each visible sheet, with the sheet's name as heading and its number among all sheets as page.

    Cells show the values that Excel stored, not formulas; a formula that no program has computed yet is empty. Hidden
    sheets are left out: their author did not mean them to be read.
    """
    # From a path, openpyxl would look at the extension, and stored files have none.
    with path.open("rb") as file:
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True)
        for number, name in enumerate(workbook.sheetnames, start=1):
            sheet = workbook[name]
            # A chart sheet has no cells.
            if not hasattr(sheet, "iter_rows") or sheet.sheet_state != _VISIBLE:
                continue
            # Programs write wrong dimensions, from one cell to the full grid; openpyxl would trust them.
            sheet.reset_dimensions()
            rows = ([shown(cell.value, cell.number_format) for cell in row] for row in sheet.iter_rows())
            yield from table_sections([row for row in rows if any(row)], number, (name,))
        workbook.close()


def shown(value: object, number_format: str | None = None) -> str:
    """A cell's value as a reader sees it: dates without midnight, percentages, numbers without float noise."""
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
