"""The lines of a picture in reading order, from the boxes in which text was found."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Boxes share a line if they overlap vertically by this share of the lower one's height.
_SAME_LINE = 0.5
# Pieces of a line that are further apart than this, in heights of the line, are columns of a table.
_COLUMN_GAP = 1.2
# Text is set in columns if each has this many lines, which fill this share of its width, as prose does. The cells of a
# table are shorter.
_COLUMN_LINES = 5
_COLUMN_FILLED = 0.6


@dataclass(frozen=True, slots=True)
class TextBox:
    """A piece of text and its upright rectangle in pixels."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """The height in pixels."""
        return self.bottom - self.top


def lines_of(boxes: Sequence[TextBox]) -> list[str]:
    """Return the lines of text from top to bottom, those of a left column before those of the column on its right."""
    return [_joined(row) for column in _columns(list(boxes)) for row in _rows(column)]


def _rows(boxes: Sequence[TextBox]) -> list[list[TextBox]]:
    """Return the boxes by lines: each belongs to the line that it overlaps most, or begins a new one."""
    rows: list[list[TextBox]] = []
    for box in sorted(boxes, key=lambda each: (each.top + each.bottom, each.left)):
        row = rows[-1] if rows else []
        if row and _overlap(row, box) >= _SAME_LINE * min(box.height, *(each.height for each in row)):
            row.append(box)
        else:
            rows.append([box])
    return [sorted(row, key=lambda each: each.left) for row in rows]


def _overlap(row: Sequence[TextBox], box: TextBox) -> float:
    top = statistics.fmean(each.top for each in row)
    bottom = statistics.fmean(each.bottom for each in row)
    return min(bottom, box.bottom) - max(top, box.top)


def _joined(row: Sequence[TextBox]) -> str:
    text, end = "", 0.0
    for box in row:
        if text:
            text += "  " if box.left - end > _COLUMN_GAP * box.height else " "
        text += box.text.strip()
        end = box.right
    return text


def _columns(boxes: list[TextBox]) -> list[list[TextBox]]:
    """Return the boxes by columns of prose, one column if there are none."""
    for gutter in sorted({box.left for box in boxes}):
        left = [box for box in boxes if box.left < gutter]
        right = [box for box in boxes if box.left >= gutter]
        if left and max(box.right for box in left) <= gutter and _is_prose(left) and _is_prose(right):
            return [left, *_columns(right)]
    return [boxes] if boxes else []


def _is_prose(boxes: Sequence[TextBox]) -> bool:
    rows = _rows(boxes)
    if len(rows) < _COLUMN_LINES:
        return False
    width = max(box.right for box in boxes) - min(box.left for box in boxes)
    filled = [sum(box.right - box.left for box in row) / width for row in rows]
    return statistics.median(filled) >= _COLUMN_FILLED and statistics.median(map(len, (b.text for b in boxes))) >= 8
