"""What is quoted from the approved passages, without a reader."""

from services.grounding.excerpt import quotes
from services.index.tokens import query_terms
from services.retrieval.models import Reference

GRADES = """成绩与绩点的换算关系参见表 1。
表 1：百分制成绩的换算办法
成绩 | 绩点
95～100 | 5.0
90～94 | 4.5
80～89 | 3.7
70～79 | 2.7
60～69 | 1.7
"""
PINS = """颜色传感器接线：
- SDA0          GP14
- SCL0          GP15
- SDA1          GP12
- SCL1          GP13
"""
BALANCE = """项目 | 期末余额 | 期初余额
流动资产： | |
货币资金 | 23,182.19 | 20,119.58
应收票据 | |
应收账款 | 497,804.72 | 1,804.72
"""


def quoted(question: str, *texts: str) -> str:
    references = [
        Reference(number, number, f"{number}.txt", 1, None, "", text, 0.9, f"b{number}")
        for number, text in enumerate(texts, 1)
    ]
    weights = dict.fromkeys(query_terms(question), 1.0)
    return "\n".join(quote.text for quote in quotes(question, references, weights))


def test_an_amount_finds_the_row_whose_range_contains_it() -> None:
    first, *_ = [line for line in quoted("85分绩点是多少", GRADES).splitlines() if "绩点：" in line]
    assert first == "成绩：80～89；绩点：3.7"


def test_the_caption_of_a_table_is_no_answer() -> None:
    assert "绩点：5.0" in quoted("成绩换算办法 98分绩点多少", GRADES)


def test_lines_about_another_numbered_thing_are_left_out() -> None:
    text = quoted("SDA1接哪个GP脚", PINS)
    assert "GP12" in text
    assert "GP14" not in text


def test_a_row_of_one_value_does_not_end_a_table() -> None:
    assert "项目：货币资金；期末余额：23,182.19；期初余额：20,119.58" in quoted("期末货币资金还有多少", BALANCE)


def test_the_row_of_a_comparison_is_quoted() -> None:
    nodes = "节点 | 内存\na1 | 144G\na2 | 32G\na3 | 256G\na4 | 512G\na5 | 96G\n"
    assert "节点：a2；内存：32G" in quoted("哪个节点内存最小", nodes)


def test_nothing_is_quoted_without_references() -> None:
    assert quotes("几点关门", [], {}) == []


def test_a_column_may_be_named_by_what_is_asked_about() -> None:
    rows = ["无线参数 | |", "最大速率 | 3000 Mbps | 5100 Mbps", "天线 | 4 根 | 6 根", "重量 | 450 g | 620 g"]
    models = "\n".join(["参数 | AX3000 | BE5100", *rows])
    assert "BE5100：5100 Mbps" in quoted("BE5100最大速率多少", models)


def test_the_first_row_of_a_form_names_no_columns() -> None:
    form = "年龄 | 18至27周岁\n学费 | 2350元\n地点 | 三号楼\n负责人 | 单于飞\n热线 | 4417-0092\n"
    assert "热线：4417-0092" in quoted("热线是多少", form).splitlines()
    assert "年龄：18至27周岁" in quoted("年龄有什么要求", form).splitlines()
