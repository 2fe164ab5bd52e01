"""Answers and outcomes as people read them."""

from plugins._messages import answer_text, ingest_text
from plugins._subcommands import split_subcommand
from services.answering.models import Answer, AnswerKind, Source
from services.knowledge.models import IngestResult, IngestStatus
from services.roles import Action

SOURCES = (Source(1, "制度.pdf 第3页"),)
WORDS = {"status": Action.KB_STATUS, "列表": Action.KB_LIST}


def test_sources_come_last() -> None:
    answer = Answer(AnswerKind.WRITTEN, "可以〔1〕。", SOURCES, notice="（注意）")
    assert answer_text(answer) == "可以〔1〕。\n\n（注意）\n\n〔1〕制度.pdf 第3页"


def test_sources_that_nothing_cites_are_for_comparison() -> None:
    answer = Answer(AnswerKind.WRITTEN, "可以。", SOURCES, cited=False)
    assert answer_text(answer) == "可以。\n\n回答没有标明出处，可以对照：\n〔1〕制度.pdf 第3页"


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


def test_subcommands() -> None:
    assert split_subcommand("", WORDS) == (Action.KB_STATUS, "")
    assert split_subcommand("STATUS", WORDS) == (Action.KB_STATUS, "")
    assert split_subcommand(" 列表  2 3", WORDS) == (Action.KB_LIST, "2 3")
    assert split_subcommand("没有", WORDS) == (None, "")
