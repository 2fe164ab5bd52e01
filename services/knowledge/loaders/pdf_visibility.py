"""Determine which strings of a PDF page a reader sees.

This follows the rectangles, colours, clipping, transparency and layers of the page's operators (ISO 32000-2, 8 and 9).
It is not a renderer: text over a photograph, a gradient or a pattern counts as visible, and so does everything that a
font draws, even if its glyphs are empty.
"""

import logging
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from math import hypot
from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.generic import ByteStringObject, ContentStream, DictionaryObject, IndirectObject

from services.knowledge.loaders.colours import WHITE, Colour, blends
from services.knowledge.loaders.pdf_colours import BLACK, ColourSpace, colour_space, device_colour
from services.knowledge.loaders.pdf_glyphs import Glyph, GlyphFont, Rule

_LOG = logging.getLogger(__name__)

_Matrix = tuple[float, float, float, float, float, float]
_GREY = ColourSpace(1)
_IDENTITY: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_FILLING = (b"f", b"F", b"f*")
_FILLING_AND_STROKING = (b"B", b"B*", b"b", b"b*")
_LEAST_POINTS = 1.0
_LEAST_ALPHA = 0.05
# Thinner areas are lines and frames, with no text on or under them.
_LEAST_AREA_SIDE = 2.0
_MOST_RULE_WIDTH = 2.5
# A page with more of them is an attack or a drawing, and is read without tables.
_MOST_GLYPHS, _MOST_RULES = 100_000, 20_000
_DEPTH_OF_VERTICAL_EM = 0.88
# A string is probed at five places along its estimated length. Because of a wrong estimate, a hidden string may appear
# visible at one of them.
_PROBES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_PROBES_SEEN = 1
_WIDTH_OF_BYTE_EM = 0.5
_PROBE_HEIGHT_EM = 0.3
# Within an array of strings, a move farther than this begins a new string.
_FAR_MOVE_EM = 20.0
# OCR programs put invisible text over the picture of a page, or visible text under it.
_SCAN_SHARE_OF_PAGE = 0.5
_STAMP_SHARE_OF_TEXT = 0.2
_MOST_WHITE_CHECK_BYTES = 32 << 20
_MOST_FORM_DEPTH = 8
_OUTLINE_HEIGHT_EM = 3.0
_LETTER_GAP_EM = 0.15
_PLAIN_FILTERS = {"/FlateDecode", "/Fl", "/ASCII85Decode", "/A85", "/LZWDecode", "/RunLengthDecode", "/ASCIIHexDecode"}


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, points: Sequence[tuple[float, float]]) -> "_Box":
        across, up = [x for x, _ in points], [y for _, y in points]
        return cls(min(across), min(up), max(across), max(up))

    def holds(self, point: tuple[float, float]) -> bool:
        return self.left <= point[0] <= self.right and self.bottom <= point[1] <= self.top

    def meets(self, other: "_Box") -> bool:
        return (
            self.left <= other.right
            and other.left <= self.right
            and self.bottom <= other.top
            and other.bottom <= self.top
        )

    def cut(self, other: "_Box") -> "_Box":
        return _Box(
            max(self.left, other.left),
            max(self.bottom, other.bottom),
            min(self.right, other.right),
            min(self.top, other.top),
        )

    def least_side(self) -> float:
        return min(self.right - self.left, self.top - self.bottom)

    def area(self) -> float:
        return max(0.0, self.right - self.left) * max(0.0, self.top - self.bottom)


@dataclass(frozen=True, slots=True)
class _Area:
    """A painted area. `colour` is None if it is unknown; `is_whole` is set if the colour fills the whole box."""

    box: _Box
    colour: Colour | None
    is_whole: bool
    is_image: bool = False


@dataclass(slots=True)
class _Shown:
    """A string that is shown.

    `areas_before` counts the areas painted before it, and `size` its bytes; `em` is the size of its letters in points.
    `probes` are the points at which its visibility is tested, and `colours` those that it is drawn with.
    """

    areas_before: int
    size: int
    em: float
    probes: tuple[tuple[float, float], ...]
    colours: list[Colour | None]
    is_out_of_sight: bool


