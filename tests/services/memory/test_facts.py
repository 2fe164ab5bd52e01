"""Hard facts: found, recognised in another text, and never lost by a summary."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.memory.facts import clauses_with, contains, facts, lost_facts, without_new_facts
from services.memory.service import complete_summary

# Pieces from which texts full of facts are built, including facts that touch each other.
PIECES = st.sampled_from(
    [
        "3500 元", "3500", "20", "1", "12:30", "2024-05-01", "2024年5月1日", "3,500.50元", "三千五百元", "十二个人",
        "5 kg", "报销.docx", "ERR-4032", "v2.1.3", "A1", "a@b.cn", "https://x.cn/a?b=1", "www.qq.com", "100%", "3GB",
        "张三", "报销", "要在", "，", "。", "；", "\n", " ", ",", ".", ":", "-", "/", "? ", "１２３", "（",
        "第 3 页", "）", "、", "1. ",
    ]
)  # fmt: skip
LINES = st.lists(st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=30), min_size=1, max_size=5)
# Ordinary prose: something separates two facts.
FACTS = ["3500 元", "3,500.50元", "20", "12:30", "2024年5月1日", "三千五百元", "报销.docx", "ERR-4032", "a@b.cn", "3GB"]
PROSE = st.lists(st.tuples(st.sampled_from(FACTS), st.sampled_from(["，", "。", "；", " 和 ", "\n", " ", "、给"]))).map(
    lambda parts: [f"{fact}{after}" for fact, after in parts]
)


@st.composite
def lines_and_summary(draw: st.DrawFn) -> tuple[list[str], str]:
    """Return lines of a conversation, and a summary that keeps some pieces, invents others, or is empty."""
    lines = draw(LINES)
    words = [word for line in lines for word in line.split("，")]
    kept = draw(st.lists(st.sampled_from(words) | PIECES | st.text(max_size=10), max_size=6))
    return lines, draw(st.sampled_from(["", " ", "\n", "，"])).join(kept).strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("周五前把 3500 元报销单发到 a@b.cn，模板见 报销.docx", ["3500 元", "a@b.cn", "报销.docx"]),
        ("电话 13800138000，地址 https://a.cn/x?y=1。", ["13800138000", "https://a.cn/x?y=1"]),
        ("2024年5月1日 12:30 开会", ["2024年5月1日", "12:30"]),
        ("型号 KX-200 的错误码是 ERR_4032", ["KX-200", "ERR_4032"]),
        ("预算三千五百元，共十二个人", ["三千五百元", "十二个人"]),
        ("一百零五元，二〇二四年", ["一百零五元", "二〇二四年"]),
        ("等 30分钟，走三分钟", ["30分钟", "三分钟"]),
        ("1. 先登录\n2. 再提交", []),
        ("我有一个想法", []),
        ("增长 12.5%，见 www.qq.com", ["12.5%", "www.qq.com"]),
        ("100，200", ["100", "200"]),
        ("3500 元 https://x.cn/a?b=1", ["3500 元", "https://x.cn/a?b=1"]),
        ("重 5 kg，等 20 seconds", ["5 kg", "20"]),
        ("同样的 100 元和 100 元", ["100 元"]),
        ("", []),
    ],
)
def test_facts_of_a_text(text: str, expected: list[str]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize(
    ("text", "fact", "there"),
    [
        ("共 3500元", "3500 元", True),
        ("共 3,500 元", "3500 元", True),
        ("共 35000 元", "3500", False),
        ("共 13500 元", "3500", False),
        ("共 3500.5 元", "500", False),
        ("编号 ERR-40321", "ERR-4032", False),
        ("编号 err-4032", "ERR-4032", True),
        ("编号 ＥＲＲ-4032", "ERR-4032", True),
        ("100 200", "100200", False),
        ("100\n200", "100", True),
        ("100\n200", "200", True),
        ("", "100", False),
    ],
)
def test_a_fact_is_found_as_itself_only(text: str, fact: str, there: bool) -> None:
    assert contains(text, fact) is there


@given(PROSE.map("".join))
@example("12 34")
@example("35,A1")
def test_a_text_contains_its_own_facts(text: str) -> None:
    assert lost_facts(text, text) == []


@given(lines_and_summary())
@example((["12\n34"], ""))
@example((["订单 100\n", "200 元"], ""))
def test_a_completed_summary_never_loses_a_fact(case: tuple[list[str], str]) -> None:
    lines, summary = case
    completed = complete_summary(lines, summary)
    assert completed.startswith(summary)
    assert lost_facts("\n".join(lines), completed) == []


@given(lines_and_summary())
def test_completing_again_adds_nothing(case: tuple[list[str], str]) -> None:
    lines, summary = case
    completed = complete_summary(lines, summary)
    assert complete_summary(lines, completed) == completed


@given(LINES, st.lists(LINES, max_size=4))
@example(["，20）"], [[""]])
@example(["3500 元 https://x.cn/a?b=1"], [])
def test_facts_survive_summary_after_summary(first: list[str], later: list[list[str]]) -> None:
    """Each round summarises the previous summary together with new lines, and the model keeps nothing of either."""
    summary = complete_summary(first, "")
    for lines in later:
        summary = complete_summary([summary, *lines], "")
    for lines in (first, *later):
        assert lost_facts("\n".join(lines), summary) == []


@given(PROSE)
def test_a_summary_with_every_fact_is_left_as_it_is(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert complete_summary(lines, text) == text


def test_a_lost_number_comes_back_with_its_clause() -> None:
    lines = ["用户：预算是 3500 元，张三负责；截止 5 月 8 日。", "助手：好的，模板见 报销.docx。"]
    completed = complete_summary(lines, "用户谈了预算，截止 5 月 8 日。")
    assert completed == "用户谈了预算，截止 5 月 8 日。\n原文要点：\n用户：预算是 3500 元，\n模板见 报销.docx。"


def test_a_long_clause_gives_the_surroundings_of_the_fact() -> None:
    line = "这" * 200 + "是 ERR-4032 错误" + "呢" * 200
    (clause,) = clauses_with([line], ["ERR-4032"])
    assert "是 ERR-4032 错误" in clause
    assert len(clause) <= 80


@given(st.integers(0, 60), st.integers(0, 40))
def test_cutting_a_long_clause_makes_no_false_number(before: int, behind: int) -> None:
    line = "预算12345元" + "字" * before + " ERR-4032 " + "字" * behind + "98765元" + "末" * 90
    (clause,) = clauses_with([line], ["ERR-4032"])
    assert set(facts(clause)) <= set(facts(line)) | {"98765"}


def test_a_long_line_is_read_in_pieces_that_cut_no_fact() -> None:
    amounts = [f"{number} 元" for number in range(1000, 2000)]
    assert facts("第一笔，" + "，".join(f"付 {amount}" for amount in amounts)) == amounts


def test_a_summary_states_only_what_was_said() -> None:
    lines = ["用户：预算 3500 元，周五前交", "助手：好的"]
    summary = "用户的预算是 3500 元。班长电话是 13999998888。周五前交。"
    assert without_new_facts(lines, summary) == "用户的预算是 3500 元。周五前交。"
    assert without_new_facts(lines, "班长电话是 13999998888。") == ""
