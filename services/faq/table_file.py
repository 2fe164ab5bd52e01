"""Approved answers as a CSV file, with which a group brings in its own list and takes it away again."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from services.budgets.day import ZONE
from services.errors import DocumentRejected
from services.faq.models import FaqEntry, Pair
from services.faq.pairs import read_pair
from services.faq.wording import normal_question
from services.knowledge.download import too_large
from services.knowledge.inspection import ArchiveLimits, check_content
from services.knowledge.loaders.csv import delimiter_of
from services.knowledge.loaders.decoding import decode
from services.text.cleaning import clean
from services.text.spreadsheets import inert, original

MAX_BYTES = 1 << 20
MAX_PAIRS = 500
_LONGEST_CELL = 100_000
_SHOWN_ERRORS = 5
_NAME_CHARS = 20
_QUESTION = frozenset({"问题", "问", "提问", "question", "questions", "q"})
_ANSWER = frozenset({"回答", "答案", "答", "答复", "answer", "answers", "a"})
_HEADER = ("问题", "回答", "编号", "版本", "状态", "出处", "审核人", "审核时间")


def check_offer(name: str, size: int) -> None:
    """Raise `DocumentRejected` if a file of this name and size (bytes, 0 if unknown) is not worth downloading."""
    if not name.casefold().endswith(".csv"):
        raise DocumentRejected("只能导入 CSV 文件，请用 Excel 或 WPS 另存为 CSV。")
    if size > MAX_BYTES:
        raise too_large(MAX_BYTES)


def read_table(path: Path) -> list[Pair]:
    """Read the pairs of a CSV file, at most 500, in any encoding that knowledge bases accept.

    A first row that names the columns (问题, 回答) is a header; without one, the first two columns count. Raise
    `DocumentRejected` if any row cannot be used, with the numbers of the first lines. Block for some tenths of a
    second at the largest size.
    """
    check_content(path, "csv", ArchiveLimits(0, 0, 0))
    try:
        return _pairs(list(_rows(decode(path.read_bytes()))))
    except csv.Error as error:
        raise DocumentRejected(
            "这个 CSV 文件的格式不对，可能是引号没有成对，请用 Excel 或 WPS 另存为 CSV 后再发。", str(error)
        ) from error


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty, each with the line at which it begins."""
    # Strict, because an unclosed quotation mark would merge all following rows into one answer.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)
    line = 1
    for row in reader:
        # The limit of the csv module is global to the process, and other code changes it.
        if any(len(cell) > _LONGEST_CELL for cell in row):
            raise csv.Error(f"a cell of more than {_LONGEST_CELL} characters")
        if any(cell.strip() for cell in row):
            yield line, row
        line = reader.line_num + 1


def _pairs(rows: Sequence[tuple[int, list[str]]]) -> list[Pair]:
    question, answer, start = _columns(rows[0][1]) if rows else (0, 1, 0)
    if len(rows) - start > MAX_PAIRS:
        raise DocumentRejected(f"问答超过 {MAX_PAIRS} 条，请拆成几个文件分别导入。")
    pairs: list[Pair] = []
    errors: list[str] = []
    seen: dict[str, tuple[int, str]] = {}
    for line, row in rows[start:]:
        pair = read_pair(_cell(row, question), _cell(row, answer))
        if isinstance(pair, str):
            errors.append(f"第 {line} 行{pair}")
            continue
        first, told = seen.setdefault(normal_question(pair.question), (line, pair.answer))
        if first == line:
            pairs.append(pair)
        elif told != pair.answer:
            errors.append(f"第 {line} 行和第 {first} 行是同一个问题，回答不一样")
    if errors:
        more = f"等 {len(errors)} 处" if len(errors) > _SHOWN_ERRORS else ""
        raise DocumentRejected(f"{'；'.join(errors[:_SHOWN_ERRORS])}{more}。")
    if not pairs:
        raise DocumentRejected("文件里没有读到问答，第一列写问题，第二列写回答，一行一条。")
    return pairs


def _columns(header: Sequence[str]) -> tuple[int, int, int]:
    """Return the columns of questions and answers, and the row at which they begin."""
    names = [" ".join(clean(cell[:_NAME_CHARS]).split()).casefold() for cell in header]
    question = next((place for place, name in enumerate(names) if name in _QUESTION), None)
    answer = next((place for place, name in enumerate(names) if name in _ANSWER), None)
    if question is None and answer is None:
        return 0, 1, 0
    if question is None or answer is None:
        raise DocumentRejected(f"表头里没有「{'问题' if question is None else '回答'}」这一列。")
    return question, answer, 1


def _cell(row: Sequence[str], column: int) -> str:
    return original(row[column].strip()) if column < len(row) else ""


def table_file(entries: Sequence[FaqEntry]) -> bytes:
    """Return a CSV file of all entries that a spreadsheet program opens without running anything in it.

    It is encoded in UTF-8 with the byte order mark that Excel needs, and `read_table` reads it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_HEADER)
    for entry in entries:
        cells = (
            entry.question,
            entry.answer,
            str(entry.number),
            str(entry.version),
            "过期" if entry.stale else "有效",
            "；".join(source.place for source in entry.sources),
            str(entry.approver),
            f"{entry.approved_at.astimezone(ZONE):%Y-%m-%d %H:%M}",
        )
        writer.writerow([inert(cell) for cell in cells])
    return text.getvalue().encode("utf-8-sig", "ignore")
