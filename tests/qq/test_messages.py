"""Tests of answers and outcomes as people read them."""

from dataclasses import replace

import pytest

from qq.messages import answer_reply, answer_text, arrival_text, ingest_text, passage_text, receipt_text
from qq.outbox.replies import Picture
from qq.render.drawings import Code, Table
from services.grounding.models import Answer, AnswerKind, CitedPassage, CodeBlock, SourceStatus, TableBlock
from services.knowledge.models import IngestResult, IngestStatus
from services.records.conversations import Source
from services.retrieval.models import Reference

SOURCES = (Source(1, "制度.pdf 第3页"),)


def test_sources_come_last() -> None:
    answer = Answer(AnswerKind.WRITTEN, "可以〔1〕。", SOURCES, notice="（注意）")
    assert answer_text(answer) == "可以〔1〕。\n\n（注意）\n\n〔1〕制度.pdf 第3页"


def test_an_answer_without_sources_has_no_list() -> None:
    answer = Answer(AnswerKind.WRITTEN, "可以。", notice="（回答没有标明出处，请自行核对）")
    assert answer_text(answer) == "可以。\n\n（回答没有标明出处，请自行核对）"


def _table(text: str) -> TableBlock:
    return TableBlock(text, ("甲",), ((text,),) * 5)


def test_a_table_is_a_picture_and_code_is_text_and_picture() -> None:
    text = "先。\n\n表一\n\n再看：\n\n代码\n\n表一\n\n完〔1〕。"
    blocks = (_table("表一"), CodeBlock("代码"), _table("表一"))
    answer = Answer(AnswerKind.WRITTEN, text, SOURCES, notice="（注意）", blocks=blocks)
    drawn = Table(("甲",), (("表一",),) * 5)
    below = "（表格见下图）"
    assert answer_reply(answer, ending="末尾") == Picture(
        (drawn, Code("代码"), drawn),
        f"先。\n\n{below}\n\n再看：\n\n代码\n\n{below}\n\n完〔1〕。\n\n（注意）\n\n〔1〕制度.pdf 第3页\n\n末尾",
        f"{answer_text(answer)}\n\n末尾",
    )


def test_an_answer_without_pictures_is_its_text() -> None:
    plain = Answer(AnswerKind.WRITTEN, "可以〔1〕。", SOURCES)
    assert answer_reply(plain) == answer_text(plain)
    assert answer_reply(plain, ending="末尾") == f"{answer_text(plain)}\n\n末尾"
    too_large = Answer(AnswerKind.WRITTEN, "x", blocks=(CodeBlock("x\n" * 99),))
    assert answer_reply(too_large) == "x"
    too_many = Answer(AnswerKind.WRITTEN, "x", blocks=(CodeBlock("x"),) * 5)
    assert answer_reply(too_many) == "x"


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
        IngestStatus.REPLACED: "后来发的那一版",
    }
    assert set(words) == set(IngestStatus)
    for status, word in words.items():
        text = ingest_text(IngestResult(status, "甲.pdf", 1, 2, 3, 4, 5.0, "加了密。"))
        assert text.startswith("「甲.pdf」")
        assert word in text
        assert text.endswith("。")


def _result(status: IngestStatus, name: str, reason: str = "") -> IngestResult:
    return IngestResult(status, name, 1, 2, 3, 4, 5.0, reason)


def test_a_file_that_is_not_kept_yet_is_not_said_to_be() -> None:
    text = ingest_text(IngestResult(IngestStatus.DEFERRED, "甲.pdf", reason="机器人这边出了问题。（QZ-X01，编号 a1）"))
    assert text == "「甲.pdf」还没入库：机器人这边出了问题。（QZ-X01，编号 a1）我会自动再试。"


def test_one_outcome_reads_as_ever() -> None:
    result = _result(IngestStatus.INDEXED, "甲.pdf")
    assert receipt_text([result], 0) == ingest_text(result) == "「甲.pdf」已入库，4 块，用时 5.0 秒。"
    assert receipt_text([result], 2) == "「甲.pdf」已入库，4 块，用时 5.0 秒。还有 2 个文件正在读。"
    assert arrival_text(["甲.pdf"]) == "收到「甲.pdf」，正在入库…"
    assert arrival_text(["甲.pdf", "乙.pdf"]) == "收到 2 个文件，正在入库…"


