"""Compute the numbers of lists and headings (第三条, 2.1, ①), which Word does not store as text.

This follows ISO/IEC 29500-1 17.9 (numbering): a paragraph names a list and a level, and the abstract definition of the
list gives each level's format, start and pattern (`第%1条`). A shallower item restarts deeper levels.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from docx.document import Document
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml
from docx.oxml.xmlchemy import BaseOxmlElement

from services.text.numerals import numeral

_VAL = qn("w:val")
_MAX_LEVELS = 9
_TRADITIONAL_STEMS = "甲乙丙丁戊己庚辛壬癸"
_CHINESE_COUNTING = {
    "chineseCounting",
    "chineseCountingThousand",
    "ideographDigital",
    "japaneseCounting",
    "taiwaneseCountingThousand",
}


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a list definition; `pattern` contains %1 to %9 for the numbers of the levels."""

    number_format: str
    pattern: str
    start: int = 1
    is_legal: bool = False


@dataclass(slots=True)
class Numbering:
    """The list definitions of a document, and the counters while it is read in order."""

    levels: dict[str, dict[int, Level]] = field(default_factory=dict[str, dict[int, Level]])
    definition_of: dict[str, str] = field(default_factory=dict[str, str])
    style_list: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    _counters: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    def label(self, paragraph: BaseOxmlElement, style_id: str) -> str:
        """Return the number or bullet before a paragraph, followed by a space, or "" for a paragraph in no list."""
        list_id, level_index = _list_of(paragraph) or ("", None)
        style_list_id, style_level = self.style_list.get(style_id, ("", 0))
        list_id = list_id or style_list_id
        level_index = style_level if level_index is None else level_index
        definition = self.definition_of.get(list_id, "")
        level = self.levels.get(definition, {}).get(level_index)
        if level is None:
            return ""
        counters = self._counters[definition]
        counters[level_index] = counters.get(level_index, level.start - 1) + 1
        for deeper in [index for index in counters if index > level_index]:
            del counters[deeper]
        if level.number_format == "bullet":
            return "- "
        if level.number_format == "none":
            return ""
        return self._filled(definition, level, counters) + " "

    def _filled(self, definition: str, level: Level, counters: dict[int, int]) -> str:
        text = level.pattern
        for index in range(_MAX_LEVELS):
            mark = f"%{index + 1}"
            if mark in text and (other := self.levels[definition].get(index)):
                number_format = "decimal" if level.is_legal else other.number_format
                text = text.replace(mark, written(counters.get(index, other.start), number_format))
        return text


def written(number: int, number_format: str) -> str:
    """Return a number in one of Word's formats; formats that are rare in Chinese documents become digits."""
    if number_format in _CHINESE_COUNTING and 0 < number < 10_000:
        return numeral(number)
    if number_format in ("upperLetter", "lowerLetter") and number > 0:
        letter = chr(ord("A") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter if number_format == "upperLetter" else letter.lower()
    if number_format in ("upperRoman", "lowerRoman") and 0 < number < 4000:
        return _roman(number) if number_format == "upperRoman" else _roman(number).lower()
    if number_format.startswith("decimalEnclosedCircle") and 1 <= number <= 20:
        return chr(ord("①") + number - 1)
    if number_format == "ideographTraditional" and 1 <= number <= 10:
        return _TRADITIONAL_STEMS[number - 1]
    return f"{number:02d}" if number_format == "decimalZero" else str(number)


def _roman(number: int) -> str:
    text = ""
    for value, letters in (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
        (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        count, number = divmod(number, value)
        text += letters * count
    return text


def numbering_of(document: Document) -> Numbering:
    """Return the list definitions of a document, which may be empty."""
    numbering = Numbering()
    part = next((rel.target_part for rel in document.part.rels.values() if rel.reltype.endswith("/numbering")), None)
    if part is None:
        return numbering
    root = parse_xml(part.blob)
    for definition in root.iter(qn("w:abstractNum")):
        numbering.levels[definition.get(qn("w:abstractNumId"), "")] = {
            _integer(level.get(qn("w:ilvl")), 0): _level(level) for level in definition.iter(qn("w:lvl"))
        }
    for instance in root.iter(qn("w:num")):
        number_id, target = instance.get(qn("w:numId"), ""), instance.find(qn("w:abstractNumId"))
        if target is not None:
            numbering.definition_of[number_id] = _own_definition(numbering, instance, target.get(_VAL, ""))
    for style in document.styles.element.iter(qn("w:style")):
        if (place := _list_of(style)) and place[0]:
            numbering.style_list[style.get(qn("w:styleId"), "")] = (place[0], place[1] or 0)
    return numbering


def _own_definition(numbering: Numbering, instance: BaseOxmlElement, definition: str) -> str:
    """Return the definition that a list counts with.

    Lists of the same definition share its counters. A list that overrides levels gets a copy with its own counters.
    """
    overrides = list(instance.iter(qn("w:lvlOverride")))
    if not overrides:
        return definition
    levels = dict(numbering.levels.get(definition, {}))
    for override in overrides:
        index = _integer(override.get(qn("w:ilvl")), 0)
        replaced, start = override.find(qn("w:lvl")), override.find(qn("w:startOverride"))
        if replaced is not None:
            levels[index] = _level(replaced)
        if start is not None and index in levels:
            old = levels[index]
            levels[index] = Level(old.number_format, old.pattern, _integer(start.get(_VAL), 1), old.is_legal)
    name = f"{definition}/{instance.get(qn('w:numId'))}"
    numbering.levels[name] = levels
    return name


def paragraph_level(element: BaseOxmlElement) -> int | None:
    """Return the outline level that a paragraph or style sets itself, counted from 1; None for body text."""
    outline = element.find(f"{qn('w:pPr')}/{qn('w:outlineLvl')}")
    level = _integer(outline.get(_VAL), _MAX_LEVELS) + 1 if outline is not None else _MAX_LEVELS + 1
    return level if 1 <= level <= _MAX_LEVELS else None


def _list_of(element: BaseOxmlElement) -> tuple[str, int | None] | None:
    """Return the list id and level that a paragraph or style names."""
    properties = element.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
    if properties is None:
        return None
    number, level = properties.find(qn("w:numId")), properties.find(qn("w:ilvl"))
    return (
        "" if number is None else number.get(_VAL, ""),
        None if level is None else _integer(level.get(_VAL), 0),
    )


def _level(element: BaseOxmlElement) -> Level:
    values = {
        name: child.get(_VAL, "")
        for name in ("numFmt", "lvlText", "start")
        if (child := element.find(qn(f"w:{name}"))) is not None
    }
    legal = element.find(qn("w:isLgl"))
    return Level(
        number_format=values.get("numFmt", "decimal"),
        pattern=values.get("lvlText", ""),
        start=_integer(values.get("start"), 1),
        is_legal=legal is not None and legal.get(_VAL, "1") not in ("0", "false"),
    )


def _integer(text: str | None, default: int) -> int:
    try:
        return int(text) if text is not None else default
    except ValueError:
        return default