@dataclass(slots=True)
class _State:
    """The part of the graphics state that decides what is visible (ISO 32000-2, 8.4)."""

    matrix: _Matrix
    clip: _Box
    is_clip_whole: bool = True
    fill_space: ColourSpace = _GREY
    stroke_space: ColourSpace = _GREY
    fill: Colour | None = BLACK
    stroke: Colour | None = BLACK
    fill_alpha: float = 1.0
    stroke_alpha: float = 1.0
    is_plain: bool = True
    font_size: float = 0.0
    is_type3: bool = False
    mode: int = 0
    leading: float = 0.0
    rise: float = 0.0
    stretch: float = 1.0
    spacing: float = 0.0
    word_spacing: float = 0.0
    font: GlyphFont | None = None
    # The numbers of the strings that further painting in this state is clipped to.
    text_clip: tuple[int, ...] = ()


@dataclass(slots=True)
class _Path:
    """A path under construction, in page coordinates."""

    points: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    rectangles: int = 0
    is_other: bool = False
    # The straight segments, and the rectangles as boxes.
    segments: list[Rule] = field(default_factory=list[Rule])
    boxes: list[_Box] = field(default_factory=list[_Box])
    # Where the present subpath began and where the pen is.
    begin: tuple[float, float] | None = None
    pen: tuple[float, float] | None = None

    def box(self) -> _Box | None:
        return _Box.around(self.points) if self.points else None

    def is_rectangle(self) -> bool:
        """Return whether the path is a single rectangle parallel to the axes."""
        if self.is_other or len(self.points) not in (4, 5) or self.rectangles > 1:
            return False
        box = _Box.around(self.points)
        corners = {(x, y) for x in (box.left, box.right) for y in (box.bottom, box.top)}
        return {_nearest(point, corners) for point in self.points} == corners


