"""Lay out tables of any format on a grid, so that every value stays in its column, and turn them into sections."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from services.knowledge.models import Section

# A value that spans rows, such as a two-hour lesson, applies to each of them. Longer texts are passages.
_REPEATED_CHARS = 40
# Word allows 63 columns and HTML 1,000. These limits are enough for real tables; a bomb would use more in every cell.
_MOST_COLUMNS_SPANNED = 100
_MOST_ROWS_SPANNED = 1000
# If fewer cells than this are filled, rows name the column of each value, because most of the text would be bars.
_SPARSE_SHARE = 0.1
_SPARSE_WIDTH = 20
_LONE_BAR = re.compile(r"(?<!\S)\|(?!\S)")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a file, with the number of columns and rows that it spans."""

    text: str
    columns: int = 1
    rows: int = 1


def repeated(text: str) -> str:
    """Return the text of a cell that spans rows, for the rows below its first; "" if it is long."""
    return text if len(text) <= _REPEATED_CHARS else ""


def laid_out(rows: Iterable[Iterable[Cell]]) -> list[list[str]]:
    """Return rows of texts with every cell in its column, as in the HTML table model.

    Spanned columns are empty. In spanned rows a short text is repeated.

    >>> laid_out([[Cell("体育", rows=2), Cell("语文")], [Cell("数学")]])
    [['体育', '语文'], ['体育', '数学']]
    """
    grid: list[list[str]] = []
    # Maps a column to the text that continues from above, and the number of rows that it still covers.
    above: dict[int, tuple[str, int]] = {}
    for row in rows:
        texts: dict[int, str] = {}
        coming: dict[int, tuple[str, int]] = {}
        for column, (text, left) in above.items():
            texts[column] = text
            if left > 1:
                coming[column] = (text, left - 1)
        place = 0
        for cell in row:
            while place in above:
                place += 1
            height = min(cell.rows, _MOST_ROWS_SPANNED)
            for offset in range(max(1, min(cell.columns, _MOST_COLUMNS_SPANNED))):
                text = "" if offset else cell.text
                texts[place + offset] = text
                if height > 1:
                    coming[place + offset] = (repeated(text), height - 1)
            place += max(1, min(cell.columns, _MOST_COLUMNS_SPANNED))
        grid.append([texts.get(column, "") for column in range(max(texts, default=-1) + 1)])
        above = coming
    return grid


def table_sections(
    rows: Iterable[Sequence[str]], page: int | None = None, heading: tuple[str, ...] = ()
) -> Iterator[Section]:
    """Yield the sections of a table; see `sparse_table_sections`."""
    filled = ({column: cell for column, cell in enumerate(row) if cell.strip()} for row in rows)
    return sparse_table_sections(filled, page, heading)


def sparse_table_sections(
    rows: Iterable[dict[int, str]], page: int | None = None, heading: tuple[str, ...] = ()
) -> Iterator[Section]:
    """Yield the sections of a table: its captions as text, then the table with its first row as header.

    A row maps columns, counted from 0, to texts. Rows with a single cell above a wider header are captions (a merged
    title row). Empty rows and columns are dropped; line breaks inside a cell become spaces. A row is written as
    `数学 | 语文 |  | 体育`, with a bar before an empty first cell; empty cells at its end are left out.
    """
    filled = [cells for row in rows if (cells := _on_one_line(row))]
    width = max(map(len, filled), default=0)
    start = 0
    while start < len(filled) and len(filled[start]) == 1 < width:
        start += 1
    captions, body = filled[:start], filled[start:]
    if len(body) < 2:
        captions, body = filled, []
    if captions:
        yield Section("\n".join(_written(captions)), page, heading)
    if body:
        header, *lines = _written(body)
        yield Section("\n".join(lines), page, heading, table=True, header=header)


def _on_one_line(row: dict[int, str]) -> dict[int, str]:
    # A bar between spaces would read as the end of the cell.
    return {column: _LONE_BAR.sub("｜", text) for column, cell in row.items() if (text := " ".join(cell.split()))}


def _written(rows: list[dict[int, str]]) -> list[str]:
    places = {column: place for place, column in enumerate(sorted({column for row in rows for column in row}))}
    cells = sum(map(len, rows))
    if len(places) > _SPARSE_WIDTH and cells < _SPARSE_SHARE * len(places) * len(rows):
        return [_named(row, rows[0]) for row in rows]
    return [_barred({places[column]: text for column, text in row.items()}) for row in rows]


def _barred(row: dict[int, str]) -> str:
    # Without the bar in front, a row with an empty first cell would read like a row of Markdown that begins with a bar.
    return ("" if 0 in row else "| ") + " | ".join(row.get(place, "") for place in range(max(row) + 1))


def _named(row: dict[int, str], header: dict[int, str]) -> str:
    return " | ".join(
        text if row is header else f"{header.get(column) or f'第 {column + 1} 列'}：{text}"
        for column, text in sorted(row.items())
    )
