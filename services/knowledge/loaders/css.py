"""Read the style sheets inside a page, as far as they decide what is shown.

This is a small subset of CSS: rules with their selectors, the cascade by importance, specificity and order, and media
queries by type and width. Linked style sheets are not fetched. It is not a layout engine.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from services.knowledge.loaders.colours import Colour, from_hex

PROPERTIES = frozenset(
    {
        "display", "visibility", "content-visibility", "opacity", "filter", "font-size", "font", "color",
        "-webkit-text-fill-color", "background", "background-color", "background-image", "background-clip",
        "-webkit-background-clip", "position", "left", "right", "top", "bottom", "margin-left", "margin-top",
        "text-indent", "clip", "clip-path", "width", "height", "max-width", "max-height", "overflow", "overflow-x",
        "overflow-y", "transform", "zoom", "scale",
    }
)  # fmt: skip
# Pages are read as on a desktop screen, so text that is hidden only on phones stays.
_SCREEN_WIDTH_PX = 1280
# Each level of nesting repeats the selectors of the levels around it.
_MOST_NESTED_CHARS = 10_000
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
# Addresses and strings may contain characters of the grammar without their meaning.
_ADDRESS = "url("
_STRING = re.compile(r""""(?:\\.|[^"\\]){0,1000}+"|'(?:\\.|[^'\\]){0,1000}+'""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_PIECE = re.compile(r"([^{};]*)([{;}])")
_GROUPS = {"media", "supports", "layer", "container", "scope", "starting-style"}
_VARIABLE = re.compile(r"var\(\s*(--[-\w]+)\s*(?:,([^()]*))?\)")
_IMPORTANT = re.compile(r"!\s*important\s*$", re.IGNORECASE)
_WIDTH_QUERY = re.compile(r"\(\s*(min|max)-(?:device-)?width\s*:\s*(\d+(?:\.\d+)?)\s*(px|em|rem)\s*\)")
_MEDIA_TYPES = re.compile(r"(?:only\s+)?(?:all|screen)")
_ID = re.compile(r"#[-\w]+")
_CLASS = re.compile(r"\.[-\w]+|\[[^\]]*\]|:(?!:)[-\w]+")
_TYPE = re.compile(r"(?:^|[\s>+~])[a-zA-Z][-\w]*")
# The number of digits is limited, so that no pattern takes quadratic time.
_DIGITS = r"[-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})"
_LENGTH = re.compile(rf"\s*({_DIGITS}(?:e[-+]?\d{{1,2}})?)\s*(px|em|rem|pt|pc|in|cm|mm|ex|ch|vw|vh|%|)\s*")
_FAR_IN_CALC = re.compile(r"calc\(.*?(-\s*\d{4,})")
# CSS Values 4, 6.2. Relative units assume the usual font size of 16 px and a window of 1280 by 800.
_UNIT_PX = {
    "": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "em": 16.0, "rem": 16.0, "ex": 8.0,
    "ch": 8.0, "vw": 12.8, "vh": 8.0,
}  # fmt: skip
_GLOBAL = "inherit|initial|unset|revert|revert-layer"
# A browser ignores an unknown value and keeps the one before it.
_VALID = {
    "display": re.compile(
        rf"none|block|inline|flow|flow-root|list-item|contents|run-in|math|ruby[-\w]*|table[-\w]*|flex|grid"
        rf"|inline-(?:block|flex|grid|table)|-(?:webkit|moz|ms)-[-\w]+|{_GLOBAL}"
    ),
    "visibility": re.compile(f"visible|hidden|collapse|{_GLOBAL}"),
    "position": re.compile(f"static|relative|absolute|fixed|sticky|-webkit-sticky|{_GLOBAL}"),
    "opacity": re.compile(rf"{_DIGITS}%?|calc\(.*\)|{_GLOBAL}"),
    "font-size": re.compile(
        rf"{_LENGTH.pattern}|(?:calc|clamp|min|max)\(.*\)|(?:xx?x?-)?(?:small|large)|medium|smaller|larger|{_GLOBAL}"
    ),
}
_NUMBER = rf"\s*({_DIGITS})(%?)\s*"
_RGB = re.compile(rf"rgba?\({_NUMBER}[,\s]{_NUMBER}[,\s]{_NUMBER}(?:[,/]{_NUMBER})?\)", re.IGNORECASE)
_HSL = re.compile(rf"hsla?\([^,\s]+[,\s]{_NUMBER}[,\s]{_NUMBER}(?:[,/]{_NUMBER})?\)", re.IGNORECASE)
_SHORT_HEX = re.compile(r"#[0-9a-fA-F]{3,4}")
_LONG_HEX = re.compile(r"#[0-9a-fA-F]{6}(?:[0-9a-fA-F]{2})?")
_NAMES: dict[str, Colour] = {
    "white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255), "whitesmoke": (245, 245, 245), "floralwhite": (255, 250, 240),
    "azure": (240, 255, 255), "mintcream": (245, 255, 250), "aliceblue": (240, 248, 255), "red": (255, 0, 0),
    "green": (0, 128, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "gray": (128, 128, 128),
    "grey": (128, 128, 128), "silver": (192, 192, 192), "navy": (0, 0, 128), "orange": (255, 165, 0),
}  # fmt: skip
# CSS Color 4, 6.1: the other names, all of colours that are visible on white, and the keywords, each between spaces.
_OTHER_NAMES = (
    " "
    "antiquewhite aqua aquamarine beige bisque blanchedalmond blueviolet brown burlywood cadetblue chartreuse chocolate"
    " coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod darkgray darkgreen darkgrey darkkhaki"
    " darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen darkslateblue darkslategray"
    " darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue firebrick forestgreen"
    " fuchsia gainsboro gold goldenrod greenyellow honeydew hotpink indianred indigo khaki lavender lavenderblush"
    " lawngreen lemonchiffon lightblue lightcoral lightcyan lightgoldenrodyellow lightgray lightgreen lightgrey"
    " lightpink lightsalmon lightseagreen lightskyblue lightslategray lightslategrey lightsteelblue lightyellow lime"
    " limegreen linen magenta maroon mediumaquamarine mediumblue mediumorchid mediumpurple mediumseagreen"
    " mediumslateblue mediumspringgreen mediumturquoise mediumvioletred midnightblue mistyrose moccasin navajowhite"
    " oldlace olive olivedrab orangered orchid palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff"
    " peru pink plum powderblue purple rebeccapurple rosybrown royalblue saddlebrown salmon sandybrown seagreen"
    " seashell sienna skyblue slateblue slategray slategrey springgreen steelblue tan teal thistle tomato turquoise"
    " violet wheat yellowgreen transparent currentcolor inherit initial unset revert canvas canvastext linktext "
)
_Priority = tuple[bool, bool, tuple[int, int, int], int]
_Declaration = tuple[str, str, bool]


@dataclass(slots=True)
class StyleSheets:
    """The styles of the elements of a page, from its style sheets and the elements' own attributes."""

    _declared: dict[int, dict[str, tuple[_Priority, str]]] = field(
        default_factory=dict[int, dict[str, tuple[_Priority, str]]]
    )
    _variables: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, tree: LexborHTMLParser) -> "StyleSheets":
        """Return the styles of a page. The tree must stay alive and keep its elements while they are used."""
        sheets = cls()
        text = "\n".join(style.text() for style in tree.css("style") if _applies(style.attributes.get("media") or ""))
        for order, (selector, declaration) in enumerate(_rules(text)):
            if declaration[0].startswith("--"):
                sheets._variables[declaration[0]] = declaration[1]
            else:
                for single in _split(selector):
                    sheets._apply(tree, single, declaration, order)
        return sheets

    def of_element(self, element: LexborNode) -> dict[str, str]:
        """Return the declared values of the properties that decide what is shown, in lower case."""
        declared = dict(self._declared.get(element.mem_id, {}))
        for piece in _plain(element.attributes.get("style") or "").split(";"):
            if (declaration := _declaration(piece)) is not None:
                _declare(declared, declaration, (declaration[2], True, (0, 0, 0), 0))
        own = {name: value for name, (_, value) in declared.items() if name.startswith("--")}
        return {name: self._resolved(value, own) for name, (_, value) in declared.items()}

    def _resolved(self, value: str, own: dict[str, str]) -> str:
        """Return a value with its variables filled in; a variable that no rule of the page defines has its fallback."""
        if "var(" not in value:
            return value
        variables = self._variables | own
        return _VARIABLE.sub(lambda found: variables.get(found[1], (found[2] or "unknown").strip()), value)

    def _apply(self, tree: LexborHTMLParser, selector: str, declaration: _Declaration, order: int) -> None:
        try:
            elements = tree.css(selector)
        except SelectolaxError:
            # A pseudo-element, or a selector that lexbor does not know. It styles no element that is read.
            return
        specificity = (len(_ID.findall(selector)), len(_CLASS.findall(selector)), len(_TYPE.findall(selector)))
        for element in elements:
            declared = self._declared.setdefault(element.mem_id, {})
            _declare(declared, declaration, (declaration[2], False, specificity, order))


