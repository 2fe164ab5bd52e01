"""Parse how long the bot is asked to be quiet."""

import math
import re
import unicodedata
from datetime import timedelta

from services.text.numerals import DIGITS, SCALES, numeral_value

LONGEST_QUIET = timedelta(days=7)

_NUMBER = rf"(?P<number>\d+(?:\.\d+)?|[{''.join((*DIGITS, *SCALES))}]+|半)"
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
_END = frozenset({"解除", "取消", "结束", "关", "关闭", "off", "stop", "恢复"})


def parse_duration(text: str) -> timedelta | None:
    """Return the duration that a text states, or None if it is not understood.

    A bare number means minutes, 解除 means 0.

    >>> [str(parse_duration(text)) for text in ("一百二十分钟", "2h", "1天", "一个半小时", "解除")]
    ['2:00:00', '2:00:00', '1 day, 0:00:00', '1:30:00', '0:00:00']
    """
    if len(text.strip()) > _DURATION_CHARS:
        return None
    plain = unicodedata.normalize("NFKC", text).strip().lower()
    if plain in _END:
        return timedelta(0)
    plain = re.sub(r"个半(小时|钟头|钟|天|星期|礼拜|周)", r"\1半", plain)
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
    return float(number) if number[0].isdigit() else float(numeral_value(number))
