"""The tables and code in an answer that are long enough to be shown as pictures.

They are read from the lines after all checks, and each must stand in the text of the answer as it is. So a picture
shows no citation, figure or link that the text does not have.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from services.grounding.models import CodeBlock, TableBlock
from services.grounding.plain_text import CELL_END, Line, block_text

# A block of this many lines or fewer reads well as text on a phone.
_FEW_LINES = 4


def find_blocks(lines: Iterable[Line], text: str) -> tuple[TableBlock | CodeBlock, ...]:
    """Return the long tables and code in `lines`, in order. `text` is the text of the answer that the lines make up."""
    blocks: list[TableBlock | CodeBlock] = []
    for (is_code, is_row), group in groupby(lines, key=lambda line: (line.code, line.row)):
        block = list(group)
        if len(block) <= _FEW_LINES:
            continue
        if is_code:
            blocks.append(CodeBlock(block_text(block)))
        elif is_row and (table := _table(block)) is not None:
            blocks.append(table)
    return tuple(block for block in blocks if block.text and block.text in text)


def _table(lines: Sequence[Line]) -> TableBlock | None:
    """Return a table, or None if its rows differ in length, because nobody can tell which cells are missing."""
    header, *rows = (tuple(line.text.split(CELL_END)) for line in lines)
    if any(len(row) != len(header) for row in rows):
        return None
    return TableBlock(block_text(lines), header, tuple(rows))