def _declare(declared: dict[str, tuple[_Priority, str]], declaration: _Declaration, priority: _Priority) -> None:
    name, value, _ = declaration
    if name not in declared or priority >= declared[name][0]:
        declared[name] = (priority, value)


def _rules(text: str) -> Iterator[tuple[str, _Declaration]]:
    """Yield each declaration with its selector, from rules that apply on a desktop screen, including nested ones."""
    # For each open brace the selector that applies inside it: "" in a group of rules, None if the block is ignored.
    selectors: list[str | None] = [""]
    for found in _PIECE.finditer(_plain(text) + ";}"):
        prelude, mark = found[1].strip(), found[2]
        outer = selectors[-1]
        if mark == "{":
            selectors.append(None if outer is None else _inner_selector(outer, prelude))
            continue
        declaration = _declaration(prelude)
        if outer and declaration is not None:
            yield outer, declaration
        if mark == "}" and len(selectors) > 1:
            selectors.pop()


def _inner_selector(outer: str, prelude: str) -> str | None:
    if prelude.startswith("@"):
        name, _, condition = prelude[1:].partition(" ")
        name, _, attached = name.lower().partition("(")
        holds = name in _GROUPS and (name != "media" or _applies(f"({attached} {condition}" if attached else condition))
        return outer if holds else None
    if not outer:
        return prelude
    inner = prelude if "&" in prelude else f"& {prelude}"
    if len(inner) + inner.count("&") * len(outer) > _MOST_NESTED_CHARS:
        return None
    return inner.replace("&", f":is({outer})")


