"""Markdown to what reads well in QQ, which renders none of it."""

import re

_FENCE = re.compile(r"^\s*(```|~~~)[\w+-]*\s*$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"^(\s*)[*+-]\s+")
_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
_TABLE_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"!?\[([^\]\n]+)\]\((\S+?)\)")
_BLANKS = re.compile(r"\n{3,}")


def plain_text(markdown: str) -> str:
    """The same text without Markdown's marks; what stands in code fences is left as it is.

    >>> plain_text("## 结论\\n**可以**报销，见 [制度](https://a.cn)")
    '结论\\n可以报销，见 制度 https://a.cn'
    """
    lines: list[str] = []
    in_code = False
    for line in markdown.replace("\r\n", "\n").split("\n"):
        if _FENCE.match(line):
            in_code = not in_code
        elif in_code:
            lines.append(line)
        elif not _RULE.match(line) and not ("|" in line and _TABLE_RULE.match(line)):
            lines.append(_plain_line(line))
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip()


def _plain_line(line: str) -> str:
    if match := _HEADING.match(line):
        line = match.group(1)
    if match := _TABLE_ROW.match(line):
        line = "，".join(cell.strip() for cell in match.group(1).split("|") if cell.strip())
    line = _BULLET.sub(r"\1· ", line)
    line = _LINK.sub(
        lambda match: match.group(1) if match.group(1) == match.group(2) else " ".join(match.groups()), line
    )
    line = _CODE.sub(r"\1", line)
    return _BOLD.sub(r"\2", line)
