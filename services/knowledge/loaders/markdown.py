"""Load Markdown: heading paths, whole blocks of fenced code, and pipe tables."""

import re
from collections.abc import Iterator
from pathlib import Path

from services.knowledge.loaders.decoding import decode
from services.knowledge.loaders.markdown_comments import without_comments
from services.knowledge.loaders.outline import Outline
from services.knowledge.models import Omissions, Section

_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_RULE_CELL = re.compile(r":?-+:?$")
_NOT_A_TITLE = re.compile(r"\s*([-*+>|]|\d+[.)]\s|$)")
_BAR = re.compile(r"(?<!\\)\|")


def load(path: Path, _omissions: Omissions) -> Iterator[Section]:
    """Yield sections by ATX (`#`) and setext (underlined) headings, following CommonMark's rules for blocks."""
    lines = without_comments(decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")).split("\n")
    outline = Outline()
    index = _skip_front_matter(lines, outline)
    while index < len(lines):
        line = lines[index]
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if fence := _FENCE.match(line):
            end = _fence_end(lines, index, fence[1])
            outline.line("\n".join(lines[index:end]))
            index = end
        elif heading := _HEADING.match(line):
            yield from outline.heading(len(heading[1]), _title(heading[2]))
            index += 1
        elif "|" in line and "|" in following and _is_table_rule(following):
            end = index + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            yield from outline.table([_cells(row) for row in (line, *lines[index + 2 : end])])
            index = end
        elif (underline := _UNDERLINE.match(following)) and not _NOT_A_TITLE.match(line):
            yield from outline.heading(1 if underline[1][0] == "=" else 2, line)
            index += 2
        else:
            yield from outline.prose(line)
            index += 1
    yield from outline.close()


def _skip_front_matter(lines: list[str], outline: Outline) -> int:
    """Keep a YAML block at the top as text, without its delimiters, and return the index of the first line after it."""
    if lines[0].rstrip() != "---":
        return 0
    for end, line in enumerate(lines[1:200], start=1):
        if line.rstrip() in ("---", "..."):
            outline.line("\n".join(lines[1:end]))
            return end + 1
        if not line.strip():
            return 0
    return 0


def _fence_end(lines: list[str], start: int, mark: str) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
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
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(row)]
