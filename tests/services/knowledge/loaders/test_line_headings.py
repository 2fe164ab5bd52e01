"""Test lines that are headings, and lines that only look like headings."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.knowledge.loaders import line_headings
from services.knowledge.loaders.line_headings import line_heading


def test_the_examples() -> None:
    assert doctest.testmod(line_headings).failed == 0


@pytest.mark.parametrize(
    ("line", "title", "is_text"),
    [
        ("第一章 总则", "第一章 总则", False),
        ("第十二条 住宿标准为每晚三百五十元。", "第十二条", True),
        ("（三）报名方式", "（三）报名方式", False),
        ("五、開放時間：週一至週五", "五、開放時間", True),
        ("一、时间：", "一、时间", False),
        ("第七条 上班时间9:00至18:00", "第七条 上班时间9:00至18:00", False),
        ("第八条 午休 12：00 开始：分两批", "第八条 午休 12：00 开始", True),
        ("二、上课时间8:30起：学生须在五分钟以前到达教室并完成签到手续，不得迟到。", "二、上课时间8:30起", True),
        ("Q：怎么加入社团", "怎么加入社团", True),
        ("问题3：押金多久退？", "押金多久退？", True),
    ],
)
def test_headings(line: str, title: str, is_text: bool) -> None:
    found = line_heading(line)
    assert found is not None
    assert (found.title, found.is_text) == (title, is_text)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "问",
        "问题很多：先看日志",
        "1. 打开设置",
        "一、本办法适用于全体在校学生，以及进修人员。",
        "第一章 总则........3",
        "第三方支付",
        "十一、",
        "一时间：",
        "答：带学生证补办。",
    ],
)
def test_no_headings(line: str) -> None:
    assert line_heading(line) is None


def test_levels_nest() -> None:
    lines = ("第一章 总则", "第一节 范围", "一、对象", "（一）学生", "第三条 学生须遵守本办法。", "问：学生是谁")
    levels = [found.level for line in lines if (found := line_heading(line))]
    assert levels == sorted(set(levels))


@given(st.text("一二（）第章条、：:问Q1 。文字", max_size=60))
def test_a_heading_loses_nothing(line: str) -> None:
    found = line_heading(line)
    if found is not None and not found.is_text:
        assert found.title == line.strip().rstrip(":：").strip()
