"""Answers to questions about the files: lists, outlines and who sent one. Each fits on a phone screen."""

import re
from collections.abc import Sequence
from datetime import date, timedelta

from services.budgets.day import ZONE
from services.grounding.models import Answer, AnswerKind, source_of
from services.knowledge.catalogue import DocumentView
from services.knowledge.models import DocumentEntry
from services.knowledge.outlines import Outline, Part
from services.records.conversations import Source
from services.retrieval.models import Reference
from services.text.sentences import cut_place
from services.text.sizes import size_text
from services.workflows.qa.file_asks import Extreme, FileKind, Period

# A list of twenty names is read on a phone; a longer one is for /kb list.
_LISTED = 20
_NEWEST = 8
_CHOICES = 8
_NAME_CHARS = 80
_OUTLINE_CHARS = 400
_PARTS = 10
_HEADING_CHARS = 24
_LEAST_TEXT, _MOST_TEXT = 18, 90
_GIST_CHARS = 50
# How a question about the meant file begins. The next message may answer it with a number.
WHICH = "名字对得上的文件有"
_PAUSES = "，；、：。… "
_FOREIGN_MARK = re.compile(r"〔(\s*\d{1,3}\s*)〕")


def list_answer(entries: Sequence[DocumentEntry], total: int, sort: str = "") -> Answer:
    """Return the list of documents, those of a `sort` if it is named; `total` counts all of the knowledge base."""
    what = f"名字里有「{sort}」的文件有 {len(entries)} 个" if sort else f"现在有 {total} 个文件"
    return Answer(AnswerKind.WRITTEN, "\n".join([f"{what}：", *_list_lines(entries)]))


def kind_answer(entries: Sequence[DocumentEntry], total: int, kind: FileKind) -> Answer:
    """Return the list of the documents of one kind; `total` counts all of the knowledge base."""
    if not entries:
        return Answer(AnswerKind.WRITTEN, f"{kind}一个也没有。现在有 {total} 个文件，发 /kb list 看全部。")
    return Answer(AnswerKind.WRITTEN, "\n".join([f"{kind}有 {len(entries)} 个：", *_list_lines(entries)]))


def extreme_answer(entry: DocumentEntry, extreme: Extreme) -> Answer:
    """Return the document that is the largest, the oldest or the like."""
    length = f"，{entry.chunks} 块" if extreme in (Extreme.LONGEST, Extreme.SHORTEST) else ""
    facts = f"{size_text(entry.size)}{length}，{entry.uploaded_at.astimezone(ZONE):%Y-%m-%d} 收到"
    return Answer(AnswerKind.WRITTEN, f"{extreme}的文件是「{_name(entry.name)}」（{facts}）。")


def senders_answer(senders: Sequence[tuple[str, int]]) -> Answer:
    """Return who sent most documents, from names with their numbers of documents, the highest first."""
    (first, count), *others = senders
    rest = "，".join(f"{_shown(name)} {number} 个" for name, number in others)
    ending = f"，接着是 {rest}。" if rest else "。"
    return Answer(AnswerKind.WRITTEN, f"传得最多的是{_shown(first)}（{count} 个）{ending}")


def overview_answer(views: Sequence[DocumentView], others: Sequence[DocumentEntry]) -> Answer:
    """Return what each document is about in one line, citing it. The `others` are only named."""
    if not views:
        return Answer(AnswerKind.WRITTEN, "文件还在入库，读完再问我。")
    numbered = list(enumerate(views, start=1))
    lines = [f"{number}. {_name(view.entry.name)}：{_gist(view.outline)}〔{number}〕" for number, view in numbered]
    sources = tuple(
        Source(number, view.entry.name, view.entry.number, view.build_id, 0, 0) for number, view in numbered
    )
    total = len(views) + len(others)
    heading = f"{total} 个文件里，最近的 {len(views)} 个大致是：" if others else f"{total} 个文件大致是："
    named = "、".join(_name(entry.name) for entry in others[:_LISTED])
    more = f"等 {len(others)} 个，发 /kb list 看全部。" if len(others) > _LISTED else "。"
    ending = [f"另外有{named}{more}"] if others else []
    return Answer(AnswerKind.EXCERPT, "\n".join([heading, *lines, *ending]), sources)


