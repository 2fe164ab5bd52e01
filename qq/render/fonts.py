"""The fonts that pictures are drawn with, and which characters they have."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

_DIRECTORY = Path(__file__).parent / "fonts"
NAMES = ("Sans", "Mono", "Boxes", "Symbols", "Emoji")
# Fonts of systems that have all CJK Unified Ideographs of Unicode 1.1, in regular weight. The shipped font has only
# those that are in use in mainland China.
_SYSTEM_FONTS = (
    Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"),
    Path("/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc"),
    Path("/usr/share/fonts/google-noto-cjk/NotoSansCJK-Regular.ttc"),
    Path("/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc"),
    Path("/usr/share/fonts/truetype/wqy/wqy-microhei.ttc"),
    Path("/System/Library/Fonts/Hiragino Sans GB.ttc"),
    Path("C:/Windows/Fonts/msyh.ttc"),
)
_IDEOGRAPHS = range(0x4E00, 0x9FA6)
# Joiners, variation selectors, the enclosing keycap and skin tones change the look of an emoji and nothing else. The
# shipped emoji are single and without colour, so these have no form of their own.
_MODIFIERS = re.compile("[\u200d\u20e3\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")


def read_font(name: str) -> bytes:
    """Return the shipped font with this name, one of `NAMES`."""
    return (_DIRECTORY / f"qunzhi-{name.lower()}.woff2").read_bytes()


def find_system_font() -> Path | None:
    """Return a font of this system that has the ideographs that the shipped one lacks, or None."""
    return next((path for path in _SYSTEM_FONTS if path.is_file()), None)


def without_modifiers(text: str) -> str:
    """Return the text without what only changes the look of an emoji."""
    return _MODIFIERS.sub("", text)


def missing_characters(text: str) -> frozenset[str]:
    """Return the characters of a text that the shipped fonts do not have."""
    return frozenset(character for character in set(text) if ord(character) not in _covered() and character != "\n")


def are_ideographs(characters: frozenset[str]) -> bool:
    """Return whether any system font has all of these characters."""
    return all(ord(character) in _IDEOGRAPHS for character in characters)


@functools.cache
def _covered() -> frozenset[int]:
    return frozenset(_read_ranges((_DIRECTORY / "characters.txt").read_text(encoding="ascii")))


def _read_ranges(text: str) -> Iterator[int]:
    for line in text.split():
        first, _, last = line.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)
