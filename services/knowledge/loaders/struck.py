"""Text that is struck through: no longer valid, but still to be read."""

import re

STRUCK_BEGINS, STRUCK_ENDS = "（已划去：", "）"
_EMPTY = re.compile(rf"{STRUCK_BEGINS}\s*{STRUCK_ENDS}")


def tidied(text: str) -> str:
    """Return a text without empty struck pieces, and with neighbouring ones as one.

    >>> tidied("限（已划去：3）（已划去：0）45 人（已划去：）")
    '限（已划去：30）45 人'
    """
    return _EMPTY.sub("", text).replace(STRUCK_ENDS + STRUCK_BEGINS, "")


def struck(text: str) -> str:
    """Return a struck text as it is written in passages, which show no line through it."""
    return tidied(f"{STRUCK_BEGINS}{text.strip()}{STRUCK_ENDS}")
