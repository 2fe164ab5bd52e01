"""Tests of the wordings of messages as people write them."""

import doctest

import pytest

from services.retrieval import wording
from services.retrieval.wording import asks_people, asks_something


def test_the_examples() -> None:
    assert doctest.testmod(wording).failed == 0


@pytest.mark.parametrize(
    "text", ["谁有充电线借一下", "有没有人一起去食堂", "洗衣机谁的衣服还没拿", "你们宿舍停电了吗", "帮我占个座吧"]
)
def test_of_people(text: str) -> None:
    assert asks_people(text)


@pytest.mark.parametrize(
    "text", ["报销找谁", "有人知道怎么报修吗", "宿舍几点熄灯", "谁负责报修", "有没有人遇到过 E1042"]
)
def test_of_things(text: str) -> None:
    assert not asks_people(text)
    assert asks_something(text)


@pytest.mark.parametrize("text", ["今天好累", "收到，辛苦了", "我下周出差"])
def test_no_question(text: str) -> None:
    assert not asks_something(text)
