"""The rows of a table with the largest or smallest value that a question asks for."""

import re
from collections.abc import Mapping, Sequence

from services.index.tokens import index_terms_of_normal, normalise

_LARGEST = re.compile(
    r"最(?:大|高|多|长|贵|晚|重|远|厚|宽|深|强)|\b(?:largest|highest|biggest|most|longest|latest|maximum|max|best)\b"
)
_SMALLEST = re.compile(
    r"最(?:小|低|少|短|便宜|早|轻|近|薄|窄|浅|省)|\b(?:smallest|lowest|least|fewest|shortest|cheapest|earliest|minimum|min)\b"
)
_SLOWEST, _FASTEST = re.compile(r"最慢|\bslowest\b"), re.compile(r"最快|\bfastest\b")
_PRICED = re.compile(r"贵|便宜|cheap|expensive")
_PRICE = re.compile(r"[价费元]|金额|price|cost|fee")
_TIME = re.compile(r"时间|耗时|用时|秒|分钟|时长|延迟|time|latency|\bm?s\b|\(s\)|seconds")
# What is left is in the last row of an account.
_LEFT = re.compile(r"还剩|剩下|剩余|剩多少|还有多少|余额|结余|\bbalance\b|\bleft\b")
_LEFT_COLUMN = re.compile(r"余额|结余|剩余|余款|库存|balance|remaining")
_DATE = re.compile(r"\d{4}\s*[-/.年]\s*\d{1,2}|\d{1,2}\s*[-/.月]\s*\d{1,2}")
_EACH, _WHOLE = re.compile(r"单价|售价|现价|unit price"), re.compile(r"^总|合计|全程|total|overall")
_NUMBER = re.compile(r"\s*[¥$￥≥≤<>~约]*\s*(?P<number>-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)")
_SCALES = {"千": 1e3, "k": 1e3, "万": 1e4, "m": 1e6, "亿": 1e8, "g": 1e9, "t": 1e12}
# The last rows of many tables are no thing of their own.
_TOTAL = re.compile(r"\s*(?:合\s*计|总\s*计|小\s*计|共\s*计|汇\s*总|平\s*均|total|sum|average)", re.IGNORECASE)
# Two rows are a comparison that the reader makes; a column with fewer numbers is not one of numbers.
_FEWEST_ROWS, _NUMERIC_SHARE = 3, 0.7


def wants_extreme(question: str) -> bool:
    """Return whether a question asks for the largest or smallest of something.

    >>> wants_extreme("最便宜的商品"), wants_extreme("商品多少钱")
    (True, False)
    """
    normal = normalise(question)
    return any(pattern.search(normal) for pattern in (_LARGEST, _SMALLEST, _SLOWEST, _FASTEST, _LEFT))


def extremes(question: str, names: Sequence[str], rows: Mapping[int, Sequence[str]]) -> frozenset[int]:
    """Return the numbers of the rows with the largest or smallest value that a question asks for.

    `names` are the columns, and `rows` maps numbers to cells. The column is the one whose name has most in common with
    the question. Nothing is returned for fewer than three rows, and if no column is named and several hold numbers.
    """
    if len(rows) < _FEWEST_ROWS:
        return frozenset()
    values = {number: row for number, row in rows.items() if not (row and _TOTAL.match(row[0]))}
    return frozenset(_extremes(normalise(question), [normalise(name) for name in names], values))


def _extremes(question: str, names: Sequence[str], rows: Mapping[int, Sequence[str]]) -> set[int]:
    numeric = [column for column in range(len(names)) if _is_numeric(column, rows)]
    left = [column for column in numeric if _LEFT_COLUMN.search(names[column])] if _LEFT.search(question) else []
    if len(left) == 1 and _is_account(rows):
        filled = [number for number, row in rows.items() if _value(row, left[0]) is not None]
        return {max(filled)}
    column = _asked_column(question, names, numeric)
    if column is None:
        return set()
    is_largest = _wants_largest(question, names[column])
    if is_largest is None:
        return set()
    values = {place: value for place, row in rows.items() if (value := _value(row, column)) is not None}
    wanted = (max if is_largest else min)(values.values())
    return {place for place, value in values.items() if value == wanted}


def _is_account(rows: Mapping[int, Sequence[str]]) -> bool:
    """Return whether the rows follow each other in time, unlike those of a stock of things."""
    dated = sum(any(_DATE.match(normalise(cell)) for cell in row[:2]) for row in rows.values())
    return dated >= _NUMERIC_SHARE * len(rows)


def _wants_largest(question: str, name: str) -> bool | None:
    if _SLOWEST.search(question) or _FASTEST.search(question):
        is_slowest = _SLOWEST.search(question) is not None
        return is_slowest if _TIME.search(name) else not is_slowest
    if _LARGEST.search(question):
        return True
    return False if _SMALLEST.search(question) else None


def _asked_column(question: str, names: Sequence[str], numeric: Sequence[int]) -> int | None:
    asked = frozenset(index_terms_of_normal(question))
    shared = {column: len(asked & frozenset(index_terms_of_normal(names[column]))) for column in numeric}
    if _PRICED.search(question):
        shared = {column: count + bool(_PRICE.search(names[column])) for column, count in shared.items()}
    if _SLOWEST.search(question) or _FASTEST.search(question):
        shared = {column: count + bool(_TIME.search(names[column])) for column, count in shared.items()}
    most = max(shared.values(), default=0)
    best = [column for column, count in shared.items() if count == most]
    if len(best) > 1 and most:
        # The usual one is meant: what one piece costs, and how long all steps took together.
        usual = _EACH if _PRICED.search(question) else _WHOLE
        best = [column for column in best if usual.search(names[column])]
    return best[0] if len(best) == 1 and (most or len(numeric) == 1) else None


def _is_numeric(column: int, rows: Mapping[int, Sequence[str]]) -> bool:
    found = [_value(row, column) for row in rows.values()]
    return sum(value is not None for value in found) >= max(_FEWEST_ROWS, _NUMERIC_SHARE * len(found))


def _value(row: Sequence[str], column: int) -> float | None:
    """Return the number with which a cell begins, such as 144 for 144G; the scale of its unit counts."""
    cell = normalise(row[column]) if column < len(row) else ""
    found = _NUMBER.match(cell)
    if found is None:
        return None
    unit = cell[found.end() :].strip()[:1]
    return float(found["number"].replace(",", "")) * _SCALES.get(unit, 1.0)
