"""Compare the colours of text and background."""

import re

# Red, green and blue, each from 0 to 255.
Colour = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
# #E8E8E8 on white has a contrast of 1.2 : 1, where WCAG asks for 4.5. The pale grey of office programs is #D9D9D9.
_LEAST_DIFFERENCE = 24
_HEX = re.compile(r"[0-9A-Fa-f]{6}")


def from_hex(text: str | None) -> Colour | None:
    """Return the colour of six hexadecimal digits, None for anything else.

    >>> from_hex("FF8000")
    (255, 128, 0)
    """
    if text is None or not _HEX.fullmatch(text):
        return None
    return int(text[:2], 16), int(text[2:4], 16), int(text[4:], 16)


def blends(colour: Colour, background: Colour) -> bool:
    """Return whether text of a colour is indistinguishable from its background.

    This compares channels, not luminance: yellow on white has little contrast but is still visible.
    """
    return max(abs(one - other) for one, other in zip(colour, background, strict=True)) < _LEAST_DIFFERENCE
