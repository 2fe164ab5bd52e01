"""What can be asked about files, and the words that all such questions share."""

import re
from dataclasses import dataclass
from enum import StrEnum


class FileAsk(StrEnum):
    """What somebody wants to know about files."""

    LIST = "list"
    KIND = "kind"
    RECENT = "recent"
    EXTREME = "extreme"
    SENDERS = "senders"
    OVERVIEW = "overview"
    FIND = "find"
    SUMMARY = "summary"
    UPLOADER = "uploader"
    TOTAL_SIZE = "total_size"


class Pointing(StrEnum):
    """How a question points at a file that it does not name."""

    TO_THAT = "to_that"
    TO_LATEST = "to_latest"


class FileKind(StrEnum):
    """A kind of file, by the name that a reply gives it."""

    PDF = "PDF 文件"
    WORD = "Word 文件"
    SLIDES = "PPT 文件"
    SHEET = "表格"
    MARKDOWN = "Markdown 文件"
    WEB = "网页"
    TEXT = "文本文件"


class Extreme(StrEnum):
    """Which one of all files is asked for, by the word that a reply uses."""

    LARGEST = "最大"
    SMALLEST = "最小"
    LONGEST = "最长"
    SHORTEST = "最短"
    OLDEST = "最早"


class Period(StrEnum):
    """The days on which files came that a question asks for, by the word that a reply uses."""

    TODAY = "今天"
    YESTERDAY = "昨天"
    DAY_BEFORE = "前天"
    THIS_WEEK = "这周"
    LAST_WEEK = "上周"
    THIS_MONTH = "这个月"


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """A question about files, and the words that say which.

    `words` name a file or, for FIND, its topic. For LIST they are a word of the names (函, 课件) or empty. `kind` and
    `extreme` are set for KIND and EXTREME, and `period` for RECENT if days are named. `number` is the number of a
    document and `position` its place in the list of all, 0 if none is given. `pointing` is set if the file is neither
    named nor numbered. `certain` means that the message can only mean files: an unknown name
    is then worth a reply. The answer to an uncertain question is only given if a search finds nothing.
    """

    ask: FileAsk
    words: tuple[str, ...] = ()
    number: int = 0
    pointing: Pointing | None = None
    certain: bool = False
    kind: FileKind | None = None
    extreme: Extreme | None = None
    period: Period | None = None
    position: int = 0


ENDS = "。!?;…~、,.:"
PARTICLES = "[啊呀呢吧哦嘛哈呗啦喽哇么吗的]*"
FILE = "(?:群文件|文件|文档|档案|资料|课件)"
STORE = "(?:(?:群|本群)?(?:知识库|资料库|文件夹|群文件|群共享|库)(?:里面?|中|里头|内)?)"
PLACE = (
    f"(?:{STORE}|(?:咱们?|我们|这个?|本|你们?)?群(?:里面?|里头|内|中|聊里?)?|(?:你们?|咱们?|我们)?(?:这里面?|这儿|这边|那里|那儿)"
    f"|你|bot|机器人)"
)
PLEASE = (
    "(?:我|想|要|请|问|问一?下|问问|看看|看一?下|知道|帮忙|帮我?|麻烦|给我?|告诉我?|列一?下|列出来?|列举一?下?|说说"
    "|说一?下|查查|查一?下|统计一?下?|数一?下|数数|谁知道)"
)
_CLAUSE = re.compile(r"(?<![a-z0-9])\s+|\s+(?![a-z0-9])|[,。!?;…~]+(?![a-z0-9])")


def clauses(text: str) -> list[str]:
    """Return the clauses of a normalised text. A space between Latin words ends none."""
    return [clause.strip() for clause in _CLAUSE.split(text) if clause and clause.strip()]


def begins_clause(text: str) -> bool:
    """Return whether a text begins with the end of a clause."""
    return _CLAUSE.match(text) is not None
