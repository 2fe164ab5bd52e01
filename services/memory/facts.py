"""Hard facts in a text: those that a summary must keep, and a check that it did."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from services.text.cleaning import compatible, separated
from services.text.numerals import SIGNS, UNITS
from services.text.sentences import clauses, cut_place, sentences

_UNIT = (
    f"{UNITS}|分|角|万|亿|千|百|节|室|厘米|毫米|千米|克|千克|公斤|斤|吨|升|毫升|度|寸|平|字|篇|%|℃|"
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
    | (?P<numeral>(?<![{SIGNS}])(?:[{SIGNS}]{{2,20}}|[二三四五六七八九十])(?:{_UNIT})+)
    """,
    re.VERBOSE,
)
# The number of a list item. Before further digits it is a number itself: 12.5, or the first of "20、30".
_LIST_MARK = re.compile(r"^[ \t]*\d{1,2}(?:\.(?![A-Za-z\d])|[、)](?![ \t]*\d))[ \t]*", re.MULTILINE)
_BETWEEN_DIGITS = re.compile(r"[ \t,]+")
_CLAUSE_CHARS = 80
_PIECE_CHARS = 2_000
_CUT_BEFORE = re.compile(rf"^[A-Za-z\d.,:/@_\-{SIGNS}]+")
_CUT_BEHIND = re.compile(rf"[A-Za-z\d.,:/@_\-{SIGNS}]+$")


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
        end = cut_place(line, start, _PIECE_CHARS)
        yield line[start:end]
        start = end
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


def without_new_facts(lines: list[str], summary: str) -> str:
    """Return a summary without the sentences that state a fact of which `lines` know nothing.

    What a summary says counts as said in the conversation, so a figure of the model's own would vouch for itself.
    Numerals in words are left alone: 二号 may count what was said.
    """
    said = "\n".join(lines)
    kept = [
        "".join(sentence for sentence in sentences(line) if not any(map(_has_code, lost_facts(sentence, said))))
        for line in summary.split("\n")
    ]
    return "\n".join(line for line in kept if line.strip())


def _has_code(fact: str) -> bool:
    return any(character.isascii() and character.isalnum() for character in fact)


def clauses_with(lines: Iterable[str], lost: Iterable[str]) -> list[str]:
    """Return for each lost fact the clause that contains it, verbatim, so that the number keeps its meaning.

    Of a clause longer than 80 characters only the surroundings of the fact are returned. Every clause is one line.
    """
    said_before = [_Text(clause.strip()) for text in lines for line in text.split("\n") for clause in clauses(line)]
    stating: dict[str, list[_Text]] = {}
    for clause in said_before:
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
    return compatible(separated(text))


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
    elif first in SIGNS:
        before = f"(?<![{SIGNS}])"
    elif first.isascii() and first.isalpha():
        before = r"(?<![a-z\d])"
    if last.isdecimal():
        behind = r"(?!\d|\.\d|,\d{3}(?!\d))"
    elif last.isascii() and last.isalpha():
        behind = r"(?![a-z\d])"
    return before + "".join(parts) + behind
