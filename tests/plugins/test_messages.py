"""Answers and outcomes as people read them."""

from plugins._messages import answer_text, ingest_text, passage_text
from plugins._subcommands import split_subcommand
from services.answering.models import Answer, AnswerKind, CitedPassage, SourceStatus
from services.knowledge.models import IngestResult, IngestStatus
from services.records.conversations import Source
from services.retrieval.models import Reference
from services.roles import Action

SOURCES = (Source(1, "制度.pdf 第3页"),)
WORDS = {"status": Action.KB_STATUS, "列表": Action.KB_LIST}


def test_sources_come_last() -> None:
    answer = Answer(AnswerKind.WRITTEN, "可以〔1〕。", SOURCES, notice="（注意）")
    assert answer_text(answer) == "可以〔1〕。\n\n（注意）\n\n〔1〕制度.pdf 第3页"


def test_an_answer_without_sources_has_no_list() -> None:
    answer = Answer(AnswerKind.WRITTEN, "可以。", notice="（回答没有标明出处，请自行核对）")
    assert answer_text(answer) == "可以。\n\n（回答没有标明出处，请自行核对）"


def test_a_cited_passage_is_shown_whole() -> None:
    reference = Reference(1, 4, "制度.pdf", 2, 3, "", "第一段。\n第二段。" * 500, 0.0)
    found = passage_text(CitedPassage(SourceStatus.FOUND, reference), 7)
    assert found == f"〔7〕制度.pdf 第3页（第 2 版）\n\n{reference.text}"


def test_a_passage_that_cannot_be_shown_says_why() -> None:
    assert "已被删除或更新，重新问一次" in passage_text(CitedPassage(SourceStatus.GONE), 1)
    assert "没有出处" in passage_text(CitedPassage(SourceStatus.UNKNOWN), 1)
    several = passage_text(CitedPassage(SourceStatus.UNKNOWN, numbers=(1, 2)), 7)
    assert several == "上一个有出处的回答里没有〔7〕，只有〔1〕〔2〕。"


def test_a_failure_says_so_first() -> None:
    answer = Answer(AnswerKind.FAILED, "原文摘录：\n「…」〔1〕", SOURCES, notice="模型超时了。")
    assert answer_text(answer).startswith("模型超时了。\n\n原文摘录")


def test_every_outcome_has_its_word() -> None:
    words = {
        IngestStatus.INDEXED: "已入库",
        IngestStatus.UPDATED: "已更新",
        IngestStatus.DUPLICATE: "已存在",
        IngestStatus.IN_PROGRESS: "正在入库",
        IngestStatus.REJECTED: "没有入库：加了密。",
        IngestStatus.DEFERRED: "自动继续",
        IngestStatus.REMOVED: "已删除",
    }
    assert set(words) == set(IngestStatus)
    for status, word in words.items():
        text = ingest_text(IngestResult(status, "甲.pdf", 1, 2, 3, 4, 5.0, "加了密。"))
        assert text.startswith("「甲.pdf」")
        assert word in text
        assert text.endswith("。")


def test_receipts_say_that_hidden_text_was_left_out() -> None:
    for status in (IngestStatus.INDEXED, IngestStatus.UPDATED):
        plain = ingest_text(IngestResult(status, "甲.docx", 1, 2, 3, 4, 5.0))
        told = ingest_text(IngestResult(status, "甲.docx", 1, 2, 3, 4, 5.0, hidden_text=True))
        assert told == plain.removesuffix("。") + "；文件里有看不见的文字，没有收。"


def test_subcommands() -> None:
    assert split_subcommand("", WORDS) == (Action.KB_STATUS, "")
    assert split_subcommand("STATUS", WORDS) == (Action.KB_STATUS, "")
    assert split_subcommand(" 列表  2 3", WORDS) == (Action.KB_LIST, "2 3")
    assert split_subcommand("没有", WORDS) == (None, "")
