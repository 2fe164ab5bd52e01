"""Hard facts in a text: what a summary must not lose, and whether it did."""

import re
import unicodedata
from collections.abc import Iterable

_NUMERAL = "一二两三四五六七八九十百千万亿"
_UNIT = (
    "年|月|日|号|天|周|星期|点|时|分|秒|小时|分钟|元|块|角|万|亿|千|百|人|个|名|位|次|页|章|节|条|项|版|期|届|级|班|楼|室|"
    "米|厘米|毫米|公里|千米|克|千克|公斤|斤|吨|升|毫升|度|倍|岁|折|寸|平|字|篇|份|本|台|%|％|℃|KB|MB|GB|TB|kg|km|cm|mm|ms|s|h"
)
# From the most specific to the least: an address is one fact, not several numbers.
_FACT = re.compile(
    rf"""
    (?P<url>(?:https?|ftp)://[^\s<>"'，。；、！？）】」』]+|www\.[^\s<>"'，。；、！？）】」』]+)
    | (?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    | (?P<file>[\w\-.（）()+]+\.(?:pdf|docx?|pptx?|xlsx?|csv|txt|md|html?|zip|rar|7z|png|jpe?g|py|json|ya?ml|exe|apk)\b)
    | (?P<code>(?<![A-Za-z0-9])(?=[A-Za-z0-9._-]*\d)(?=[A-Za-z0-9._-]*[A-Za-z])[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*)
    | (?P<number>(?<![A-Za-z0-9.])\d[\d,]*(?:[.:：/\-]\d+)*(?:\s?(?:{_UNIT}))*
        (?:\d+(?:[.:：]\d+)*(?:{_UNIT})+)*)
    | (?P<numeral>(?:[{_NUMERAL}]{{2,}}|[二三四五六七八九十])(?:{_UNIT})+)
    """,
    re.VERBOSE,
)
_CLAUSE_END = re.compile(r"(?<=[。！？；，\n])|(?<=[!?;])(?=\s)")
_LIST_MARK = re.compile(r"^\s*\d{1,2}[.、)）]\s*", re.MULTILINE)
_CLAUSE_CHARS = 80


def facts(text: str) -> list[str]:
    """Addresses, file names, codes, dates and numbers with their units, each once, in order of appearance.

    >>> facts("周五前把 3500 元报销单发到 a@b.cn，模板见 报销.docx")
    ['3500 元', 'a@b.cn', '报销.docx']
    """
    found: dict[str, None] = {}
    # A full-width comma separates; NFKC would make it the comma of a number.
    normal = unicodedata.normalize("NFKC", text.replace("，", "、"))
    for match in _FACT.finditer(_LIST_MARK.sub("", normal)):
        fact = match.group().rstrip(".,:：-/")
        # A bare single digit is a list mark or a manner of speaking.
        if len(fact) > 1:
            found.setdefault(fact)
    return list(found)


def contains(text: str, fact: str) -> bool:
    """Whether `fact` stands in `text` as itself, not as part of a longer number or word."""
    plain, wanted = _plain(text), _plain(fact)
    edge_before = r"(?<![0-9.])" if wanted[0].isdigit() else r"(?<![a-z0-9])" if wanted[0].isascii() else ""
    edge_after = r"(?![0-9])" if wanted[-1].isdigit() else r"(?![a-z0-9])" if wanted[-1].isascii() else ""
    return re.search(edge_before + re.escape(wanted) + edge_after, plain) is not None


def lost_facts(original: str, summary: str) -> list[str]:
    """The facts of `original` that `summary` does not contain."""
    return [fact for fact in facts(original) if not contains(summary, fact)]


def clauses_with(lines: Iterable[str], lost: Iterable[str]) -> list[str]:
    """For each lost fact the clause it stands in, verbatim, so that the number keeps its meaning.

    A clause longer than 80 characters gives the fact's surroundings only.
    """
    clauses = [clause.strip() for line in lines for clause in _CLAUSE_END.split(line) if clause.strip()]
    kept: dict[str, None] = {}
    for fact in lost:
        if any(contains(clause, fact) for clause in kept):
            continue
        clause = next((clause for clause in clauses if contains(clause, fact)), fact)
        if len(clause) > _CLAUSE_CHARS:
            clause = _around(clause, fact)
        kept.setdefault(clause)
    return list(kept)


def _around(clause: str, fact: str) -> str:
    normal = unicodedata.normalize("NFKC", clause)
    place = normal.find(fact)
    if place < 0:
        return fact
    start = max(0, place - _CLAUSE_CHARS // 2)
    part = normal[start : place + len(fact) + _CLAUSE_CHARS // 4]
    # Cutting may have cut another number in two, which would then be a false fact.
    return part if contains(part, fact) and start == 0 else fact


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).lower().replace(",", "")
    return re.sub(r"\s+", "", text)
