"""The numbers and codes of a text in one notation, so that those of an answer can be found in its passages."""

import re
from collections.abc import Iterator

from services.index.tokens import normalise
from services.text.cleaning import separated
from services.text.dates import times_of_day, without_clock_times
from services.text.numerals import DIGITS, ITEM_SIGNS, SCALES, SIGNS, UNITS, numeral_value

# No number is longer. A longer run is not a number and must not turn into one of thousands of digits.
_MAX_SIGNS = 12
_NUMERAL = re.compile(rf"[{SIGNS}]{{1,{_MAX_SIGNS}}}")
# A numeral that is certainly meant as one: two or more signs, one before a unit, or a day of the week. A single 一 or
# 两 is a manner of speaking, and so are 十分, 千万 and 万一.
_SURE_NUMERAL = re.compile(
    rf"(?<![第{SIGNS}])(?!千万|百万|万一|万千|一一|一两|两三|三三|千百)[{SIGNS}]{{2,{_MAX_SIGNS}}}|[二三四五六七八九十](?={UNITS})|(?<=[周期])[一二三四五六](?!\w{{0,8}}期)"
)
_SCALED = re.compile(rf"(?<![a-z0-9.])(\d+(?:\.\d+)?)\s*([{''.join(SCALES)}]+)")
_TOKEN = re.compile(r"[a-z0-9]+(?:[._\-/:#@+]+[a-z0-9]+)*")
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)[a-z]{1,3}")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_AFTERNOON = re.compile(r"下午|傍晚|晚|夜|pm")
_CLOCK = re.compile(r"\d:\d\d|\d\s*[点时]")
_LIST_MARK = re.compile(
    rf"^[^\S\n]*(?:[(（]?\d{{1,2}}[.、)）](?!\d)|第[{ITEM_SIGNS}]{{1,4}}[步点类种条]?[，,、：:])[^\S\n]*",
    re.MULTILINE,
)


def figures(text: str) -> frozenset[str]:
    """Return what a sentence states: its numbers by value and its codes.

    List marks and manners of speaking are left out.

    >>> sorted(figures("1. 每晚 5,000 元（三百五十元封顶），见 ERR-4032"))
    ['350', '5000', 'err4032']
    """
    normal = _normal(_LIST_MARK.sub("", text))
    normal, times = without_clock_times(normal)
    scaled = _SCALED.sub(lambda match: f"{_plain(_scaled(match))} ", normal)
    numerals = (str(numeral_value(match)) for match in _SURE_NUMERAL.findall(scaled))
    return frozenset((*times, *_latin(scaled), *numerals))


def stated_figures(text: str) -> frozenset[str]:
    """Return everything in a passage that can be read as a number or a code, in every common reading.

    >>> stated_figures("晚上十点半熄灯") >= {"10", "30"}
    True
    """
    normal = _normal(text)
    found = {*_latin(normal), *(str(numeral_value(match)) for match in _NUMERAL.findall(normal))}
    found.update(_plain(_scaled(match)) for match in _SCALED.finditer(normal))
    # 周三四 and 三五天 name several numbers.
    rows = (row for row in _NUMERAL.findall(normal) if SCALES.keys().isdisjoint(row))
    found.update(str(DIGITS[sign]) for row in rows for sign in row)
    if "半" in normal:
        found.update(("30", "0.5"))
    found.update(times_of_day(normal))
    hours = {int(value) for value in found if value.isdecimal() and int(value) <= 24}
    if _AFTERNOON.search(normal):
        found.update(str(hour + 12) for hour in hours if hour < 12)
    if _CLOCK.search(normal):
        found.update(str(hour - 12) for hour in hours if hour > 12)
    return frozenset(found)


def _normal(text: str) -> str:
    return normalise(separated(text).replace("百分之", " "))


def _latin(normal: str) -> Iterator[str]:
    for token in _TOKEN.findall(_THOUSANDS.sub("", normal)):
        if "://" in token or "@" in token:
            yield _bare(token)
        elif not any(character.isdigit() for character in token):
            continue
        elif measure := _MEASURE.fullmatch(token):
            yield _plain(float(measure.group(1)))
        elif any(character.isalpha() for character in token) or token.count(".") > 1:
            yield _bare(token)
        else:
            # The zeros of 13:00 carry no information.
            parts = [_plain(float(part)) for part in _DECIMAL.findall(token)]
            yield from (part for part in parts if part != "0" or len(parts) == 1)


def _bare(token: str) -> str:
    """Return a code without its joiners, so that ERR-4032 equals err_4032, and v1.2.0 equals 1.2.0."""
    return re.sub(r"^v(?=\d)", "", re.sub(r"[_\-/:#@+]", "", token))


def _scaled(match: re.Match[str]) -> float:
    value = float(match.group(1))
    for sign in match.group(2):
        value *= SCALES[sign]
    return value


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.6f}".rstrip("0").rstrip(".")
