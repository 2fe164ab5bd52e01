"""Determine which shapes and text of a slide its audience sees.

Colours are compared only if both are known: the text names its colour, and is in a shape of one colour or on a slide of
one colour with nothing drawn in between. Styles and themes are not computed beyond white and black.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pptx.opc.constants import RELATIONSHIP_TYPE
from pptx.oxml import parse_xml
from pptx.oxml.ns import qn
from pptx.oxml.xmlchemy import BaseOxmlElement
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.group import GroupShape
from pptx.slide import Slide, SlideMaster
from pptx.table import _Cell  # pyright: ignore[reportPrivateUsage]  # the type of a public property
from pptx.text.text import TextFrame

from services.knowledge.loaders.colours import WHITE, Colour, blends, from_hex

# In hundredths of a point.
_LEAST_SIZE = 100
# In thousandths of a percent.
_LEAST_ALPHA = 5_000
_FILLS = {qn(f"a:{name}") for name in ("noFill", "solidFill", "gradFill", "blipFill", "pattFill", "grpFill")}
_LIGHT = {"bg1", "lt1"}


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle in English Metric Units of the slide."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


class SlideView:
    """One slide as it is shown; `has_hidden_text` records whether text was left out."""

    def __init__(self, slide: Slide, width: int, height: int) -> None:
        self._slide = slide
        self._page = _Box(0, 0, width, height)
        self._light = _light_colour(slide.slide_layout.slide_master)
        self._boxes = {shape.shape_id: box for shape, box in _placed(slide.shapes, 1.0, 1.0, 0.0, 0.0)}
        self.has_hidden_text = False
        self.is_shown = slide.element.get("show") not in ("0", "false")
        if not self.is_shown:
            self.has_hidden_text = any(_text(shape) for shape, _ in _placed(slide.shapes, 1.0, 1.0, 0.0, 0.0))

    def hide(self, text: str) -> None:
        """Record that a text is left out."""
        self.has_hidden_text = self.has_hidden_text or bool(text.strip())

    def shapes(self) -> Iterator[BaseShape]:
        """Yield the shapes that are shown, in drawing order; the shapes of a group take the group's position."""
        for shape, _ in _placed(self._slide.shapes, 1.0, 1.0, 0.0, 0.0):
            if self.shows(shape):
                yield shape
            else:
                self.hide(_text(shape))

    def shows(self, shape: BaseShape) -> bool:
        """Return whether a shape is not hidden and not entirely outside the slide."""
        elements = [shape.element, *shape.element.iterancestors(qn("p:grpSp"))]
        for element in elements:
            properties = next(element.iter(qn("p:cNvPr")), None)
            if properties is not None and properties.get("hidden") in ("1", "true"):
                return False
        box = self._boxes.get(shape.shape_id)
        return box is None or box.meets(self._page)

    def is_at_edge(self, shape: BaseShape) -> bool:
        """Return whether a shape lies within the upper or the lower eighth of the slide."""
        box, edge = self._boxes.get(shape.shape_id), self._page.bottom / 8
        return box is not None and (box.bottom <= edge or box.top >= self._page.bottom - edge)

    def text_of(self, shape: Shape) -> str:
        """Return the text of a shape, one line per paragraph."""
        return self._seen(shape.text_frame, self._background(shape))

    def text_of_cell(self, cell: _Cell) -> str:
        """Return the text of a cell of a table."""
        return self._seen(cell.text_frame, _fill(cell._tc.tcPr, self._light)[1])  # pyright: ignore[reportPrivateUsage]

    def text_of_notes(self, frame: TextFrame) -> str:
        """Return the speaker's notes, which are written on white."""
        return self._seen(frame, WHITE)

    def _seen(self, frame: TextFrame, background: Colour | None) -> str:
        paragraphs = (self._paragraph(paragraph._p, background) for paragraph in frame.paragraphs)  # pyright: ignore[reportPrivateUsage]
        return "\n".join(text for paragraph in paragraphs if (text := paragraph.strip()))

    def _paragraph(self, paragraph: BaseOxmlElement, background: Colour | None) -> str:
        """Return a paragraph on one line, without runs that are not visible."""
        parts: list[str] = []
        for child in paragraph:
            if child.tag == qn("a:br"):
                parts.append(" ")
            elif child.tag in (qn("a:r"), qn("a:fld")):
                text = "".join(node.text or "" for node in child.iter(qn("a:t")))
                if _is_drawn(child.find(qn("a:rPr")), background, self._light):
                    parts.append(text)
                else:
                    self.hide(text)
        return "".join(parts).replace("\v", " ")

    def _background(self, shape: Shape) -> Colour | None:
        """Return the colour behind the text of a shape, None if it is unknown."""
        is_filled, colour = _fill(shape.element.find(qn("p:spPr")), self._light)
        if is_filled:
            return colour
        if is_filled is None and (shape.is_placeholder or shape.element.find(qn("p:style")) is not None):
            return None
        return self._behind(shape)

    def _behind(self, shape: Shape) -> Colour | None:
        """Return the colour of the slide if nothing is drawn between it and a shape, None otherwise or if unknown."""
        layout = self._slide.slide_layout
        drawn = (*layout.shapes, *layout.slide_master.shapes)
        if any(not other.is_placeholder for other in drawn):
            return None
        own = self._boxes.get(shape.shape_id)
        for other, box in _placed(self._slide.shapes, 1.0, 1.0, 0.0, 0.0):
            if other.shape_id == shape.shape_id:
                break
            is_empty = isinstance(other, Shape) and _fill(other.element.find(qn("p:spPr")), self._light)[0] is False
            if not is_empty and (own is None or box is None or box.meets(own)):
                return None
        for part in (self._slide, layout, layout.slide_master):
            background = part.element.find(f"{qn('p:cSld')}/{qn('p:bg')}")
            if background is not None:
                properties = background.find(qn("p:bgPr"))
                reference = background.find(f"{qn('p:bgRef')}/{qn('a:schemeClr')}")
                if properties is not None:
                    return _fill(properties, self._light)[1]
                return self._light if reference is not None and reference.get("val") in _LIGHT else None
        return None


