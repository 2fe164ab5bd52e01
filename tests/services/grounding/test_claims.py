"""Claims: forgotten marks, marks that prove nothing, and figures that occur nowhere."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.grounding.claims import UNVERIFIED, CheckedText, check, says_something_new, split_sentences
from services.grounding.plain_text import plain_lines
from services.retrieval.models import Reference

TRAVEL = "出差住宿标准为每晚三百五十元，超出部分由个人承担。交通补贴每天80元。"
PURCHASES = "单笔超过 5000 元的采购要由系主任签字，并附三家报价单。错误码 ERR-4032 表示预算不足。"
ENGLISH = "The training set must be split before augmentation. Use at least 4 GPUs for the large model."


def reference(number: int, text: str, name: str = "", page: int | None = None) -> Reference:
    return Reference(number, number, name or f"{number}.txt", 1, page, "", text, 0.9)


REFERENCES = [
    reference(1, TRAVEL, "差旅.pdf", 3),
    reference(2, PURCHASES, "采购.md"),
    reference(3, ENGLISH, "guide.md"),
]


def checked(text: str, conversation: str = "住宿能报多少") -> CheckedText:
    return check(plain_lines(text), REFERENCES, conversation)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        # Cited correctly: unchanged.
        ("住宿每晚最多 350 元〔1〕，火星分所另算。", "住宿每晚最多 350 元〔1〕，火星分所另算。"),
        ("可以报销。〔1〕", "可以报销。〔1〕"),
        # The next sentence of the line carries the mark.
        ("交通补贴每天 80 元。住宿每晚 350 元〔1〕。", "交通补贴每天 80 元。住宿每晚 350 元〔1〕。"),
        # The mark is missing, and exactly one passage supports the sentence.
        ("出差住宿标准为每晚 350 元。", "出差住宿标准为每晚 350 元〔1〕。"),
        (
            "1. 单笔超过 5000 元的采购由系主任签字\n2. 附三家报价单",
            "1. 单笔超过 5000 元的采购由系主任签字〔2〕\n2. 附三家报价单〔2〕",
        ),
        # The mark names the wrong one of several passages.
        ("单笔超过 5000 元的采购要系主任签字〔1〕。", "单笔超过 5000 元的采购要系主任签字〔2〕。"),
        # The passage has nothing in common with the sentence.
        ("图书馆周末借阅需要提前预约座位并且刷脸进入〔2〕。", "图书馆周末借阅需要提前预约座位并且刷脸进入。"),
        # Words cannot tell across languages.
        ("训练集必须在数据增强之前划分好再开始训练〔3〕。", "训练集必须在数据增强之前划分好再开始训练〔3〕。"),
        # Nothing is inserted into a command, neither in a fence nor on a line of its own.
        ("用法〔2〕：\n```\nx = [1, 2]; y = 5000\n```", "用法〔2〕：\nx = [1, 2]; y = 5000"),
        ("git clone https://a.cn/x4032.git", "git clone https://a.cn/x4032.git"),
        ("这样〔2〕：\n```\n# 见〔9〕\n```", "这样〔2〕：\n# 见"),
        # A mark on a line of its own belongs to the line before it.
        ("ERR-4032 表示预算不足\n[2]", "ERR-4032 表示预算不足〔2〕"),
        # Not statements.
        ("资料里没有提到食堂的时间。", "资料里没有提到食堂的时间。"),
        ("你问的是出差还是采购？", "你问的是出差还是采购？"),
        ("采购要做以下 3 件事：", "采购要做以下 3 件事："),
        ("", ""),
    ],
)
def test_citations_follow_the_sentences(written: str, expected: str) -> None:
    result = checked(written)
    assert result.text == expected
    assert not result.unverified


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("住宿每晚 500 元[1]。", "住宿每晚 500 元〔1〕（未核实）。"),
        ("两晚一共 700 元〔1〕，自己再付 80 元。", "两晚一共 700 元〔1〕，自己再付 80 元（未核实）。"),
        ("错误码 ERR-4033 表示预算不足〔2〕。", "错误码 ERR-4033 表示预算不足〔2〕（未核实）。"),
        ("住宿每晚 350 元〔1〕。火星分所每晚 900 元。", "住宿每晚 350 元〔1〕。火星分所每晚 900 元（未核实）。"),
        ("住宿每晚 900 元。〔1〕", "住宿每晚 900 元。〔1〕（未核实）"),
    ],
)
def test_a_figure_that_stands_nowhere_is_marked(written: str, expected: str) -> None:
    result = checked(written)
    assert (result.text, result.unverified) == (expected, True)


@pytest.mark.parametrize(
    "written",
    [
        "住宿每晚三百五十元〔1〕。",
        "住宿 350 元/晚〔1〕。",
        "超过五千元的采购要签字〔2〕。",
        "见第 3 页〔1〕。",
        "至少 4 块 GPU〔3〕。",
    ],
)
def test_the_same_figure_in_another_writing_is_not_doubted(written: str) -> None:
    assert (checked(written).text, checked(written).unverified) == (written, False)


@pytest.mark.parametrize("written", ["9.9〔1〕", "GPA 9.9〔1〕", "7731-0000〔1〕"])
def test_a_figure_on_a_cited_line_without_a_sentence_is_marked(written: str) -> None:
    result = checked(written)
    assert result.unverified
    assert UNVERIFIED in result.text


def test_what_was_said_needs_no_passage() -> None:
    assert checked("你说预算是 9000 元，住宿每晚 350 元〔1〕。", "预算 9000 元，够吗").text.count(UNVERIFIED) == 0
    assert checked("你说预算是 9000 元，住宿每晚 350 元〔1〕。").unverified


def test_twins_leave_open_which_one_is_meant() -> None:
    twins = [reference(1, TRAVEL), reference(2, TRAVEL.replace("交通", "车船"))]
    result = check(plain_lines("出差住宿标准为每晚 350 元。"), twins, "")
    assert (result.text, result.numbers, result.uncited) == ("出差住宿标准为每晚 350 元。", (), True)


@pytest.mark.parametrize(
    ("text", "uncited"),
    [
        ("每晚可以住 350 元的房间。", True),
        ("不客气，还有别的要问吗？", False),
        ("资料里没有提到 4032。", False),
        ("图书馆周末借阅需要提前预约座位并且刷脸进入〔2〕。", True),
    ],
)
def test_claims_that_cite_nothing_are_known(text: str, uncited: bool) -> None:
    assert checked(text).uncited == uncited


SENTENCES = st.sampled_from(
    [
        *re.split(r"(?<=[。.])", TRAVEL + PURCHASES + ENGLISH),
        "每晚 500 元",
        "图书馆周末借阅需要提前预约座位。",
        "x = [1]",
        "国发〔2024〕15号",
    ]
)
MARKS = st.sampled_from(
    [
        "[1]",
        "【2, 9】",
        "〔3〕",
        "〔〔7〕1〕",
        "[1-3]",
        "〔99〕",
        "［资料2］",
        "〔",
        "〕",
        "\n",
        "\n\n",
        "```\n",
        "。",
        "",
    ]
)
WRITTEN = st.lists(st.tuples(SENTENCES | st.text("〔〕[]19。\n. 元a", max_size=8), MARKS), max_size=8).map(
    lambda parts: "".join(part for pair in parts for part in pair)
)


@given(WRITTEN, st.sets(st.sampled_from([0, 1, 2])))
def test_every_mark_names_a_reference_and_every_number_is_in_the_text(written: str, shown: set[int]) -> None:
    references = [REFERENCES[index] for index in sorted(shown)]
    result = check(plain_lines(written), references, "")
    found = [int(number) for number in re.findall(r"〔\s*(\d{1,3})\s*〕", result.text)]
    assert list(dict.fromkeys(found)) == list(result.numbers)
    assert set(result.numbers) <= {reference.number for reference in references}
    assert result.unverified == (UNVERIFIED in result.text)


@given(WRITTEN)
def test_only_marks_are_added_and_taken(written: str) -> None:
    def bare(text: str) -> str:
        return re.sub(r"[〔〕\[\]【】［］\d,，、\-资料\s]", "", text.replace(UNVERIFIED, ""))

    lines = plain_lines(written)
    assert bare(check(lines, REFERENCES, "").text) == bare("".join(line.text for line in lines))


@pytest.mark.parametrize(
    "parts",
    [
        ["可以报销。〔1〕 〔2〕", "限额 3.5 万；", "超出自理"],
        ["“每晚 350 元。”〔1〕", "交通 80 元。"],
        ["《住哪里？》〔1〕", "里有标准。"],
        ["见 a.cn/?page=2〔1〕。"],
        ["See e.g. Fig. 3. 〔1〕", " Then go."],
    ],
)
def test_a_sentence_has_its_end_and_the_citations_after_it(parts: list[str]) -> None:
    assert split_sentences("".join(parts)) == parts


@given(st.text(st.characters(exclude_characters="\n")) | st.text("字a1.。！?;〔〕」 "))
def test_sentences_are_the_line(line: str) -> None:
    assert "".join(split_sentences(line)) == line


def test_a_long_answer_is_checked_quickly() -> None:
    references = [reference(number, TRAVEL * 20) for number in range(1, 6)]
    started = time.perf_counter()
    check(plain_lines("出差住宿标准为每晚 350 元，交通 80 元。" * 100 + "." * 5000), references, "")
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("不客气！", False),
        ("你好，我可以根据群里的资料回答问题。", False),
        ("你刚才问了住宿标准，我说是每晚 350 元。", False),
        ("住宿标准是每晚 500 元。", True),
        ("食堂一般 11:30 开门。", True),
        ("光合作用是植物把光能变成化学能的过程。" * 5, True),
        ("住宿标准是每晚三百五十元，超出自理，发票要在出差回来以后七天之内交给财务处的老师签字。" * 2, False),
    ],
)
def test_what_repeats_the_conversation_is_not_new(text: str, new: bool) -> None:
    said = "住宿标准是多少\n住宿标准是每晚 350 元，超出自理。发票要在出差回来以后 7 天之内交给财务处的老师签字。"
    assert says_something_new(text, said) == new
