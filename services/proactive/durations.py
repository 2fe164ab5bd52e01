"""How long to be quiet, as people write it."""

import math
import re
import unicodedata
from datetime import timedelta

LONGEST_QUIET = timedelta(days=7)

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_NUMBER = r"(?P<number>\d+(?:\.\d+)?|[零〇一二两三四五六七八九十]+|半)"
_UNIT = r"(?P<unit>个?小时|个?钟头|小時|分钟|分鐘|分|天|日|周|星期|days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m)"
_PART = re.compile(rf"\s*{_NUMBER}\s*(?:{_UNIT})?(?P<half>半)?\s*")
_MINUTES = {"分": 1, "m": 1, "小": 60, "钟": 60, "h": 60, "天": 1440, "日": 1440, "d": 1440, "周": 10080, "星": 10080}
_DURATION_CHARS = 20
_END = frozenset({"解除", "取消", "结束", "关", "关闭", "off", "stop", "恢复"})


def parse_duration(text: str) -> timedelta | None:
    """How long, from what people write; a bare number is minutes, 解除 is 0. None when it cannot be understood.

    >>> [str(parse_duration(text)) for text in ("30分钟", "2h", "1天", "一个半小时", "解除")]
    ['0:30:00', '2:00:00', '1 day, 0:00:00', '1:30:00', '0:00:00']
    """
    plain = unicodedata.normalize("NFKC", text).strip().lower()
    if plain in _END:
        return timedelta(0)
    plain = re.sub(r"^(.+?)个半(小时|钟头|天|星期|周)$", r"\1\2半", plain)
    if plain == "半" or len(plain) > _DURATION_CHARS:
        return None
    minutes, place = 0.0, 0
    while place < len(plain):
        part = _PART.match(plain, place)
        if part is None or (part["unit"] is None and (place or part.end() < len(plain) or part["half"])):
            return None
        factor = 1 if part["unit"] is None else _MINUTES[part["unit"].removeprefix("个")[0]]
        minutes += (_value(part["number"]) + (0.5 if part["half"] else 0)) * factor
        place = part.end()
        if minutes > 1e6:
            return timedelta.max
    return timedelta(minutes=math.ceil(minutes)) if place else None


def _value(number: str) -> float:
    if number == "半":
        return 0.5
    if number[0].isdigit():
        return float(number)
    tens, ten, ones = number.rpartition("十")
    units = _chinese_digits(ones)
    return (_chinese_digits(tens) or 1) * 10 + units if ten else units


def _chinese_digits(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 10 + _DIGITS.get(digit, 1)
    return value
