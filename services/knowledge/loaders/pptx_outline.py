"""Find the heading path of each slide: its title, below the titles of slides that only announce others."""

import re
from dataclasses import dataclass, field

from services.text.numerals import ARTICLE_SIGNS
from services.text.sentences import ENDS

_COVER, _DIVIDER, _NUMBERED, _PLAIN = 1, 2, 3, 10
_TITLE_CHARS, _TITLE_LINES = 40, 2
# A longer text beside a picture may be a statement.
_CAPTION_CHARS = 16
# 第二篇, 第 7 讲, 第三部分.
_CHAPTER = re.compile(rf"第\s*[{ARTICLE_SIGNS}\d]{{1,4}}\s*(?:[章节讲篇课回]|部分|单元)")
_DECIMAL = re.compile(r"(\d{1,2}(?:\.\d{1,2}){1,3})(?![\d.%])\s*(?=\S)")
# A number with two dots, unlike an amount.
_DEEP = re.compile(r"\d{1,2}(?:\.\d{1,2}){2,3}\s+\D")
_SAYS = re.compile(rf"[\d：:，,{ENDS}]")


@dataclass(slots=True)
class SlideText:
    """What a slide says: its number, its title, and its texts and tables (rows of cells) in drawing order.

    `at_edge` maps the places of the blocks at the edge of the slide to what they have in common with those of other
    slides. `has_title_in_box` is set if the title is in an ordinary text box, and `is_title_kept` if it says something
    though the slide has nothing else.
    """

    number: int
    title: str
    blocks: list[str | list[list[str]]] = field(default_factory=list[str | list[list[str]]])
    at_edge: dict[int, str] = field(default_factory=dict[int, str])
    has_pictures: bool = False
    has_title_in_box: bool = False
    is_title_kept: bool = False


class SlideOutline:
    """The headings that are open while the slides are read in order.

    A slide with nothing but a title is a heading for those after it, until the next such slide; the cover is one for
    all of them. Titles with numbers (4.1, 4.1.2) nest. A title beside a picture names what is in the picture, which is
    not read; it is a heading for other slides only if it has a number.
    """

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self._is_first = True

    def path_of(self, slide: SlideText) -> tuple[str, ...]:
        """Return the headings of a slide from the top.

        A text box that is its title becomes its title, and one that only repeats the title goes.
        """
        if not slide.title:
            _take_title(slide)
        title = " ".join(slide.title.split())
        if not title:
            self._is_first = False
            return tuple(name for _, name in self._open)
        slide.blocks = [block for block in slide.blocks if not _is_in(block, title)]
        slide.is_title_kept = not slide.blocks and _says_something(title)
        level = self._level(slide, title)
        self._is_first = False
        above = [(depth, name) for depth, name in self._open if depth < level]
        is_alone = not slide.blocks and not slide.has_pictures and not slide.is_title_kept
        if is_alone or _NUMBERED < level < _PLAIN:
            self._open = [*above, (level, title)]
        return (*(name for _, name in above), title)

    def _level(self, slide: SlideText, title: str) -> int:
        if decimal := _DECIMAL.match(title):
            return _NUMBERED + decimal[1].count(".")
        if slide.blocks:
            return _PLAIN
        return _COVER if self._is_first else _DIVIDER


def _take_title(slide: SlideText) -> None:
    """Use the only text of a slide, or the only one with a number such as 4.1.2, as its title."""
    deep = [place for place, block in enumerate(slide.blocks) if isinstance(block, str) and _DEEP.match(block)]
    places = deep or range(len(slide.blocks))
    if len(places) != 1:
        return
    block = slide.blocks[places[0]]
    most = _CAPTION_CHARS if slide.has_pictures else _TITLE_CHARS
    if not isinstance(block, str) or len(block) > most or block.count("\n") >= _TITLE_LINES:
        return
    if not _says_something(block):
        slide.title, slide.has_title_in_box = block, True
        del slide.blocks[places[0]]


def _is_in(block: str | list[list[str]], title: str) -> bool:
    return isinstance(block, str) and "".join(block.split()) in "".join(title.split())


def _says_something(title: str) -> bool:
    """Return whether a title says more than what the slide is about, such as a date, an amount or a sentence."""
    return _SAYS.search(_DECIMAL.sub("", _CHAPTER.sub("", title), count=1)) is not None
