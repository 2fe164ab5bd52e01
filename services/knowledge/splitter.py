"""Split sections into chunks: passages of bounded length that begin and end at boundaries of the text."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum, auto

from services.knowledge.loaders.line_headings import line_heading
from services.knowledge.models import Chunk, ChunkBoundary, Section
from services.knowledge.sentences import Boundary, Piece, pieces_of
from services.text.tables import NEXT_TABLE

MIN_CHUNK_CHARS = 20
# A section shorter than this, a line or two, is too short to stand alone.
_FRAGMENT_CHARS = 40
# A chunk ends at the preceding paragraph rather than in the middle of one, if it stays at least half full.
_LEAST_FILL = 0.5


class _Code(Enum):
    """How much of a text is code."""

    NONE = auto()
    SOME = auto()
    ALL = auto()


_OF_CODE = {_Code.SOME: ChunkBoundary.MIXED, _Code.ALL: ChunkBoundary.CODE_BLOCK}


def check_sizes(chunk_chars: int, overlap_chars: int) -> None:
    """Raise `ValueError` unless chunks have at least 20 characters and overlap by at most half of their size."""
    if chunk_chars < MIN_CHUNK_CHARS:
        raise ValueError(f"chunk_chars must be at least {MIN_CHUNK_CHARS}, not {chunk_chars}")
    if not 0 <= overlap_chars <= chunk_chars // 2:
        raise ValueError(f"overlap_chars must be from 0 to half of chunk_chars, not {overlap_chars}")


def split(sections: Iterable[Section], chunk_chars: int, overlap_chars: int) -> list[Chunk]:
    """Return chunks of at most `chunk_chars` characters, in the order of the text.

    Chunks consist of whole sentences and end at a paragraph if that leaves them at least half full; a sentence that is
    too long is cut at commas, then between words, then anywhere. Consecutive chunks of a section share whole sentences
    of up to `overlap_chars` characters. A fenced code block is kept whole if it fits. A table is cut between rows, and
    each of its chunks begins with the header, unless the header takes more than half a chunk.

    A chunk holds text of one page. Sections under the same heading of a page share a chunk if they fit in one; so do
    sections under the same top heading when one of them is shorter than 40 characters. Such a chunk has the headings
    that all its sections share; the other titles stand as lines in its text. A section that is complete in itself, or
    an uncertain table, stays alone.
    """
    check_sizes(chunk_chars, overlap_chars)
    chunks: list[Chunk] = []
    for group in _groups(_units(sections), chunk_chars):
        heading = _common_heading(group)
        texts = list(_texts(group, chunk_chars, overlap_chars))
        whole = _boundary_of_whole(group) if len(texts) == 1 else ChunkBoundary.PARAGRAPH
        for text, code in texts:
            boundary = _OF_CODE.get(code, whole)
            chunks.append(Chunk(len(chunks), text, group[0].page, heading, group[0].uncertain_table, boundary))
    return chunks


def _boundary_of_whole(group: list[Section]) -> ChunkBoundary:
    """Return the boundary of a chunk that holds all of a group, apart from its code."""
    if any(unit.heading != group[0].heading for unit in group):
        return ChunkBoundary.MIXED
    is_section = group[0].heading or any(unit.complete or unit.table for unit in group)
    return ChunkBoundary.SECTION if is_section else ChunkBoundary.PARAGRAPH


def _units(sections: Iterable[Section]) -> Iterator[Section]:
    """Yield the sections that have text, joining those at the same place; tables stay separate."""
    pending: list[Section] = []
    for section in sections:
        if not section.text.strip() and not section.header.strip():
            continue
        if pending and (_stands_alone(section) or _stands_alone(pending[0]) or _place(section) != _place(pending[0])):
            yield _joined(pending)
            pending = []
        pending.append(section)
    if pending:
        yield _joined(pending)


def _stands_alone(section: Section) -> bool:
    return section.table or section.uncertain_table


def _place(section: Section) -> tuple[int | None, tuple[str, ...], bool]:
    return section.page, section.heading, section.complete


def _joined(sections: list[Section]) -> Section:
    first = sections[0]
    if len(sections) == 1:
        return first
    return replace(first, text="\n\n".join(section.text for section in sections))


def _groups(units: Iterable[Section], limit: int) -> Iterator[list[Section]]:
    """Yield groups of units that share one chunk, and single units that are cut on their own."""
    group: list[Section] = []
    size = 0
    for unit in units:
        if group and _belongs(group, size, unit, limit):
            group.append(unit)
            size = len(_merged(group))
            continue
        if group:
            yield group
        group, size = [unit], _length(unit)
    if group:
        yield group


def _belongs(group: list[Section], size: int, unit: Section, limit: int) -> bool:
    """Return whether a unit joins the preceding chunk: under the same heading of the same page, or as a fragment.

    The embedding of a chunk on two subjects is close to neither, and its citation names one place for both.
    """
    last = group[-1]
    if any(one.complete or one.uncertain_table for one in (last, unit)):
        return False
    if last.page != unit.page or size + _length(unit) >= limit:
        return False
    same = last.heading == unit.heading
    fragment = last.heading[:1] == unit.heading[:1] and min(size, _length(unit)) < _FRAGMENT_CHARS
    return (same or fragment) and len(_merged([*group, unit])) <= limit


def _length(unit: Section) -> int:
    return len(unit.text) + len(unit.header) + 1


def _common_heading(group: list[Section]) -> tuple[str, ...]:
    common = group[0].heading
    for unit in group[1:]:
        shared = 0
        for ours, theirs in zip(common, unit.heading, strict=False):
            if ours != theirs:
                break
            shared += 1
        common = common[:shared]
    return common


def _merged(group: list[Section]) -> str:
    """Return the text of a group, with the titles that its units do not all share as separate lines."""
    shared = len(_common_heading(group))
    lines: list[str] = []
    previous: tuple[str, ...] = group[0].heading[:shared]
    is_after_table = False
    for unit in group:
        same = 0
        while same < min(len(previous), len(unit.heading)) and previous[same] == unit.heading[same]:
            same += 1
        titles = unit.heading[max(shared, same) :]
        body = _whole(unit)
        if titles and _begins_with_title(body, titles[-1]):
            titles = titles[:-1]
        if unit.table and is_after_table and not titles:
            lines.append(NEXT_TABLE)
        lines += [*titles, body]
        previous, is_after_table = unit.heading, unit.table
    return "\n".join(lines)


def _begins_with_title(body: str, title: str) -> bool:
    """Return whether a text has its title: a heading without text is its own text, and a line may begin with its own.

    A sentence that begins with the same word is no title.
    """
    line = body.split("\n", 1)[0].strip()
    found = line_heading(line)
    return line == title or (found is not None and found.title == title)


def _whole(unit: Section) -> str:
    return "\n".join(part for part in (unit.header.strip(), unit.text.strip()) if part)


def _texts(group: list[Section], limit: int, overlap: int) -> Iterator[tuple[str, _Code]]:
    """Yield the texts of a group's chunks, and how much of each is code."""
    if len(group) > 1:
        merged = _merged(group)
        yield merged, _Code.SOME if any(piece.is_code for piece in pieces_of(merged, limit)) else _Code.NONE
    elif group[0].table:
        yield from ((text, _Code.NONE) for text in _table_texts(group[0], limit))
    else:
        yield from _packed(pieces_of(group[0].text, limit), limit, overlap)