def days_of(period: Period, day: date) -> tuple[date, date]:
    """Return the first and last day of a period, as said on `day`. A week begins on Monday.

    >>> days_of(Period.LAST_WEEK, date(2026, 11, 22))
    (datetime.date(2026, 11, 9), datetime.date(2026, 11, 15))
    """
    monday = day - timedelta(days=day.weekday())
    match period:
        case Period.TODAY:
            return day, day
        case Period.YESTERDAY:
            return day - timedelta(days=1), day - timedelta(days=1)
        case Period.DAY_BEFORE:
            return day - timedelta(days=2), day - timedelta(days=2)
        case Period.THIS_WEEK:
            return monday, day
        case Period.LAST_WEEK:
            return monday - timedelta(days=7), monday - timedelta(days=1)
        case Period.THIS_MONTH:
            return day.replace(day=1), day


def period_answer(entries: Sequence[DocumentEntry], period: Period, day: date) -> Answer:
    """Return the documents that came in a period, as said on `day`, or the newest one if none did."""
    first, last = days_of(period, day)
    came = [entry for entry in entries if first <= entry.uploaded_at.astimezone(ZONE).date() <= last]
    newest = sorted(came, key=lambda entry: entry.uploaded_at, reverse=True)
    if not newest:
        latest = max(entries, key=lambda entry: entry.uploaded_at)
        return Answer(AnswerKind.WRITTEN, f"{period}没有收到文件。最近的是「{_dated(latest)}」。")
    lines = [f"{number}. {_dated(entry)}" for number, entry in enumerate(newest[:_LISTED], start=1)]
    rest = len(newest) - _LISTED
    ending = [f"还有 {rest} 个，发 /kb list 看全部。"] if rest > 0 else []
    return Answer(AnswerKind.WRITTEN, "\n".join([f"{period}收到 {len(newest)} 个文件：", *lines, *ending]))


def total_size_answer(entries: Sequence[DocumentEntry]) -> Answer:
    """Return how large all documents are together."""
    total = sum(entry.size for entry in entries)
    largest = max(entries, key=lambda entry: entry.size)
    most = f"，最大的是「{_name(largest.name)}」（{size_text(largest.size)}）" if len(entries) > 1 else ""
    return Answer(AnswerKind.WRITTEN, f"{len(entries)} 个文件一共 {size_text(total)}{most}。")


def recent_answer(entries: Sequence[DocumentEntry]) -> Answer:
    """Return the newest documents with the times at which they came."""
    newest = sorted(entries, key=lambda entry: entry.uploaded_at, reverse=True)
    lines = [f"{number}. {_dated(entry)}" for number, entry in enumerate(newest[:_NEWEST], start=1)]
    rest = len(newest) - _NEWEST
    ending = [f"更早的还有 {rest} 个，发 /kb list 看全部。"] if rest > 0 else []
    return Answer(AnswerKind.WRITTEN, "\n".join(["最近收到的文件：", *lines, *ending]))


def uploader_answer(entry: DocumentEntry, uploader: str) -> Answer:
    """Return who sent a document and when."""
    moment = f"{entry.uploaded_at.astimezone(ZONE):%Y-%m-%d %H:%M}"
    version = f"，现在是第 {entry.version} 版" if entry.version > 1 else ""
    return Answer(AnswerKind.WRITTEN, f"「{_name(entry.name)}」是{_shown(uploader)}在 {moment} 上传的{version}。")


def which_answer(entries: Sequence[DocumentEntry]) -> Answer:
    """Ask which of several documents is meant, by their numbers in the knowledge base."""
    lines = [f"{entry.number}. {_name(entry.name)}" for entry in entries[:_CHOICES]]
    rest = [f"还有 {len(entries) - _CHOICES} 个，说得再具体一点就行。"] if len(entries) > _CHOICES else []
    return Answer(
        AnswerKind.WRITTEN, "\n".join([f"{WHICH} {len(entries)} 个，要哪一个？回复编号就行。", *lines, *rest])
    )


def unknown_answer(words: Sequence[str], nearest: DocumentEntry | None) -> Answer:
    """Return that no document has this name, and the one whose name comes nearest."""
    what = f"没有找到名字像「{_shown(' '.join(words))}」的文件" if words else "没有找到这个编号的文件"
    near = f"，最接近的是「{_name(nearest.name)}」" if nearest else ""
    return Answer(AnswerKind.NOTHING_FOUND, f"{what}{near}。发 /kb list 看全部。")


