"""Place the glyphs of a PDF page, so that tables can be rebuilt from where their text stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# pypdf has no public name for the fonts that it reads the text with; the lock file pins its version.
from pypdf.generic._font import Font  # pyright: ignore[reportPrivateUsage]

_EM = 1000.0
_DOUBLE_BYTE_DEFAULT = 1000.0
_HALF_WIDTH = 500.0


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character on a page, in points.

    `start` and `end` are the ends of its baseline, and `size` is the height of its font. `string` is the number of the
    string that it belongs to, in the order of drawing.
    """

    text: str
    start: tuple[float, float]
    end: tuple[float, float]
    size: float
    string: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A drawn line between two points of a page, or the middle of a rectangle that is as thin as one."""

    start: tuple[float, float]
    end: tuple[float, float]


class GlyphFont:
    """The characters and widths of one font."""

    def __init__(self, resource: Any) -> None:
        font = Font.from_font_resource(resource)
        self._resource = resource
        self._font = font
        self._is_composite = font.sub_type == "Type0"
        encoding = resource.get("/Encoding")
        name = encoding if isinstance(encoding, str) else ""
        self.is_vertical = self._is_composite and name.endswith("-V")
        # The widths belong to glyph numbers, and only this encoding uses them as codes.
        self._has_code_widths = not self._is_composite or name.startswith("/Identity")
        self._default = font.character_widths.get("default", _HALF_WIDTH)
        if self._is_composite and not _has_default_width(resource):
            self._default = _DOUBLE_BYTE_DEFAULT
        self._scale = _type3_scale(resource) if font.sub_type == "Type3" else 1 / _EM

    def glyphs(self, string: str | bytes) -> Iterator[tuple[str, float, bool]]:
        """Yield the characters of a string with their widths in em, and whether word spacing applies to them."""
        font = self._font
        data = getattr(string, "original_bytes", b"") if isinstance(string, str) else string
        if isinstance(font.encoding, str):
            codes = data.decode(font.encoding, "replace")
            for code in codes:
                yield font.character_map.get(code, code), self._width(code), False
            return
        for byte in data:
            code = chr(byte)
            text = font.encoding.get(byte, code)
            yield font.character_map.get(text, text), self._width(code), byte == ord(" ")

    def _width(self, code: str) -> float:
        if self._has_code_widths:
            return self._font.character_widths.get(code, self._default) * self._scale
        return (_HALF_WIDTH if code.isascii() else self._default) * self._scale


def _has_default_width(resource: Any) -> bool:
    descendants = resource.get("/DescendantFonts")
    fonts = descendants.get_object() if descendants is not None else []
    return any("/DW" in font.get_object() for font in fonts)


def _type3_scale(resource: Any) -> float:
    matrix = resource.get("/FontMatrix")
    return abs(float(matrix[0])) if matrix else 1 / _EM
