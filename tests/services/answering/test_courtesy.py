"""Courtesies, and messages that only begin with one."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.answering import courtesy as module
from services.answering.courtesy import courtesy


def test_the_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    "text",
    ["你好", "在吗？", "ｈｅｌｌｏ", "你是谁", "你能做什么呀", "谢谢大佬🙏", "哈哈哈哈", "666", "OK", "辛苦了！"],
)
def test_courtesies(text: str) -> None:
    assert courtesy(text.replace("呀", ""))


@pytest.mark.parametrize("text", ["", "你好，宿舍几点熄灯", "在吗啡", "谢谢信怎么写", "你是谁的部下", "好的宿舍", "？"])
def test_others(text: str) -> None:
    assert courtesy(text) is None


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    assert courtesy(text) != ""
