"""Load Markdown: heading paths, whole blocks of fenced code, and pipe tables."""

import re
from collections.abc import Generator, Iterator
from pathlib import Path

from services.knowledge.loaders.decoding import decode
from services.knowledge.loaders.html import table_rows
from services.knowledge.loaders.markdown_comments import without_comments
from services.knowledge.loaders.markdown_inline import plain
from services.knowledge.loaders.outline import Outline
from services.knowledge.models import Omissions, Section

_FENCE = re.compile(r"\s{0,12}(?:[-*+]\s+)?(`{3,}+(?!.*`)|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_RULE_CELL = re.compile(r":?-+:?$")
_NOT_A_TITLE = re.compile(r"\s*([-*+>|]|\d+[.)]\s|$)")
_BAR = re.compile(r"(?<!\\)\|")
_QUOTE = re.compile(r"^\s{0,3}(?:>\s?)+(?:\[!\w{1,20}\][-+]?\s*)?")
# !!! info "标题", ??? note, ::: tip 标题, :::, === "标签": the marks of boxes and tabs of site generators.
_BOX = re.compile(
    r"\s*(?:(?:!!!|\?\?\?\+?|===[!+]?)\s+(?P<kind>[\w-]*)\s*(?:\"(?P<title>[^\"]*)\")?|:{3,}\s*(?P<name>[\w-]*)\s*(?P<words>.*))\s*$"
)
_NOT_SHOWN = re.compile(
    r"\s*(?:\[\[?_?toc_?\]?\]|\[[^\[\]^]{1,200}\]:\s*<?\S+>?(?:\s+[\"'(].*)?|import\s.+\sfrom\s+[\"'].+|(?:[-*_]\s*){3,}"
    r"|@\[\w+\]\(.*\)|<!--.*-->)\s*$",
    re.IGNORECASE,
)
_FOOTNOTE_TEXT = re.compile(r"^\s*\[\^[^\[\]\s]{1,50}\]:\s*")
_RAW_BLOCK = re.compile(r"\s*<(script|style)\b", re.IGNORECASE)
_RAW_TABLE = re.compile(r"\s*(?:<div[^<>]*>\s*)?<table\b", re.IGNORECASE)
_BOX_INDENT = "    "
_MOST_FRONT_LINES = 200


def load(path: Path, _omissions: Omissions) -> Iterator[Section]:
    """Yield sections by ATX (`#`) and setext (underlined) headings, following CommonMark's rules for blocks.

    Outside of code, the text is what a viewer of the page sees: without marks, images, tags and targets of links.
    """
    lines = without_comments(decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")).split("\n")
    outline = Outline()
    index, title = _front_matter(lines)
    if title and not any(re.match("# ", line) for line in lines):
        yield from outline.heading(1, title)
    is_boxed = False
    while index < len(lines):
        line = lines[index]
        is_boxed &= not line.strip() or line.startswith(_BOX_INDENT)
        if is_boxed:
            lines[index] = line.removeprefix(_BOX_INDENT)
        elif (box := _BOX.match(line)) and not _FENCE.match(line):
            is_boxed = not line.lstrip().startswith(":")
            if words := plain(box["title"] or box["words"] or ""):
                outline.line(words)
            index += 1
            continue
        index = yield from _block(lines, index, outline)
    yield from outline.close()


def _block(lines: list[str], index: int, outline: Outline) -> Generator[Section, None, int]:
    """Add the block that begins at a line, and return the index of the line below it."""
    line = lines[index]
    following = lines[index + 1] if index + 1 < len(lines) else ""
    end = index + 1
    if fence := _FENCE.match(line):
        end = _fence_end(lines, index, fence[1])
        outline.line("\n".join(_dedented(lines[index:end])))
    elif raw := _RAW_BLOCK.match(line):
        end = _block_end(lines, index, f"</{raw[1].lower()}>")
    elif _RAW_TABLE.match(line):
        end = _block_end(lines, index, "</table>")
        yield from outline.table(table_rows("\n".join(lines[index:end])))
    elif heading := _HEADING.match(line):
        yield from outline.heading(len(heading[1]), plain(_title(heading[2])))
    elif "|" in line and "|" in following and _is_table_rule(following):
        end = next((place for place in range(index + 2, len(lines)) if "|" not in lines[place]), len(lines))
        yield from outline.table([_cells(row) for row in (line, *lines[index + 2 : end])])
    elif (underline := _UNDERLINE.match(following)) and not _NOT_A_TITLE.match(line):
        end = index + 2
        yield from outline.heading(1 if underline[1][0] == "=" else 2, plain(line))
    elif not _NOT_SHOWN.match(line):
        yield from _prose(line, outline)
    return end


def _prose(line: str, outline: Outline) -> Iterator[Section]:
    """Add a line of text; a line that shows nothing, such as an image, is left out."""
    text = plain(_FOOTNOTE_TEXT.sub("", _QUOTE.sub("", line), count=1))
    if text.strip() or not line.strip():
        yield from outline.prose(text)


def _front_matter(lines: list[str]) -> tuple[int, str]:
    """Return the index of the first line below a YAML block at the top, and the title that it gives to the page."""
    if lines[0].rstrip() != "---":
        return 0, ""
    title = ""
    for end, line in enumerate(lines[1:_MOST_FRONT_LINES], start=1):
        if line.rstrip() in ("---", "..."):
            return end + 1, title
        if not line.strip():
            return 0, ""
        name, _, value = line.partition(":")
        if name == "title":
            title = value.strip().strip("\"'")
    return 0, ""


def _dedented(block: list[str]) -> list[str]:
    """Return a code block without the indentation of the list item that it stands in."""
    indent = len(block[0]) - len(block[0].lstrip())
    return [line[min(indent, len(line) - len(line.lstrip())) :] for line in block]


def _block_end(lines: list[str], start: int, closing: str) -> int:
    return next((i + 1 for i in range(start, len(lines)) if closing in lines[i].lower()), len(lines))


def _fence_end(lines: list[str], start: int, mark: str) -> int:
    closing = re.compile(rf"\s{{0,12}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    for index in range(start + 1, len(lines)):
        if closing.match(lines[index]):
            return index + 1
    return len(lines)


def _title(text: str) -> str:
    """Return the text of an ATX heading without closing marks."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else text


def _is_table_rule(line: str) -> bool:
    return all(_RULE_CELL.match(cell) for cell in _cells(line))


def _cells(row: str) -> list[str]:
    row = row.strip().removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [plain(cell.strip().replace("\\|", "|")) for cell in _BAR.split(row)]
