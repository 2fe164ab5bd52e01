"""Tests of words that take each other's place in a question."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.workflows.qa import counterparts
from services.workflows.qa.counterparts import replaced, without_counterparts


def test_the_examples() -> None:
    assert doctest.testmod(counterparts).failed == 0


@pytest.mark.parametrize(
    ("text", "by", "expected"),
    [
        ("周五宿舍几点关门", "星期六", "星期六宿舍几点关门"),
        ("本科最长能读几年", "研究生", "研究生最长能读几年"),
        ("去北京出差住宿标准多少", "上海", "去上海出差住宿标准多少"),
        ("编号 AB00021 的设备保修几个月", "ab09999", "编号 ab09999 的设备保修几个月"),
        ("SDA0接哪个GPIO", "SCL0", "SCL0接哪个GPIO"),
        ("电信300M一年多少钱", "200M", "电信200M一年多少钱"),
        ("校园网电信300M一年多少钱", "移动200M", "校园网移动200M一年多少钱"),
        ("第三条怎么说", "第十条", "第十条怎么说"),
        ("一等奖学金多少钱", "二等奖", "二等奖学金多少钱"),
        ("3号楼哪天停水", "5号楼", "5号楼哪天停水"),
        ("明天停水吗", "后天", "后天停水吗"),
        # It could take the place of either, or of none.
        ("周五和周六几点关门", "周日", None),
        ("宿舍几点关门", "周日", None),
        ("电信300M一年多少钱", "移动校园卡", None),
        ("电信300M一年多少钱", "", None),
        ("做市商初始现金多少", "投机者", None),
        ("2019年级大会", "2020年", None),
    ],
)
def test_a_word_takes_the_place_of_its_counterpart(text: str, by: str, expected: str | None) -> None:
    assert replaced(text, by) == expected


def test_what_is_named_in_both_stays() -> None:
    assert without_counterparts("2019年的维保预算", "2019年的保险呢") == "2019年的维保预算"
    assert without_counterparts("2019年的维保预算", "那保险呢") == "2019年的维保预算"
    assert without_counterparts("本科宿舍费", "研究生的网费呢") == " 宿舍费"


@given(st.text("周五六2019年第三条ab0号楼本科研究生 呢"), st.text("周五六2019年第三条ab0号楼本科研究生 呢"))
def test_nothing_is_invented(text: str, by: str) -> None:
    assert set(without_counterparts(text, by)) <= set(text) | {" "}
    whole = replaced(text, by)
    assert whole is None or set(by) <= set(whole) <= set(text + by)
