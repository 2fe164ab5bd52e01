"""Reader of a test set in a CSV file."""

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from statistics import mode

from services.errors import DocumentRejected
from services.evaluation.models import Sample
from services.knowledge.download import too_large
from services.knowledge.inspection import ArchiveLimits, check_content
from services.knowledge.loaders.csv import delimiter_of
from services.knowledge.loaders.decoding import decode
from services.text.cleaning import clean, compatible

MAX_BYTES = 1 << 20
MAX_QUESTIONS = 500
_MAX_RAW_CELL_CHARS = 100_000
# The part of a question that is ever searched. It is cut before cleaning, because Unicode normalisation takes quadratic
# time for a run of combining marks.
_MAX_CELL_CHARS = 1000

_MAX_COLUMNS = 100
_WIDTH_ROWS = 50

_QUESTION = frozenset({"question", "questions", "query", "问题", "问", "提问", "题目"})
_EXPECTED = frozenset({"expected", "answer", "应答", "该答", "期望", "应该回答"})
_DOCUMENT = frozenset({"document", "file", "文件", "文件名", "文档"})
_YES = frozenset({"是", "yes", "y", "1", "true", "答", "应答", "对", "√"})
_NO = frozenset({"否", "no", "n", "0", "false", "不答", "不应答", "不", "×", "x"})


def check_offer(name: str, size: int) -> None:
    """Raise `DocumentRejected` if a file of this name and size (bytes, 0 if unknown) is not worth downloading."""
    if not name.casefold().endswith(".csv"):
        raise DocumentRejected("只能测 CSV 文件，请用 Excel 或 WPS 另存为 CSV。")
    if size > MAX_BYTES:
        raise too_large(MAX_BYTES)


def read_samples(path: Path) -> list[Sample]:
    """Read the questions of a CSV file, at most 500, in any encoding that knowledge bases accept.

    A first row that names a column (question/问题, expected/应答, document/文件) is a header; without one, the first
    column holds the questions. Raise `DocumentRejected` if the file is not a usable test set. Block for up to a tenth
    of a second at the largest size: plain text of at most 1 MB needs no process of its own, only a thread.
    """
    check_content(path, "csv", ArchiveLimits(0, 0, 0))
    try:
        found = list(_samples(decode(path.read_bytes())))
    except csv.Error as error:
        raise DocumentRejected(
            "这个 CSV 文件的格式不对，可能是引号没有成对，请用 Excel 或 WPS 另存为 CSV 后再发。", str(error)
        ) from error
    if not found:
        raise DocumentRejected("文件里没有读到问题，第一列写问题，一行一个。")
    return found


def _samples(text: str) -> Iterator[Sample]:
    rows = _rows(text)
    first = next(rows, [])
    names = [_cell(first, index).casefold() for index in range(min(len(first), _MAX_COLUMNS))]
    question, expected, document = (_column(names, known) for known in (_QUESTION, _EXPECTED, _DOCUMENT))
    if question is None and expected is None and document is None:
        rows = chain([first], rows)
    count = 0
    for row in rows:
        asked = _cell(row, question or 0)
        if not asked:
            continue
        count += 1
        if count > MAX_QUESTIONS:
            raise DocumentRejected(f"题目超过 {MAX_QUESTIONS} 个，请拆成几个文件分别测。")
        named = _cell(row, document)
        label = _label(_cell(row, expected), asked)
        yield Sample(asked, True if label is None and named else label, named)


def _rows(text: str) -> Iterator[list[str]]:
    delimiter = delimiter_of(text)

    def read() -> Iterator[list[str]]:
        # Strict, because an unclosed quotation mark would merge all following rows into one question.
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            # The limit of the csv module is global to the process, and other code changes it.
            if any(len(cell) > _MAX_RAW_CELL_CHARS for cell in row):
                raise csv.Error(f"a cell of more than {_MAX_RAW_CELL_CHARS} characters")
            if row:
                yield row

    widths = [len(row) for row in islice(read(), _WIDTH_ROWS)]
    if widths and mode(widths) == 1:
        # A list of questions: a comma inside a question is not a separator.
        return ([delimiter.join(row)] for row in read())
    return read()


def _column(names: Sequence[str], known: frozenset[str]) -> int | None:
    return next((index for index, name in enumerate(names) if name in known), None)


def _cell(row: Sequence[str], column: int | None) -> str:
    """Return a cell on one line, without characters that must not be stored or shown."""
    cell = row[column] if column is not None and column < len(row) else ""
    return " ".join(clean(cell[:_MAX_CELL_CHARS]).split()) if cell else ""


def _label(cell: str, question: str) -> bool | None:
    word = compatible(cell).casefold()
    if not word:
        return None
    if word not in _YES and word not in _NO:
        raise DocumentRejected(f"「{question[:20]}」这题的应答写的是「{cell[:10]}」，请改成 是 或 否 后再发。")
    return word in _YES
