"""Lay out the glyphs and lines of a PDF page in reading direction, and join glyphs to lines of text."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import atan2, degrees

from services.knowledge.loaders.pdf_glyphs import Glyph, Rule
from services.knowledge.loaders.pdf_grid import Line

_FIRST_WIDE = "\u2e80"
_SPREAD = re.compile(r"(?:[\u2e80-\uffef]|\d+)(?: (?:[\u2e80-\uffef]|\d+))+")
_SAME_LINE_EM = 0.5
_WORD_GAP_EM = 0.2
_MIDDLE_EM = 0.33
_STRAIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A character in reading direction: from `left` to `right` on a baseline `base`, which grows downwards.

    `is_turned` is set if it stands at another angle than most of the page.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    string: int
    is_turned: bool = False

    @property
    def middle(self) -> tuple[float, float]:
        """Return the middle of the character."""
        return (self.left + self.right) / 2, self.base - _MIDDLE_EM * self.size


@dataclass(frozen=True, slots=True)
class PageLayout:
    """The characters of a page in the order of drawing, and its horizontal and vertical lines."""

    marks: list[Mark]
    across: list[Line]
    down: list[Line]


def page_layout(glyphs: Iterable[Glyph], rules: Iterable[Rule]) -> PageLayout:
    """Return a page turned so that most of its text reads from left to right."""
    shown = [glyph for glyph in glyphs if glyph.text.strip()]
    angles = [_quarter(glyph.start, glyph.end) for glyph in shown]
    turn = Counter(angles).most_common(1)[0][0] if angles else 0
    marks: list[Mark] = []
    for glyph, angle in zip(shown, angles, strict=True):
        start, end = _turned(glyph.start, turn), _turned(glyph.end, turn)
        left, right = sorted((start[0], end[0]))
        marks.append(Mark(glyph.text, left, right, start[1], glyph.size, glyph.string, is_turned=angle != turn))
    across: list[Line] = []
    down: list[Line] = []
    for rule in rules:
        (x, y), (other_x, other_y) = _turned(rule.start, turn), _turned(rule.end, turn)
        wide, high = abs(x - other_x), abs(y - other_y)
        if high <= _STRAIGHT and wide >= high:
            across.append(Line((y + other_y) / 2, *sorted((x, other_x))))
        elif wide <= _STRAIGHT:
            down.append(Line((x + other_x) / 2, *sorted((y, other_y))))
    return PageLayout(marks, across, down)


def _quarter(start: tuple[float, float], end: tuple[float, float]) -> int:
    """Return in which quarter turn a baseline runs, counter-clockwise from left to right."""
    return round(degrees(atan2(end[1] - start[1], end[0] - start[0])) / 90) % 4


def _turned(point: tuple[float, float], turn: int) -> tuple[float, float]:
    """Return a point turned back by quarter turns, with the second coordinate growing downwards."""
    x, y = point
    return ((x, -y), (y, x), (-x, y), (-y, -x))[turn]


def text_lines(marks: Iterable[Mark]) -> list[list[Mark]]:
    """Return the characters by lines from top to bottom, each from left to right."""
    lines: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.base):
        if lines and mark.base - lines[-1][0].base <= _SAME_LINE_EM * min(mark.size, lines[-1][0].size):
            lines[-1].append(mark)
        else:
            lines.append([mark])
    return [sorted(line, key=lambda mark: mark.left) for line in lines]


def drawn_lines(marks: Iterable[Mark]) -> list[list[Mark]]:
    """Return the characters by lines in the order of drawing, which keeps columns of text apart."""
    lines: list[list[Mark]] = []
    for mark in marks:
        last = lines[-1][-1] if lines else None
        size = min(mark.size, last.size) if last else 0.0
        if last and abs(mark.base - last.base) <= _SAME_LINE_EM * size and mark.left >= last.left - size:
            lines[-1].append(mark)
        else:
            lines.append([mark])
    return lines


def line_text(line: Sequence[Mark]) -> str:
    """Return the text of characters on one line, with spaces at the gaps between words."""
    parts: list[str] = []
    for number, mark in enumerate(line):
        if number and is_gap(line[number - 1], mark):
            parts.append(" ")
        parts.append(mark.text)
    return "".join(parts)


def is_gap(mark: Mark, following: Mark) -> bool:
    """Return whether the distance between two characters separates words."""
    return following.left - mark.right > _WORD_GAP_EM * min(mark.size, following.size)


def cell_text(marks: Iterable[Mark]) -> str:
    """Return the text of a cell, whose lines are broken at its width."""
    text = ""
    lines = [line_text(line) for line in text_lines(marks)]
    for line in lines:
        # In a narrow cell, the characters of a line are spread over its width.
        following = "".join(line.split()) if len(lines) > 1 and _SPREAD.fullmatch(line) else line
        is_joined = not text or text[-1] >= _FIRST_WIDE or following[0] >= _FIRST_WIDE
        text += following if is_joined else f" {following}"
    return text
