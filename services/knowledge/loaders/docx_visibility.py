"""Determine which runs of text Word shows: not those that are hidden, tiny, or in the colour of their background.

This follows ISO/IEC 29500-1 17.7.2 (style hierarchy) and 17.7.3 (toggle properties). The conditional formats of table
styles are not computed: in a table whose style shades cells, the background is unknown and the text counts as visible.
"""

from collections.abc import Iterator
from typing import TypedDict

from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement

from services.knowledge.loaders.colours import WHITE, Colour, blends, from_hex

_VAL = qn("w:val")
_OFF = {"0", "false", "off"}
_HIDING = ("vanish", "specVanish", "webHidden")
_W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SHAPE_PROPERTIES = "{http://schemas.microsoft.com/office/word/2010/wordprocessingShape}spPr"
_SHAPE_STYLE = "{http://schemas.microsoft.com/office/word/2010/wordprocessingShape}style"
_TEXT_BOX = qn("w:txbxContent")
_LEAST_HALF_POINTS = 2
_LEAST_SCALE_PERCENT = 5
_LEAST_LINE_TWIPS = 20
_LIGHT_THEME_COLOURS = {"background1", "light1"}
_HIGHLIGHTS = {"white": WHITE, "black": (0, 0, 0), "yellow": (255, 255, 0)}


class _Properties(TypedDict, total=False):
    """The run properties that decide whether text is visible; a colour of None is unknown."""

    vanish: bool
    specVanish: bool
    webHidden: bool
    rStyle: str
    half_points: int
    scale: int
    colour: Colour | None
    background: Colour | None
    filled: bool


class Visibility:
    """Decides what a document shows, from its styles and the colour of its pages."""

    def __init__(self, styles: BaseOxmlElement, document: BaseOxmlElement) -> None:
        self._styles = {style.get(qn("w:styleId"), ""): style for style in styles.iter(qn("w:style"))}
        self._resolved: dict[str, _Properties] = {}
        self._default_style = next(
            (
                style_id
                for style_id, style in self._styles.items()
                if style.get(qn("w:type")) == "paragraph" and style.get(qn("w:default")) in ("1", "true")
            ),
            "",
        )
        self._defaults = _run_properties(styles.find(f"{qn('w:docDefaults')}/{qn('w:rPrDefault')}/{qn('w:rPr')}"))
        background = document.find(qn("w:background"))
        self._page = (None if background is None else from_hex(background.get(qn("w:color")))) or WHITE

    def shows(self, run: BaseOxmlElement) -> bool:
        """Return whether a reader sees the text of a run."""
        paragraph = _ancestor(run, qn("w:p"))
        style_id = _value(paragraph, "w:pPr/w:pStyle") or self._default_style
        direct = _run_properties(run.find(qn("w:rPr")))
        of_paragraph, of_character = self._of_style(style_id), self._of_style(direct.get("rStyle", ""))
        table = _ancestor(run, qn("w:tbl"))
        of_table = self._of_style(_value(table, "w:tblPr/w:tblStyle"))
        properties: _Properties = {**self._defaults, **of_table, **of_paragraph, **of_character, **direct}
        for name in _HIDING:
            toggled = bool(of_paragraph.get(name)) != bool(of_character.get(name))
            if direct.get(name, toggled or self._defaults.get(name) or of_table.get(name)):
                return False
        if properties.get("filled") is False or _too_small(properties) or self._is_flat(paragraph, style_id):
            return False
        colour = properties.get("colour")
        if colour is None:
            return True
        background = self._background(run, paragraph, properties)
        return background is None or not blends(colour, background)

    def shows_row(self, row: BaseOxmlElement) -> bool:
        """Return whether a row of a table is drawn with a readable height."""
        properties = row.find(qn("w:trPr"))
        if properties is None:
            return True
        height = properties.find(qn("w:trHeight"))
        is_flat = (
            height is not None
            and height.get(qn("w:hRule")) == "exact"
            and _integer(height.get(_VAL), _LEAST_LINE_TWIPS + 1) <= _LEAST_LINE_TWIPS
        )
        return not is_flat and not _is_on(properties.find(qn("w:hidden")))

    def _of_style(self, style_id: str) -> _Properties:
        """Return the run properties of a style, including inherited ones."""
        if style_id not in self._resolved:
            merged: _Properties = {}
            for style in self._chain(style_id):
                merged = {**_run_properties(style.find(qn("w:rPr"))), **merged}
            self._resolved[style_id] = merged
        return self._resolved[style_id]

    def _chain(self, style_id: str) -> Iterator[BaseOxmlElement]:
        """Yield a style and the styles it is based on; stop at a cycle."""
        seen: set[str] = set()
        while style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            yield self._styles[style_id]
            style_id = _value(self._styles[style_id], "w:basedOn")

    def _is_flat(self, paragraph: BaseOxmlElement | None, style_id: str) -> bool:
        """Return whether the lines of a paragraph have an exact height of a point or less."""
        for holder in ([] if paragraph is None else [paragraph]) + list(self._chain(style_id)):
            spacing = holder.find(f"{qn('w:pPr')}/{qn('w:spacing')}")
            if spacing is not None and (line := spacing.get(qn("w:line"))) is not None:
                return spacing.get(qn("w:lineRule")) == "exact" and _integer(line, 240) <= _LEAST_LINE_TWIPS
        return False

    def _background(
        self, run: BaseOxmlElement, paragraph: BaseOxmlElement | None, properties: _Properties
    ) -> Colour | None:
        """Return the colour behind a run, None if it is unknown."""
        if "background" in properties:
            return properties["background"]
        if paragraph is not None:
            style_id = _value(paragraph, "w:pPr/w:pStyle") or self._default_style
            for holder in (paragraph, *self._chain(style_id)):
                shading = holder.find(f"{qn('w:pPr')}/{qn('w:shd')}")
                if shading is not None and (colour := _shade(shading)):
                    return colour
        for ancestor in run.iterancestors():
            if ancestor.tag == qn("w:tc"):
                shading = ancestor.find(f"{qn('w:tcPr')}/{qn('w:shd')}")
                if shading is not None and (colour := _shade(shading)):
                    return colour
            elif ancestor.tag == qn("w:tbl"):
                styles = self._chain(_value(ancestor, "w:tblPr/w:tblStyle"))
                if any(style.find(f".//{qn('w:shd')}") is not None for style in styles):
                    return None
            elif ancestor.tag == _TEXT_BOX:
                return self._of_box(ancestor)
        return self._page

    def _of_box(self, box: BaseOxmlElement) -> Colour | None:
        """Return the colour of a text box, or of the page if the box has no fill; None if it is unknown."""
        shape = next((node for node in box.iterancestors() if node.find(_SHAPE_PROPERTIES) is not None), None)
        if shape is None:
            return None
        fill = next((child for child in shape.find(_SHAPE_PROPERTIES) if child.tag.endswith("Fill")), None)
        if fill is None:
            style = shape.find(f"{_SHAPE_STYLE}/{_A}fillRef")
            return self._page if style is None or style.get("idx") == "0" else None
        if fill.tag == f"{_A}noFill":
            return self._page
        colour = fill.find(f"{_A}srgbClr")
        return None if colour is None else from_hex(colour.get("val"))


