"""Convert Markdown to text that reads well in QQ, which renders no Markdown."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

_FENCE = re.compile(r"^\s*(```|~~~)[\w+-]*\s*$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}(?=\s)")
# A quotation mark needs its space, or stands before Chinese; ">100" and ">>> x" are literal text.
_QUOTATION = re.compile(r"^\s{0,3}(?:>\s?)*(?:>\s+|>(?=[\u4e00-\u9fff「（])|>$)")
_BULLET = re.compile(r"^(\s*)[*+-]\s+")
_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
# "\\|" is a character of its cell.
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_TABLE_RULE_CELL = re.compile(r":?-{2,}:?")
# Shown for an empty table cell: without it the following cells would move to another column.
_EMPTY_CELL = "—"
_BOLD = re.compile(r"\*\*|__")
# Between two of these a mark is an operator or part of a name: 2**3, LLM__MODEL. Chinese characters do not count.
_WORD = re.compile(r"[A-Za-z0-9_()\[\]]")
_ARGUMENT_BEGINS = "({[,=:，、（"
_NAME = re.compile(r"[A-Za-z0-9_.]+")
_STRUCK = re.compile(r"~~(?=\S)([^~\n]+?)(?<=\S)~~")
# A single star is a product (长*宽*高), a wildcard or a pointer as often as emphasis. It counts as emphasis only in a
# pair without a word, number, slash or point on its outer sides.
_EMPHASIS = re.compile(r"(?<![*\w\\/.)\]])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![*\w\\/.(])")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"!?\[([^\[\]\n]+)\]\(([^\s\[)]+)\)")
_BLANKS = re.compile(r"\n{3,}")


# Stands between the cells of a table until a text is complete, because a cell may contain any other character. `clean`
# removes it from what a model writes.
CELL_END = "\x1f"
_BETWEEN_CELLS = "，"


@dataclass(frozen=True, slots=True)
class Line:
    """One line without Markdown.

    `code` is true for a line of a code fence, which is kept literally, and `row` for a row of a table, whose cells are
    separated by `CELL_END`; `header` is also true for its first row, which names the columns.
    """

    text: str
    code: bool = False
    row: bool = False
    header: bool = False


def plain_lines(markdown: str) -> list[Line]:
    """Return the lines without Markdown; the content of code fences is left as it is."""
    lines: list[Line] = []
    in_code = in_table = False
    written = markdown.replace("\r\n", "\n").split("\n")
    for line, following in pairwise([*written, ""]):
        if _FENCE.match(line):
            in_code, in_table = not in_code, False
        elif in_code:
            lines.append(Line(line, code=True))
        elif not _RULE.match(line) and not _is_table_rule(line):
            # The row above the rule is the header.
            begins = not in_table and _is_table_rule(following)
            in_table = _is_row(line) and (in_table or begins)
            lines.append(Line(_plain_line(line), row=in_table, header=in_table and begins))
    return lines


def joined(lines: Iterable[Line]) -> str:
    """Return the lines as one text, with no more than one blank line in a row."""
    return block_text(lines).strip()


def block_text(lines: Iterable[Line]) -> str:
    """Return some of the lines as they stand in the text of all, without the blank lines around them."""
    text = "\n".join(line.text for line in lines).replace(CELL_END, _BETWEEN_CELLS)
    return _BLANKS.sub("\n\n", text).strip("\n")


def plain_text(markdown: str) -> str:
    r"""Return the text without Markdown; the content of code fences is left as it is.

    >>> plain_text("## 结论\n**可以**报销，见 [制度](https://a.cn)")
    '结论\n可以报销，见 制度 https://a.cn'
    """
    return joined(plain_lines(markdown))


def _plain_line(line: str) -> str:
    if not line.strip():
        return ""
    line = _QUOTATION.sub("", line)
    if match := _HEADING.match(line):
        title = line[match.end() :].strip()
        # "## 结论 ##" is a closed heading; "# C#" is not.
        line = title.rstrip("#").rstrip() if title.rstrip("#")[-1:] in ("", " ") else title
    if _is_row(line):
        cells = _CELL_BORDER.split(line.strip()[1:-1])
        line = CELL_END.join(cell.strip().replace("\\|", "|") or _EMPTY_CELL for cell in cells)
    line = _BULLET.sub(r"\1· ", line)
    line = _LINK.sub(
        lambda match: match.group(1) if match.group(1) == match.group(2) else " ".join(match.groups()), line
    )
    # Inline code is exempt from emphasis: `*args` and `a*b*c` are literal.
    parts = _CODE.split(line)
    return "".join(part if position % 2 else _without_emphasis(part) for position, part in enumerate(parts))


def _is_row(line: str) -> bool:
    row = line.strip()
    return bool(row.strip("| ")) and row.startswith("|") and row.endswith("|")


def _is_table_rule(line: str) -> bool:
    if "|" not in line:
        return False
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return all(_TABLE_RULE_CELL.fullmatch(cell.strip()) for cell in cells)


def _without_emphasis(text: str) -> str:
    return _EMPHASIS.sub(r"\1", _STRUCK.sub(r"\1", _without_bold(text)))


def _without_bold(text: str) -> str:
    """Return the text without pairs of ** and __ that mark bold words.

    Pairs are found in one pass: a pattern would search the rest of the text once for each mark that is never closed.
    """
    removed: list[re.Match[str]] = []
    opened: dict[str, re.Match[str]] = {}
    for mark in _BOLD.finditer(text):
        before, behind = text[max(0, mark.start() - 1) : mark.start()], text[mark.end() : mark.end() + 1]
        opening = opened.get(mark[0])
        if opening and _may_close(before, behind) and mark.start() > opening.end():
            del opened[mark[0]]
            # __init__ is a name, whatever surrounds it.
            if mark[0] == "**" or not _NAME.fullmatch(text, opening.end(), mark.start()):
                removed += (opening, mark)
        elif opening is None and _may_open(before, behind):
            opened[mark[0]] = mark
    starts = {mark.start() for mark in removed}
    pieces = _BOLD.split(text)
    marks = ["" if mark.start() in starts else mark[0] for mark in _BOLD.finditer(text)]
    return "".join(piece + mark for piece, mark in zip(pieces, [*marks, ""], strict=True))


def _may_open(before: str, behind: str) -> bool:
    return bool(behind.strip()) and not (_WORD.match(behind) and _WORD.match(before))


def _may_close(before: str, behind: str) -> bool:
    return bool(before.strip()) and not (_WORD.match(behind) and (_WORD.match(before) or before in _ARGUMENT_BEGINS))
