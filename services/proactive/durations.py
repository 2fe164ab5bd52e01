"""Parse how long the bot is asked to be quiet."""

from datetime import timedelta

from services.text.cleaning import compatible
from services.text.dates import duration

LONGEST_QUIET = timedelta(days=7)
_END = frozenset({"解除", "取消", "结束", "关", "关闭", "off", "stop", "恢复"})


def parse_duration(text: str) -> timedelta | None:
    """Return the duration that a text states, or None if it is not understood.

    A bare number means minutes, 解除 means 0.

    >>> [str(parse_duration(text)) for text in ("一百二十分钟", "2h", "解除")]
    ['2:00:00', '2:00:00', '0:00:00']
    """
    return timedelta(0) if compatible(text).strip().lower() in _END else duration(text)
