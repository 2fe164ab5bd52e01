"""Detect whether a model reveals its instructions, entirely or in pieces."""

import base64
import re
from collections.abc import Iterable, Iterator

from services.index.tokens import normalise

# Letters and digits in a row. Shorter runs of ordinary Chinese occur in answers by chance: 只能用给出的编号 is eight.
PIECE_CHARS = 15
# Fifteen letters are twenty characters of base64, fifteen Chinese characters sixty.
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_SPACE = re.compile(r"\s+")


def discloses(text: str, instructions: str, allowed: Iterable[str]) -> bool:
    """Return whether `text` repeats 15 letters or digits in a row of `instructions`.

    Pieces that also occur in one of the `allowed` texts are not counted. Case, width, traditional or simplified writing
    and characters between letters make no difference. Text that is reversed or encoded in base64 is checked too.
    Translations, other encodings and texts with inserted letters are not recognised.
    """
    secret = _pieces(_letters(instructions)).difference(*(_pieces(_letters(other)) for other in allowed))
    return any(not secret.isdisjoint(_pieces(reading)) for reading in _readings(text))


def _readings(text: str) -> Iterator[str]:
    letters = _letters(text)
    yield letters
    yield letters[::-1]
    for run in _ENCODED.findall(_SPACE.sub("", text)):
        standard = run.replace("-", "+").replace("_", "/")
        # A word directly before it shifts where the groups of four begin.
        for start in range(4):
            part = standard[start : start + (len(standard) - start) // 4 * 4]
            yield _letters(base64.b64decode(part).decode("utf-8", "ignore"))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalise(text)))


def _pieces(letters: str) -> set[str]:
    return {letters[start : start + PIECE_CHARS] for start in range(len(letters) - PIECE_CHARS + 1)}
