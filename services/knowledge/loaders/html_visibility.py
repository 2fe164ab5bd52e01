"""Remove from a page what a browser does not show.

A class name alone, such as `sr-only`, hides nothing; only a CSS rule does. `<details>` can be opened by the reader and
stays.
"""

import re
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from services.knowledge.loaders.colours import WHITE, Colour, blends
from services.knowledge.loaders.css import StyleSheets, colour_of, pixels, share

# Not shown by the default style sheet of HTML (https://html.spec.whatwg.org/multipage/rendering.html#hidden-elements),
# or only by programs that run no scripts. Their content is not text of the page, so it does not count as hidden text.
_NEVER_SHOWN = frozenset(
    {"script", "style", "noscript", "template", "datalist", "noembed", "noframes", "rp", "title", "head"}
)
_FAR_PX = -999.0
_TINY_PX = 1.0
_LEAST_OPACITY = 0.05
_URL_OR_GRADIENT = re.compile(r"url\(|gradient\(|image\(")
_COLOUR = re.compile(r"#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^)]*\)|[a-z]+")
_EMPTY_CLIP = re.compile(r"rect\(\s*(?:[01](?:px)?[\s,]+){3}[01](?:px)?\s*\)")
_EMPTY_SHAPE = re.compile(
    r"inset\(\s*(?:[5-9]\d|100)(?:\.\d+)?%|(?:circle|ellipse)\(\s*0(?![.\d])|polygon\([\s0,pxem%]*\)"
)
_FAR_TRANSFORM = re.compile(r"translate[xy3d]*\(\s*(?:[^,()]*,\s*)?-\d{4,}|scale[xy3d]*\(\s*0(?:\.0\d*)?\s*[,)]")
_FONT_SIZE = re.compile(r"(?:^|\s)([\d.]+(?:px|pt|em|rem|%)|0)(?:\s*/|\s)")


@dataclass(frozen=True, slots=True)
class _Look:
    """The properties that an element inherits. An unknown colour is None; `is_drawn` is false for transparent text."""

    visible: bool = True
    font_px: float = 16.0
    colour: Colour | None = (0, 0, 0)
    background: Colour | None = WHITE
    is_drawn: bool = True
    is_indented_away: bool = False

    def shows_text(self) -> bool:
        if not (self.visible and self.is_drawn) or self.font_px <= _TINY_PX or self.is_indented_away:
            return False
        return self.colour is None or self.background is None or not blends(self.colour, self.background)


def remove_invisible(tree: LexborHTMLParser) -> bool:
    """Remove the elements and texts that a browser would not show, and return whether they included text."""
    if tree.root is None:
        return False
    sheets = StyleSheets.of(tree)
    doomed: list[LexborNode] = []
    # A stack instead of recursion, because the file determines the depth.
    stack = [(tree.root, _Look())]
    while stack:
        node, inherited = stack.pop()
        tag = node.tag or ""
        if tag == "-text":
            if not inherited.shows_text() and node.text(deep=False).strip():
                doomed.append(node)
            continue
        if tag.startswith("-") or tag in _NEVER_SHOWN:
            continue
        styles = sheets.of_element(node)
        if _is_taken_away(node, tag, styles):
            doomed.append(node)
            continue
        look = _inherited(node, tag, styles, inherited)
        child = node.first_child
        while child is not None:
            stack.append((child, look))
            child = child.next
    found = False
    for node in doomed:
        found = found or _has_text(node)
        node.decompose()
    return found


def _is_taken_away(node: LexborNode, tag: str, styles: dict[str, str]) -> bool:
    """Return whether an element and everything in it is hidden."""
    attributes = node.attributes
    if tag != "body" and ("hidden" in attributes and "display" not in styles):
        return True
    if (attributes.get("aria-hidden") or "").strip().lower() == "true":
        return True
    if (tag == "dialog" and "open" not in attributes) or (tag == "img" and _is_dot(attributes)):
        return True
    if styles.get("display") == "none" or styles.get("content-visibility") == "hidden":
        return True
    opacity, zoom = share(styles.get("opacity")), share(styles.get("zoom"))
    if (opacity is not None and opacity < _LEAST_OPACITY) or zoom == 0 or share(styles.get("scale")) == 0:
        return True
    if re.search(r"opacity\(\s*0(?:\.0\d*)?%?\s*\)", styles.get("filter", "")):
        return True
    return _is_off_page(styles) or _is_clipped(styles)


