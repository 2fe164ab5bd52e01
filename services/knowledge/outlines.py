"""The outline of a document: its parts in order, each with its heading, its page and how its text begins."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import groupby

from services.index.models import IndexedChunk
from services.knowledge.chunk_metadata import heading_of
from services.text.sentences import sentences
from services.text.tables import CELLS, NEXT_TABLE

# A document with fewer parts on one level of headings is shown by the next level.
_ENOUGH_PARTS = 3
_DEEPEST = 4
# A document without headings and pages is shown in about so many parts.
_PIECES = 6
_MOST_TEXT = 160
_TAG = re.compile(
    r"<[^<>\n]{0,400}>|</?[a-z][^<>\n]{0,400}$|\[\^\w{1,8}\]:?|\{#[\w-]+\}|^\s*(?::::|!!!).*$|\$\$?|^\s*```\w*\s*$",
    re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_EMPHASIS = re.compile(
    r"\*\*|__|~~|`+|^\s{0,3}#{1,6}\s+|^\s*>\s?|^\s*[-*+]\s+(?:\[[ xX]\]\s+)?|^\s*\d{1,2}[.、]\s+", re.MULTILINE
)
_RULE = re.compile(r"[\s|:=_*-]*")
_LETTER = re.compile(r"[^\W_]")
_BAR = re.compile(r"(?<!\\)\|")
# The dots of a table of contents with their page, and bullets of fonts that nobody else has.
_ORNAMENT = re.compile(r"\s*[.·…‥_]{4,}\s*\d*|[\ue000-\uf8ff\ufffd]")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document: `page` is None if unknown, `ordinal` that of its first chunk.

    `text` is the beginning of its text on one line, without markup, up to 160 characters. `heading` may be empty.
    """

    heading: str
    page: int | None
    text: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class Place:
    """A place at which a page or a heading begins, with the ordinal of its first chunk.

    `heading` is the path of headings from the top.
    """

    heading: tuple[str, ...]
    page: int | None
    ordinal: int


@dataclass(frozen=True, slots=True)
class Outline:
    """What a document contains, in order: every one of its `places`, and the few `parts` that a person is told.

    `pages` is 0 if the format has none, `characters` counts those of all chunks.
    """

    places: tuple[Place, ...]
    parts: tuple[Part, ...]
    pages: int
    chunks: int
    characters: int


def outline_of(chunks: Sequence[IndexedChunk]) -> Outline:
    """Return the outline of the chunks of one build, in order of `ordinal`."""
    pages = [page for chunk in chunks if (page := page_of(chunk))]
    return Outline(
        places=tuple(_places(chunks)),
        parts=tuple(_parts(chunks)),
        pages=max(pages, default=0),
        chunks=len(chunks),
        characters=sum(len(chunk.text) for chunk in chunks),
    )


def page_of(chunk: IndexedChunk) -> int | None:
    """Return the page of a chunk, or None if it is unknown. A sheet is known by its name, which is its heading."""
    page = chunk.metadata.get("page")
    is_sheet = str(chunk.metadata.get("file", "")).lower().endswith(".xlsx")
    return page if isinstance(page, int) and page > 0 and not is_sheet else None


def path_of(chunk: IndexedChunk) -> tuple[str, ...]:
    """Return the path of headings above a chunk, from the top."""
    return heading_of(chunk.metadata)


def plain_line(text: str) -> str:
    """Return a text as one line without the marks of Markdown and HTML.

    >>> plain_line("1. **三周**，见[细则](a.md)")
    '三周，见细则'
    """
    plain = unescape(_EMPHASIS.sub("", _LINK.sub(r"\1", _TAG.sub("", text))))
    return " ".join(_ORNAMENT.sub(" ", plain).split())


def shown_lines(text: str) -> list[str]:
    r"""Return the lines of a text as a person sees them: no markup, no empty cells, no marks between tables.

    >>> shown_lines("# 费用\n项目 | 金额 | \n- | - | -\n（下一张表）\n校服 |  | 260")
    ['费用', '项目、金额', '校服、260']
    """
    lines = ("" if line.strip() == NEXT_TABLE else _plain_row(line) for line in text.split("\n"))
    return [line for line in lines if _LETTER.search(line) and not _RULE.fullmatch(line)]


def _plain_row(line: str) -> str:
    """Return the cells of a table row that have text, or any other line itself, without markup."""
    if CELLS not in f" {line} ":
        return plain_line(line)
    cells = (plain_line(cell.replace("\\|", "|")) for cell in _BAR.split(line))
    return "、".join(cell for cell in cells if _LETTER.search(cell))


def _places(chunks: Sequence[IndexedChunk]) -> Iterator[Place]:
    for (heading, page), group in groupby(chunks, key=lambda chunk: (path_of(chunk), page_of(chunk))):
        yield Place(heading, page, next(group).ordinal)


def _parts(chunks: Sequence[IndexedChunk]) -> Iterator[Part]:
    # Every chunk of a table begins with its header, which is worth reading once.
    shown = set[str]()
    for heading, group in _groups(chunks):
        lines = [line for chunk in group for line in chunk.text.split("\n") if line not in shown]
        shown.update(chunk.text.split("\n", 1)[0] for chunk in group if CELLS in chunk.text.split("\n", 1)[0])
        yield Part(plain_line(heading), page_of(group[0]), _beginning(lines, heading), group[0].ordinal)


def _groups(chunks: Sequence[IndexedChunk]) -> list[tuple[str, list[IndexedChunk]]]:
    """Return the chunks of each part with its heading."""
    best: list[tuple[str, list[IndexedChunk]]] = []
    for depth in range(1, _DEEPEST + 1):
        grouped = [(path, list(group)) for path, group in groupby(chunks, key=lambda chunk: path_of(chunk)[:depth])]
        if len({path for path, _ in grouped}) > max(1, len(best)):
            best = [(path[-1] if path else "", group) for path, group in grouped]
        if len(best) >= _ENOUGH_PARTS:
            return best
    if best:
        return best
    title = "".join(path_of(chunks[0])[-1:]) if chunks else ""
    paged = [list(group) for _, group in groupby(chunks, key=page_of)]
    if len(paged) > 1:
        return _titled(title, paged)
    size = -(-len(chunks) // _PIECES) or 1
    return _titled(title, [list(chunks[start : start + size]) for start in range(0, len(chunks), size)])


def _titled(title: str, groups: Sequence[list[IndexedChunk]]) -> list[tuple[str, list[IndexedChunk]]]:
    """Return the parts of a document whose only heading is its title, which the first one has."""
    return [(title if number == 0 else "", group) for number, group in enumerate(groups)]


def _beginning(lines: Iterable[str], heading: str) -> str:
    """Return the first sentences of a part, without its heading."""
    text = ""
    for plain in shown_lines("\n".join(lines)):
        if plain == plain_line(heading):
            continue
        for sentence in sentences(plain):
            if text and len(text) + len(sentence) > _MOST_TEXT:
                return text
            is_closed = not text or text.endswith(("。", "！", "？", "；", "：", "，", ".", "!", "?", ":"))
            text += sentence.strip() if is_closed else f"；{sentence.strip()}"
            if len(text) >= _MOST_TEXT:
                return f"{text[: _MOST_TEXT - 1]}…"
    return text