class PageInk:
    """Follows one page while pypdf extracts its text; `before` and `after` are pypdf's operand visitors.

    After a first pass, `unseen` returns the numbers of the strings that a reader does not see. A second pass over the
    same page takes these numbers as `left_out` and removes the strings from pypdf's input.

    With `fonts`, a cache that all pages of a file share, the pass also places every glyph and records the drawn lines.
    """

    def __init__(
        self,
        page: PageObject,
        hidden_layers: frozenset[int],
        left_out: frozenset[int] = frozenset(),
        fonts: "dict[int, GlyphFont] | None" = None,
    ) -> None:
        crop = page.cropbox
        self._page_box = _Box(float(crop.left), float(crop.bottom), float(crop.right), float(crop.top))
        self._pdf = page.pdf
        self._hidden_layers = hidden_layers
        self._left_out = left_out
        self._resources: Any = _dictionary(page, "/Resources")
        self._state = _State(_IDENTITY, self._page_box)
        self._saved: list[_State] = []
        self._forms: list[tuple[_State, list[_State], Any, int] | None] = []
        self._path = _Path()
        self._clips = False
        self._line: _Matrix = _IDENTITY
        self._pen = (0.0, 0.0)
        self._clipped_text: list[int] = []
        # For each open marked content, whether it or one around it belongs to a layer that is switched off.
        self._marks: list[bool] = []
        self._areas: list[_Area] = []
        self._shown: list[_Shown] = []
        self._fonts = fonts
        # Where the next glyph begins on the present line.
        self._glyph_pen = 0.0
        self.glyphs: list[Glyph] = []
        self.rules: list[Rule] = []
        # Whether the page shows text that `glyphs` lacks.
        self.has_unplaced_text = False
        self.images = 0
        self._actions = self._operator_actions()

    def before(self, operator: bytes, operands: Any, _matrix: Any, _text_matrix: Any) -> None:
        """Record an operator before pypdf handles it."""
        action = self._actions.get(operator)
        if action is None:
            return
        try:
            action(operands)
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError) as error:
            # As in a viewer, an operator with wrong operands has no effect.
            _LOG.debug("operator %r ignored: %r", operator, error)

    def after(self, operator: bytes, _operands: Any, _matrix: Any, _text_matrix: Any) -> None:
        """Leave a form that pypdf has read."""
        if operator == b"Do" and self._forms and (form := self._forms.pop()) is not None:
            self._state, self._saved, self._resources, marks = form
            del self._marks[marks:]

    def unseen(self) -> frozenset[int]:
        """Return the numbers of the strings that are shown but not visible."""
        by_image, by_shape = self._covers(is_image=True), self._covers(is_image=False)
        outlines = [
            area
            for area in self._areas
            if not (area.is_whole or area.is_image or area.colour is None or blends(area.colour, WHITE))
        ]
        painted = {area.colour for area in self._areas} | {WHITE}
        unpainted: list[int] = []
        hidden: list[int] = []
        seen = 0
        for number, shown in enumerate(self._shown):
            if shown.is_out_of_sight:
                hidden.append(number)
            elif (not shown.colours and not _is_outlined(shown, outlines)) or _is_covered(shown, by_image):
                unpainted.append(number)
            elif _is_covered(shown, by_shape) or self._blends(shown, painted):
                hidden.append(number)
            else:
                seen += shown.size
        recognised = sum(self._shown[number].size for number in unpainted)
        is_scan = seen <= _STAMP_SHARE_OF_TEXT * recognised and self._has_scan()
        return frozenset(hidden if is_scan else hidden + unpainted)

    def _has_scan(self) -> bool:
        least = _SCAN_SHARE_OF_PAGE * self._page_box.area()
        return any(area.is_image and area.box.cut(self._page_box).area() >= least for area in self._areas)

    def _covers(self, *, is_image: bool) -> list[tuple[int, _Area]]:
        """Return the areas that hide everything below them, with their positions in the order of painting."""
        return [(place, area) for place, area in enumerate(self._areas) if area.is_whole and area.is_image == is_image]

    def _blends(self, shown: _Shown, painted: Set[Colour | None]) -> bool:
        """Return whether a string blends with its background in every colour that it is drawn with.

        `painted` are the colours of all areas of the page.
        """
        if not shown.colours or None in shown.colours:
            return False
        colours = [colour for colour in shown.colours if colour is not None]
        if not all(any(other is not None and blends(colour, other) for other in painted) for colour in colours):
            return False
        seen = sum(not all(self._blends_at(probe, colour, shown) for colour in colours) for probe in shown.probes)
        return seen <= _MOST_PROBES_SEEN

    def _blends_at(self, probe: tuple[float, float], colour: Colour, shown: _Shown) -> bool:
        for area in reversed(self._areas[: shown.areas_before]):
            if area.box.holds(probe):
                if area.colour is None or not blends(colour, area.colour):
                    return False
                if area.is_whole:
                    return True
        return blends(colour, WHITE)

    # -- operators ----------------------------------------------------------------------------------------------------

    def _operator_actions(self) -> dict[bytes, Callable[[Any], None]]:
        return {
            b"q": lambda _: self._saved.append(replace(self._state)),
            b"Q": lambda _: self._restore(),
            b"cm": lambda operands: self._set(matrix=_times(_matrix(operands), self._state.matrix)),
            b"gs": self._use_parameters,
            b"BT": lambda _: self._begin_text(),
            b"ET": lambda _: self._end_text(),
            b"Tf": self._use_font,
            b"Tr": lambda operands: self._set(mode=int(operands[0])),
            b"TL": lambda operands: self._set(leading=float(operands[0])),
            b"Ts": lambda operands: self._set(rise=float(operands[0])),
            b"Tz": lambda operands: self._set(stretch=float(operands[0]) / 100),
            b"Tc": lambda operands: self._set(spacing=float(operands[0])),
            b"Tw": lambda operands: self._set(word_spacing=float(operands[0])),
            b"Td": lambda operands: self._next_line(float(operands[0]), float(operands[1])),
            b"TD": self._next_line_with_leading,
            b"Tm": self._place_text,
            b"T*": lambda _: self._next_line(0.0, -self._state.leading),
            b"Tj": lambda operands: self._show_one(operands, 0),
            b"TJ": self._show_array,
            b"'": self._show_on_next_line,
            b'"': self._show_spaced_on_next_line,
            b"re": self._rectangle,
            b"m": self._move,
            b"l": self._line_to,
            b"h": lambda _: self._close(),
            b"c": lambda operands: self._curve(operands, 3),
            b"v": lambda operands: self._curve(operands, 2),
            b"y": lambda operands: self._curve(operands, 2),
            b"W": lambda _: self._clip(),
            b"W*": lambda _: self._clip(),
            b"n": lambda _: self._end_path(),
            b"S": lambda _: self._end_path(is_stroked=True),
            b"s": lambda _: self._close_and_stroke(),
            **{name: lambda _: self._end_path(is_filled=True) for name in _FILLING},
            **{name: lambda _: self._end_path(is_filled=True, is_stroked=True) for name in _FILLING_AND_STROKING},
            b"sh": lambda _: self._paint(self._state.clip, None, is_whole=False),
            b"INLINE IMAGE": lambda operands: self._draw_image(operands.get("settings", {})),
            b"Do": self._draw_object,
            b"g": lambda operands: self._set(fill_space=ColourSpace(1), fill=_device(operands, 1)),
            b"rg": lambda operands: self._set(fill_space=ColourSpace(3), fill=_device(operands, 3)),
            b"k": lambda operands: self._set(fill_space=ColourSpace(4), fill=_device(operands, 4)),
            b"G": lambda operands: self._set(stroke_space=ColourSpace(1), stroke=_device(operands, 1)),
            b"RG": lambda operands: self._set(stroke_space=ColourSpace(3), stroke=_device(operands, 3)),
            b"K": lambda operands: self._set(stroke_space=ColourSpace(4), stroke=_device(operands, 4)),
            b"cs": lambda operands: self._set(fill_space=self._space(operands), fill=_initial(self._space(operands))),
            b"CS": lambda operands: self._set(
                stroke_space=self._space(operands), stroke=_initial(self._space(operands))
            ),
            b"sc": lambda operands: self._set(fill=_colour(self._state.fill_space, operands)),
            b"scn": lambda operands: self._set(fill=_colour(self._state.fill_space, operands)),
            b"SC": lambda operands: self._set(stroke=_colour(self._state.stroke_space, operands)),
            b"SCN": lambda operands: self._set(stroke=_colour(self._state.stroke_space, operands)),
            b"BMC": lambda _: self._marks.append(self._is_layer_off()),
            b"BDC": self._begin_mark,
            b"EMC": lambda _: self._end_mark(),
        }

    def _set(self, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(self._state, name, value)

    def _restore(self) -> None:
        # A form cannot restore a state that was saved outside of it: each form has its own list of saved states.
        if self._saved:
            self._state = self._saved.pop()

    def _use_parameters(self, operands: Any) -> None:
        parameters = _dictionary(self._resources, "/ExtGState")[operands[0]].get_object()
        if "/ca" in parameters:
            self._state.fill_alpha = float(parameters["/ca"])
        if "/CA" in parameters:
            self._state.stroke_alpha = float(parameters["/CA"])
        if "/BM" in parameters or "/SMask" in parameters:
            blend, mask = parameters.get("/BM", "/Normal"), parameters.get("/SMask", "/None")
            self._state.is_plain = blend in ("/Normal", "/Compatible") and mask == "/None"
        if "/Font" in parameters:
            font, size = parameters["/Font"]
            self._set(font_size=float(size), is_type3=font.get_object().get("/Subtype") == "/Type3")
            self._state.font = None
            self._state.font = self._glyph_font(font.get_object())

    def _space(self, operands: Any) -> ColourSpace:
        return colour_space(operands[0], _dictionary(self._resources, "/ColorSpace"))

    # -- text ---------------------------------------------------------------------------------------------------------

    def _begin_text(self) -> None:
        self._line, self._pen, self._glyph_pen = _IDENTITY, (0.0, 0.0), 0.0
        self._clipped_text = []

    def _end_text(self) -> None:
        if self._clipped_text:
            self._state.text_clip = (*self._state.text_clip, *self._clipped_text)
            self._clipped_text = []

    def _use_font(self, operands: Any) -> None:
        self._state.font_size = float(operands[1])
        fonts = _dictionary(self._resources, "/Font")
        font = fonts[operands[0]].get_object() if operands[0] in fonts else {}
        self._state.is_type3 = font.get("/Subtype") == "/Type3"
        self._state.font = None
        self._state.font = self._glyph_font(font)

    def _next_line(self, across: float, up: float) -> None:
        self._line = _times((1.0, 0.0, 0.0, 1.0, across, up), self._line)
        self._pen, self._glyph_pen = (0.0, 0.0), 0.0

    def _next_line_with_leading(self, operands: Any) -> None:
        self._state.leading = -float(operands[1])
        self._next_line(float(operands[0]), float(operands[1]))

    def _place_text(self, operands: Any) -> None:
        self._line, self._pen, self._glyph_pen = _matrix(operands), (0.0, 0.0), 0.0

    def _show_on_next_line(self, operands: Any) -> None:
        self._next_line(0.0, -self._state.leading)
        self._show_one(operands, 0)

    def _show_spaced_on_next_line(self, operands: Any) -> None:
        self._state.word_spacing = float(operands[0])
        self._state.spacing = float(operands[1])
        self._next_line(0.0, -self._state.leading)
        self._show_one(operands, 2)

    def _show_one(self, operands: Any, place: int) -> None:
        self._place_glyphs(operands[place])
        self._show(operands, [place])

    def _show_array(self, operands: Any) -> None:
        array = operands[0]
        strings: list[int] = []
        for place, item in enumerate(array):
            if isinstance(item, str | bytes):
                strings.append(place)
                self._place_glyphs(item)
                continue
            # Numbers move to the left, in thousandths of the font size.
            move = -float(item) / 1000
            if abs(move) > _FAR_MOVE_EM and strings:
                self._show(array, strings)
                strings = []
            step = move * self._state.font_size * self._state.stretch
            self._pen = (self._pen[0] + step, self._pen[1] + step)
            self._glyph_pen += move * self._state.font_size if self._is_vertical() else step
        if strings:
            self._show(array, strings)

    def _show(self, operands: Any, places: list[int]) -> None:
        """Record consecutive strings, and remove them if they are known not to be visible."""
        number = len(self._shown)
        size = sum(len(operands[place]) for place in places)
        self._shown.append(self._string(size))
        if self._state.mode in (4, 5, 6, 7):
            self._clipped_text.append(number)
        if number in self._left_out:
            for place in places:
                operands[place] = ByteStringObject(b"")

    def _glyph_font(self, resource: Any) -> GlyphFont | None:
        """Return the font of a resource, None if glyphs are not placed or the font is damaged."""
        if self._fonts is None or not resource:
            return None
        # The font keeps its resource alive, so that no other one gets its id.
        found = self._fonts.get(id(resource))
        if found is None:
            found = self._fonts[id(resource)] = GlyphFont(resource)
        return found

    def _is_vertical(self) -> bool:
        return self._state.font is not None and self._state.font.is_vertical

    def _place_glyphs(self, string: str | bytes) -> None:
        """Record the glyphs of the string that will have the next number."""
        if self._fonts is None:
            return
        state, number = self._state, len(self._shown)
        if state.font is None or len(self.glyphs) + len(string) > _MOST_GLYPHS:
            self.has_unplaced_text |= bool(string)
            return
        matrix, em = _times(self._line, state.matrix), state.font_size
        size = abs(em) * hypot(*matrix[2:4])
        for text, width, is_space in state.font.glyphs(string):
            pen = self._glyph_pen
            spacing = state.spacing + (state.word_spacing if is_space else 0.0)
            if state.font.is_vertical:
                # The origin of a glyph is the middle of its upper edge, and the pen moves down by an em.
                left, bottom = -em / 2, pen - _DEPTH_OF_VERTICAL_EM * em
                ends = _at(matrix, left, bottom), _at(matrix, left + em, bottom)
                self._glyph_pen = pen - em + spacing
            else:
                end = pen + width * em * state.stretch
                ends = _at(matrix, pen, state.rise), _at(matrix, end, state.rise)
                self._glyph_pen = end + spacing * state.stretch
            self.glyphs.append(Glyph(text, *ends, size, number))

    def _string(self, size: int) -> _Shown:
        state = self._state
        matrix = _times(self._line, state.matrix)
        em = state.font_size * state.stretch
        first, last = self._pen
        middle = (first + last) / 2
        # The pen is somewhere in this range, because the widths of glyphs are not looked up.
        advance = size * em + max(0.0, state.spacing) * size * state.stretch
        self._pen = (min(first, first + advance), max(last, last + advance)) if advance else self._pen
        start = _at(matrix, first, state.rise)
        end = _at(matrix, last + advance, state.rise)
        wide, high = abs(em) * hypot(*matrix[:2]), abs(state.font_size) * hypot(*matrix[2:4])
        margin = max(wide, high)
        extent = _Box.around([(x + step, y + step) for x, y in (start, end) for step in (-margin, margin)])
        is_tiny = not state.is_type3 and min(wide, high) < _LEAST_POINTS
        is_clipped = state.clip.least_side() < _LEAST_POINTS or not extent.meets(state.clip)
        height = state.rise + _PROBE_HEIGHT_EM * state.font_size
        probes = tuple(_at(matrix, middle + share * size * _WIDTH_OF_BYTE_EM * em, height) for share in _PROBES)
        colours: list[Colour | None] = []
        # The rendering mode has no effect on Type 3 fonts, whose glyphs may define their own colours.
        if state.is_type3:
            colours.append(None)
        elif state.mode not in (3, 7):
            if state.mode not in (1, 5) and state.fill_alpha >= _LEAST_ALPHA:
                colours.append(state.fill if state.is_plain else None)
            if state.mode in (1, 2, 5, 6) and state.stroke_alpha >= _LEAST_ALPHA:
                colours.append(state.stroke if state.is_plain else None)
        out_of_sight = is_tiny or is_clipped or self._is_layer_off()
        return _Shown(len(self._areas), size, margin, probes, colours, out_of_sight)

    # -- areas --------------------------------------------------------------------------------------------------------

    def _rectangle(self, operands: Any) -> None:
        x, y, wide, high = map(float, operands[:4])
        matrix = self._state.matrix
        corners = [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]
        self._path.points += [_at(matrix, *corner) for corner in corners]
        self._path.rectangles += 1
        self._path.boxes.append(_Box.around(self._path.points[-4:]))

    def _move(self, operands: Any) -> None:
        self._points(operands, 1)
        self._path.begin = self._path.pen = self._path.points[-1]

    def _line_to(self, operands: Any) -> None:
        self._points(operands, 1)
        self._draw_to(self._path.points[-1])

    def _draw_to(self, end: tuple[float, float] | None) -> None:
        if self._path.pen is not None and end is not None:
            self._path.segments.append(Rule(self._path.pen, end))
        self._path.pen = end

    def _close(self) -> None:
        self._draw_to(self._path.begin)

    def _close_and_stroke(self) -> None:
        self._close()
        self._end_path(is_stroked=True)

    def _points(self, operands: Any, count: int) -> None:
        values = [float(operand) for operand in operands[: 2 * count]]
        matrix = self._state.matrix
        self._path.points += [_at(matrix, values[2 * place], values[2 * place + 1]) for place in range(count)]

    def _curve(self, operands: Any, count: int) -> None:
        self._points(operands, count)
        self._path.is_other = True
        self._path.pen = None

    def _clip(self) -> None:
        self._clips = True

    def _end_path(self, *, is_filled: bool = False, is_stroked: bool = False) -> None:
        box = self._path.box()
        places_rules = self._fonts is not None and len(self.rules) < _MOST_RULES
        if places_rules and (is_filled or is_stroked) and not self._is_layer_off():
            self._record_rules(is_stroked=is_stroked)
        if is_filled and box is not None:
            self._paint(box, self._state.fill, is_whole=self._path.is_rectangle())
        if self._clips:
            if box is not None:
                self._state.clip = self._state.clip.cut(box)
                self._state.is_clip_whole = self._state.is_clip_whole and self._path.is_rectangle()
            self._clips = False
        self._path = _Path()

    def _record_rules(self, *, is_stroked: bool) -> None:
        """Record the lines of the path: its segments if it is stroked, and filled rectangles that are thin."""
        path, boxes = self._path, list(self._path.boxes)
        if is_stroked:
            self.rules += path.segments
        elif path.segments and path.is_rectangle() and (box := path.box()) is not None:
            boxes.append(box)
        for box in boxes:
            middle_x, middle_y = (box.left + box.right) / 2, (box.bottom + box.top) / 2
            wide, high = box.right - box.left, box.top - box.bottom
            if high <= min(wide, _MOST_RULE_WIDTH):
                self.rules.append(Rule((box.left, middle_y), (box.right, middle_y)))
            elif wide <= _MOST_RULE_WIDTH:
                self.rules.append(Rule((middle_x, box.bottom), (middle_x, box.top)))
            elif is_stroked:
                corners = [
                    (box.left, box.bottom), (box.right, box.bottom), (box.right, box.top), (box.left, box.top)
                ]  # fmt: skip
                self.rules += [Rule(corners[place - 1], corners[place]) for place in range(4)]

    def _paint(self, box: _Box, colour: Colour | None, *, is_whole: bool, is_image: bool = False) -> None:
        state = self._state
        if state.fill_alpha < _LEAST_ALPHA or self._is_layer_off():
            return
        for number in state.text_clip:
            self._shown[number].colours.append(colour if state.is_plain else None)
        is_opaque = state.is_plain and state.fill_alpha >= 1.0
        visible = box.cut(state.clip)
        if visible.least_side() < _LEAST_AREA_SIDE:
            return
        is_certain = is_whole and is_opaque and state.is_clip_whole and not state.text_clip
        self._areas.append(_Area(visible, colour if is_opaque else None, is_certain, is_image))

    def _draw_image(self, image: Any) -> None:
        matrix = self._state.matrix
        box = _Box.around([_at(matrix, x, y) for x in (0.0, 1.0) for y in (0.0, 1.0)])
        if image.get("/ImageMask", image.get("/IM")):
            self._paint(box, self._state.fill, is_whole=False)
            return
        self.images += 1
        is_upright = not (matrix[1] or matrix[2]) or not (matrix[0] or matrix[3])
        is_solid = is_upright and "/SMask" not in image and "/Mask" not in image
        self._paint(box, WHITE if _is_white(image) else None, is_whole=is_solid, is_image=True)

    def _draw_object(self, operands: Any) -> None:
        self._forms.append(None)
        drawn = _dictionary(self._resources, "/XObject")[operands[0]].get_object()
        is_off = self._is_layer_off() or ("/OC" in drawn and self._is_off(drawn.raw_get("/OC")))
        if drawn.get("/Subtype") == "/Image":
            if not is_off:
                self._draw_image(drawn)
            return
        self._forms[-1] = (replace(self._state), self._saved, self._resources, len(self._marks))
        self._saved = []
        if is_off:
            # An empty clip, because nothing in the form is drawn.
            self._state.clip = _Box(0.0, 0.0, 0.0, 0.0)
        self._state.matrix = _times(_matrix(drawn.get("/Matrix", _IDENTITY)), self._state.matrix)
        if "/BBox" in drawn:
            left, bottom, right, top = map(float, drawn["/BBox"])
            corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
            self._state.clip = self._state.clip.cut(
                _Box.around([_at(self._state.matrix, *corner) for corner in corners])
            )
        if resources := _dictionary(drawn, "/Resources"):
            self._resources = resources
        elif len(self._forms) < _MOST_FORM_DEPTH:
            # pypdf skips forms without resources, which have no text, but the areas that they paint still count.
            for inner_operands, operator in ContentStream(drawn, self._pdf, "bytes").operations:
                if operator != b"Do":
                    self.before(operator, inner_operands, None, None)

    # -- layers -------------------------------------------------------------------------------------------------------

    def _begin_mark(self, operands: Any) -> None:
        self._marks.append(self._is_layer_off())
        if operands[0] == "/OC" and not self._marks[-1]:
            self._marks[-1] = self._is_off(_dictionary(self._resources, "/Properties").raw_get(operands[1]))

    def _end_mark(self) -> None:
        if self._marks:
            self._marks.pop()

    def _is_layer_off(self) -> bool:
        return bool(self._marks) and self._marks[-1]

    def _is_off(self, layer: Any) -> bool:
        """Return whether an optional content group is switched off, or hidden by the policy of a membership."""
        membership = layer.get_object()
        if membership.get("/Type") != "/OCMD":
            return isinstance(layer, IndirectObject) and layer.idnum in self._hidden_layers
        if "/OCGs" not in membership:
            return False
        raw = membership.raw_get("/OCGs")
        groups = [raw] if isinstance(raw.get_object(), DictionaryObject) else list(raw.get_object())
        off = [isinstance(group, IndirectObject) and group.idnum in self._hidden_layers for group in groups]
        match membership.get("/P", "/AnyOn"):
            case "/AllOn":
                return any(off)
            case "/AnyOff":
                return not any(off)
            case "/AllOff":
                return not all(off)
            case _:
                return bool(off) and all(off)


def _is_covered(shown: _Shown, covers: Sequence[tuple[int, _Area]]) -> bool:
    """Return whether areas that are painted later cover a string."""
    later = [area for place, area in covers if place >= shown.areas_before]
    if not later:
        return False
    seen = sum(not any(area.box.holds(probe) for area in later) for probe in shown.probes)
    return seen <= _MOST_PROBES_SEEN


def _is_outlined(shown: _Shown, outlines: Sequence[_Area]) -> bool:
    """Return whether shapes are painted at the place of a string that is drawn without colour.

    When browsers print a page, they draw letters of a missing font weight as shapes, and put invisible text over them.
    """
    # A letter does not fill its advance width.
    gap = _LETTER_GAP_EM * shown.em
    letters = [
        _Box(box.left - gap, box.bottom - gap, box.right + gap, box.top + gap)
        for box in (area.box for area in outlines)
        if box.top - box.bottom <= _OUTLINE_HEIGHT_EM * shown.em
    ]
    missed = sum(not any(box.holds(probe) for box in letters) for probe in shown.probes)
    return missed <= _MOST_PROBES_SEEN


def hidden_layers(reader: PdfReader) -> frozenset[int]:
    """Return the object numbers of the layers that are switched off when the file is opened (8.11.4.3)."""
    properties = _dictionary(reader.root_object, "/OCProperties")
    default = _dictionary(properties, "/D")
    off = {layer.idnum for layer in default.get("/OFF", []) if isinstance(layer, IndirectObject)}
    if default.get("/BaseState") == "/OFF":
        on = {layer.idnum for layer in default.get("/ON", []) if isinstance(layer, IndirectObject)}
        off |= {layer.idnum for layer in properties.get("/OCGs", []) if isinstance(layer, IndirectObject)} - on
    return frozenset(off)


def _dictionary(holder: Any, name: str) -> Any:
    """Return the dictionary under a name in a dictionary, or an empty one if it has none."""
    value = holder.get(name)
    found = value.get_object() if value is not None else None
    return found if isinstance(found, DictionaryObject) else DictionaryObject()


def _is_white(image: Any) -> bool:
    """Return whether an image is entirely white; only images with plainly stored samples are inspected."""
    filters = image.get("/Filter") or []
    if not _PLAIN_FILTERS.issuperset([filters] if isinstance(filters, str) else filters):
        return False
    space = image.get("/ColorSpace")
    if space not in ("/DeviceGray", "/DeviceRGB") or image.get("/BitsPerComponent") != 8 or "/Decode" in image:
        return False
    expected = int(image["/Width"]) * int(image["/Height"]) * (3 if space == "/DeviceRGB" else 1)
    if expected > _MOST_WHITE_CHECK_BYTES:
        return False
    data = image.get_data() if hasattr(image, "get_data") else b""
    return len(data) >= expected and not data[:expected].strip(b"\xfa\xfb\xfc\xfd\xfe\xff")


def _device(operands: Any, count: int) -> Colour | None:
    return device_colour([float(operand) for operand in operands[:count]])


def _initial(space: ColourSpace) -> Colour | None:
    """Return the initial colour of a colour space."""
    return BLACK if space.components in (1, 3, 4) else None


def _colour(space: ColourSpace, operands: Any) -> Colour | None:
    # The operand of a pattern is its name.
    return None if any(isinstance(operand, str) for operand in operands) else space.colour(list(map(float, operands)))


def _matrix(operands: Any) -> _Matrix:
    a, b, c, d, e, f = map(float, operands)
    return a, b, c, d, e, f


def _times(one: _Matrix, other: _Matrix) -> _Matrix:
    return (
        one[0] * other[0] + one[1] * other[2],
        one[0] * other[1] + one[1] * other[3],
        one[2] * other[0] + one[3] * other[2],
        one[2] * other[1] + one[3] * other[3],
        one[4] * other[0] + one[5] * other[2] + other[4],
        one[4] * other[1] + one[5] * other[3] + other[5],
    )


def _at(matrix: _Matrix, x: float, y: float) -> tuple[float, float]:
    return x * matrix[0] + y * matrix[2] + matrix[4], x * matrix[1] + y * matrix[3] + matrix[5]


def _nearest(point: tuple[float, float], corners: set[tuple[float, float]]) -> tuple[float, float] | None:
    return next((corner for corner in corners if abs(corner[0] - point[0]) + abs(corner[1] - point[1]) < 0.01), None)
