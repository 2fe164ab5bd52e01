"""Load web pages: headings, text and tables, without scripts and navigation."""

import re
from collections.abc import Iterator
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from services.knowledge.loaders.decoding import decode
from services.knowledge.loaders.html_visibility import remove_invisible
from services.knowledge.loaders.outline import Outline
from services.knowledge.loaders.struck import STRUCK_BEGINS, STRUCK_ENDS, tidied
from services.knowledge.loaders.tables import Cell, laid_out, with_single_headers
from services.knowledge.models import Omissions, Section

_DROPPED = {
    "script", "style", "nav", "noscript", "template", "svg", "iframe", "object", "canvas", "head",
    "button", "select", "textarea", "-comment",
}  # fmt: skip
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "q", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
    "u", "var", "wbr",
}  # fmt: skip
_DROPPED_INLINE = {"rt", "rp"}
_STRUCK = {"del", "s", "strike"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_PRESCAN_BYTES = 4096
# With signs that UTF-7 and escapes read as others.
_ASCII = rb" +AGE- <meta charset='~^`|{}[]@#$%&*?!\x41>"
_SPACE = re.compile(r"[ \t\r\n\f]+")


def load(path: Path, omissions: Omissions) -> Iterator[Section]:
    """Yield sections by h1 to h6; the page's title is the top heading if there is no h1."""
    tree = LexborHTMLParser(decode_html(path.read_bytes()))
    omissions.hidden_text |= remove_invisible(tree)
    outline = Outline()
    title = tree.css_first("title")
    if title is not None and tree.css_first("h1") is None:
        yield from outline.heading(1, title.text())
    if tree.body is not None:
        yield from _walk(tree.body, outline)
    yield from outline.close()


def decode_html(data: bytes) -> str:
    """Decode a page by its byte order mark, else by its declared charset if the bytes fit, else like plain text."""
    declared = _META_CHARSET.search(data[:_PRESCAN_BYTES])
    if declared and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        name = declared[1].decode("ascii").lower()
        # Browsers read gb2312 and gbk as their superset.
        name = "gb18030" if name in ("gb2312", "gbk", "x-gbk") else name
        try:
            # A declaration that could be read in ASCII names no other kind of encoding: not UTF-16, not UTF-7.
            if _ASCII.decode(name) == _ASCII.decode("ascii"):
                return data.decode(name)
        except (LookupError, ValueError):
            pass
    return decode(data)


def _walk(root: LexborNode, outline: Outline) -> Iterator[Section]:  # noqa: PLR0912  # a branch for each kind of element
    """Feed the nodes to the outline in order, with a stack, because the file determines the depth of nesting."""
    line: list[str] = []

    def end_line() -> None:
        if text := tidied(_SPACE.sub(" ", "".join(line))).strip():
            outline.line(text)
        line.clear()

    # Each item is a node, None for the end of a block, or a text that stands behind a node.
    stack: list[LexborNode | str | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:
            end_line()
            continue
        if isinstance(node, str):
            line.append(node)
            continue
        tag = node.tag or ""
        if tag == "-text":
            line.append(node.text(deep=False))
        elif tag in _DROPPED or tag in _DROPPED_INLINE:
            continue
        elif tag in _HEADINGS:
            end_line()
            yield from outline.heading(_HEADINGS[tag], _flat_text(node))
        elif tag == "pre":
            end_line()
            outline.line(f"```\n{node.text().strip(chr(10))}\n```")
        elif tag == "table" and (rows := _rows(node)):
            end_line()
            yield from outline.table(rows)
        elif tag == "br":
            end_line()
        elif tag == "img":
            line.append(node.attributes.get("alt") or "")
        else:
            if tag not in _INLINE:
                end_line()
                stack.append(None)
            if tag == "li":
                line.append("- ")
            if tag in _STRUCK:
                line.append(STRUCK_BEGINS)
                stack.append(STRUCK_ENDS)
            stack.extend(reversed(list(_children(node))))


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.first_child
    while child is not None:
        yield child
        child = child.next


def table_rows(fragment: str) -> list[list[str]]:
    """Return the visible cells of the first table in a fragment of HTML, [] for a layout table."""
    tree = LexborHTMLParser(fragment)
    remove_invisible(tree)
    table = tree.css_first("table")
    return _rows(table) if table is not None else []


def _rows(table: LexborNode) -> list[list[str]]:
    """Return the cells of a data table, or [] for a layout table (one column, or tables or headings inside)."""
    if table.css_first("table table, h1, h2, h3, h4, h5, h6") is not None:
        return []
    cells = ([_cell(cell) for cell in _children(row) if cell.tag in ("td", "th")] for row in table.css("tr"))
    rows = with_single_headers(laid_out(cells))
    caption = table.css_first("caption")
    if caption is not None:
        rows.insert(0, [_flat_text(caption)])
    return rows if any(len(row) > 1 for row in rows) else []


def _cell(cell: LexborNode) -> Cell:
    return Cell(_flat_text(cell), _span(cell, "colspan"), _span(cell, "rowspan"))


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or "1"
    # The standard clamps colspan to 1,000 and rowspan to 65,534, so five digits are enough.
    return int(value[-5:]) if value.isascii() and value.isdigit() else 1


def _flat_text(node: LexborNode) -> str:
    parts: list[str] = []
    stack: list[LexborNode | str] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, str):
            parts.append(current)
            continue
        tag = current.tag or ""
        if tag == "-text":
            parts.append(current.text(deep=False))
        elif tag not in _DROPPED and tag not in _DROPPED_INLINE:
            if tag not in _INLINE:
                parts.append(" ")
            if tag in _STRUCK:
                parts.append(STRUCK_BEGINS)
                stack.append(STRUCK_ENDS)
            stack.extend(reversed(list(_children(current))))
    return tidied(_SPACE.sub(" ", "".join(parts))).strip()