def _plain(text: str) -> str:
    """Return CSS without comments, and without strings and addresses that contain characters of its grammar."""
    without = _without_addresses(_COMMENT.sub("", text))
    return _STRING.sub(lambda found: '""' if re.search("[{};]", found[0]) else found[0], without)


def _without_addresses(text: str) -> str:
    """Return CSS with empty parentheses after each `url`."""
    parts: list[str] = []
    place = 0
    while (start := text.find(_ADDRESS, place)) >= 0 and (end := text.find(")", start)) >= 0:
        parts.append(text[place : start + len(_ADDRESS)])
        place = end
    return "".join([*parts, text[place:]])


def _applies(media: str) -> bool:
    """Return whether a media query list matches a desktop screen."""
    return not media.strip() or any(_query_holds(query.strip().lower()) for query in media.split(","))


def _query_holds(query: str) -> bool:
    for part in re.split(r"\s+and\s+", query):
        width = _WIDTH_QUERY.fullmatch(part)
        if width:
            limit = float(width[2]) * _UNIT_PX[width[3]]
            if (width[1] == "min" and limit > _SCREEN_WIDTH_PX) or (width[1] == "max" and limit < _SCREEN_WIDTH_PX):
                return False
        elif not _MEDIA_TYPES.fullmatch(part):
            return False
    return True


