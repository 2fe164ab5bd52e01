"""Wordings of questions: what makes them the same, and what keeps them apart."""

import doctest
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.faq import wording
from services.faq.wording import normal_question, read_wording

QUESTIONS = st.sampled_from(
    ["宿舍几点熄灯", "ERR-4032 怎么解决", "python 3.12怎么装", "第3章考什么", "年假有几天", "C++ 作业交到哪里"]
)
MARKS = st.text(st.sampled_from("？?！!。.~～…，, \n👍😭"), max_size=5)


def _wide(text: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) if "!" <= sign <= "~" else sign for sign in text)


def test_examples() -> None:
    assert doctest.testmod(wording).failed == 0


@given(
    QUESTIONS, st.sampled_from(["", "请问", "大佬们求助，", "@群知 "]), MARKS, st.sampled_from([str.upper, _wide, str])
)
def test_case_width_marks_and_courtesies_make_no_difference(
    question: str, before: str, behind: str, form: type[str]
) -> None:
    assert normal_question(f"{before}{form(question)}{behind}") == normal_question(question)


@given(st.text())
def test_a_question_is_the_same_as_itself(text: str) -> None:
    first, second = read_wording(text), read_wording(text)
    assert first == second
    assert first.sense == second.sense
    assert not first.contradicts(second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("版本 3.12", "版本 312"),
        ("C++ 怎么装", "C 怎么装"),
        ("3,5号楼在哪", "35号楼在哪"),
        ("？？？", "！！！"),
        ("零下 -5 度", "5 度"),
        ("涨了5%", "涨了5"),
    ],
)
def test_signs_that_mean_something_stay(one: str, other: str) -> None:
    assert normal_question(one) != normal_question(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("宿舍什么时候熄灯", "宿舍何时熄灯呢"),
        ("怎么绑定银行卡", "如何绑定银行卡？"),
        ("为什么登录不了", "登录不了是为什么"),
        ("孕妇可以吃饼干吗", "孕妇能不能吃饼干"),
        ("哪个牌子的加湿器好", "什么牌子的加湿器好？"),
    ],
)
def test_particles_and_ways_of_asking_make_no_difference(one: str, other: str) -> None:
    first, second = read_wording(one), read_wording(other)
    assert first.normal != second.normal
    assert first.sense == second.sense
    assert not first.contradicts(second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("北京到成都的火车票", "成都到北京的火车票"),
        ("湛江到广州高铁什么时候开通", "广州到湛江的高铁什么时候开通"),
        ("谁喜欢小王", "小王喜欢谁"),
        ("爷爷的爸爸叫什么", "爸爸的爷爷叫什么"),
        ("孕妇能吃饼干吗", "孕妇不能吃饼干吗"),
        ("第三章考什么", "第4章考什么"),
        ("安装 mmdet 的步骤", "安装 mmpose 的步骤"),
        ("上一句是什么", "下一句是什么"),
        ("本科生奖学金怎么评", "硕士生奖学金怎么评"),
        ("报销要三天吗", "报销要半天吗"),
    ],
)
def test_what_needs_another_answer(one: str, other: str) -> None:
    first, second = read_wording(one), read_wording(other)
    assert first.contradicts(second)
    assert second.contradicts(first)
    assert first.normal != second.normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("第三章考什么", "第3章考什么"),
        ("能不能带饭", "能带饭吗"),
        ("一般什么时候发工资", "什么时候发工资"),
        ("时空猎人战斗力怎么提升", "时空猎人怎么提升战斗力"),
        ("特别注意什么", "注意什么"),
    ],
)
def test_what_may_have_the_same_answer(one: str, other: str) -> None:
    assert not read_wording(one).contradicts(read_wording(other))


@pytest.mark.parametrize("sign", ["急", "谢谢", "谢谢你们", "请问", "大家", "求助", "不", "一", "一二", "a ", "的"])
def test_repetitions_take_no_time(sign: str) -> None:
    started = time.process_time()
    read_wording(f"{sign * 200}甲")
    read_wording(f"甲{sign * 200}乙").contradicts(read_wording(f"乙{sign * 200}甲"))
    assert time.process_time() - started < 0.5
