"""Resolve the colours in the operators of a PDF page, as far as possible without rendering it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.knowledge.loaders.colours import WHITE, Colour

BLACK: Colour = (0, 0, 0)
_DEVICE_COMPONENTS = {
    "/DeviceGray": 1, "/G": 1, "/CalGray": 1, "/DeviceRGB": 3, "/RGB": 3, "/CalRGB": 3, "/DeviceCMYK": 4, "/CMYK": 4,
}  # fmt: skip
_LIGHT_IN_LAB = 97.0


@dataclass(frozen=True, slots=True)
class ColourSpace:
    """A colour space (ISO 32000-2, 8.6).

    `components` is the number of components of a device colour, 0 for other spaces. `inks` marks Separation and
    DeviceN, in which zero is the colour of the paper. `palette` has the colours of an Indexed space.
    """

    components: int = 0
    inks: bool = False
    is_lab: bool = False
    palette: tuple[Colour | None, ...] = ()

    def colour(self, values: Sequence[float]) -> Colour | None:
        """Return the colour of component values, None if it is unknown."""
        if self.palette:
            index = int(values[0]) if values else 0
            return self.palette[index] if 0 <= index < len(self.palette) else None
        if self.inks:
            return WHITE if values and not any(values) else None
        if self.is_lab:
            return WHITE if len(values) == 3 and values[0] >= _LIGHT_IN_LAB and max(map(abs, values[1:])) < 5 else None
        return device_colour(values) if len(values) == self.components else None


def device_colour(values: Sequence[float]) -> Colour | None:
    """Return the colour of one grey, three RGB or four CMYK components from 0 to 1."""
    if len(values) == 1:
        return _eight_bit(values[0], values[0], values[0])
    if len(values) == 3:
        return _eight_bit(*values)
    if len(values) == 4:
        paper = 1.0 - values[3]
        return _eight_bit(*((1.0 - value) * paper for value in values[:3]))
    return None


def _eight_bit(red: float, green: float, blue: float) -> Colour:
    red, green, blue = (min(1.0, max(0.0, value)) * 255 for value in (red, green, blue))
    return round(red), round(green), round(blue)


def colour_space(named: Any, defined: Any) -> ColourSpace:
    """Return the colour space of a name or array; `defined` are the colour spaces of the page's resources."""
    value = named.get_object() if hasattr(named, "get_object") else named
    if isinstance(value, str):
        if value in _DEVICE_COMPONENTS:
            return ColourSpace(_DEVICE_COMPONENTS[value])
        value = defined[value].get_object() if value in defined else []
        if isinstance(value, str):
            return ColourSpace(_DEVICE_COMPONENTS.get(value, 0))
    if not value:
        return ColourSpace()
    family = str(value[0])
    if family in _DEVICE_COMPONENTS:
        return ColourSpace(_DEVICE_COMPONENTS[family])
    if family == "/ICCBased":
        return ColourSpace(int(value[1].get_object().get("/N", 0)))
    if family in ("/Separation", "/DeviceN"):
        return ColourSpace(inks=True)
    if family in ("/Indexed", "/I"):
        return ColourSpace(palette=_palette(value, defined))
    return ColourSpace(is_lab=family == "/Lab")


def _palette(indexed: Any, defined: Any) -> tuple[Colour | None, ...]:
    base = colour_space(indexed[1], defined)
    table = indexed[3].get_object()
    data = table.get_data() if hasattr(table, "get_data") else getattr(table, "original_bytes", table)
    if not base.components or not isinstance(data, bytes):
        return (None,)
    count = base.components
    return tuple(
        device_colour([value / 255 for value in data[start : start + count]])
        for start in range(0, len(data) - count + 1, count)
    )