def _is_dot(attributes: dict[str, str | None]) -> bool:
    """Return whether an image is too small to be visible; its alternative text is then meant for programs only."""
    return any((attributes.get(name) or "").strip() in ("0", "1", "0px", "1px") for name in ("width", "height"))


def _is_off_page(styles: dict[str, str]) -> bool:
    places = ["margin-left", "margin-top"]
    if styles.get("position") in ("absolute", "fixed", "relative"):
        places += ["left", "right", "top", "bottom"]
    far = (pixels(styles.get(place)) for place in places)
    return any(length is not None and length <= _FAR_PX for length in far) or bool(
        _FAR_TRANSFORM.search(styles.get("transform", ""))
    )


def _is_clipped(styles: dict[str, str]) -> bool:
    if styles.get("position") in ("absolute", "fixed") and _EMPTY_CLIP.search(styles.get("clip", "")):
        return True
    if _EMPTY_SHAPE.search(styles.get("clip-path", "")):
        return True
    overflow = " ".join(styles.get(name, "") for name in ("overflow", "overflow-x", "overflow-y"))
    if "hidden" not in overflow and "clip" not in overflow:
        return False
    sizes = (pixels(styles.get(name)) for name in ("width", "height", "max-width", "max-height"))
    return any(size is not None and size <= _TINY_PX for size in sizes)


def _inherited(node: LexborNode, tag: str, styles: dict[str, str], above: _Look) -> _Look:
    look = above
    if visibility := styles.get("visibility"):
        is_own = visibility not in ("inherit", "unset")
        look = replace(look, visible=visibility in ("visible", "initial", "revert") if is_own else above.visible)
    if size := styles.get("font-size") or _font_size(styles.get("font", "")):
        look = replace(look, font_px=_font_px(size, above.font_px))
    if (indent := pixels(styles.get("text-indent"))) is not None:
        look = replace(look, is_indented_away=indent <= _FAR_PX)
    look = _painted(node, tag, styles, look)
    named = styles.get("-webkit-text-fill-color") or styles.get("color")
    if named is None and tag == "font":
        named = node.attributes.get("color")
    if named and named not in ("inherit", "currentcolor", "unset"):
        colour, opacity = colour_of(named)
        clip = styles.get("background-clip", "") + styles.get("-webkit-background-clip", "")
        # Transparent letters may be cut out of the background instead, such as a gradient in a title.
        look = replace(look, colour=colour, is_drawn=opacity >= _LEAST_OPACITY or "text" in clip)
    return look


def _painted(node: LexborNode, tag: str, styles: dict[str, str], look: _Look) -> _Look:
    """Return the look with the background of an element."""
    shorthand = styles.get("background", "")
    if _URL_OR_GRADIENT.search(shorthand + styles.get("background-image", "")):
        return replace(look, background=None)
    attribute = (node.attributes.get("bgcolor") or "") if tag in ("body", "table", "tr", "td", "th") else ""
    named = styles.get("background-color") or shorthand or attribute
    for word in _COLOUR.findall(named.lower()):
        colour, opacity = colour_of(word)
        if colour is not None and opacity >= 0.5:
            return replace(look, background=colour)
        if word.startswith("var"):
            return replace(look, background=None)
    return look


def _font_size(shorthand: str) -> str:
    found = _FONT_SIZE.search(shorthand)
    return found[1] if found else ""


def _font_px(size: str, inherited: float) -> float:
    if size.endswith("%"):
        return inherited * (share(size) or 0.0)
    if size.endswith("em") and not size.endswith("rem"):
        return inherited * ((pixels(size) or 0.0) / 16)
    length = pixels(size)
    return length if length is not None else 16.0


def _has_text(node: LexborNode) -> bool:
    """Return whether a node has letters or digits outside scripts and style sheets; punctuation does not count."""
    stack = [node]
    while stack:
        current = stack.pop()
        tag = current.tag or ""
        text = current.text(deep=False) if tag == "-text" else current.attributes.get("alt") if tag == "img" else None
        if text and any(map(str.isalnum, text)):
            return True
        if tag not in _NEVER_SHOWN:
            child = current.first_child
            while child is not None:
                stack.append(child)
                child = child.next
    return False
