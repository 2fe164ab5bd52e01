"""Which document words mean."""

import doctest
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.knowledge import names as module
from services.knowledge.names import Likeness, best_named, likeness, nearest_named, shared


@dataclass(frozen=True)
class _Document:
    name: str


def test_the_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        (["新生手册"], "2024级新生手册.pdf", Likeness.WHOLE),
        (["新生手册.PDF"], "新生手册.pdf", Likeness.WHOLE),
        (["第3讲"], "第3讲 概率论.pptx", Likeness.WHOLE),
        # However a number is written, it is the same number, and no part of a longer one.
        (["第三讲"], "第03讲 概率论.pptx", Likeness.WHOLE),
        (["第二十一讲"], "第21讲 概率论.pptx", Likeness.WHOLE),
        (["第十讲"], "第10讲 概率论.pptx", Likeness.WHOLE),
        (["Lab1"], "lab01.pdf", Likeness.WHOLE),
        (["lab1"], "lab12.pdf", Likeness.NONE),
        (["lab1"], "lab12-1-lab1.pdf", Likeness.WHOLE),
        (["管理规约"], "某某花园小区管理规约_20180502.pdf", Likeness.MOST),
        (["奖学金细则"], "奖学金评定细则（试行）.docx", Likeness.MOST),
        (["新生手侧"], "2024级新生手册.pdf", Likeness.MISSPELT),
        (["宿舍"], "南校区宿舍介绍.md", Likeness.PART),
        (["3月", "通知"], "通知汇总(3月).txt", Likeness.PART),
        (["大创"], "大学生创新创业计划.docx", Likeness.ABBREVIATION),
        (["考勤"], "员工手册.pdf", Likeness.NONE),
        # Another number, season or grade is another file, not a slip.
        (["第4讲概率"], "第3讲概率.pptx", Likeness.NONE),
        (["2023年度报告"], "2024年度报告.pdf", Likeness.NONE),
        (["一年级课表"], "二年级课表.xlsx", Likeness.NONE),
        ([], "员工手册.pdf", Likeness.NONE),
        (["？"], "员工手册.pdf", Likeness.NONE),
    ],
)
def test_likeness(words: list[str], name: str, expected: Likeness) -> None:
    assert likeness(words, name) is expected


def test_the_best_named_documents() -> None:
    documents = [_Document("3月值班表.xlsx"), _Document("4月值班表.xlsx"), _Document("值班制度.md")]
    assert best_named(["值班表"], documents)[1] == documents[:2]
    assert best_named(["3月值班表"], documents) == (Likeness.WHOLE, documents[:1])
    assert best_named(["报销"], documents) == (Likeness.NONE, [])
    assert nearest_named(["值班制", "方案"], documents) == documents[2]
    assert nearest_named(["报销"], documents) is None


def test_shared_terms() -> None:
    assert shared("kubernetes", "A guide to Kubernetes") == 1.0
    assert shared("scholarships", "A guide to Kubernetes") == 0.0
    assert shared("", "x") == 0.0


@given(st.lists(st.text(max_size=8), max_size=3), st.text(max_size=20))
def test_any_words_and_name(words: list[str], name: str) -> None:
    assert likeness(words, name) in Likeness
