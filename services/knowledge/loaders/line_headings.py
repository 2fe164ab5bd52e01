"""Recognise headings in lines of plain text, such as 第三章 总则, 一、作息, （二）用电：… and 问：几点熄灯？.

Most files in groups are notices and FAQs without heading styles. Cut at these lines, a passage has a single subject:
its vector is close to questions about it, and citations can name it.
"""

import re
from dataclasses import dataclass

from services.text.numerals import ARTICLE_SIGNS, ITEM_SIGNS
from services.text.sentences import ENDS, WIDE_ENDS

# Deeper than every heading level that a file format can mark.
_CHAPTER, _PART, _NUMBERED, _BRACKETED, _ARTICLE, _QUESTION = range(11, 17)

_MARKS = (
    (_CHAPTER, re.compile(rf"第[{ARTICLE_SIGNS}\d]{{1,4}}[章编篇]|第[{ARTICLE_SIGNS}\d]{{1,4}}部分")),
    (_PART, re.compile(rf"第[{ARTICLE_SIGNS}\d]{{1,4}}节")),
    (_NUMBERED, re.compile(rf"[{ITEM_SIGNS}]{{1,3}}[、.．]")),
    (_BRACKETED, re.compile(rf"[（(][{ITEM_SIGNS}]{{1,3}}[)）]")),
    (_ARTICLE, re.compile(rf"第[{ARTICLE_SIGNS}\d]{{1,5}}条")),
)
_ASKED = re.compile(r"(?:问题?\s*\d{0,3}|Q\s*\d{0,3})\s*[:：、.．]\s*(?P<question>\S.*)", re.IGNORECASE)
_TITLE_CHARS, _LEAD_CHARS, _QUESTION_CHARS = 30, 20, 80
# The colon of a time (9:00) ends no title.
_TITLE_END = r"(?:(?<!\d)[：:]|[：:](?!\d))"
_COLON = re.compile(_TITLE_END)
_LEAD = re.compile(rf"(?P<title>(?:[^：:{WIDE_ENDS}，,]|(?<=\d)[：:](?=\d)){{1,{_LEAD_CHARS}}}?){_TITLE_END}")
_SENTENCE = re.compile(rf"[{ENDS}，,…]")
_LEADERS = re.compile(r"[.·…]{3,}\s*\d*$")


@dataclass(frozen=True, slots=True)
class LineHeading:
    """A heading in a line of text. `is_text` is set when the line says more than the heading and stays in the text.

    `is_complete` is set when the text under the heading stands on its own, however short, such as a question with its
    answer.
    """

    level: int
    title: str
    is_text: bool = False
    is_complete: bool = False


def line_heading(line: str) -> LineHeading | None:
    """Return the heading that a line is or begins with, None for any other line.

    >>> line_heading("二、期中考试")
    LineHeading(level=13, title='二、期中考试', is_text=False, is_complete=False)
    >>> line_heading("五、开放时间：周一至周五上午八时至晚间十时。")
    LineHeading(level=13, title='五、开放时间', is_text=True, is_complete=False)
    >>> line_heading("问：宿舍几点熄灯？")
    LineHeading(level=16, title='宿舍几点熄灯？', is_text=True, is_complete=True)
    >>> line_heading("一、本办法适用于全体在校学生，以及进修人员。") is None
    True
    """
    text = line.strip()
    if asked := _ASKED.fullmatch(text):
        return LineHeading(_QUESTION, asked["question"][:_QUESTION_CHARS], is_text=True, is_complete=True)
    for level, mark in _MARKS:
        if found := mark.match(text):
            return _headed(level, text, found.end())
    return None


def _headed(level: int, text: str, end: int) -> LineHeading | None:
    rest = text[end:].strip()
    if rest and len(text) <= _TITLE_CHARS and not _SENTENCE.search(rest) and not _LEADERS.search(text):
        title, *said = _COLON.split(text, maxsplit=1)
        return LineHeading(level, title.strip(), is_text=bool(said and said[0].strip()))
    lead = _LEAD.match(rest)
    if lead:
        return LineHeading(level, text[: text.index(lead["title"], end)] + lead["title"].strip(), is_text=True)
    # Every article (条) is a unit of its own; a line that is only numbered may be a list item.
    return LineHeading(level, text[:end], is_text=True) if level == _ARTICLE and rest else None
