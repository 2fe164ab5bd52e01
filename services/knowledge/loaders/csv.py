"""Load tables separated by commas, semicolons, tabs or bars."""

import csv
import io
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import mode

from services.knowledge.loaders.decoding import decode
from services.knowledge.loaders.tables import table_sections
from services.knowledge.models import Omissions, Section

DELIMITERS = ",\t;|"
_SAMPLE_ROWS = 50


def load(path: Path, _omissions: Omissions) -> Iterator[Section]:
    """Yield one table, or plain text for a file with a single column."""
    text = decode(path.read_bytes())
    # A cell longer than the reader's default limit of 128 KiB is unusual but valid.
    csv.field_size_limit(sys.maxsize if sys.maxsize <= 2**31 - 1 else 2**31 - 1)
    rows = list(_rows(text, delimiter_of(text)))
    if all(len(row) <= 1 for row in rows):
        yield Section("\n".join(cell for row in rows for cell in row))
    else:
        yield from table_sections(rows)


def delimiter_of(text: str) -> str:
    """Return the delimiter with which most of the first 50 rows have the same number of cells, more than one."""

    def score(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in islice(_rows(text, delimiter), _SAMPLE_ROWS) if row]
        if not widths or (common := mode(widths)) < 2:
            return 0.0, 0
        return widths.count(common) / len(widths), common

    return max(DELIMITERS, key=score)


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
