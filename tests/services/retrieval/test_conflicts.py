"""Signs that a candidate is about something else than the question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.index.tokens import matched_terms, normalise, query_terms
from services.retrieval.conflicts import (
    CONFLICTS,
    Conflicts,
    collection_facts,
    conflicts,
    contradicts,
    read_question,
)
from services.retrieval.fuse import weigh
from services.retrieval.models import Candidate
from tests.services.retrieval.candidates import candidate

BUDGET = ("预算2019年.xlsx", "绿化 | 12000 元\n保洁 | 30000 元")
RULES = ("员工手册.pdf", "工龄满 10 年的年假为 10 天，不含周末。")


def recalled(question: str, *documents: tuple[str, str]) -> list[Candidate]:
    """Return candidates that contain of the question what a search would find."""
    terms = query_terms(question)
    return [
        candidate(
            str(number),
            build=str(number),
            file=file,
            text=text,
            matched=matched_terms(normalise(f"{file}\n{text}"), terms),
        )
        for number, (file, text) in enumerate(documents)
    ]


def between(question: str, *documents: tuple[str, str]) -> Conflicts:
    """Return the conflicts between a question and the first of the documents of a collection."""
    found = recalled(question, *documents)
    frequency = {term: sum(term in item.hit.matched for item in found) for term in query_terms(question)}
    facts = collection_facts(weigh(question, frequency, len(found)), found)
    return conflicts(read_question(question), found[0], facts)


@pytest.mark.parametrize(
    ("question", "document", "value"),
    [
        ("2019年绿化多少钱", BUDGET, 0.0),
        ("19年绿化多少钱", BUDGET, 0.0),
        ("2020年绿化多少钱", BUDGET, 1.0),
        ("20年绿化多少钱", BUDGET, 1.0),
        ("干了20年年假几天", RULES, 0.0),
        ("2020年年假几天", RULES, 0.25),
        ("2020年补贴多少", ("通知.txt", "2018年补贴 200 元。"), 0.75),
        ("2020年补贴多少", ("通知.txt", "自2018年1月起补贴 200 元。"), 0.25),
        ("2020年补贴多少", ("合同.txt", "合同从2018年到2021年，补贴 200 元。"), 0.0),
        ("2023级的学分", ("学生手册2025.pdf", "毕业要 160 学分。"), 0.5),
        ("2023级的学分", ("培养方案（2021级）.pdf", "毕业要 160 学分。"), 1.0),
    ],
)
def test_years(question: str, document: tuple[str, str], value: float) -> None:
    assert between(question, document).year == value


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        ("第十条怎么说", "第10条 应当登记。", 0.0),
        ("第十条怎么说", "第十一条 应当登记。", 1.0),
        ("第十条怎么说", "第八条至第十二条适用于外来人员。", 0.0),
        ("第十条怎么说", "应当登记。", 0.0),
        ("2号楼哪天停水", "3、5号楼 4 月 1 日停水。", 1.0),
        ("2号楼哪天停水", "1-3栋 4 月 1 日停水。", 0.0),
        ("二模哪天考", "一模 4 月 20 日。", 0.5),
        ("充5万送多少", "充 3 万送 10%。", 0.0),
    ],
)
def test_ordinals(question: str, text: str, value: float) -> None:
    assert between(question, ("通知.txt", text)).ordinal == value


def test_contrasts() -> None:
    assert between("暑假放几天", ("寒假安排.txt", "1 月 20 日放假。")).contrast == 1.0
    assert between("暑假放几天", ("通知.txt", "寒假 1 月 20 日放假。")).contrast == 0.5
    assert between("暑假放几天", ("寒假安排.txt", "暑假 7 月 20 日放假。")).contrast == 0.0
    assert between("期末考试哪天", ("通知.txt", "期中考试 4 月 20 日。")).contrast == 1.0
    assert between("周三开门吗", ("通知.txt", "周一至周五开门。")).contrast == 0.0


def test_a_name_of_another_document() -> None:
    question = "东湖花园停车费多少"
    others = [("东湖花园收费标准.txt", "物业费 3 元。")]
    assert between(question, ("西山小区收费标准.txt", "停车费 250 元。"), *others).name_elsewhere == 1.0
    assert between(question, ("收费比较.txt", "东湖花园停车费 250 元。"), *others).name_elsewhere == 0.0


def test_words_that_are_missing() -> None:
    one = ("手册.txt", "住宿标准为每晚 350 元。")
    assert between("住宿标准", one).rare_missing == between("住宿标准", one).missing_run == 0.0
    far = between("鸿蒙手机住宿标准", one)
    assert (far.rare_missing, far.missing_run) == (1.0, 0.5)
    assert 0 < far.unknown_share < 1
    assert 0 < far.document_missing < 1
    # What another passage of the same document contains is not missing from the document.
    assert between("which license", ("a.md", "two licenses")).missing_run == 0.0


def test_the_kind_of_value() -> None:
    near = between("图书馆几点闭馆", ("生活.txt", "图书馆在东侧。\n21:30 闭馆。\n食堂 11:00 营业。"))
    assert (near.type_missing, near.type_far) == (0.0, 0.0)
    apart = between("图书馆几点闭馆", ("生活.txt", "图书馆在东侧。\n操场在西侧。\n食堂在北侧。\n食堂 11:00 营业。"))
    assert (apart.type_missing, apart.type_far) == (0.0, 1.0)
    assert between("宿舍费多少钱", ("手册.txt", "宿舍费按规定标准交。")).type_missing == 1.0
    # The header of a table belongs to each of its rows.
    table = ("课表.xlsx", "课程 | 学费（元）\n语文 | 甲\n数学 | 乙\n化学 | 丙\n物理 | 350")
    assert between("物理学费多少钱", table).type_far == 0.0


def test_negation() -> None:
    assert between("哪些不能带", ("须知.txt", "可以带书。")).negation == 1.0
    assert between("哪些不能带", ("须知.txt", "禁止带水。")).negation == 0.0
    assert between("哪些能带", ("须知.txt", "可以带书。")).negation == 0.0


def test_what_is_certain() -> None:
    assert not Conflicts().certain
    assert not Conflicts(contrast=0.5, ordinal=0.5, year=0.5, name_elsewhere=1.0, type_missing=1.0).certain
    assert Conflicts(year=0.75).certain and Conflicts(ordinal=1.0).certain and Conflicts(contrast=1.0).certain


@given(
    st.text(st.sampled_from("第二十条栋2019年级周三期末多少钱几点北京 a.datasets")),
    st.text(st.sampled_from("第三十条栋2020年级周四期中元:点上海 a|\n。dataset")),
)
def test_values_are_shares_and_agree_with_the_gate(question: str, text: str) -> None:
    document = ("2021年.txt", text)
    found = between(question, document)
    assert len(found.values()) == len(CONFLICTS)
    assert all(0.0 <= value <= 1.0 for value in found.values())
    assert contradicts(read_question(question), recalled(question, document)[0]) == found.certain
    # A passage that repeats the question names whatever it names.
    repeated = between(question, ("笔记.txt", f"{question}\n{text}"))
    assert repeated.year in (0.0, 0.25, 0.5) and repeated.ordinal == 0.0


def test_names_that_differ_in_a_number_or_syllable_are_certain() -> None:
    assert between("二食堂几点关门", ("通知.txt", "三食堂 21:00 关门。")).certain
    assert not between("二食堂几点关门", ("通知.txt", "二食堂 20:00 关门，三食堂 21:00 关门。")).certain
    assert not between("二食堂几点关门", ("通知.txt", "食堂 21:00 关门。")).certain
    assert between("200M的套餐多少钱", ("套餐.csv", "带宽 | 月付\n50M | 20\n100M | 30")).certain
    assert not between("100M的套餐多少钱", ("套餐.csv", "带宽 | 月付\n50M | 20\n100M | 30")).certain
    assert not between("下 200M 要多久", ("套餐.csv", "带宽 | 月付\n50M | 20\n100M | 30")).certain
    assert between("产检假几天", ("手册.txt", "产假 98 天。")).certain
    assert not between("产假几天", ("手册.txt", "产假 98 天，陪产假 15 天。")).certain
    assert between("东校区几点熄灯", ("通知.txt", "西校区 23:00 熄灯。")).certain


def test_the_number_in_a_file_name_is_what_the_file_is_about() -> None:
    assert between("第3周做什么", ("第5周计划.docx", "交报告。")).certain
    assert not between("第3周做什么", ("第3周计划.docx", "第5周开始准备。")).certain
    assert not between("第3周做什么", ("计划.docx", "第5周交报告。")).certain
    assert between("4月谁值日", ("3月值日.xlsx", "周一 | 李强")).certain
    assert not between("4月谁值日", ("值日.xlsx", "3月 | 李强")).certain
    # The page of a passage is where it stands.
    assert not between("第2页讲什么", ("手册.pdf 第3页", "总则。")).certain


def test_a_bare_number_means_the_year_of_a_name() -> None:
    asked = read_question("2023的名额", ["名额2023.xlsx", "名额2024.xlsx"])
    assert asked.constraints.years.plain == {2023}
    assert not read_question("2023的名额").constraints.years.all
