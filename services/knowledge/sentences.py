"""Split text into pieces that should stay whole: sentences, clauses of long sentences, and blocks of code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from services.text.sentences import cut_place, leading_closing, sentences


class Boundary(IntEnum):
    """The kind of boundary before a piece; a cut at a higher one does less harm."""

    FRAGMENT = 0
    SENTENCE = 1
    LINE = 2
    PARAGRAPH = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """A text without surrounding space. `gap` separates it from the piece before: "", " " or newlines and indent."""

    text: str
    gap: str
    boundary: Boundary
    is_code: bool = False


_FENCE = re.compile(r"(`{3,}+(?!.*`)|~{3,})")
_MOST_INDENT = 24
_SPACE = re.compile(r"\s+")


def pieces_of(text: str, limit: int) -> list[Piece]:
    """Return the pieces of a text in order, none longer than `limit`; together they hold every character but space.

    A piece begins with closing punctuation only if the text does, or after `limit` such characters. The time is linear
    in the length of the text.
    """
    pieces: list[Piece] = []
    for block, gap, is_code in _blocks(text):
        boundary = Boundary.PARAGRAPH if gap.startswith("\n\n") or is_code else Boundary.LINE
        if not is_code:
            for sentence in _sentences(block, gap, boundary):
                _append(pieces, sentence, limit)
        elif len(block) <= limit:
            pieces.append(Piece(block, gap, boundary, is_code=True))
        else:
            # Punctuation in code does not end sentences, so code is cut by lines.
            for line, line_gap in _lines_with_gaps(block):
                _append(pieces, Piece(line, line_gap, Boundary.LINE, is_code=True), limit)
    return pieces


def _append(pieces: list[Piece], piece: Piece, limit: int) -> None:
    """Add a piece, move closing punctuation at its start to the piece before, and cut it if it is too long."""
    leading = leading_closing(piece.text)
    if leading and pieces:
        before = pieces.pop()
        longer = Piece(before.text + piece.gap + leading.rstrip(), before.gap, before.boundary, before.is_code)
        _extend(pieces, longer, limit)
        gap = " " if leading[-1].isspace() else ""
        piece = Piece(piece.text[len(leading) :], gap, Boundary.SENTENCE, piece.is_code)
    if piece.text:
        _extend(pieces, piece, limit)


def _extend(pieces: list[Piece], piece: Piece, limit: int) -> None:
    if len(piece.text) <= limit:
        pieces.append(piece)
        return
    text = _SPACE.sub(" ", piece.text).strip()
    gap, boundary = piece.gap, piece.boundary
    start = 0
    while start < len(text):
        end = cut_place(text, start, limit)
        pieces.append(Piece(text[start:end].rstrip(), gap, boundary, piece.is_code))
        boundary = Boundary.FRAGMENT
        gap = ""
        while end < len(text) and text[end] == " ":
            end += 1
        if text[end - 1] == " ":
            gap = " "
        start = end


def _blocks(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each non-blank line and each whole block of fenced code as (text, gap before it, whether it is code)."""
    lines = list(_lines_with_gaps(text))
    closing = _fence_ends([line for line, _ in lines])
    index = 0
    while index < len(lines):
        line, gap = lines[index]
        last = closing.get(index, index)
        if last > index:
            yield line + "".join(f"{between}{code}" for code, between in lines[index + 1 : last + 1]), gap, True
        else:
            yield line, gap, False
        index = last + 1


def _lines_with_gaps(text: str) -> Iterator[tuple[str, str]]:
    """Yield each non-blank line without surrounding space, and the gap before it: one or two newlines and indent."""
    newlines = "\n"
    for raw in text.split("\n"):
        line = raw.strip()
        if not line:
            newlines = "\n\n"
            continue
        indent = raw[: len(raw) - len(raw.lstrip(" \t"))]
        yield line, newlines + indent[:_MOST_INDENT]
        newlines = "\n"


def _fence_ends(lines: list[str]) -> dict[int, int]:
    """Map the index of each opening fence line to that of its closing line; leave out fences that never close."""
    ends: dict[int, int] = {}
    start, mark = -1, ""
    for index, line in enumerate(lines):
        fence = _FENCE.match(line)
        if not fence:
            continue
        if not mark:
            start, mark = index, fence[1]
        elif line == fence[1] and line.startswith(mark):
            ends[start] = index
            mark = ""
    return ends


def _sentences(line: str, gap: str, boundary: Boundary) -> Iterator[Piece]:
    for sentence in sentences(line):
        if sentence[0].isspace():
            gap = " "
        yield Piece(sentence.strip(), gap, boundary)
        gap, boundary = "", Boundary.SENTENCE
