"""Remove the spaces that pypdf puts where the page has no gap.

Programs that print web pages draw each run of a font, often a single hanzi, as an operand of its own, and pypdf takes
the change of operands for a space: 「综 合素 质评 价」. No word of such a text is found.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import hypot
from statistics import median

from services.knowledge.loaders.pdf_glyphs import Glyph

_FIRST_WIDE = "\u2e80"
_WIDE_MARKS = "“”‘’…—·"
_SPACE = re.compile(r"[^\S\n]+")
# Closer than this, characters belong together. Word spaces and the gaps between names are at least a quarter of an em.
_MOST_GAP_EM = 0.15
# In a justified line every gap is wider, and a word gap is wider still.
_MOST_OVER_USUAL_EM = 0.1
_MOST_USUAL_EM = 0.5
_LEAST_PAIRS = 4
# Full-width marks may be set closer than their width.
_MOST_OVERLAP_EM = 1.0
_SAME_LINE_EM = 0.3


def without_unseen_spaces(text: str, glyphs: Iterable[Glyph]) -> str:
    """Return the text of a page without the spaces at a wide character where the glyphs touch.

    `glyphs` are the visible glyphs in the order of drawing. A line whose characters are not found among them in this
    order is left as it is, and so are spaces within text that is not Chinese.
    """
    return "\n".join(_closed_up(line, found) if found else line for line, found in lines_with_glyphs(text, glyphs))


def lines_with_glyphs(text: str, glyphs: Iterable[Glyph]) -> Iterator[tuple[str, list[Glyph]]]:
    """Yield the lines of a page with a glyph for each visible character, none where these are not found in order."""
    marks = [(character, glyph) for glyph in glyphs for character in glyph.text if not character.isspace()]
    drawn = "".join(character for character, _ in marks)
    place = 0
    for line in text.split("\n"):
        compact = "".join(line.split())
        found = drawn.find(compact, place) if compact else -1
        if found < 0 and compact:
            found = drawn.find(compact)
        if found < 0:
            yield line, []
            continue
        place = found + len(compact)
        yield line, [glyph for _, glyph in marks[found:place]]


def _closed_up(line: str, glyphs: Sequence[Glyph]) -> str:
    """Return a line without the spaces at which its glyphs touch; there is a glyph for each visible character."""
    if not _SPACE.search(line.strip()):
        return line
    usual = _usual_gap(glyphs)
    parts: list[str] = []
    count = 0
    for piece in _pieces(line):
        if piece.isspace() and 0 < count < len(glyphs) and _touch(glyphs[count - 1], glyphs[count], usual):
            continue
        parts.append(piece)
        count += 0 if piece.isspace() else len(piece)
    return "".join(parts)


def _touch(glyph: Glyph, following: Glyph, usual: float) -> bool:
    """Return whether two glyphs, at least one of them wide, are no farther apart than `usual` in their line."""
    wide = [is_wide(glyph), is_wide(following)]
    gap = gap_between(glyph, following)
    if gap is None or not any(wide):
        return False
    # Some fonts do not give the widths of Latin letters, which then seem to overlap what follows.
    return gap <= max(_MOST_GAP_EM, usual + _MOST_OVER_USUAL_EM) if all(wide) else abs(gap) <= _MOST_GAP_EM


def _pieces(line: str) -> Iterator[str]:
    """Yield the words of a line and the spaces between them."""
    end = 0
    for space in _SPACE.finditer(line):
        yield from (piece for piece in (line[end : space.start()], space[0]) if piece)
        end = space.end()
    if line[end:]:
        yield line[end:]


def _usual_gap(glyphs: Sequence[Glyph]) -> float:
    """Return the median distance of the wide characters of a line in em, 0 if they are few or written wide."""
    gaps = [
        gap
        for one, other in pairwise(glyphs)
        if is_wide(one) and is_wide(other) and (gap := gap_between(one, other)) is not None
    ]
    usual = median(gaps) if len(gaps) >= _LEAST_PAIRS else 0.0
    return usual if 0.0 < usual <= _MOST_USUAL_EM else 0.0


def gap_between(glyph: Glyph, following: Glyph) -> float | None:
    """Return the distance between two glyphs in em of the smaller one, None if they are not beside each other."""
    (left, bottom), (right, top) = glyph.start, glyph.end
    length, size = hypot(right - left, top - bottom), min(glyph.size, following.size)
    if not length or not size:
        return None
    across, up = (right - left) / length, (top - bottom) / length
    x, y = following.start[0] - right, following.start[1] - top
    along, beside = (x * across + y * up) / size, abs(y * across - x * up) / size
    return along if beside <= _SAME_LINE_EM and along >= -_MOST_OVERLAP_EM else None


def is_wide(glyph: Glyph) -> bool:
    """Return whether a glyph is a Chinese character or as wide as one."""
    return glyph.text >= _FIRST_WIDE or glyph.text in _WIDE_MARKS