def _run_properties(element: BaseOxmlElement | None) -> _Properties:
    """Return those properties of an element that decide whether text is visible."""
    found: _Properties = {}
    if element is None:
        return found
    for child in element:
        value = child.get(_VAL, "")
        match child.tag.rpartition("}")[2]:
            case "vanish" | "specVanish" | "webHidden" as name:
                found[name] = _is_on(child)
            case "rStyle":
                found["rStyle"] = value
            case "sz":
                found["half_points"] = _integer(value, 24)
            case "w":
                found["scale"] = _integer(value.removesuffix("%"), 100)
            case "color":
                is_light = child.get(qn("w:themeColor")) in _LIGHT_THEME_COLOURS and not child.get(qn("w:themeShade"))
                found["colour"] = WHITE if is_light else from_hex(value)
            case "shd" if colour := _shade(child):
                found["background"] = colour
            case "highlight" if value != "none":
                found["background"] = _HIGHLIGHTS.get(value)
            case "textFill":
                found.update(_text_fill(child))
            case _:
                pass
    return found


def _text_fill(element: BaseOxmlElement) -> _Properties:
    """Return the fill of letters, which Word 2010 and later use instead of their colour."""
    solid = element.find(f"{_W14}solidFill")
    if solid is None:
        return {"filled": element.find(f"{_W14}noFill") is None, "colour": None}
    # This alpha is transparency, in thousandths of a percent.
    alpha = solid.find(f".//{_W14}alpha")
    if alpha is not None and _integer(alpha.get(f"{_W14}val"), 0) >= 95_000:
        return {"filled": False}
    colour, theme = solid.find(f"{_W14}srgbClr"), solid.find(f"{_W14}schemeClr")
    if theme is not None and theme.get(f"{_W14}val") in ("bg1", "lt1") and not len(theme):
        return {"colour": WHITE}
    return {"colour": from_hex(colour.get(f"{_W14}val"))} if colour is not None else {}


def _too_small(properties: _Properties) -> bool:
    half_points, scale = properties.get("half_points", 24), properties.get("scale", 100)
    return half_points <= _LEAST_HALF_POINTS or 0 < scale <= _LEAST_SCALE_PERCENT


def _shade(shading: BaseOxmlElement) -> Colour | None:
    """Return the colour of a shading, which is the foreground colour if the pattern is `solid`."""
    name = "w:color" if shading.get(_VAL) == "solid" else "w:fill"
    return from_hex(shading.get(qn(name)))


def _is_on(element: BaseOxmlElement | None) -> bool:
    return element is not None and element.get(_VAL, "1") not in _OFF


def _ancestor(element: BaseOxmlElement, tag: str) -> BaseOxmlElement | None:
    return next(element.iterancestors(tag), None)


def _value(element: BaseOxmlElement | None, path: str) -> str:
    """Return the value of the descendant at a path of prefixed names, "" if there is none."""
    found = None if element is None else element.find("/".join(map(qn, path.split("/"))))
    return "" if found is None else found.get(_VAL, "")


def _integer(text: str | None, default: int) -> int:
    try:
        return int(text) if text else default
    except ValueError:
        return default
