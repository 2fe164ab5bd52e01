"""Spoken questions in written words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.models import Question
from services.retrieval.query import build_query
from services.retrieval.speech import written


@pytest.mark.parametrize(
    ("spoken", "plain"),
    [
        ("密码忘了咋整", "密码忘了怎么办"),
        ("这个咋收费", "这个怎么收费"),
        ("啥时候开学", "什么时候开学"),
        ("默认啥时区", "默认什么时区"),
        ("为啥不行", "为什么不行"),
        ("一次几块钱来着", "一次多少钱"),
        ("由哪几块组成", "由哪几块组成"),
        ("明天停水不", "明天停水吗"),
        ("办完了没 能退不？", "办完了吗 能退吗？"),
        ("能退吗 还没", "能退吗 还没"),
        ("有没有", "有没有"),
        ("自己付几成", "自己付百分之几"),
        ("助教是干嘛的", "助教是做什么的"),
        ("翘课三次", "旷课三次"),
        ("对不起", "对不起"),
    ],
)
def test_spoken_words_become_written_ones(spoken: str, plain: str) -> None:
    assert written(spoken) == plain


@given(st.text(st.sampled_from("咋啥肿么整弄几块钱不没来着呗有还呀a？ ")))
def test_nothing_is_spoken_twice(text: str) -> None:
    assert "啥" not in written(text) and "肿么" not in written(text)


def test_code_stays_as_it_was_typed() -> None:
    assert build_query(Question("咋跑 `echo 啥`")).text == "怎么跑\n`echo 啥`"


def test_a_message_of_particles_is_searched_as_it_is() -> None:
    assert build_query(Question("来着")).text == "来着"
