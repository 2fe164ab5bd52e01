"""Tests of follow-up questions: what they leave out is put back, and a question that stands alone stays."""

import doctest
import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from services.retrieval.models import Question
from services.workflows.qa import rewriting
from services.workflows.qa.rewriting import Exchange, exchanges, in_context, rewritten

SHORT = st.text("那它他这个呢吗多少几点周五六宿舍关门报销AB12 ，？\n\u202e\x00", max_size=60)
ANY = st.text(max_size=300)
EXCHANGES = st.lists(st.builds(Exchange, SHORT | ANY, SHORT | ANY), max_size=6)


def after(question: str, *before: str, answer: str = "") -> str | None:
    return rewritten(question, [Exchange(text, answer) for text in before])


def test_the_examples() -> None:
    assert doctest.testmod(rewriting).failed == 0


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        ("周五宿舍几点关门", "那周六呢", "周六宿舍几点关门"),
        ("编号 AB00021 的设备保修期为几个月", "那 AB09999 呢", "编号 AB09999 的设备保修期为几个月"),
        ("2019年电梯维保的预算是多少", "那2020年呢？", "2020年电梯维保的预算是多少"),
        ("2019年电梯维保的预算是多少", "那2020年的保险呢", "电梯维保的预算是多少 2020年的保险呢"),
        ("课堂实验里做市商初始现金多少", "投机者呢", "课堂实验里做市商初始现金多少 投机者呢"),
        ("张老师是谁", "他什么时候答疑", "张老师什么时候答疑"),
        ("停车场方案四是啥", "这个方案多久能落地", "停车场方案四是啥 这个方案多久能落地"),
        ("撞一下障碍物罚几秒", "连着撞同一个三次呢", "撞一下障碍物罚几秒 连着撞同一个三次呢"),
    ],
)
def test_what_is_left_out_is_put_back(before: str, question: str, expected: str) -> None:
    assert after(question, before) == expected


@pytest.mark.parametrize("before", ["周五宿舍几点关门", "差旅费怎么报销", "谢谢"])
@pytest.mark.parametrize(
    "question",
    [
        "食堂早餐几点开始",
        "普通员工去深圳住宿标准是多少",
        "报错 E1042 是什么意思",
        "怎么申请换宿舍",
        "how do I install docling on an intel mac",
        "谢谢大佬",
        "太厉害了",
        "早上好",
        "",
        "？？？",
    ],
)
def test_a_change_of_subject_drags_nothing_along(before: str, question: str) -> None:
    assert after(question, before, answer="每晚三百元。") is None


def test_the_first_question_stands_alone() -> None:
    assert rewritten("那周六呢", []) is None


def test_of_several_the_last_that_stands_alone_counts() -> None:
    assert after("那周日呢", "周五宿舍几点关门", "那周六呢") == "周日宿舍几点关门"
    assert after("那研究生呢", "本科最长能读几年", "谢谢", "哈哈") == "研究生最长能读几年"
    assert after("那研究生呢", "学费多少", "本科最长能读几年") == "研究生最长能读几年"
    # After four exchanges nobody remembers.
    assert after("那周日呢", "周五宿舍几点关门", *["差旅费怎么报销"] * 4) == "差旅费怎么报销 周日呢"


def test_a_short_answer_is_a_subject() -> None:
    assert after("他电话多少", "报修找谁", answer="找王师傅。") == "报修找谁 找王师傅 他电话多少"


@pytest.mark.parametrize(
    "answer",
    [
        "原文摘录：\n「王师傅」〔1〕",
        "资料里没有找到相关内容，可以换个更具体的问法。",
        "王师傅，" + "他每天都在一楼值班室等大家来报修水电和家具，" * 3,
    ],
)
def test_any_other_answer_is_not(answer: str) -> None:
    assert after("他电话多少", "报修找谁", answer=answer) == after("他电话多少", "报修找谁")


def test_the_quoted_message_of_an_earlier_question_counts() -> None:
    shown = Question("这个怎么修", "打印机 E-52").shown
    assert after("它多久能修好", shown) == "这个怎么修 打印机 E-52 它多久能修好"


def test_a_question_with_a_quoted_message_stays() -> None:
    question = Question("那周六呢", "周五二十三点关门")
    assert in_context(question, [Exchange("宿舍周五几点关门", "")]) == question
    assert in_context(Question("那周六呢"), [Exchange("宿舍周五几点关门", "")]) == Question("宿舍周六几点关门")
    assert in_context(Question("那周六呢"), []) == Question("那周六呢")


@pytest.mark.parametrize(
    ("text", "answer", "is_remark"),
    [("我不同意", "", True), ("我不同意", "你同意吗", False), ("投机者呢", "", False), ("他是谁", "", False)],
)
def test_what_asks_nothing_is_a_remark(text: str, answer: str, *, is_remark: bool) -> None:
    question = in_context(Question(text), [Exchange("课堂实验里做市商初始现金多少", answer)])
    assert text in question.text != text
    assert question.remark == (text if is_remark else "")


def test_the_history_is_read_in_pairs() -> None:
    history = [
        SystemMessage("摘要"),
        AIMessage("摘要前的问题的回答"),
        HumanMessage("一"),
        AIMessage("二"),
        HumanMessage("三"),
        AIMessage("四"),
    ]
    assert exchanges(history) == [Exchange("一", "二"), Exchange("三", "四")]
    assert exchanges([]) == []


@given(SHORT, EXCHANGES)
def test_the_result_is_one_clean_line_with_the_own_content(question: str, before: list[Exchange]) -> None:
    result = rewritten(question, before)
    if result is None:
        return
    assert 0 < len(result) <= 200
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in result)
    # Pronouns, 那 and particles may go; nothing else.
    for content in re.findall(r"[多少几点周五六宿舍关门报销]{2,}|[AB12]{2,}", question):
        assert content in result


@given(ANY, EXCHANGES)
def test_no_text_raises(question: str, before: list[Exchange]) -> None:
    result = rewritten(question, before)
    assert result is None or len(result) <= 200


def test_it_takes_less_than_five_milliseconds() -> None:
    before = [Exchange("宿舍周五几点关门，" * 500, "二十三点关门。" * 1000)] * 50
    rewritten("那周六呢", before)
    fastest = min(_milliseconds(before) for _ in range(5))
    assert fastest < 5


def _milliseconds(before: list[Exchange]) -> float:
    start = time.perf_counter()
    rewritten("那周六大家都要带什么去报到呢", before)
    return (time.perf_counter() - start) * 1000
