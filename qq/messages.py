"""Answers and outcomes as people read them in QQ."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from qq.outbox.replies import Picture, Reply
from qq.render.drawings import Code, Drawing, Table
from services.budgets.day import ZONE
from services.grounding.models import Answer, AnswerKind, CitedPassage, CodeBlock, SourceStatus, TableBlock
from services.knowledge.models import IngestResult, IngestStatus
from services.knowledge.pulls import PullReport

# The longest text that QQ accepts as one plain message.
_RECEIPT_CHARS = 1500
_WORDS = {
    IngestStatus.INDEXED: "已入库",
    IngestStatus.UPDATED: "已更新为新版",
    IngestStatus.REJECTED: "没有入库",
    IngestStatus.DEFERRED: "还没入库",
    IngestStatus.DUPLICATE: "已存在",
    IngestStatus.IN_PROGRESS: "正在入库",
    IngestStatus.REMOVED: "已删除",
    IngestStatus.REPLACED: "已有新版",
}
# Stands in the text in place of a table that is a picture.
_TABLE_BELOW = "（表格见下图）"
# An answer with more tables and code than this is sent as text.
_MOST_PICTURES = 4
# A report of many files names so many reasons for failures, each with so many of its files.
_MOST_REASONS, _NAMED_FAILURES = 5, 3
_FAILURES = (IngestStatus.REJECTED, IngestStatus.DEFERRED, IngestStatus.REMOVED, IngestStatus.REPLACED)


def answer_text(answer: Answer, reading: int = 0) -> str:
    """Return the answer, then a notice about what went wrong, then the sources, one per line.

    `reading` is the number of files that are still being ingested. An answer that found nothing mentions them.
    """
    if answer.kind is AnswerKind.NOTHING_FOUND:
        return "\n\n".join(part for part in (answer.text + reading_text(reading), answer.notice) if part)
    sources = "\n".join(f"〔{source.number}〕{source.place}" for source in answer.sources)
    if answer.kind is AnswerKind.FAILED:
        return "\n\n".join(part for part in (answer.notice, answer.text, sources) if part)
    return "\n\n".join(part for part in (answer.text, answer.notice, sources) if part)


def answer_reply(answer: Answer, reading: int = 0, ending: str = "") -> Reply:
    """Return an answer as it is sent: its text, with long tables and code as pictures under it.

    A table is only in the picture; code also stays in the text, because people copy it. `ending` is the last paragraph.
    """
    text = _ended(answer_text(answer, reading), ending)
    drawings: list[Drawing] = []
    shown, place = answer.text, 0
    for block in answer.blocks:
        drawing = _drawing(block)
        if drawing is None:
            continue
        drawings.append(drawing)
        if isinstance(block, TableBlock):
            before, _, behind = shown[place:].partition(block.text)
            before = f"{shown[:place]}{before}{_TABLE_BELOW}"
            shown, place = before + behind, len(before)
    if not 1 <= len(drawings) <= _MOST_PICTURES:
        return text
    return Picture(tuple(drawings), _ended(answer_text(replace(answer, text=shown), reading), ending), text)


def _ended(text: str, ending: str) -> str:
    return f"{text}\n\n{ending}" if ending else text


def _drawing(block: TableBlock | CodeBlock) -> Drawing | None:
    """Return a block as a drawing, or None if it is too large for a picture."""
    try:
        return Table(block.header, block.rows) if isinstance(block, TableBlock) else Code(block.text)
    except ValueError:
        return None


def passage_text(passage: CitedPassage, number: int) -> str:
    """Return the whole passage that an answer cited, or one sentence about why it cannot be shown."""
    if passage.status is SourceStatus.FOUND and passage.reference is not None:
        reference = passage.reference
        return f"〔{number}〕{reference.place}（第 {reference.version} 版）\n\n{reference.text}"
    if passage.status is SourceStatus.GONE:
        return "这份资料已被删除或更新，重新问一次就能看到新的出处。"
    if not passage.numbers:
        return "最近的回答里没有出处，先问一个问题，再发 /kb source 编号 看原文。"
    numbers = "".join(f"〔{each}〕" for each in passage.numbers)
    return f"上一个有出处的回答里没有〔{number}〕，只有{numbers}。"


def ingest_text(result: IngestResult) -> str:
    """Return one sentence about a file."""
    name = f"「{result.name}」"
    match result.status:
        case IngestStatus.INDEXED:
            seconds = f"用时 {result.seconds:.1f} 秒"
            return f"{name}已入库，{result.chunks} 块，{seconds}{_left_out(result)}。{_by_words(result)}"
        case IngestStatus.UPDATED:
            seconds = f"用时 {result.seconds:.1f} 秒"
            version = f"{name}已更新为第 {result.version} 版，已入库 {result.chunks} 块"
            return f"{version}，{seconds}，旧版不再使用{_left_out(result)}。{_by_words(result)}"
        case IngestStatus.DUPLICATE:
            return f"{name}已存在，内容相同，没有重复入库（编号 {result.number}）。"
        case IngestStatus.IN_PROGRESS:
            return f"{name}正在入库，不用再发。"
        case IngestStatus.REJECTED:
            return f"{name}没有入库：{result.reason}"
        case IngestStatus.DEFERRED if not result.document_id:
            return f"{name}还没入库：{result.reason}我会自动再试。"
        case IngestStatus.DEFERRED:
            return f"{name}已收下，但还没入库：{result.reason}恢复后会自动继续。"
        case IngestStatus.REMOVED:
            return f"{name}已删除，没有入库。"
        case IngestStatus.REPLACED:
            return f"{name}已经换成后来发的那一版，这一版不用了。"


def reading_text(reading: int) -> str:
    """Return one sentence about the files that are still being read, or an empty string if there are none."""
    return f"还有 {reading} 个文件正在读，读完可以再问。" if reading else ""


def arrival_text(names: Sequence[str]) -> str:
    """Return the sign that files have arrived and take a while."""
    what = f"「{names[0]}」" if len(names) == 1 else f" {len(names)} 个文件"
    return f"收到{what}，正在入库…"


def receipt_text(results: Sequence[IngestResult], reading: int) -> str:
    """Return one message about files that arrived together, while `reading` more are still being ingested.

    The totals come first, then each failure with its reason, then as many names as fit into one plain message.
    """
    if len(results) == 1:
        return ingest_text(results[0]) + (f"还有 {reading} 个文件正在读。" if reading else "")
    named = {status: [result.name for result in results if result.status is status] for status in _WORDS}
    sums = [f"{_WORDS[status]} {len(names)} 个" for status, names in named.items() if names]
    if reading:
        sums.append(f"还有 {reading} 个正在读")
    lines = ["，".join(sums) + "。", *(ingest_text(result) for result in results if result.status in _FAILURES)]
    for status, names in named.items():
        if names and status not in _FAILURES:
            left = _RECEIPT_CHARS - sum(len(line) + 1 for line in lines)
            lines.append(_names_line(_WORDS[status], names, left))
    if hidden := [result.name for result in results if result.hidden_text]:
        left = _RECEIPT_CHARS - sum(len(line) + 1 for line in lines)
        lines.append(_names_line("有看不见的文字，没有收", hidden, left))
    if pictured := [result.name for result in results if result.pictures]:
        left = _RECEIPT_CHARS - sum(len(line) + 1 for line in lines)
        lines.append(_names_line("里面的图片没有读", pictured, left))
    if by_words := [result.name for result in results if result.vectors_left]:
        left = _RECEIPT_CHARS - sum(len(line) + 1 for line in lines)
        lines.append(_names_line("现在能按字词找到，完整入库还要一会儿", by_words, left))
    return "\n".join(line for line in lines if line)


def pull_text(report: PullReport) -> str:
    """Return one message about the files that a group already had: the totals, then the failures by reason."""
    totals = [f"已入库 {report.indexed} 个", f"已有 {report.present} 个", f"失败 {len(report.failures)} 个"]
    if report.left:
        totals.append(f"没收 {report.left} 个")
    lines = [("群文件不再收了：" if report.is_stopped else "群文件收完了：") + "，".join(totals) + "。"]
    names: dict[str, list[str]] = {}
    for name, reason in report.failures:
        names.setdefault(reason, []).append(shortened(name, 24))
    for reason, failed in list(names.items())[:_MOST_REASONS]:
        more = f"等 {len(failed)} 个" if len(failed) > _NAMED_FAILURES else ""
        lines.append(f"{''.join(f'「{name}」' for name in failed[:_NAMED_FAILURES])}{more}：{reason}")
    if left := sum(len(failed) for failed in list(names.values())[_MOST_REASONS:]):
        lines.append(f"还有 {left} 个因为别的原因没收进来。")
    if report.left:
        lines.append("剩下的要收，再发 /kb pull 看编号。")
    return "\n".join(lines)


def _names_line(word: str, names: Sequence[str], limit: int) -> str:
    """Return the names after `word` in at most `limit` characters, or an empty string if not even one name fits."""
    whole = f"{word}：{''.join(f'「{name}」' for name in names)}"
    if len(whole) <= limit:
        return whole
    line, rest, chosen = f"{word}：", f"等 {len(names)} 个", 0
    for name in names:
        if len(line) + len(name) + 2 + len(rest) > limit:
            break
        line += f"「{name}」"
        chosen += 1
    return line + rest if chosen else ""


def _left_out(result: IngestResult) -> str:
    hidden = "；文件里有看不见的文字，没有收" if result.hidden_text else ""
    return hidden + (f"；有 {result.pictures} 张图片没有读" if result.pictures else "")


def _by_words(result: IngestResult) -> str:
    """Return one sentence about a file whose vectors are still being made, or an empty string."""
    if not result.vectors_left:
        return ""
    if result.reason:
        return f"现在只能按字词找到：{result.reason}恢复后会自动补全。"
    if result.seconds_left is None:
        return "现在能按字词找到，完整入库还要一会儿。"
    return f"现在能按字词找到，完整入库约还要{_duration(result.seconds_left)}。"


def _duration(seconds: float) -> str:
    """Return a rough duration: in tens of seconds, or from two minutes on in minutes."""
    tens = max(1, math.ceil(seconds / 10)) * 10
    return f" {tens} 秒" if tens < 120 else f" {math.ceil(seconds / 60)} 分钟"


def time_text(moment: datetime) -> str:
    """Format a time as people in China write it."""
    return f"{moment.astimezone(ZONE):%m-%d %H:%M}"


def shortened(text: str, limit: int) -> str:
    """Return a text as one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
