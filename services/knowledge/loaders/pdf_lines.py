"""Join the lines of a printed page to paragraphs."""

import re

from services.text.numerals import ARTICLE_SIGNS, ITEM_SIGNS
from services.text.sentences import CLOSING_QUOTES, ENDS

_SENTENCE_END = f"{ENDS}：:…{CLOSING_QUOTES}"
_GOES_ON = "，、（《「『“"
_HYPHENS = "-\u2010\u00ad"
# 第三条, 一、, （二）, 3., (4), ①, • and dashes begin an item.
_ITEM = re.compile(
    rf"第[{ARTICLE_SIGNS}\d]+[章节条款编部篇]|[（(]?[{ITEM_SIGNS}]{{1,3}}[)）、.．]"
    r"|[（(]\d{1,3}[)）]|\d{1,3}(?:\.\d{1,3})*[、)）．.]\s*\D|\d{1,3}(?:\.\d{1,3})+\s|[①-⑳•●○■◆▪·]|[-—*]\s"
)
_LEADERS = re.compile(r"[.·…]{4,}\s*\d*$")
_FULL_SHARE = 0.75
_LEAST_FULL = 20.0
_FIRST_WIDE = "\u2e80"


def joined(lines: list[str], width: float) -> list[str]:
    """Return the paragraphs of consecutive lines; `width` is the minimum width of a full line (`full_width`)."""
    paragraphs: list[list[str]] = []
    for index, line in enumerate(lines):
        between = glue(lines[index - 1], line, width) if index else None
        if between is None:
            paragraphs.append([line])
        else:
            if _is_hyphenated(lines[index - 1], line):
                paragraphs[-1][-1] = paragraphs[-1][-1][:-1]
            paragraphs[-1] += [between, line]
    return ["".join(parts) for parts in paragraphs]


def glue(line: str, following: str, width: float) -> str | None:
    """Return what to put between two lines to join them, "" or a space, or None if a paragraph ends between them.

    A paragraph ends at the end of a sentence, before a numbered item, and after a line that is not full, because a
    heading or the last line of a paragraph is shorter than the column.
    """
    last, first = line[-1], following[0]
    if begins_item(following) or _LEADERS.search(line):
        return None
    if _is_hyphenated(line, following):
        return ""
    if last in _SENTENCE_END or (width_of(line) < width and last not in _GOES_ON):
        return None
    return "" if last >= _FIRST_WIDE or first >= _FIRST_WIDE else " "


def full_width(lines: list[str]) -> float:
    """Return the minimum width of a full line: three quarters of the 90th percentile, but at least ten hanzi."""
    widths = sorted(map(width_of, lines))
    return max(_LEAST_FULL, _FULL_SHARE * widths[int(0.9 * len(widths))]) if widths else _LEAST_FULL


def _is_hyphenated(line: str, following: str) -> bool:
    return len(line) > 1 and line[-1] in _HYPHENS and line[-2].isalpha() and following[0].islower()


def begins_item(line: str) -> bool:
    """Return whether a line begins with a number or mark of an item."""
    return _ITEM.match(line) is not None


def width_of(line: str) -> int:
    """Return the width of a line in columns; Chinese characters take two."""
    return len(line) + sum(character >= _FIRST_WIDE for character in line)
