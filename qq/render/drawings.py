"""What can be drawn: for each template the values that it shows, and how wide the picture is."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

# The width of a phone in CSS pixels. A wider picture is shown smaller, so it grows no further than can still be read.
_WIDTH = 420
_MOST_WIDTH = 760
# The padding of the page on both sides, and that of a block of code or of a table cell. See style.css.
_PAGE_PX, _CODE_PX, _CELL_PX = 24, 24, 20
# The width of a Latin and of a Chinese character. See the fonts and their sizes in style.css.
_CODE_PX_EACH = 7.0, 14.0
_TEXT_PX_EACH = 8.6, 15.0
# A picture grows wider until the cells of its table wrap after 13 Chinese characters.
_WIDE_CELL_PX = 13 * 15.0 + _CELL_PX
# Room for four Chinese characters in a line.
_LEAST_CELL_PX = 4 * 15.0 + _CELL_PX
_WORD = re.compile(r"[!-~]+")
_TAB = 4


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Every row has as many cells as the header.

    Raises:
        ValueError: The rows differ in length, or there are more columns, rows or characters than a picture can show.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    template: ClassVar[str] = "table.html"
    # What QQ shows instead of the picture in the list of chats.
    summary: ClassVar[str] = "表格"
    most_columns: ClassVar[int] = 8
    most_rows: ClassVar[int] = 40
    most_chars: ClassVar[int] = 3000

    def __post_init__(self) -> None:
        if not 1 <= len(self.header) <= self.most_columns or len(self.rows) > self.most_rows:
            raise ValueError(f"a table of {len(self.header)} columns and {len(self.rows)} rows")
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError("rows of different lengths")
        if sum(len(cell) for row in (self.header, *self.rows) for cell in row) > self.most_chars:
            raise ValueError("a table with too much text")

    @property
    def width(self) -> int:
        """The width of the picture in CSS pixels."""
        wanted = sum(min(column, _WIDE_CELL_PX) for column in self._natural_widths())
        return round(min(max(wanted + _PAGE_PX + 2, _WIDTH), _MOST_WIDTH))

    @property
    def column_widths(self) -> list[float]:
        """The widths of the columns in CSS pixels. A column of short cells gets what it needs, the others the rest."""
        free = float(self.width - _PAGE_PX - 2)
        natural = self._natural_widths()
        if sum(natural) <= free:
            return [width * free / sum(natural) for width in natural]
        words = [max(map(_longest_word, column)) + _CELL_PX for column in zip(self.header, *self.rows, strict=True)]
        widths = [0.0] * len(natural)
        # From the narrowest column to the widest, each takes at most its share of what is left. If it has a word that
        # does not fit into that, it takes more, as long as something is left for the others.
        for place, column in enumerate(sorted(range(len(natural)), key=natural.__getitem__)):
            others = len(natural) - place - 1
            share = max(free / (others + 1), min(words[column], free - others * _LEAST_CELL_PX))
            widths[column] = min(natural[column], share)
            free -= widths[column]
        return widths

    def _natural_widths(self) -> list[float]:
        """Return for each column the width at which no cell wraps, in CSS pixels."""
        columns = zip(self.header, *self.rows, strict=True)
        return [max(_pixels(cell, *_TEXT_PX_EACH) for cell in column) + _CELL_PX for column in columns]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of code, or of anything else whose columns are aligned.

    Raises:
        ValueError: There are more lines or characters than a picture can show.
    """

    text: str

    template: ClassVar[str] = "code.html"
    # What QQ shows instead of the picture in the list of chats.
    summary: ClassVar[str] = "代码"
    most_lines: ClassVar[int] = 60
    most_chars: ClassVar[int] = 3000

    def __post_init__(self) -> None:
        if len(self.text) > self.most_chars or len(self.lines) > self.most_lines:
            raise ValueError(f"code of {len(self.lines)} lines and {len(self.text)} characters")

    @property
    def lines(self) -> Sequence[str]:
        """The lines, with blanks for tabs."""
        return [line.expandtabs(_TAB) for line in self.text.split("\n")]

    @property
    def width(self) -> int:
        """The width of the picture in CSS pixels."""
        wanted = max(_pixels(line, *_CODE_PX_EACH) for line in self.lines) + _PAGE_PX + _CODE_PX
        return round(min(max(wanted + 2, _WIDTH), _MOST_WIDTH))


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of a report: a label, a value, and how much of the width is filled behind them, 0 to 1."""

    label: str
    value: str
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """Figures: a title, tiles of a value and its label, and sections of lines under a heading.

    Raises:
        ValueError: There are more tiles, lines or characters than a picture can show.
    """

    title: str
    tiles: tuple[tuple[str, str], ...]
    sections: tuple[tuple[str, tuple[Bar, ...]], ...]

    template: ClassVar[str] = "report.html"
    # What QQ shows instead of the picture in the list of chats.
    summary: ClassVar[str] = "统计"
    most_tiles: ClassVar[int] = 12
    most_lines: ClassVar[int] = 40
    most_chars: ClassVar[int] = 3000

    def __post_init__(self) -> None:
        bars = [bar for _, section in self.sections for bar in section]
        if len(self.tiles) > self.most_tiles or len(bars) + len(self.sections) > self.most_lines:
            raise ValueError(f"a report of {len(self.tiles)} tiles and {len(bars)} lines")
        texts = [
            self.title,
            *(part for tile in self.tiles for part in tile),
            *(heading for heading, _ in self.sections),
        ]
        texts += [part for bar in bars for part in (bar.label, bar.value)]
        if sum(map(len, texts)) > self.most_chars:
            raise ValueError("a report with too much text")
        if not all(0.0 <= bar.share <= 1.0 for bar in bars):
            raise ValueError("a bar that is wider than its line")

    @property
    def width(self) -> int:
        """The width of the picture in CSS pixels."""
        return _WIDTH


Drawing = Table | Code | Report


def _pixels(text: str, latin: float, wide: float) -> float:
    """Return the width of a text whose characters are `latin` or `wide` pixels wide."""
    return sum(wide if unicodedata.east_asian_width(character) in "WFA" else latin for character in text)


def _longest_word(text: str) -> float:
    """Return the width of the longest run of characters between which no line breaks, in pixels."""
    return max((_pixels(word, *_TEXT_PX_EACH) for word in _WORD.findall(text)), default=0.0)