def found_answer(topic: str, references: Sequence[Reference]) -> Answer:
    """Return the documents about a topic, each cited where it is about it."""
    if not references:
        return Answer(AnswerKind.NOTHING_FOUND, f"没有找到讲「{_shown(topic)}」的文件。发 /kb list 看全部。")
    numbered = list(enumerate(references, start=1))
    lines = [f"{number}. {_name(reference.name)}〔{number}〕" for number, reference in numbered]
    sources = tuple(source_of(reference, number) for number, reference in numbered)
    return Answer(AnswerKind.EXCERPT, "\n".join([f"讲到「{_shown(topic)}」的文件：", *lines]), sources)


def unread_answer(entry: DocumentEntry) -> Answer:
    """Return that a document cannot be read yet."""
    return Answer(AnswerKind.WRITTEN, f"「{_name(entry.name)}」还在入库，读完再问我。")


def outline_answer(view: DocumentView) -> Answer:
    """Return the outline of a document with the beginning of each part, citing the document."""
    entry = view.entry
    source = Source(1, entry.name, entry.number, view.build_id, 0, 0)
    pages = f"共 {view.outline.pages} 页，" if view.outline.pages > 1 else ""
    lines = [f"「{_name(entry.name)}」{pages}大致内容〔1〕：", *outline_lines(view.outline, _OUTLINE_CHARS, _PARTS)]
    if len(view.outline.parts) > _PARTS:
        lines.append(f"看全部：/kb show {entry.number}")
    return Answer(AnswerKind.EXCERPT, "\n".join(lines), (source,))


def outline_lines(outline: Outline, limit: int, most_parts: int) -> list[str]:
    """Return the parts of a document as numbered lines of about `limit` characters together.

    Of more than `most_parts` parts, the later ones are only named or counted.
    """
    parts = outline.parts[:most_parts]
    if not parts:
        return []
    each = max(_LEAST_TEXT, min(_MOST_TEXT, limit // len(parts) - _HEADING_CHARS // 2))
    lines = [f"{number}. {_part_text(part, each)}" for number, part in enumerate(parts, start=1)]
    if rest := outline.parts[most_parts:]:
        lines.append(_rest_line(rest))
    return lines


def _list_lines(entries: Sequence[DocumentEntry]) -> list[str]:
    lines = [f"{number}. {_listed(entry)}" for number, entry in enumerate(entries[:_LISTED], start=1)]
    rest = len(entries) - _LISTED
    return [*lines, f"还有 {rest} 个，发 /kb list 看全部。"] if rest > 0 else lines


def _gist(outline: Outline) -> str:
    """Return the first headings of a document, or else how its text begins."""
    headings = list(dict.fromkeys(_shown(part.heading) for part in outline.parts if part.heading))
    if len(headings) > 1:
        return _cut("、".join(headings), _GIST_CHARS)
    return next((_cut(_shown(part.text), _GIST_CHARS) for part in outline.parts if part.text), "".join(headings))


def _rest_line(parts: Sequence[Part]) -> str:
    names = list(dict.fromkeys(_cut(_shown(part.heading), _HEADING_CHARS) for part in parts if part.heading))[:_PARTS]
    return f"后面还有 {len(parts)} 部分" + (f"：{'、'.join(names)}" if names else "")


def _part_text(part: Part, limit: int) -> str:
    page = f"（第{part.page}页）" if part.page else ""
    text = _cut(_shown(part.text), limit)
    heading = _cut(_shown(part.heading), _HEADING_CHARS)
    return f"{heading}{page}：{text}" if heading and text else f"{heading or text}{page}"


def _listed(entry: DocumentEntry) -> str:
    state = "" if entry.ready else "，入库中"
    return f"{_name(entry.name)}（{size_text(entry.size)}，{entry.uploaded_at.astimezone(ZONE):%m-%d}{state}）"


def _dated(entry: DocumentEntry) -> str:
    version = f"，第 {entry.version} 版" if entry.version > 1 else ""
    return f"{_name(entry.name)}（{entry.uploaded_at.astimezone(ZONE):%m-%d %H:%M}{version}）"


def _name(name: str) -> str:
    return _cut(_shown(name), _NAME_CHARS)


def _shown(text: str) -> str:
    """Return a text of a file or a person on one line, without anything that looks like one of our citations."""
    return _FOREIGN_MARK.sub(r"[\1]", " ".join(text.split()))


def _cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, cut after a clause if there is one in its second half."""
    return text if len(text) <= limit else f"{text[: cut_place(text, 0, limit - 1)].rstrip(_PAUSES)}…"
