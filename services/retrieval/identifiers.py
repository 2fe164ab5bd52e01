"""Identifiers: the names of one device, order or error, such as AB09999, C247-4540 or QZ-007-149.

A person who writes one asks about exactly that thing. A record of another thing looks almost the same to an embedding,
and would answer the question wrongly.
"""

import re
from collections.abc import Iterable

from services.index.tokens import normalise

_HYPHENS = r"\-_\u00ad\u02d7\u2010-\u2015\u2212\u2043\ufe58"
_WORD = re.compile(rf"[a-z0-9]+(?:[{_HYPHENS}]+[a-z0-9]+)*")
# An address on the net or of a mailbox names a place, not a thing in a document.
_ADDRESS = re.compile(r"(?:[a-z]+://|www\.)[!-~]+|[a-z0-9._%+\-]+@[a-z0-9.\-]+")
# 500mb and 0-100km are amounts, 2023q1 and 2024-05-01t10 are dates, Word2016 is a product and a year.
_AMOUNT_OR_DATE = re.compile(
    r"\d+[a-z]{1,3}|\d{1,3}[a-z]{0,3}-\d{1,3}[a-z]{1,2}"
    r"|(?:19|20)\d\d[-_]?[qhw]\d+|(?:19|20)\d\d-\d\d?-\d\d?t\d+|[a-z]{4,}[-_]?(?:19|20)\d\d"
)
# A bare number is an identifier where it is called one.
_CALLED_NUMBER = re.compile(
    r"(?:批号|编号|货号|学号|工号|单号|订单号?|型号|代码|证号|序列号)\s*[:为是]?\s*(\d{4,})(?![\d.])"
    r"|(?<![\d.])(\d{5,})\s*[那这]?(?:批|号(?![楼线])|款|型)"
)
_RUN = re.compile(r"[a-z]+|[0-9]+")
_MIN_DIGITS = 3
# No question needs more, and each is looked for in every candidate.
_MAX_IDENTIFIERS = 16


def identifiers(text: str) -> frozenset[str]:
    """Return the identifiers in a text: words with a letter and three digits, or with a number that begins with 0.

    Win10, H5 and A4 are no identifiers: a text that answers may well write them differently. Dates are not, and numbers
    only where they are called so: 批号 45950, 45950 这批.

    >>> sorted(identifiers("ＡＢ09999 和 qz–007–149 在 2024-05-01 用了 500MB"))
    ['ab09999', 'qz-007-149']
    """
    found: dict[str, None] = {}
    normal = _ADDRESS.sub(" ", normalise(text))
    for number in _CALLED_NUMBER.finditer(normal):
        found[number[1] or number[2]] = None
    for word in _WORD.finditer(normal):
        runs = _RUN.findall(word[0])
        numbers = [run for run in runs if run.isdigit()]
        distinctive = sum(map(len, numbers)) >= _MIN_DIGITS or any(len(run) > 1 and run[0] == "0" for run in numbers)
        if 0 < len(numbers) < len(runs) and distinctive and not _AMOUNT_OR_DATE.fullmatch(word[0]):
            found[re.sub(rf"[{_HYPHENS}]+", "-", word[0])] = None
    return frozenset(list(found)[:_MAX_IDENTIFIERS])


def contains_any(text: str, wanted: Iterable[str]) -> bool:
    """Return whether a text contains one of the identifiers, as a whole and with whatever hyphens or spaces.

    Letters may follow its last digit: W25N01GV is a kind of W25N01.

    >>> contains_any("型号 AB-09999 的保修期", ["ab09999"]), contains_any("型号 AB099990", ["ab09999"])
    (True, False)
    """
    normal = normalise(text)
    return any(re.search(_pattern(identifier), normal) for identifier in wanted)


def _pattern(identifier: str) -> str:
    inner = rf"[\s{_HYPHENS}]*".join(_RUN.findall(identifier))
    return rf"(?<![a-z0-9]){inner}(?!{'[0-9]' if identifier[-1].isdigit() else '[a-z0-9]'})"
