"""What people read of approved answers."""

import doctest
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.faq import answers, pairs
from services.faq.answers import approved_answer, choice_text, chosen_number
from services.faq.models import Approver, FaqEntry, FaqOrigin
from services.records.conversations import Source

TIME = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)


def _entry(number: int, question: str, approver: Approver = Approver(10003, "小李")) -> FaqEntry:  # noqa: B008
    sources = (Source(1, "规定.txt"),)
    return FaqEntry(number, 1, question, "十一点半〔1〕。", sources, FaqOrigin.REVIEW, approver, TIME)


def test_examples() -> None:
    assert doctest.testmod(answers).failed == 0
    assert doctest.testmod(pairs).failed == 0


def test_an_answer_names_who_approved_it() -> None:
    answer = approved_answer(_entry(4, "几点熄灯"))
    assert answer.text == "十一点半〔1〕。\n\n（群里确认过的回答，由 小李（10003） 审核）"
    assert [source.place for source in answer.sources] == ["规定.txt"]
    assert approved_answer(_entry(4, "几点熄灯", Approver(10003))).text.endswith("由 10003 审核）")


def test_the_question_which_one_is_meant() -> None:
    assert choice_text([_entry(7, "几点熄灯")]) == "你是不是想问「几点熄灯」？\n回复 1 看回答，不是就回复 0。"
    assert choice_text([_entry(7, "几点熄灯"), _entry(9, "几点开门")]) == (
        "你是不是想问：\n1. 几点熄灯\n2. 几点开门\n回复数字看回答，都不是就回复 0。"
    )


@pytest.mark.parametrize(
    ("text", "count", "number"),
    [
        ("1", 3, 1),
        (" 2。", 3, 2),
        ("３", 3, 3),
        ("选 2", 3, 2),
        ("第二个", 3, 2),
        ("第二个问题", 3, 2),
        ("0", 3, 0),
        ("都不是", 2, 0),
        ("是的", 1, 1),
        ("是的", 2, None),
        ("3", 2, None),
        ("12", 3, None),
        ("几点熄灯", 3, None),
        ("1楼几点熄灯", 3, None),
        ("", 3, None),
    ],
)
def test_which_one_a_reply_chooses(text: str, count: int, number: int | None) -> None:
    assert chosen_number(text, count) == number


@given(st.text(), st.integers(1, 3))
def test_a_choice_is_always_one_of_those_offered(text: str, count: int) -> None:
    assert chosen_number(text, count) in {None, *range(count + 1)}
