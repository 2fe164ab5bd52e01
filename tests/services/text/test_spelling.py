"""Spellings of one word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.index.tokens import normalise
from services.text.spelling import folded


@pytest.mark.parametrize(
    ("variant", "usual"),
    [
        ("登陸帳號", "登录账号"),
        ("身分證與其它證件", "身份证与其他证件"),
        ("繳費", "交费"),
        ("禮拜四", "周四"),
        ("星期天", "周日"),
        ("星期", "星期"),
    ],
)
def test_variants_become_one_word(variant: str, usual: str) -> None:
    assert normalise(variant) == normalise(usual) == usual


@given(st.text(st.sampled_from("登陆入录其它他部成份分身纪记模版板预定订制购座坐位反覆星期礼拜周天日惟一")))
def test_folding_again_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)
