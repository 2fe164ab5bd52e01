"""Quotations that answer the question and really occur in the files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.grounding.excerpt import quotes
from services.grounding.passage import sentences
from services.index.models import Hit, IndexedChunk
from services.index.tokens import query_terms
from services.retrieval.models import Candidate, Reference
from tests.fakes.reader import reading


def reference(number: int, text: str) -> Reference:
    return Reference(number, number, f"{number}.txt", 1, None, "", text, 1.0 - number / 10)


TRAVEL = "差旅报销要在七天内提交。\n住宿标准为每晚三百五十元，超出自理。\n交通费实报实销。"


def test_the_sentence_that_answers_is_quoted() -> None:
    found = quotes("住宿标准是多少", [reference(1, TRAVEL)], {"住宿": 2.0, "宿标": 2.0, "标准": 1.0, "多少": 0.5})
    assert len(found) == 1
    assert "住宿标准为每晚三百五十元" in found[0].text


def test_a_second_quotation_comes_from_another_passage_and_is_nearly_as_good() -> None:
    weights = {"住宿": 2.0, "标准": 1.0}
    same = quotes("住宿标准", [reference(1, "住宿标准三百元整。"), reference(2, "住宿标准五百元整。")], weights)
    assert [quote.reference.number for quote in same] == [1, 2]
    weak = quotes("住宿标准", [reference(1, "住宿标准三百元整。"), reference(2, "食堂供应午餐和晚餐。")], weights)
    assert [quote.reference.number for quote in weak] == [1]


def test_a_table_below_a_caption_has_its_head_below_it() -> None:
    table = "2026 年度经费预算\n科目 | 金额\n设备费 | 120000\n差旅费 | 30000.5\n劳务费 | 50000"
    (quote,) = quotes("差旅费的金额是多少", [reference(1, table)], {"差旅": 1.0, "旅费": 1.0, "金额": 1.0})
    assert quote.text == "科目：差旅费；金额：30000.5"


def test_a_table_row_keeps_its_header() -> None:
    table = "城市 | 住宿标准\n北京 | 五百元\n上海 | 四百元"
    (quote,) = quotes("上海的住宿标准", [reference(1, table)], {"上海": 3.0, "住宿": 0.1, "标准": 0.1})
    assert quote.text == "城市：上海；住宿标准：四百元"


CRANES = (
    "## C247-4539 号龙门吊\nC247-4539 号龙门吊的责任人是王五，联系电话见值班表。\n"
    "## C247-4540 号龙门吊\n责任人是赵六，联系电话见值班表。\n"
    "## C247-4541 号龙门吊\nC247-4541 号龙门吊的责任人是孙七，联系电话见值班表。\n"
)


@pytest.mark.parametrize("question", ["C247-4540 号龙门吊的责任人是谁", "ｃ247–4540 号龙门吊的责任人是谁"])
def test_what_is_quoted_is_about_the_identifier_that_is_asked_for(question: str) -> None:
    weights = dict.fromkeys(query_terms("号龙门吊的责任人是谁"), 1.0)
    ends_with_heading = CRANES[: CRANES.index("责任人是赵六")]
    found = quotes(question, [reference(1, ends_with_heading), reference(2, CRANES)], weights)
    shown = "\n".join(quote.text for quote in found)
    assert "赵六" in shown
    assert "王五" not in shown
    assert "孙七" not in shown
    (bare,) = quotes(question, [reference(1, ends_with_heading)], weights)
    assert bare.text == "## C247-4540 号龙门吊"


def test_an_item_about_another_identifier_is_not_shown_with_it() -> None:
    items = "AB00288 的保修期为九个月。\nAB00289 的保修期为八个月。\nAB00290 的保修期为七个月。"
    (quote,) = quotes("AB00289 的保修期", [reference(1, items)], dict.fromkeys(("保修", "修期"), 1.0))
    assert quote.text == "AB00289 的保修期为八个月。"


FAQ = (
    "问：门禁卡丢了怎么办？\n答：到一号楼补办，工本费十五元。\n问：空调坏了找谁？\n答：提交报修单；紧急情况打 6120。\n"
)
MANUAL = "每天凌晨自动备份。手工备份：\n\n```bash\nfrobctl backup create\n```\n\n恢复时先停止服务。"


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        (FAQ, "空调坏了找谁报修", "问：空调坏了找谁？\n答：提交报修单；紧急情况打 6120。"),
        (FAQ, "门禁卡补办的工本费多少元", "问：门禁卡丢了怎么办？\n答：到一号楼补办，工本费十五元。"),
        (
            "问：热水几点有？\n答：早上七点到九点；\n晚上六点到十点。",
            "早上热水几点有",
            "问：热水几点有？\n答：早上七点到九点；\n晚上六点到十点。",
        ),
        (MANUAL, "怎么手工备份", MANUAL),
    ],
    ids=["question", "answer", "whole", "code"],
)
def test_what_is_shown_is_about_one_thing(text: str, question: str, shown: str) -> None:
    (quote,) = quotes(question, [reference(1, text)], dict.fromkeys(query_terms(question), 1.0))
    assert quote.text == shown


def test_nothing_is_quoted_from_nothing() -> None:
    assert quotes("住宿", [], {"住宿": 1.0}) == []


PASSAGES = st.lists(st.text("住宿标准元1。！\n；, -", max_size=700).filter(lambda text: bool(text.strip())), max_size=5)


@given(PASSAGES, st.dictionaries(st.sampled_from(["住宿", "标准", "1"]), st.floats(0.1, 9)), st.booleans())
def test_quotations_stand_in_their_passages(passages: list[str], weights: dict[str, float], number: bool) -> None:
    references = [reference(number, text) for number, text in enumerate(passages, start=1)]
    found = quotes("住宿多少" if number else "住宿", references, weights)
    assert bool(found) == bool(references)
    assert len(found) <= 3
    assert len({quote.reference.number for quote in found}) == len(found)
    for quote in found:
        assert quote.text
        assert len(quote.text) <= 701, "a single part may be longer than a quotation"
        for line in quote.text.removesuffix("…").split("\n"):
            assert line in quote.reference.text


@given(st.text("字a。！？!?；;\n "))
def test_sentences_are_the_text(text: str) -> None:
    parts = sentences(text)
    assert "".join(parts) == text[: len("".join(parts))]
    assert not text[len("".join(parts)) :].strip()
    assert all(part.strip() for part in parts)


TIMETABLE = "课表：\n节次 | 周一 | 周二\n1 |  | 数学；微积分。甲班\n2 | 语文 | \n3 | A | B\n"


def test_a_row_stays_whole_whatever_is_in_its_cells() -> None:
    assert sentences(TIMETABLE)[1:] == [
        "节次 | 周一 | 周二\n",
        "1 |  | 数学；微积分。甲班\n",
        "2 | 语文 | \n",
        "3 | A | B\n",
    ]
    (quote, *_) = quotes(
        "周二第 1 节微积分是哪个班", [reference(1, TIMETABLE)], dict.fromkeys(("周二", "微积", "积分"), 1.0)
    )
    assert quote.text == "节次：1；周二：数学；微积分。甲班"


def test_a_row_too_long_for_its_head_names_the_columns() -> None:
    names = [f"第{number}项考核指标的完整名称" for number in range(16)]
    cells = ["" if number % 2 else f"{number}号指标得 {number} 分，说明从略" for number in range(16)]
    table = " | ".join(names) + "\n" + " | ".join(cells) + "\n"
    (quote, *_) = quotes("4号指标得几分", [reference(1, table)], dict.fromkeys(("4", "指标"), 1.0))
    assert "第4项考核指标的完整名称：4号指标得 4 分" in quote.text
    assert "第1项考核指标的完整名称" not in quote.text


RULES = "作息规定。\n宿舍晚上 23:30 熄灯，周五周六推迟半小时。\n阅览室 22:00 关门。\n浴室 21:00 停止供水。\n"


def read_candidate(text: str, answer: str) -> Candidate:
    """Return a candidate for the chunk that a reference consists of, in which the reader found `answer`."""
    found = Hit(IndexedChunk("chunk", "", 0, text), 0.9, None, frozenset())
    return Candidate(found, 0.5, 0.9, reading=reading(text, answer))


def test_what_the_reader_found_is_quoted_whatever_the_words_say() -> None:
    weights = dict.fromkeys(query_terms("浴室宿舍阅览室几点关灯"), 1.0)
    (quote,) = quotes("浴室宿舍阅览室几点关灯", [reference(1, RULES)], weights, [read_candidate(RULES, "23:30")])
    assert "23:30 熄灯" in quote.text


def test_every_row_in_which_the_reader_found_an_answer_is_quoted() -> None:
    table = "分区 | 时限\nshort | 1天\nlong | 4天\nfat | 4天\ndebug | 半小时"
    (quote,) = quotes("哪个分区能跑4天", [reference(1, table)], {}, [read_candidate(table, "long | 4天\nfat | 4天")])
    assert quote.text == "分区：long；时限：4天\n分区：fat；时限：4天"


def test_a_quotation_never_ends_where_something_is_announced() -> None:
    text = "申请书的模板如下：\n\n尊敬的老师：\n我申请转专业。\n此致敬礼\n"
    (quote,) = quotes("申请书模板", [reference(1, text)], {}, [read_candidate(text, "模板如下")])
    assert quote.text.endswith(("我申请转专业。", "此致敬礼"))
