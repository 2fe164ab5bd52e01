"""Split text into pieces that should stay whole: sentences, clauses of long sentences, and blocks of code."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum


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


# Straight quotes and dashes are in neither set: they open as often as they close.
CLOSING = frozenset("。！？；：，、…．」』”’）】》〉〕〗］｝〙〛»›)]}%‰℃")
_ASCII_STOPS = frozenset(".,;:!?")
_OPENING = frozenset("「『“‘（【《〈〔〖［｛([{«‹\u200d")
_CLOSING_CLASS = "".join(re.escape(character) for character in sorted(CLOSING))
# An ASCII mark at the start belongs to the preceding text only if it stands alone: not in .gitignore or ![image].
_LEADING_CLOSING = re.compile(rf"(?:[{_CLOSING_CLASS}\s]|[.,;:!?](?=[.,;:!?]*(?:[{_CLOSING_CLASS}\s]|$)))+")
_QUOTES = "[」』”’）】》〉〕〗］｝)\\]}»›'\"]"
# An ASCII mark ends a sentence only before a space, the end, or Chinese: not in 3.14, a.md or ?page=2.
_END = re.compile(
    rf"(?:[。！？；…]+[!?！？。；…]*|[!?]+(?={_QUOTES}*(?:\s|$|[\u2e80-\uffef]))|[.;]+(?={_QUOTES}*(?:\s|$)))({_QUOTES}*)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(（\"'])(?:e\.g|i\.e|etc|cf|vs|al|approx|no|vol|fig|figs|eq|sec|ch|pp?|dr|mr|mrs|ms|prof|st|jr|sr|inc|ltd|co|corp"
    r"|dept|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|[a-z])$",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"[(（]?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivxIVX]{1,5})$")
_LOOK_BACK = 12
_CLAUSE_END = re.compile(r"[，、：；。！？…](?=[^\s])|[,:;](?=[\s\u2e80-\uffef])|\s")
_FENCE = re.compile(r"(`{3,}(?!.*`)|~{3,})")
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
            pieces.append(Piece(block, gap, boundary))
        else:
            # Punctuation in code does not end sentences, so code is cut by lines.
            for line, line_gap in _lines_with_gaps(block):
                _append(pieces, Piece(line, line_gap, Boundary.LINE), limit)
    return pieces


def _append(pieces: list[Piece], piece: Piece, limit: int) -> None:
    """Add a piece, move closing punctuation at its start to the piece before, and cut it if it is too long."""
    leading = _LEADING_CLOSING.match(piece.text)
    if leading and pieces:
        before = pieces.pop()
        _extend(pieces, Piece(before.text + piece.gap + leading[0].rstrip(), before.gap, before.boundary), limit)
        piece = Piece(piece.text[leading.end() :], " " if leading[0][-1].isspace() else "", Boundary.SENTENCE)
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
        pieces.append(Piece(text[start:end].rstrip(), gap, boundary))
        boundary = Boundary.FRAGMENT
        gap = ""
        while end < len(text) and text[end] == " ":
            end += 1
        if text[end - 1] == " ":
            gap = " "
        start = end


def cut_place(text: str, start: int, limit: int) -> int:
    """Return where to cut an overlong text: after a clause or word in the second half of the limit, else hard."""
    end = start + limit
    if end >= len(text):
        return len(text)
    half = start + limit // 2
    clause = word = 0
    for match in _CLAUSE_END.finditer(text, half, end):
        if not _may_cut(text, match.end()):
            continue
        if match[0].isspace():
            word = match.end()
        else:
            clause = match.end()
    if clause or word:
        return clause or word
    places = [place for place in range(end, start, -1) if not _is_sticky(_next(text, place))]
    return next((place for place in places if text[place - 1] not in _OPENING), places[0] if places else end)


def _may_cut(text: str, place: int) -> bool:
    return not _is_sticky(_next(text, place)) and text[place - 1] not in _OPENING


def _next(text: str, place: int) -> str:
    """Return the first non-space character at or after a position; there are no consecutive spaces here."""
    return text[place + 1 : place + 2] or " " if text[place] == " " else text[place]


def _is_sticky(character: str) -> bool:
    """Return whether a character belongs to the one before it: closing punctuation, accents, parts of emoji."""
    return (
        character in CLOSING
        or character in _ASCII_STOPS
        or character == "\u200d"
        or unicodedata.category(character)[0] == "M"
    )


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
    start = 0
    for match in _END.finditer(line):
        end = match.end()
        if match[0][0] == "." and _is_abbreviation(line, start, match.start()):
            continue
        # A straight quote closes only if one is open; otherwise it opens the next sentence.
        if match[1].endswith(('"', "'")) and line.count(match[1][-1], start, end) % 2:
            end -= 1
        if end <= start:
            continue
        text = line[start:end].strip()
        if text:
            yield Piece(text, gap, boundary)
            gap = " " if line[end : end + 1].isspace() else ""
            boundary = Boundary.SENTENCE
        start = end
    if rest := line[start:].strip():
        yield Piece(rest, gap, boundary)


def _is_abbreviation(line: str, start: int, dot: int) -> bool:
    """Return whether a period belongs to an abbreviation (e.g., Fig.) or to a list number at the start of the line."""
    before = line[max(start, dot - _LOOK_BACK) : dot]
    is_number = dot - start <= _LOOK_BACK and _LIST_NUMBER.fullmatch(before.strip()) is not None
    return is_number or _ABBREVIATION.search(before) is not None
