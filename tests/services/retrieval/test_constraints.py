"""What a question says about the thing that it asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.index.tokens import normalise
from services.retrieval.constraints import (
    mentioned_years,
    named_years,
    ordinals,
    read_constraints,
    years,
    years_of_place,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("２０１９年的预算", {2019}),
        ("二〇二四年放假几天", {2024}),
        ("19年预算多少", {2019}),
        ("那篇87年的文章", {1987}),
        ("2022级的学分", {2022}),
        ("2023-2024学年校历", {2023, 2024}),
        ("2021至2023年", {2021, 2022, 2023}),
        ("2018-05-02 起草", {2018}),
        ("规约_20180502", {2018}),
        ("干了12年有几天年假", set()),
        ("签了10年合同", set()),
        ("花了18年心血", set()),
        ("12年以上的员工", set()),
        ("充2000元送多少", set()),
        ("工号2019", set()),
    ],
)
def test_years(text: str, found: set[int]) -> None:
    assert years(normalise(text)).all == found


def test_cohorts_are_apart() -> None:
    found = years("2022级在2024年毕业")
    assert (found.cohorts, found.plain) == ({2022}, {2024})


def test_a_passage_may_mention_a_year_in_more_ways() -> None:
    assert mentioned_years("年报2014 与 12年 的补贴 2000 元") == {2012, 2014}
    assert years_of_place("某公司2018一季报.pdf").plain == {2018}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("第十二条怎么说", {"条": {"12"}}),
        ("第１２条", {"条": {"12"}}),
        ("第一千二百零五条", {"条": {"1205"}}),
        ("第8条至第11条", {"条": {"8", "9", "10", "11"}}),
        ("第一、二讲", {"讲": {"1", "2"}}),
        ("3、5号楼停水", {"楼": {"3", "5"}}),
        ("二栋", {"楼": {"2"}}),
        ("方案四和方案6", {"方案": {"4", "6"}}),
        ("二模什么时候", {"模": {"2"}}),
        ("三等奖", {"等奖": {"3"}}),
        ("python 3.12 和 v4.29", {"python": {"3.12"}, "v": {"4.29"}}),
        ("大模型的规模", {}),
        ("第二天领两张卡", {}),
        ("85分、3号、5个人", {}),
    ],
)
def test_ordinals(text: str, found: dict[str, set[str]]) -> None:
    assert ordinals(normalise(text)) == found


@given(st.text(st.sampled_from("第一二十百千零〇年条至-、到和级栋楼号方案v.python0129 ")))
def test_any_text_can_be_read(text: str) -> None:
    found = read_constraints(normalise(text))
    assert bool(found) == bool(found.years.all or found.ordinals)
    assert found.years.all <= mentioned_years(normalise(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("二食堂几点关门", {"食堂": {"2"}}),
        ("第2食堂、3号食堂", {"食堂": {"2", "3"}}),
        ("3号线和四人间", {"线": {"3"}, "人间": {"4"}}),
        ("初三(6)班", {"班": {"6"}}),
        ("B楼和C座", {"楼": {"b"}, "座": {"c"}}),
        ("甲班", {"班": {"甲"}}),
        ("第3周的作业", {"周": {"3"}}),
        ("3个食堂，两班倒，101班车，A区块链", {}),
    ],
)
def test_names_that_differ_in_a_number(text: str, found: dict[str, set[str]]) -> None:
    assert ordinals(normalise(text)) == found


@pytest.mark.parametrize(
    ("question", "months"),
    [("4月的值日表", {"4"}), ("十一月份电费", {"11"}), ("4月5日放假吗", None), ("四月底交吗", None), ("12个月", None)],
)
def test_a_month_is_meant_if_no_day_is_named(question: str, months: set[str] | None) -> None:
    assert read_constraints(normalise(question)).ordinals.get("月") == months


def test_a_bare_number_is_a_year_if_a_name_has_it() -> None:
    names = ["名额2023.xlsx", "名额2024.xlsx"]
    assert named_years("2023的名额", names) == {2023}
    assert named_years("2022的名额", names) == frozenset()
