"""Numbers of a list that people choose entries by."""

import re

from qq.messages import shortened

_NUMBERS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_TO, _BETWEEN = re.compile(r"(?<=\d)\s*[-~～到至]\s*(?=\d)"), re.compile(r"[\s,，、;；]+")


def number_ranges(text: str) -> list[tuple[int, int]] | str:
    """Return the first and last number of each range of a list such as 1 3-5, or why there are none in Chinese."""
    ranges: list[tuple[int, int]] = []
    for piece in filter(None, _BETWEEN.split(_TO.sub("-", text))):
        match = _NUMBERS.fullmatch(piece)
        if match is None:
            return f"「{shortened(piece, 12)}」不是编号，请写成 /kb pull 1 3-5 这样。"
        first, last = int(match[1]), int(match[2] or match[1])
        if first < 1:
            return "编号从 1 开始，例如 /kb pull 1 3-5。"
        if last < first:
            return f"「{piece}」前大后小，请写成 /kb pull {last}-{first}。"
        ranges.append((first, last))
    return ranges or "请写上编号，例如 /kb pull 1 3-5。"