def _table_texts(table: Section, limit: int) -> Iterator[str]:
    """Yield whole rows under the header, without overlap; a row that does not fit is cut like a sentence."""
    header, text = table.header.strip(), table.text
    if len(header) > limit // 2:
        header, text = "", f"{header}\n{text}"
    room = limit - len(header) - 1 if header else limit
    prefix = f"{header}\n" if header else ""
    rows = [piece for row in text.split("\n") if row.strip() for piece in _row_pieces(row.strip(), room)]
    if not rows:
        yield header
    for body, _ in _packed(rows, room, 0):
        yield prefix + body


def _row_pieces(row: str, room: int) -> list[Piece]:
    return [Piece(row, "\n", Boundary.LINE)] if len(row) <= room else pieces_of(row, room)


def _packed(pieces: list[Piece], limit: int, overlap: int) -> Iterator[tuple[str, _Code]]:
    """Yield texts of as many pieces as fit, each beginning with the last sentences of the one before."""
    start = fresh = 0
    while fresh < len(pieces):
        end = fresh + 1
        size = _size(pieces, start, end)
        while end < len(pieces) and size + len(pieces[end].gap) + len(pieces[end].text) <= limit:
            size += len(pieces[end].gap) + len(pieces[end].text)
            end += 1
        if end < len(pieces):
            end = _better_end(pieces, fresh, end, size, limit)
        yield _text(pieces, start, end), _code_in(pieces[start:end])
        fresh = end
        start = _overlap_start(pieces, start, fresh, limit, overlap)


def _code_in(pieces: list[Piece]) -> _Code:
    count = sum(piece.is_code for piece in pieces)
    return _Code.ALL if count == len(pieces) else _Code.SOME if count else _Code.NONE


def _size(pieces: list[Piece], start: int, end: int) -> int:
    return len(_text(pieces, start, end))


def _text(pieces: list[Piece], start: int, end: int) -> str:
    parts = [pieces[start].text]
    for piece in pieces[start + 1 : end]:
        parts += [piece.gap, piece.text]
    return "".join(parts)


def _better_end(pieces: list[Piece], fresh: int, end: int, size: int, limit: int) -> int:
    """Return the last end of a paragraph, or else of a sentence, that leaves the chunk half full; or else `end`."""
    best, best_boundary = end, pieces[end].boundary
    place = end
    while place - 1 > fresh and best_boundary < Boundary.LINE:
        place -= 1
        size -= len(pieces[place].gap) + len(pieces[place].text)
        if size < _LEAST_FILL * limit:
            break
        if pieces[place].boundary > best_boundary:
            best, best_boundary = place, pieces[place].boundary
    return best


def _overlap_start(pieces: list[Piece], start: int, fresh: int, limit: int, overlap: int) -> int:
    """Return where the next chunk begins: whole pieces back within `overlap`, leaving room for the next new piece."""
    if fresh >= len(pieces):
        return fresh
    room = min(overlap, limit - len(pieces[fresh].text) - len(pieces[fresh].gap))
    place, size = fresh, 0
    while place - 1 > start:
        size += len(pieces[place - 1].text) + (len(pieces[place].gap) if place < fresh else 0)
        if size > room:
            break
        place -= 1
    return place
