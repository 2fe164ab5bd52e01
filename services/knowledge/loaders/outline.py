"""Track the path of headings while a document is read from top to bottom."""

import re
from collections.abc import Iterable, Iterator, Sequence

from services.knowledge.loaders.line_headings import line_heading
from services.knowledge.loaders.tables import table_sections
from services.knowledge.models import Section

# Before the text of a picture, which may have mistakes of recognition.
PICTURED = "（图片中的文字）"
_MAX_TITLE_CHARS = 100
# Such as 表 2 教学进度, 附表一：收费标准, Table 3: Results and 单位：万元.
_TABLE_TITLE = re.compile(
    r"(?:(?:[续附]?表|Table)\s*[\d一二三四五六七八九十]|[（(]?单位\s*[:：]).{0,60}", re.IGNORECASE
)
# 1、合并资产负债表, 物资采购清单
_TABLE_NAME = re.compile(r"[^。！？；：:，,|]{2,30}(?:表|清单|明细|名单|一览|目录|台账)(?:[（(][^（）()]{1,20}[)）])?")
_BESIDE_TITLE = re.compile(
    r"[（(]?(?:货币|金额|计量)?(?:单位|编制|制表|填表|统计|更新|日期|时间)[^：:。]{0,4}[：:].{0,60}"
)
_MOST_TITLE_LINES = 3


class Outline:
    """Turns a stream of headings, lines and tables into sections with their heading path.

    Lines under one heading become one section. A heading with nothing under it becomes a section whose text is the
    heading, so that no heading is lost. Each method yields the sections that are complete by then; call `close` at the
    end.
    """

    def __init__(self, page: int | None = None) -> None:
        self._page = page
        self._path: list[tuple[int, str]] = []
        self._lines: list[str] = []
        self._bare = False
        self._complete = False
        self._table_title = ""

    def heading(self, level: int, title: str, *, complete: bool = False) -> Iterator[Section]:
        """Start a heading, and end the current headings of the same and deeper levels. Level 1 is the top.

        `complete` applies to the sections under it, see `Section`. A title of more than 100 characters is a paragraph
        that was given a heading's style by mistake, and becomes a line.
        """
        title = " ".join(title.split())
        if not title:
            return
        if len(title) > _MAX_TITLE_CHARS:
            self.line(title)
            return
        deeper = bool(self._path) and level > self._path[-1][0]
        yield from self._flush(keep_bare=deeper)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))
        self._bare = True
        self._complete = complete

    def line(self, text: str) -> None:
        """Add a line, or several separated by newlines, under the current heading."""
        self._lines.append(text)

    def prose(self, text: str) -> Iterator[Section]:
        """Add a line of plain text, which may be or begin with a heading."""
        found = line_heading(text)
        if found is not None:
            yield from self.heading(found.level, found.title, complete=found.is_complete)
        if found is None or found.is_text:
            self.line(text)

    def table(self, rows: Iterable[Sequence[str]], *, continues: bool = False) -> Iterator[Section]:
        """Add a table under the current heading; rows are lists of cells, and the first row is the header.

        A line directly above it that names it becomes its title. A table that `continues` the last one has its title.
        """
        title = self._table_title if continues else self._take_table_title()
        sections = list(table_sections(rows, self._page, self._titles(), title))
        if sections:
            self._table_title = title
            yield from self._flush(keep_bare=True)
            self._bare = False
            yield from sections
        elif title:
            self._lines += title.split("\n")

    def _take_table_title(self) -> str:
        """Remove the lines that name the table below them, and return them joined by newlines.

        Between the name of a table (合并资产负债表) and the table may stand its unit, its date and who made it.
        """
        lines = [line.strip() for line in self._lines]
        first = len(lines)
        while first and len(lines) - first < _MOST_TITLE_LINES and _BESIDE_TITLE.match(lines[first - 1]):
            first -= 1
        if first and (_TABLE_TITLE.fullmatch(lines[first - 1]) or _TABLE_NAME.fullmatch(lines[first - 1])):
            first -= 1
        elif not any(map(_TABLE_TITLE.fullmatch, lines[first:])):
            return ""
        del self._lines[first:]
        return "\n".join(lines[first:])

    def uncertain_table(self, text: str) -> Iterator[Section]:
        """Add the lines of a table whose rows and columns could not be told."""
        yield from self._flush(keep_bare=True)
        self._bare = False
        yield Section(text, self._page, self._titles(), uncertain_table=True)

    def turn_page(self, page: int) -> Iterator[Section]:
        """Continue on another page under the same headings."""
        yield from self._flush(keep_bare=True)
        self._page = page

    def close(self) -> Iterator[Section]:
        """End the document."""
        yield from self._flush(keep_bare=False)

    def _titles(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._path)

    def _flush(self, *, keep_bare: bool) -> Iterator[Section]:
        text = "\n".join(self._lines).strip("\n")
        self._lines = []
        if text.strip():
            self._bare = False
            yield Section(text, self._page, self._titles(), complete=self._complete)
        elif self._bare and not keep_bare:
            yield Section(self._path[-1][1], self._page, self._titles())
