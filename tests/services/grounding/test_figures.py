"""Numbers and codes in one notation: equal ones are recognised, and manners of speaking are not numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.grounding.figures import figures, stated_figures


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("每晚 350 元", {"350"}),
        ("三百五十元", {"350"}),
        ("一百二十分钟，两百零五天", {"120", "205"}),
        ("单笔 5,000 元或 ５０００ 元", {"5000"}),
        ("报销300，500元", {"300", "500"}),
        ("3.5万元，三万五千元", {"35000"}),
        ("三千五，一百二，三千零五", {"3500", "120", "3005"}),
        ("二〇二四年", {"2024"}),
        ("2024-03-01 和 2024年3月1日", {"2024", "3", "1"}),
        ("11:30-13:00", {"11:30", "13:00"}),
        ("错误 ERR-4032、err_4032", {"err4032"}),
        ("v1.2.0 与 1.2.0", {"1.2.0"}),
        ("350kg 的货，20MB 的文件", {"350", "20"}),
        ("百分之二十，20%", {"20"}),
        ("周三、星期五", {"3", "5"}),
        ("1. 先填表\n2、再签字\n（3）最后提交", set()),
        ("第一步，先填表", set()),
        ("一般十分方便，千万不要，万一两个人一起统一处理", set()),
        ("邮箱 a@b.cn，见 https://a.cn/x", {"ab.cn", "httpsa.cnx"}),
        ("没有数字的 Word 文件", set()),
        ("", set()),
    ],
)
def test_what_a_sentence_states(sentence: str, expected: set[str]) -> None:
    assert figures(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("350 元", "每晚三百五十元"),
        ("三百五十元", "每晚350元"),
        ("5000 元", "五千元以上"),
        ("5 千元", "5,000 元"),
        ("22:30 熄灯", "晚上十点半熄灯"),
        ("晚上10点30分", "22:30"),
        ("2024年3月1日", "二〇二四年三月一日"),
        ("20% 的押金", "百分之二十"),
        ("周三开放", "每周三四开放"),
        ("7 天内", "七日之内"),
        ("3500 元", "三千五"),
        ("ERR4032", "错误码 err-4032"),
        ("1.2.0 版", "v1.2.0"),
    ],
)
def test_the_same_figure_in_another_writing(sentence: str, passage: str) -> None:
    assert figures(sentence)
    assert figures(sentence) <= stated_figures(passage)


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("500 元", "每晚三百五十元"),
        ("ERR-4033", "ERR-4032"),
        ("3 天", "十三天"),
        ("2025年", "2024年"),
        ("50 元", "5000 元"),
    ],
)
def test_another_figure(sentence: str, passage: str) -> None:
    assert not figures(sentence) <= stated_figures(passage)


@given(st.integers(0, 99_999_999))
def test_every_number_is_found_as_it_is(number: int) -> None:
    for text in (f"共 {number} 元", f"共{number:,}元"):
        assert figures(text) == {str(number)} <= stated_figures(text)


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    assert all(figures(text))
    assert all(stated_figures(text))


@pytest.mark.parametrize("text", ["9" * 10_000, "九" * 10_000, "亿" * 10_000, "1" + "亿" * 5_000, "a1" * 50_000])
def test_monstrous_numbers_cost_nothing(text: str) -> None:
    assert len(figures(text)) <= 2
    assert stated_figures(text)
