"""Detect whether a model reveals its instructions, entirely or in pieces."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator

from services.index.tokens import normalise

# Letters and digits in a row. Shorter runs of ordinary Chinese occur in answers by chance: 只能用给出的编号 is eight.
PIECE_CHARS = 15
# Shorter pieces count together, so that lines of 14 characters in any order are found too: four such lines have 28
# fragments. An answer that is not a recital of the prompt has hardly any.
FRAGMENT_CHARS = 8
_FRAGMENTS = 28
_CHINESE = re.compile("[\u3400-\u9fff]+")
# Fifteen letters are twenty characters of base64, fifteen Chinese characters sixty.
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_SPACE = re.compile(r"\s+")


def discloses(text: str, instructions: str, allowed: Iterable[str]) -> bool:
    """Return whether `text` repeats 15 letters in a row of `instructions`, or many shorter pieces.

    Pieces that also occur in one of the `allowed` texts are not counted. Case, width, traditional or simplified writing
    make no difference, nor do characters between letters and anything but Chinese characters between those. Text that
    is reversed or encoded in base64 is checked too. Translations, other encodings and texts with inserted Chinese
    characters are not recognised.
    """
    others = tuple(allowed)
    for reduced in (_letters, _chinese):
        secret = _secret(reduced, PIECE_CHARS, instructions, others)
        if any(not secret.isdisjoint(_pieces(reduced(reading), PIECE_CHARS)) for reading in _readings(text)):
            return True
    fragments = _secret(_chinese, FRAGMENT_CHARS, instructions, others)
    return len(fragments & _pieces(_chinese(text), FRAGMENT_CHARS)) >= _FRAGMENTS


def _secret(reduced: Callable[[str], str], size: int, instructions: str, allowed: Iterable[str]) -> set[str]:
    return _pieces(reduced(instructions), size).difference(*(_pieces(reduced(other), size) for other in allowed))


def _readings(text: str) -> Iterator[str]:
    yield text
    yield text[::-1]
    for run in _ENCODED.findall(_SPACE.sub("", text)):
        standard = run.replace("-", "+").replace("_", "/")
        # A word directly before it shifts where the groups of four begin.
        for start in range(4):
            part = standard[start : start + (len(standard) - start) // 4 * 4]
            yield base64.b64decode(part).decode("utf-8", "ignore")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalise(text)))


def _chinese(text: str) -> str:
    return "".join(_CHINESE.findall(normalise(text)))


def _pieces(letters: str, size: int) -> set[str]:
    return {letters[start : start + size] for start in range(len(letters) - size + 1)}