@pytest.mark.parametrize(
    ("status", "seconds_left", "reason", "words"),
    [
        (IngestStatus.INDEXED, 41.0, "", "现在能按字词找到，完整入库约还要 50 秒。"),
        (IngestStatus.UPDATED, 0.2, "", "现在能按字词找到，完整入库约还要 10 秒。"),
        (IngestStatus.INDEXED, 111.0, "", "现在能按字词找到，完整入库约还要 2 分钟。"),
        (IngestStatus.INDEXED, None, "", "现在能按字词找到，完整入库还要一会儿。"),
        (IngestStatus.INDEXED, None, "向量服务连不上。", "现在只能按字词找到：向量服务连不上。恢复后会自动补全。"),
    ],
)
def test_a_file_without_all_vectors_says_so(
    status: IngestStatus, seconds_left: float | None, reason: str, words: str
) -> None:
    result = replace(_result(status, "甲.pdf", reason), vectors_left=3, seconds_left=seconds_left)
    assert ingest_text(result) == ingest_text(_result(status, "甲.pdf")) + words
    together = receipt_text([result, _result(IngestStatus.INDEXED, "乙.pdf")], 0)
    assert together.endswith("\n现在能按字词找到，完整入库还要一会儿：「甲.pdf」")


def test_several_outcomes_are_sums_then_failures_then_names() -> None:
    results = [
        _result(IngestStatus.REJECTED, "坏.pdf", "这个文件是空的，请检查后再发。"),
        _result(IngestStatus.INDEXED, "甲.md"),
        _result(IngestStatus.DUPLICATE, "丙.md"),
        _result(IngestStatus.UPDATED, "丁.md"),
        _result(IngestStatus.INDEXED, "乙.md"),
    ]
    assert receipt_text(results, 3) == (
        "已入库 2 个，已更新为新版 1 个，没有入库 1 个，已存在 1 个，还有 3 个正在读。\n"
        "「坏.pdf」没有入库：这个文件是空的，请检查后再发。\n"
        "已入库：「甲.md」「乙.md」\n已更新为新版：「丁.md」\n已存在：「丙.md」"
    )


def test_a_receipt_fits_one_message_and_names_every_failure() -> None:
    good = [_result(IngestStatus.INDEXED, f"{'很长的名字' * 8}{number}.md") for number in range(100)]
    bad = [_result(IngestStatus.REJECTED, f"坏{number}.pdf", "是空的。") for number in range(9)]
    text = receipt_text([*good, *bad], 0)
    assert len(text) <= 1500
    assert all(f"「坏{number}.pdf」没有入库：是空的。" in text for number in range(9))
    assert text.startswith("已入库 100 个，没有入库 9 个。")
    assert text.endswith("」等 100 个")


def test_what_was_not_found_may_still_be_on_its_way() -> None:
    nothing = Answer(AnswerKind.NOTHING_FOUND, "资料里没有找到相关内容。", notice="（注意）")
    assert answer_text(nothing, 3) == "资料里没有找到相关内容。还有 3 个文件正在读，读完可以再问。\n\n（注意）"
    assert answer_text(nothing) == "资料里没有找到相关内容。\n\n（注意）"
    assert answer_text(Answer(AnswerKind.WRITTEN, "可以。"), 3) == "可以。"


def test_sentences_of_ours_are_no_markdown() -> None:
    sentence = "模型的密钥无效，请管理员检查 LLM__API_KEY 和 LLM__MODEL，见 **这里**。"
    assert answer_text(Answer(AnswerKind.FAILED, sentence)) == sentence
    assert answer_text(Answer(AnswerKind.FAILED, "摘录", notice=sentence)).startswith(sentence)


def test_a_receipt_of_several_names_the_files_with_hidden_text() -> None:
    hidden = IngestResult(IngestStatus.INDEXED, "乙.docx", 1, 2, 3, 4, 5.0, hidden_text=True)
    text = receipt_text([_result(IngestStatus.INDEXED, "甲.md"), hidden], 0)
    assert text == "已入库 2 个。\n已入库：「甲.md」「乙.docx」\n有看不见的文字，没有收：「乙.docx」"


def test_receipts_say_that_hidden_text_was_left_out() -> None:
    for status in (IngestStatus.INDEXED, IngestStatus.UPDATED):
        plain = ingest_text(IngestResult(status, "甲.docx", 1, 2, 3, 4, 5.0))
        told = ingest_text(IngestResult(status, "甲.docx", 1, 2, 3, 4, 5.0, hidden_text=True))
        assert told == plain.removesuffix("。") + "；文件里有看不见的文字，没有收。"


def test_receipts_count_the_pictures_that_were_not_read() -> None:
    pictured = IngestResult(IngestStatus.INDEXED, "乙.docx", 1, 2, 1, 4, 5.0, hidden_text=True, pictures=3)
    left_out = "；文件里有看不见的文字，没有收；有 3 张图片没有读。"
    assert ingest_text(pictured) == f"「乙.docx」已入库，4 块，用时 5.0 秒{left_out}"
    told = receipt_text([_result(IngestStatus.INDEXED, "甲.md"), pictured], 0).split("\n")
    assert told[-1] == "里面的图片没有读：「乙.docx」"