def _placed(
    shapes: Iterable[BaseShape], across: float, down: float, left: float, top: float
) -> Iterator[tuple[BaseShape, _Box | None]]:
    """Yield shapes with their place on the slide; `across` to `top` map their group's coordinates to the slide's."""
    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _placed(shape.shapes, *_inner(shape, across, down, left, top))
            continue
        # A placeholder may have no position, neither its own nor from its layout.
        place: list[int | None] = [shape.left, shape.top, shape.width, shape.height]
        known = [length for length in place if length is not None]
        if len(known) < len(place):
            yield shape, None
        else:
            # A shape that is rotated about its centre stays within this margin.
            x, y = left + across * known[0], top + down * known[1]
            wide, high = abs(across * known[2]), abs(down * known[3])
            margin = max(wide, high) / 2 if getattr(shape, "rotation", 0.0) else 0.0
            yield shape, _Box(x - margin, y - margin, x + wide + margin, y + high + margin)


def _inner(group: GroupShape, across: float, down: float, left: float, top: float) -> tuple[float, float, float, float]:
    """Return the mapping from the coordinates inside a group to the slide (ECMA-376 part 1, 20.1.7.5)."""
    frame = group.element.find(f"{qn('p:grpSpPr')}/{qn('a:xfrm')}")
    places = [] if frame is None else [frame.find(qn(f"a:{name}")) for name in ("off", "ext", "chOff", "chExt")]
    if len(places) < 4 or any(place is None for place in places):
        return across, down, left, top
    (x, y), (wide, high), (inner_x, inner_y), (inner_wide, inner_high) = (
        (int(place.get("x", place.get("cx"))), int(place.get("y", place.get("cy")))) for place in places
    )
    wider = across * (wide / inner_wide if inner_wide else 1.0)
    higher = down * (high / inner_high if inner_high else 1.0)
    return wider, higher, left + across * x - wider * inner_x, top + down * y - higher * inner_y


def _light_colour(master: SlideMaster) -> Colour | None:
    """Return the first background colour of the theme, None if it is unknown or the master maps it to another."""
    mapping = master.element.find(qn("p:clrMap"))
    theme = next((rel.target_part for rel in master.part.rels.values() if rel.reltype == RELATIONSHIP_TYPE.THEME), None)
    if theme is None or mapping is None or mapping.get("bg1") != "lt1":
        return None
    light = parse_xml(theme.blob).find(f"{qn('a:themeElements')}/{qn('a:clrScheme')}/{qn('a:lt1')}")
    return None if light is None or not len(light) else from_hex(light[0].get("lastClr", light[0].get("val")))


def _text(shape: BaseShape) -> str:
    return "".join(node.text or "" for node in shape.element.iter(qn("a:t")))


def _fill(properties: BaseOxmlElement | None, light: Colour | None) -> tuple[bool | None, Colour | None]:
    """Return whether an element is filled (None if it does not say) and with what colour (None if unknown)."""
    fill = None if properties is None else next((child for child in properties if child.tag in _FILLS), None)
    if fill is None:
        return None, None
    if fill.tag == qn("a:noFill"):
        return False, None
    return True, _solid(fill, light)[0]


def _solid(fill: BaseOxmlElement, light: Colour | None) -> tuple[Colour | None, int]:
    """Return the colour of a fill, None if it is unknown, and its opacity in thousandths of a percent."""
    if fill.tag != qn("a:solidFill") or not len(fill):
        return None, 100_000
    named = fill[0]
    changes = {child.tag: child.get("val", "") for child in named}
    alpha = changes.pop(qn("a:alpha"), "100000")
    opacity = int(alpha) if alpha.isascii() and alpha.isdigit() else 100_000
    if changes:
        return None, opacity
    if named.tag == qn("a:srgbClr"):
        return from_hex(named.get("val")), opacity
    if named.tag == qn("a:prstClr"):
        return {"white": WHITE, "black": (0, 0, 0)}.get(named.get("val", "")), opacity
    return light if named.tag == qn("a:schemeClr") and named.get("val") in _LIGHT else None, opacity


def _is_drawn(properties: BaseOxmlElement | None, background: Colour | None, light: Colour | None) -> bool:
    """Return whether a run is drawn at all, in a readable size and a colour different from its background."""
    if properties is None:
        return True
    size = properties.get("sz", "")
    if size.isascii() and size.isdigit() and int(size) <= _LEAST_SIZE:
        return False
    fill = next((child for child in properties if child.tag in _FILLS), None)
    if fill is None:
        return True
    if fill.tag == qn("a:noFill"):
        outline = properties.find(qn("a:ln"))
        return outline is not None and outline.find(qn("a:noFill")) is None
    colour, opacity = _solid(fill, light)
    if opacity < _LEAST_ALPHA:
        return False
    return colour is None or background is None or not blends(colour, background)
