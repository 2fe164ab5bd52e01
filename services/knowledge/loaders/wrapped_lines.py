"""Join the lines of a text file whose author broke every paragraph at a fixed width."""

import re
from collections.abc import Sequence
from itertools import pairwise

from services.knowledge.loaders.pdf_lines import begins_item, width_of
from services.text.sentences import CLOSING_QUOTES, ENDS

# Nobody breaks paragraphs at less, and a list of short lines is not broken at all.
_LEAST_COLUMNS = 36
_MOST_COLUMNS = 140
_LEAST_BREAKS = 3
# Lines that end early end a paragraph; of all others, this share is broken where the next word did not fit.
_BROKEN_SHARE = 0.6
# A mark may stand beyond the margin, and programs differ in what they take for two columns.
_TOLERANCE = 3
_CLOSED = re.compile(rf"[{ENDS}：:…{CLOSING_QUOTES}—.]\s*$")
_LABELLED = re.compile(r"[^\s，。：:]{1,8}[：:]")
_WORD = re.compile(r"[\x21-\x7e]+|\S")
_FIRST_WIDE = "\u2e80"
_NOT_PROSE = re.compile(r"\s*(?:```|~~~|[|#>])|.* \| |.*\t\S")
_CODE_INDENT = 4


def unwrapped(lines: Sequence[str]) -> list[str]:
    """Return the lines of a file, with those joined that continue each other, if the file is broken at a fixed width.

    A line continues in the next one if that begins no item and its first word would not have fitted.
    """
    open_pairs = [(line, following) for line, following in pairwise(lines) if _may_continue(line, following)]
    margin = max((width_of(line) for line, _ in open_pairs), default=0)
    broken = [pair for pair in open_pairs if _is_broken(*pair, margin)]
    is_wrapped = len(broken) >= _LEAST_BREAKS and len(broken) >= _BROKEN_SHARE * len(open_pairs)
    if not is_wrapped or not _LEAST_COLUMNS <= margin <= _MOST_COLUMNS:
        return list(lines)
    joined: list[str] = []
    for before, line in pairwise(["", *lines]):
        if joined and _may_continue(before, line) and _is_broken(before, line, margin):
            last, first = joined[-1].rstrip(), line.strip()
            joined[-1] = last + ("" if last[-1] >= _FIRST_WIDE or first[0] >= _FIRST_WIDE else " ") + first
        else:
            joined.append(line)
    return joined


def _may_continue(line: str, following: str) -> bool:
    if not line.strip() or not following.strip() or _CLOSED.search(line):
        return False
    if any(map(_NOT_PROSE.match, (line, following))) or min(_indent(line), _indent(following)) >= _CODE_INDENT:
        return False
    return not begins_item(following.strip()) and not _LABELLED.match(following.strip())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_broken(line: str, following: str, margin: int) -> bool:
    """Return whether the first word of the next line would not have fitted on a line."""
    word = _WORD.match(following.strip())
    needed = width_of(word[0]) if word else 0
    return width_of(line.rstrip()) + needed > margin - _TOLERANCE
