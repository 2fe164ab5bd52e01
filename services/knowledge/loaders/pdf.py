"""Load PDF files: the text of each page without running heads, with lines joined and bookmarks as headings."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from unicodedata import normalize

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.errors import DependencyError, LimitReachedError, PyPdfError
from pypdf.generic import Destination

from services.knowledge.loaders.outline import Outline
from services.knowledge.loaders.page_numbers import page_number
from services.knowledge.loaders.pdf_glyphs import GlyphFont
from services.knowledge.loaders.pdf_layout import page_layout
from services.knowledge.loaders.pdf_lines import full_width, glue, joined
from services.knowledge.loaders.pdf_objects import with_whole_lines
from services.knowledge.loaders.pdf_scan import page_image
from services.knowledge.loaders.pdf_spaces import without_unseen_spaces
from services.knowledge.loaders.pdf_tables import PageTable, page_lines
from services.knowledge.loaders.pdf_visibility import PageInk, hidden_layers
from services.knowledge.models import Omissions, Section
from services.knowledge.rejections import Rejection, rejected
from services.text.radicals import with_ordinary_characters
from services.text.sentences import CLOSING_QUOTES, WIDE_ENDS

_LOG = logging.getLogger(__name__)

_LIGATURES = {code: normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_SPACED_HANZI = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")
_HANZI_PAIR = re.compile(r"(?<=[\u4e00-\u9fff])(?=[\u4e00-\u9fff])")
_EDGE_LINES = 2
_RECURRING_SHARE = 0.4  # odd and even pages have different heads, so each head may be on less than half of the pages
_RECURRING_PAGES = 3
_FIRST_SENTENCE = re.compile(rf"[^{WIDE_ENDS}]{{0,300}}?[{WIDE_ENDS}][{CLOSING_QUOTES}]*")
_MAX_BOOKMARKS = 5000

# A line of a page, or a table in its place among the lines.
_Line = str | PageTable
# A paragraph as (None, text), a heading as (level, title), or a table.
_Block = tuple[int | None, str] | PageTable


def load(path: Path, omissions: Omissions) -> Iterator[Section]:
    """Yield a section for each page, and for each bookmark, at the line that is its title.

    Raise `DocumentRejected` for an encrypted file that an empty password does not open, a file without any text
    (scanned), a damaged page, and streams beyond pypdf's limits. A file with some scanned pages is accepted. Text that
    is drawn but not visible is left out.
    """
    try:
        yield from _sections(PdfReader(path), omissions)
    except LimitReachedError as error:
        raise rejected(Rejection.ARCHIVE_BOMB, repr(error)) from error


def _sections(reader: PdfReader, omissions: Omissions) -> Iterator[Section]:
    _unlock(reader)
    layers, fonts = hidden_layers(reader), dict[int, GlyphFont]()
    pages = without_running_heads(
        [_lines(reader, index, layers, fonts, omissions) for index in range(len(reader.pages))]
    )
    if not pages:
        raise rejected(Rejection.CORRUPT, "no pages")
    if not any(pages):
        reason = Rejection.SCANNED if omissions.shelf is None else Rejection.ILLEGIBLE_SCAN
        raise rejected(reason, f"{len(pages)} pages without text")
    bookmarks = _bookmarks(reader)
    outline = Outline(page=1)
    above: PageTable | None = None
    for number, blocks in enumerate(_pages_of_blocks(pages, bookmarks), start=1):
        yield from outline.turn_page(number)
        for block in blocks:
            if isinstance(block, PageTable):
                continues = above is not None and block.continues(above)
                table = replace(block, rows=block.rows_below(above)) if above and continues else block
                yield from _table(table, outline, continues=continues)
                # Its first row is the header of the whole table, for the page after this one too.
                above = table
                continue
            above = None
            level, text = block
            if level is None:
                yield from outline.prose(text)
            else:
                yield from outline.heading(level, text)
    yield from outline.close()


def _table(table: PageTable, outline: Outline, *, continues: bool) -> Iterator[Section]:
    """Yield the sections of a table; `continues` means that it goes on with the one before it."""
    if table.rows is None:
        yield from outline.uncertain_table(table.text)
    else:
        yield from outline.table(table.rows, continues=continues)


def _unlock(reader: PdfReader) -> None:
    """Decrypt a file that is only protected against printing or copying, so that its user password is empty."""
    if not reader.is_encrypted:
        return
    try:
        if reader.decrypt("") is not PasswordType.NOT_DECRYPTED:
            return
        detail = "a password is needed"
    except (DependencyError, NotImplementedError) as error:
        detail = repr(error)
    raise rejected(Rejection.ENCRYPTED, detail)


def _lines(
    reader: PdfReader, index: int, layers: frozenset[int], fonts: dict[int, GlyphFont], omissions: Omissions
) -> list[_Line]:
    """Return the visible lines of a page that are not blank, and its tables."""
    try:
        page = reader.pages[index]
        ink = PageInk(page, layers, fonts=fonts)
        text = _extracted(page, ink)
        if unseen := ink.unseen():
            whole = len("".join(text.split()))
            text = _extracted(page, PageInk(page, layers, unseen))
            omissions.hidden_text |= len("".join(text.split())) < whole
        lines = _laid_out(ink, unseen, text)
    except (MemoryError, LimitReachedError):
        raise
    except Exception as error:  # pypdf lets any error of its parsers propagate
        raise rejected(Rejection.CORRUPT_PAGE, repr(error), page=index + 1) from error
    if not lines and ink.images > 0:
        # The page is a scan, or a picture with invisible text over it.
        scan = omissions.text_of(partial(page_image, page)).splitlines()
        lines = [line for line in map(_cleaned, scan) if line]
    return lines


def _laid_out(ink: PageInk, unseen: frozenset[int], text: str) -> list[_Line]:
    """Return the lines and tables of a page whose visible text is `text`, without tables if glyphs were not placed."""
    lines: list[_Line] = []
    if not ink.has_unplaced_text:
        glyphs = [glyph for glyph in ink.glyphs if glyph.string not in unseen]
        text = with_whole_lines(without_unseen_spaces(text, glyphs), glyphs)
        layout = page_layout(glyphs, ink.rules)
        lines = list(page_lines(layout))
        # Reading the glyphs twice must give the same text, or else some of it is in the wrong place or missing.
        if not any(isinstance(line, PageTable) for line in lines) or Counter(
            character for mark in layout.marks for character in "".join(mark.text.split())
        ) != Counter("".join(text.split())):
            lines = []
    whole: list[_Line] = [*text.splitlines()]
    cleaned = [_cleaned(line) for line in lines or whole]
    return [line for line in cleaned if line]


def _cleaned(line: _Line) -> _Line:
    if isinstance(line, str):
        return _respaced(_folded(line).strip())
    rows = line.rows and [[_respaced(_folded(cell).strip()) for cell in row] for row in line.rows]
    return replace(line, rows=rows, text=_folded(line.text))


def _folded(text: str) -> str:
    """Return a text with ordinary characters, because fonts often map glyphs to radicals and ligatures."""
    return with_ordinary_characters(text.translate(_LIGATURES))


def _extracted(page: PageObject, ink: PageInk) -> str:
    return page.extract_text(visitor_operand_before=ink.before, visitor_operand_after=ink.after)


def _respaced(line: str) -> str:
    """Return a line of letter-spaced hanzi (会 议 纪 要) without the spaces, and any other line unchanged."""
    spaced = len(_SPACED_HANZI.findall(line))
    return _SPACED_HANZI.sub("", line) if spaced > 2 and spaced > 2 * len(_HANZI_PAIR.findall(line)) else line


def without_running_heads(pages: list[list[_Line]]) -> list[list[_Line]]:
    """Return the pages without headers, footers and page numbers: recurring lines among a page's first or last two.

    Lines count as the same if they differ only in digits; bare page numbers must increase with the pages.
    """
    edges = [{place: _key(lines[place], index) for place in _edge_places(lines)} for index, lines in enumerate(pages)]
    counts = Counter(key for page in edges for key in set(page.values()))
    least = max(_RECURRING_PAGES, _RECURRING_SHARE * len(pages))
    return [
        [line for place, line in enumerate(lines) if place not in keys or counts[keys[place]] < least]
        for lines, keys in zip(pages, edges, strict=True)
    ]


def _edge_places(lines: Sequence[_Line]) -> set[int]:
    count = len(lines)
    return {*range(min(_EDGE_LINES, count)), *range(max(0, count - _EDGE_LINES), count)}


def _key(line: _Line, index: int) -> str:
    if isinstance(line, PageTable):
        return f"table {id(line)}"
    if (number := page_number(line)) is not None:
        return f"page number {number - index}"
    return re.sub(r"\d+", "#", "".join(line.split()))


def _pages_of_blocks(pages: list[list[_Line]], bookmarks: dict[int, list[tuple[int, str]]]) -> list[list[_Block]]:
    """Return the paragraphs, headings and tables of each page.

    A sentence that crosses a page break belongs to the page where it begins.
    """
    result: list[list[_Block]] = []
    previous: list[_Line] = []
    for index, lines in enumerate(pages):
        blocks: list[_Block] = []
        pending: list[str] = []
        titles = list(bookmarks.get(index, ()))
        width = full_width(_texts(lines))
        for line in lines:
            if isinstance(line, PageTable):
                blocks += [*((None, text) for text in joined(pending, width)), line]
                pending = []
                continue
            matches = [place for place, (_, title) in enumerate(titles) if _compact(title) == _compact(line)]
            if matches:
                blocks += [(None, text) for text in joined(pending, width)]
                pending = []
                # The skipped titles have no line on the page but are still part of the heading path.
                blocks += titles[: matches[0] + 1]
                del titles[: matches[0] + 1]
            else:
                pending.append(line)
        blocks += [(None, text) for text in joined(pending, width)]
        blocks += titles
        if result and previous and lines:
            last, first = previous[-1], lines[0]
            if isinstance(last, str) and isinstance(first, str):
                _carry_sentence(result[-1], blocks, glue(last, first, full_width(_texts(previous))))
        result.append(blocks)
        previous = lines
    return result


def _texts(lines: Sequence[_Line]) -> list[str]:
    return [line for line in lines if isinstance(line, str)]


def _carry_sentence(before: list[_Block], after: list[_Block], between: str | None) -> None:
    last, first = before[-1], after[0]
    if between is None or isinstance(last, PageTable) or isinstance(first, PageTable):
        return
    if last[0] is not None or first[0] is not None:
        return
    sentence = _FIRST_SENTENCE.match(first[1])
    if sentence:
        before[-1] = (None, last[1] + between + sentence[0])
        rest = first[1][sentence.end() :].lstrip()
        after[:1] = [(None, rest)] if rest else []


def _compact(text: str) -> str:
    return "".join(_folded(text).split())


def _bookmarks(reader: PdfReader) -> dict[int, list[tuple[int, str]]]:
    """Map page indexes to the (level, title) of their bookmarks, in order; return {} if the bookmarks are broken."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for level, bookmark in _flat(reader.outline):
            index = reader.get_destination_page_number(bookmark)
            title = (bookmark.title or "").strip()
            if index is not None and title:
                found.setdefault(index, []).append((level, title))
    except (PyPdfError, KeyError, TypeError, ValueError, AttributeError) as error:
        # Bookmarks are optional: the text is complete without them.
        _LOG.warning("bookmarks unreadable: %r", error)
        return {}
    return found


def _flat(entries: Sequence[object]) -> Iterator[tuple[int, Destination]]:
    stack: list[tuple[int, object]] = [(1, entry) for entry in reversed(entries)]
    for _ in range(_MAX_BOOKMARKS):
        if not stack:
            return
        level, entry = stack.pop()
        if isinstance(entry, Destination):
            yield level, entry
        elif isinstance(entry, list):
            stack.extend((level + 1, child) for child in reversed(entry))
