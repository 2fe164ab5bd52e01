"""Characters that only change the ones before them."""

import functools
import re
import unicodedata

# Unicode's Stream-Safe Text Format (UAX #15) allows as many; no language needs more than a few.
_MOST_MARKS = 30
# Planes 0 and 1; the planes behind them hold Chinese characters only.
_LAST_WITH_MARKS = 0x1FFFF


def without_stacked_marks(text: str) -> str:
    """Return the text with at most 30 combining marks in a row.

    Normalising sorts the marks of one letter in quadratic time: 20,000 of them take seconds and hold the interpreter.
    Call this before `unicodedata.normalize` on anything that people, files or models wrote.
    """
    if not any(map(unicodedata.combining, text)):
        return text
    return _stack().sub(lambda stack: stack[0][:_MOST_MARKS], text)


@functools.cache
def _stack() -> re.Pattern[str]:
    marks = "".join(sign for sign in map(chr, range(0x80, _LAST_WITH_MARKS)) if unicodedata.combining(sign))
    return re.compile(f"[{marks}]{{{_MOST_MARKS + 1},}}")
