"""Leave HTML comments out of Markdown, because no viewer of Markdown shows them."""

import re
from collections.abc import Iterator

_CLOSE = "-->"
_MARK = re.compile(
    r"^ {0,3}(?P<fence>`{3,}+(?!.*`)|~{3,})|(?P<ticks>(?<!`)`{1,8}(?!`))|(?P<line>^[ \t]*+)?<!--", re.MULTILINE
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def without_comments(text: str) -> str:
    """Return Markdown without its HTML comments. Those in code blocks and code spans are text and stay.

    As in CommonMark, a comment that begins a line and is never closed reaches to the end of the text; any other has to
    be closed within its paragraph. The time is linear in the length of the text.
    """
    return "".join(_shown(text)) if "<!--" in text else text


def _shown(text: str) -> Iterator[str]:
    start = place = 0
    close = blank = -1
    while mark := _MARK.search(text, place):
        place = mark.end()
        if mark["fence"]:
            place = _fence_end(text, mark)
        elif mark["ticks"]:
            place = _span_end(text, mark)
        else:
            # Both positions are kept, so that a text full of open comments is read once. <!--> is a whole comment.
            if close < place - 2:
                close = _found(text.find(_CLOSE, place - 2), text)
            if blank < place:
                found = _BLANK_LINE.search(text, place)
                blank = found.start() if found else len(text)
            if mark["line"] is not None or (close < blank and close < len(text)):
                yield text[start : mark.start()]
                start = place = min(close + len(_CLOSE), len(text))
    yield text[start:]


def _fence_end(text: str, mark: re.Match[str]) -> int:
    fence = mark["fence"]
    closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
    found = closing.search(text, mark.end())
    return found.end() if found else len(text)


def _span_end(text: str, mark: re.Match[str]) -> int:
    """Return where a code span ends; if it is not closed on its line, where its first mark ends."""
    found = re.compile(rf"(?<!`){mark['ticks']}(?!`)|\n").search(text, mark.end())
    return found.end() if found and found[0] != "\n" else mark.end()


def _found(place: int, text: str) -> int:
    return place if place >= 0 else len(text)