def _split(selectors: str) -> list[str]:
    """Split a selector list at its commas, not at those inside parentheses or brackets."""
    parts, depth = [""], 0
    for character in selectors:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _declaration(piece: str) -> _Declaration | None:
    """Return the name, the value in lower case and the importance of a declaration that counts, else None."""
    if ":" not in piece:
        return None
    name, _, value = _ESCAPE.sub(_unescaped, piece).strip().partition(":")
    name, value = name.strip().lower(), value.strip()
    plain = _IMPORTANT.sub("", value).strip().lower()
    if name not in PROPERTIES and not name.startswith("--"):
        return None
    if "var(" not in plain and not _is_valid(name, plain):
        return None
    return name, plain, plain != value.lower()


def _is_valid(name: str, value: str) -> bool:
    if name in ("color", "-webkit-text-fill-color", "background-color"):
        return "(" in value or value.startswith("#") or value in _NAMES or f" {value} " in _OTHER_NAMES
    words = value.split() if name == "display" else [value]
    return name not in _VALID or all(_VALID[name].fullmatch(word) for word in words)


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[2]
    code = int(found[1], 16)
    return chr(code) if 0 < code < 0x110000 else "\ufffd"


def pixels(value: str | None) -> float | None:
    """Return a length in CSS pixels, None for a keyword, a percentage or no value.

    >>> pixels("-2em"), pixels("50%"), pixels("auto")
    (-32.0, None, None)
    """
    if value and (far := _FAR_IN_CALC.match(value)):
        return float(far[1].replace(" ", ""))
    found = _LENGTH.fullmatch(value) if value else None
    return None if found is None or found[2] == "%" else float(found[1]) * _UNIT_PX[found[2]]


def share(value: str | None) -> float | None:
    """Return a number or percentage as a share of one, None for anything else.

    >>> share("0.5"), share("50%"), share("inherit")
    (0.5, 0.5, None)
    """
    found = re.fullmatch(_NUMBER, value) if value else None
    return None if found is None else float(found[1]) / (100 if found[2] else 1)


def colour_of(value: str | None) -> tuple[Colour | None, float]:
    """Return a colour and its opacity; None for a colour that is not known.

    >>> colour_of("#fff"), colour_of("rgba(0, 0, 0, 0)"), colour_of("transparent"), colour_of("var(--text)")
    (((255, 255, 255), 1.0), ((0, 0, 0), 0.0), (None, 0.0), (None, 1.0))
    """
    text = (value or "").strip().lower()
    if text == "transparent":
        return None, 0.0
    if _SHORT_HEX.fullmatch(text):
        text = "#" + "".join(digit * 2 for digit in text[1:])
    if _LONG_HEX.fullmatch(text):
        return from_hex(text[1:7]), int(text[7:], 16) / 255 if len(text) > 7 else 1.0
    if found := _RGB.fullmatch(text):
        red, green, blue = (_channel(found[place], found[place + 1]) for place in (1, 3, 5))
        return (red, green, blue), _opacity(found[7], found[8])
    if found := _HSL.fullmatch(text):
        lightness = float(found[3])
        ends: dict[float, Colour] = {0.0: (0, 0, 0), 100.0: (255, 255, 255)}
        return ends.get(min(100.0, max(0.0, lightness))), _opacity(found[5], found[6])
    return _NAMES.get(text), 1.0


def _channel(number: str, percent: str) -> int:
    return round(min(255.0, max(0.0, float(number) * (2.55 if percent else 1.0))))


def _opacity(number: str | None, percent: str | None) -> float:
    return 1.0 if number is None else float(number) / (100 if percent else 1)
