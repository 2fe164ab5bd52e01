"""The numbers and codes of a text in one notation, so that those of an answer can be found in its passages."""

import re
from collections.abc import Iterator

from services.index.tokens import normalise
from services.text.numerals import DIGITS, SCALES, numeral_value

_SIGNS = "".join((*DIGITS, *SCALES))
_UNIT = "[年月日号天周点时秒元块人名位次页章条项版期届级班楼倍折岁米个份台本]|星期|小时|分钟|公里"
# No number is longer. A longer run is not a number and must not turn into one of thousands of digits.
_MAX_SIGNS = 12
_NUMERAL = re.compile(rf"[{_SIGNS}]{{1,{_MAX_SIGNS}}}")
# A numeral that is certainly meant as one: two or more signs, one before a unit, or a day of the week. A single 一 or
# 两 is a manner of speaking, and so are 十分, 千万 and 万一.
_SURE_NUMERAL = re.compile(
    rf"(?<![第{_SIGNS}])(?!千万|百万|万一|万千|一一|一两|两三|三三|千百)[{_SIGNS}]{{2,{_MAX_SIGNS}}}|[二三四五六七八九十](?={_UNIT})|(?<=[周期])[一二三四五六](?!\w{{0,8}}期)"
)
_SCALED = re.compile(rf"(?<![a-z0-9.])(\d+(?:\.\d+)?)\s*([{''.join(SCALES)}]+)")
_TOKEN = re.compile(r"[a-z0-9]+(?:[._\-/:#@+]+[a-z0-9]+)*")
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_CLOCK_TIME = re.compile(r"(?<![\d.:])(\d{1,2}):(\d{2})(?![\d.:])")
# 十点半, 10点30分, 下午两点一刻, 22时
_SPOKEN_TIME = re.compile(
    rf"(\d{{1,2}}|[{_SIGNS}]{{1,3}})\s*[点时](?:(半)|([一三])刻|(\d{{1,2}}|[{_SIGNS}]{{1,3}})分?)?"
)
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)[a-z]{1,3}")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_AFTERNOON = re.compile(r"下午|傍晚|晚|夜|pm")
_CLOCK = re.compile(r"\d:\d\d|\d\s*[点时]")
_LIST_MARK = re.compile(
    r"^[^\S\n]*(?:[(（]?\d{1,2}[.、)）](?!\d)|第[一二三四五六七八九十]{1,4}[步点类种条]?[，,、：:])[^\S\n]*",
    re.MULTILINE,
)


def figures(text: str) -> frozenset[str]:
    """Return what a sentence states: its numbers by value and its codes.

    List marks and manners of speaking are left out.

    >>> sorted(figures("1. 每晚 5,000 元（三百五十元封顶），见 ERR-4032"))
    ['350', '5000', 'err4032']
    """
    normal = normalise(_LIST_MARK.sub("", _separated(text)))
    times = {_time(match) for match in _CLOCK_TIME.finditer(normal)}
    normal = _CLOCK_TIME.sub(" ", normal)
    scaled = _SCALED.sub(lambda match: f"{_plain(_scaled(match))} ", normal)
    numerals = (str(numeral_value(match)) for match in _SURE_NUMERAL.findall(scaled))
    return frozenset((*times, *_latin(scaled), *numerals))


def stated_figures(text: str) -> frozenset[str]:
    """Return everything in a passage that can be read as a number or a code, in every common reading.

    >>> stated_figures("晚上十点半熄灯") >= {"10", "30"}
    True
    """
    normal = normalise(_separated(text))
    found = {*_latin(normal), *(str(numeral_value(match)) for match in _NUMERAL.findall(normal))}
    found.update(_plain(_scaled(match)) for match in _SCALED.finditer(normal))
    # 周三四 and 三五天 name several numbers.
    rows = (row for row in _NUMERAL.findall(normal) if SCALES.keys().isdisjoint(row))
    found.update(str(DIGITS[sign]) for row in rows for sign in row)
    if "半" in normal:
        found.update(("30", "0.5"))
    found.update(_times(normal))
    hours = {int(value) for value in found if value.isdecimal() and int(value) <= 24}
    if _AFTERNOON.search(normal):
        found.update(str(hour + 12) for hour in hours if hour < 12)
    if _CLOCK.search(normal):
        found.update(str(hour - 12) for hour in hours if hour > 12)
    return frozenset(found)


def _time(match: re.Match[str]) -> str:
    return f"{int(match.group(1))}:{match.group(2)}"


def _times(normal: str) -> Iterator[str]:
    """Yield every time of day in a passage, in the readings of a twelve-hour and a twenty-four-hour clock."""
    for match in _CLOCK_TIME.finditer(normal):
        yield from _readings(int(match.group(1)), int(match.group(2)))
    for match in _SPOKEN_TIME.finditer(normal):
        hour, half, quarters, minutes = match.groups()
        minute = 30 if half else 15 * DIGITS[quarters] if quarters else _number(minutes) if minutes else 0
        yield from _readings(_number(hour), minute)


def _readings(hour: int, minute: int) -> Iterator[str]:
    for reading in (hour - 12, hour, hour + 12):
        if 0 <= reading <= 24:
            yield f"{reading}:{minute:02d}"


def _number(written: str) -> int:
    return int(written) if written.isdecimal() else numeral_value(written)


def _separated(text: str) -> str:
    # A full-width comma separates; normalisation would turn it into the comma of a number.
    return text.replace("，", "。").replace("百分之", " ")


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
