"""Durations and times of day as people write them."""

import math
import re
from collections.abc import Iterator
from datetime import timedelta

from services.text.cleaning import compatible
from services.text.numerals import DIGITS, SIGNS, number_value, numeral_value

_NUMBER = rf"(?P<number>\d+(?:\.\d+)?|[{SIGNS}]+|半)"
_UNIT = (
    r"(?P<unit>个?小时|个?钟头?|小時|刻钟?|分钟|分鐘|分|天|日|个?星期|个?礼拜|周"
    r"|days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m)"
)
_PART = re.compile(rf"\s*{_NUMBER}\s*(?:{_UNIT})?(?P<half>半)?\s*零?")
# By the first character of the unit.
_MINUTES = {
    **{"分": 1, "m": 1, "刻": 15, "小": 60, "钟": 60, "h": 60},
    **{"天": 1440, "日": 1440, "d": 1440, "周": 10080, "星": 10080, "礼": 10080},
}
_DURATION_CHARS = 20

_CLOCK_TIME = re.compile(r"(?<![\d.:])(\d{1,2}):(\d{2})(?![\d.:])")
# 十点半, 10点30分, 下午两点一刻, 22时
_SPOKEN_TIME = re.compile(rf"(\d{{1,2}}|[{SIGNS}]{{1,3}})\s*[点时](?:(半)|([一三])刻|(\d{{1,2}}|[{SIGNS}]{{1,3}})分?)?")


def duration(text: str) -> timedelta | None:
    """Return the duration that a text of up to 20 characters states, rounded up to minutes.

    A bare number means minutes. Return None for any other text.

    >>> [str(duration(text)) for text in ("一百二十分钟", "2h", "1天", "一个半小时")]
    ['2:00:00', '2:00:00', '1 day, 0:00:00', '1:30:00']
    """
    if len(text.strip()) > _DURATION_CHARS:
        return None
    plain = re.sub(r"个半(小时|钟头|钟|天|星期|礼拜|周)", r"\1半", compatible(text).strip().lower())
    if plain == "半" or len(plain) > _DURATION_CHARS:
        return None
    minutes, place = 0.0, 0
    while place < len(plain):
        part = _PART.match(plain, place)
        if part is None or (part["unit"] is None and (place or part.end() < len(plain) or part["half"])):
            return None
        factor = 1 if part["unit"] is None else _MINUTES[part["unit"].removeprefix("个")[0]]
        minutes += (_amount(part["number"]) + (0.5 if part["half"] else 0)) * factor
        place = part.end()
        if minutes > 1e6:
            return timedelta.max
    return timedelta(minutes=math.ceil(minutes)) if place else None


def without_clock_times(normal: str) -> tuple[str, frozenset[str]]:
    """Return a normalised text with spaces in place of its times in digits, and these times.

    >>> without_clock_times("22:30 熄灯")
    ('  熄灯', frozenset({'22:30'}))
    """
    times = frozenset(f"{int(hour)}:{minute}" for hour, minute in _CLOCK_TIME.findall(normal))
    return _CLOCK_TIME.sub(" ", normal), times


def times_of_day(normal: str) -> Iterator[str]:
    """Yield every time of day in a normalised text, in the readings of a 12-hour and a 24-hour clock.

    >>> list(times_of_day("晚上十点半熄灯"))
    ['10:30', '22:30']
    """
    for hour, minute in _CLOCK_TIME.findall(normal):
        yield from _readings(int(hour), int(minute))
    for hour, half, quarters, minutes in _SPOKEN_TIME.findall(normal):
        minute = 30 if half else 15 * DIGITS[quarters] if quarters else number_value(minutes) if minutes else 0
        yield from _readings(number_value(hour), minute)


def _readings(hour: int, minute: int) -> Iterator[str]:
    for reading in (hour - 12, hour, hour + 12):
        if 0 <= reading <= 24:
            yield f"{reading}:{minute:02d}"


def _amount(number: str) -> float:
    if number == "半":
        return 0.5
    return float(number) if number[0].isdigit() else float(numeral_value(number))
