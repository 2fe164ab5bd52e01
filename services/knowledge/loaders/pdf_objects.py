"""Join the text objects of a PDF page that stand on one line.

Many programs draw each word or each change of font as a text object of its own, and pypdf begins a line with every
object: 「报名截止」, 「9月20日」 and 「，逾期不候」 would be three lines.
"""

from collections.abc import Sequence

from services.knowledge.loaders.pdf_glyphs import Glyph
from services.knowledge.loaders.pdf_spaces import gap_between, is_wide, lines_with_glyphs

# Beyond this gap stands another column. A label may stand far from its value.
_MOST_GAP_EM = 3.0
_LABEL_ENDS = "：:"
_WORD_GAP_EM, _WIDE_GAP_EM = 0.15, 0.5


def with_whole_lines(text: str, glyphs: Sequence[Glyph]) -> str:
    """Return the text of a page in which consecutive lines that continue each other on the page are one.

    `glyphs` are the visible glyphs in the order of drawing. A line whose characters are not found among them in this
    order stays as it is.
    """
    lines: list[str] = []
    last: Glyph | None = None
    for line, found in lines_with_glyphs(text, glyphs):
        between = _between(lines[-1], line, last, found[0]) if lines and last and found else None
        if between is None:
            lines.append(line)
        else:
            lines[-1] = f"{lines[-1].rstrip()}{between}{line.lstrip()}"
        last = found[-1] if found else None
    return "\n".join(lines)


def _between(line: str, other: str, last: Glyph, following: Glyph) -> str | None:
    """Return what to put between a line and the other one below it, or None if that stands elsewhere on the page.

    `last` and `following` are the glyphs at which they meet.
    """
    gap = gap_between(last, following)
    if gap is None or (gap > _MOST_GAP_EM and not line.rstrip().endswith(tuple(_LABEL_ENDS))):
        return None
    if is_wide(last) and is_wide(following):
        return " " if gap > _WIDE_GAP_EM else ""
    return " " if gap > _WORD_GAP_EM or line[-1:].isspace() or other[:1].isspace() else ""
