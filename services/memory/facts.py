"""Hard facts in a text: those that a summary must keep, and a check that it did."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from services.text.cleaning import without_stacked_marks

_NUMERAL = "一二两三四五六七八九十百千万亿"
_UNIT = (
    "年|月|日|号|天|周|星期|点|时|分|秒|小时|分钟|元|块|角|万|亿|千|百|人|个|名|位|次|页|章|节|条|项|版|期|届|级|班|楼|室|"
    "米|厘米|毫米|公里|千米|克|千克|公斤|斤|吨|升|毫升|度|倍|岁|折|寸|平|字|篇|份|本|台|%|℃|"
    # Not the first letter of a word: "3500 元 https://…".
    "(?:KB|MB|GB|TB|kg|km|cm|mm|ms|s|h)(?![A-Za-z])"
)
# From the most specific to the least: an address is one fact, not several numbers. Every repetition that may not lead
# to a match is bounded, so that a long run is not read again from each of its characters.
_FACT = re.compile(
    rf"""
    (?P<url>(?:(?:https?|ftp)://|www\.)[!#-&*-;=?-~]+)
    | (?P<mail>[A-Za-z0-9_.+-]{{1,64}}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)
    | (?P<file>[\w\-.()+]{{1,100}}
        \.(?:pdf|docx?|pptx?|xlsx?|csv|txt|md|html?|zip|rar|7z|png|jpe?g|py|json|ya?ml|exe|apk)\b)
    | (?P<code>(?<![A-Za-z0-9])(?=[A-Za-z0-9._-]{{0,80}}\d)(?=[A-Za-z0-9._-]{{0,80}}[A-Za-z])
        [A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*)
    | (?P<number>(?<![A-Za-z0-9.])\d[\d,]*(?:[.:/\-]\d+)*(?:[ \t]?(?:{_UNIT}))*
        (?:\d+(?:[.:]\d+)*(?:{_UNIT})+)*)
    | (?P<numeral>(?<![{_NUMERAL}])(?:[{_NUMERAL}]{{2,20}}|[二三四五六七八九十])(?:{_UNIT})+)
    """,
    re.VERBOSE,
)
_CLAUSE_END = re.compile(r"(?<=[。！？；，\n])|(?<=[!?;])(?=\s)")
# The number of a list item. Before further digits it is a number itself: 12.5, or the first of "20、30".
_LIST_MARK = re.compile(r"^[ \t]*\d{1,2}(?:\.(?![A-Za-z\d])|[、)](?![ \t]*\d))[ \t]*", re.MULTILINE)
_BETWEEN_DIGITS = re.compile(r"[ \t,]+")
_CLAUSE_CHARS = 80
_PIECE_CHARS = 2_000
_CUT_BEFORE = re.compile(rf"^[A-Za-z\d.,:/@_\-{_NUMERAL}]+")
_CUT_BEHIND = re.compile(rf"[A-Za-z\d.,:/@_\-{_NUMERAL}]+$")


def facts(text: str) -> list[str]:
    """Return addresses, file names, codes, dates and numbers with their units, each once, in order of appearance.

    >>> facts("周五前把 3500 元报销单发到 a@b.cn，模板见 报销.docx")
    ['3500 元', 'a@b.cn', '报销.docx']
    """
    found: dict[str, None] = {}
    for line in _LIST_MARK.sub("", _normal(text)).split("\n"):
        for match in (match for piece in _pieces(line) for match in _FACT.finditer(piece)):
            fact = match.group().rstrip(".,:-/")
            # A bare single digit is a list mark or a manner of speaking.
            if len(fact) > 1:
                found.setdefault(fact)
    return list(found)


def _pieces(line: str) -> Iterator[str]:
    """Yield a line in pieces of 2,000 characters, cut between clauses or words if possible.

    One search holds the interpreter until it ends; a piece is searched in milliseconds.
    """
    start = 0
    while len(line) - start > _PIECE_CHARS:
        end = start + _PIECE_CHARS
        half = start + _PIECE_CHARS // 2
        # A fact may contain a space before its unit.
        stop = max(line.rfind(sign, half, end) for sign in "。；、！？")
        cut = (stop if stop >= 0 else line.rfind(" ", half, end)) + 1 or end
        yield line[start:cut]
        start = cut
    yield line[start:]


def contains(text: str, fact: str) -> bool:
    """Return whether `fact` occurs in `text`, on one line and not as part of a longer number or word.

    Letter case, thousands separators and the space before a unit make no difference.
    """
    return _Text(text).contains(fact)


def lost_facts(original: str, summary: str) -> list[str]:
    """Return the facts of `original` that `summary` does not contain."""
    kept = _Text(summary)
    return [fact for fact in facts(original) if not kept.contains(fact)]


def clauses_with(lines: Iterable[str], lost: Iterable[str]) -> list[str]:
    """Return for each lost fact the clause that contains it, verbatim, so that the number keeps its meaning.

    Of a clause longer than 80 characters only the surroundings of the fact are returned. Every clause is one line.
    """
    clauses = [_Text(clause.strip()) for line in lines for clause in _CLAUSE_END.split(line) if clause.strip()]
    stating: dict[str, list[_Text]] = {}
    for clause in clauses:
        for fact in facts(clause.text):
            stating.setdefault(fact, []).append(clause)
    kept: dict[str, None] = {}
    said: set[str] = set()
    for fact in lost:
        if fact in said:
            continue
        clause = next((clause for clause in stating.get(fact, ()) if clause.contains(fact)), _Text(fact))
        text = clause.text if len(clause.text) <= _CLAUSE_CHARS else _around(clause, fact)
        kept.setdefault(text)
        said.update(_stated(text))
    return list(kept)


class _Text:
    """A text that is searched for many facts, normalised once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.normal = _normal(text)
        self._folded = self.normal.casefold()
        self._compact = _BETWEEN_DIGITS.sub("", self._folded)

    def contains(self, fact: str) -> bool:
        folded = _normal(fact).casefold()
        # Cheaper than the pattern, and true of every text that the pattern matches.
        if _BETWEEN_DIGITS.sub("", folded) not in self._compact:
            return False
        return re.search(_pattern(folded), self._folded) is not None


def _stated(line: str) -> list[str]:
    """Return the facts that a line states by itself, also to the next summary.

    The 20 of "20）" is not one: it would be read as the number of a list item.
    """
    text = _Text(line)
    return [fact for fact in facts(line) if text.contains(fact)]


def _around(clause: _Text, fact: str) -> str:
    normal = clause.normal
    place = normal.find(fact)
    if place < 0:
        return fact
    start, end = place - _CLAUSE_CHARS // 2, place + len(fact)
    before, behind = normal[max(0, start) : place], normal[end : end + _CLAUSE_CHARS // 4]
    # A number or name cut in two would be a false fact.
    if start > 0:
        before = _CUT_BEFORE.sub("", before)
    if end + len(behind) < len(normal):
        behind = _CUT_BEHIND.sub("", behind)
    part = (before + fact + behind).strip()
    return part if fact in _stated(part) else fact


def _normal(text: str) -> str:
    # A full-width comma separates; NFKC would turn it into the comma of a number.
    return unicodedata.normalize("NFKC", without_stacked_marks(text.replace("，", "。")))


def _pattern(fact: str) -> str:
    """Return a pattern for a fact in all its spellings, with nothing before or after that would extend it."""
    signs = re.sub(r"[ \t]+|(?<=\d),+", "", fact)
    parts: list[str] = []
    for sign, following in pairwise([*signs, ""]):
        parts.append(re.escape(sign))
        if sign.isdecimal() and following:
            parts.append(",*" if following.isdecimal() else r",*[ \t]*")
        elif not sign.isascii() and following.isdecimal():
            parts.append(r"[ \t]*")
    first, last = signs[0], signs[-1]
    before = behind = ""
    if first.isdecimal():
        # 500 is not in 13,500.
        before = r"(?<![\d.])" + (r"(?<!\d,)" if re.match(r"\d{3}(?!\d)", signs) else "")
    elif first in _NUMERAL:
        before = f"(?<![{_NUMERAL}])"
    elif first.isascii() and first.isalpha():
        before = r"(?<![a-z\d])"
    if last.isdecimal():
        behind = r"(?!\d|\.\d|,\d{3}(?!\d))"
    elif last.isascii() and last.isalpha():
        behind = r"(?![a-z\d])"
    return before + "".join(parts) + behind
