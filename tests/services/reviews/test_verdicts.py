"""Replies to notices: what is a decision, and what is only talk."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reviews import verdicts
from services.reviews.models import Approved, Decision, Edited, Rejected
from services.reviews.verdicts import read_verdict


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("通过", Approved()),
        (" 同意了。", Approved()),
        ("OK", Approved()),
        ("👍", Approved()),
        ("👍🏻", Approved()),
        ("没问题！", Approved()),
        ("拒绝", Rejected()),
        ("拒绝：没有依据", Rejected("没有依据")),
        ("驳回，原因：是去年的规定", Rejected("是去年的规定")),
        ("不通过", Rejected()),
        ("👎", Rejected()),
        ("七天内可以退，要带小票。", Edited("七天内可以退，要带小票。")),
        ("改成：七天", Edited("七天")),
        ("应该是３天", Edited("３天")),
        # Answers that begin like a decision.
        ("拒绝付款的人要补交材料", Edited("拒绝付款的人要补交材料")),
        ("通过率是 80%", Edited("通过率是 80%")),
        ("可以退，七天以内", Edited("可以退，七天以内")),
    ],
)
def test_decisions(text: str, decision: Decision) -> None:
    verdict = read_verdict(text, {12})
    assert verdict is not None
    assert (verdict.number, verdict.decision) == (12, decision)


@pytest.mark.parametrize(
    "text",
    ["", "嗯", "收到", "我看看", "晚点看一下", "好的", "稍等", "不对", "不确定", "这是谁问的？", "要不要改吗", "改成"],
)
def test_talk_decides_nothing(text: str) -> None:
    assert read_verdict(text, {12}) is None


def test_a_notice_about_several_reviews_needs_the_number() -> None:
    assert read_verdict("通过", {11, 12}) is None
    for text in ("12 通过", "通过 12", "编号12：通过", "第 12 条 通过"):
        verdict = read_verdict(text, {11, 12})
        assert verdict is not None, text
        assert (verdict.number, verdict.decision) == (12, Approved())
    assert read_verdict("13 通过", {11, 12}) is None


@pytest.mark.parametrize("number", [3, 12])
def test_a_number_in_an_answer_belongs_to_it(number: int) -> None:
    verdict = read_verdict("3 天内可以退", {number})
    assert verdict is not None
    assert (verdict.number, verdict.decision) == (number, Edited("3 天内可以退"))


@given(st.text(max_size=200), st.sets(st.integers(1, 999999), min_size=1, max_size=3))
def test_any_text_is_read(text: str, numbers: set[int]) -> None:
    verdict = read_verdict(text, numbers)
    assert verdict is None or verdict.number in numbers
    if verdict is not None and isinstance(verdict.decision, Edited):
        assert verdict.decision.text
        assert verdict.decision.text in text


def test_examples() -> None:
    assert doctest.testmod(verdicts).failed == 0
