"""Markdown to what reads well in QQ, which renders none of it."""

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^\s*(```|~~~)[\w+-]*\s*$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
# A quotation needs its space, or stands before Chinese; ">100" and ">>> x" are what somebody wrote.
_QUOTATION = re.compile(r"^\s{0,3}(?:>\s?)*(?:>\s+|>(?=[\u4e00-\u9fff「（])|>$)")
_BULLET = re.compile(r"^(\s*)[*+-]\s+")
_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
_TABLE_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_STRUCK = re.compile(r"~~(?=\S)([^~\n]+?)(?<=\S)~~")
# One star is a product (长*宽*高), a wildcard or a pointer as often as emphasis: only where it closes, with no word,
# number, slash or point on its outer sides.
_EMPHASIS = re.compile(r"(?<![*\w\\/.)\]])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![*\w\\/.(])")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"!?\[([^\]\n]+)\]\((\S+?)\)")
_BLANKS = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without marks. `code`: it stood in a fence, so that every character of it is meant."""

    text: str
    code: bool = False


def plain_lines(markdown: str) -> list[Line]:
    """The lines without Markdown's marks; what stands in code fences is left as it is."""
    lines: list[Line] = []
    in_code = False
    for line in markdown.replace("\r\n", "\n").split("\n"):
        if _FENCE.match(line):
            in_code = not in_code
        elif in_code:
            lines.append(Line(line, code=True))
        elif not _RULE.match(line) and not ("|" in line and _TABLE_RULE.match(line)):
            lines.append(Line(_plain_line(line)))
    return lines


def joined(lines: list[Line]) -> str:
    """The lines as one text, without long gaps."""
    return _BLANKS.sub("\n\n", "\n".join(line.text for line in lines)).strip()


def plain_text(markdown: str) -> str:
    """The same text without Markdown's marks; what stands in code fences is left as it is.

    >>> plain_text("## 结论\\n**可以**报销，见 [制度](https://a.cn)")
    '结论\\n可以报销，见 制度 https://a.cn'
    """
    return joined(plain_lines(markdown))


def _plain_line(line: str) -> str:
    line = _QUOTATION.sub("", line)
    if match := _HEADING.match(line):
        line = match.group(1)
    if match := _TABLE_ROW.match(line):
        line = "，".join(cell.strip() for cell in match.group(1).split("|") if cell.strip())
    line = _BULLET.sub(r"\1· ", line)
    line = _LINK.sub(
        lambda match: match.group(1) if match.group(1) == match.group(2) else " ".join(match.groups()), line
    )
    # Inline code is kept from the marks of emphasis: `*args` and `a*b*c` are meant.
    parts = _CODE.split(line)
    return "".join(part if position % 2 else _without_emphasis(part) for position, part in enumerate(parts))


def _without_emphasis(text: str) -> str:
    return _EMPHASIS.sub(r"\1", _STRUCK.sub(r"\1", _BOLD.sub(r"\2", text)))
