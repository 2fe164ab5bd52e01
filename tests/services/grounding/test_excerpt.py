"""What is quoted from the approved passages, without a reader."""

from services.grounding.answering import answering
from services.grounding.excerpt import (
    _rest_of_list,  # pyright: ignore[reportPrivateUsage]
    quotes,
)
from services.grounding.passage import parts_of
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


RELEASES = """更新说明

v2.3.1（2024-05-01）
- 修复上传大文件时偶尔卡住的问题，之前超过两百兆的文件会在最后一步停住，需要重新上传
- 新增深色模式，在设置的外观一栏里打开，也可以选择跟随系统自动切换，夜里使用更舒服
- 优化首页加载速度

v2.2.0（2024-03-02）
- 修复登录页在手机上显示不全的问题，现在横屏和竖屏都能看到全部按钮
- 新增批量导出功能
"""
TROUBLE = """容器里启动时可能报 permission denied，日志里写着 open config permission denied，重启以后还是一样。
原因：存储池有自己的访问控制列表，只允许授权的用户访问，容器里的用户不在其中，所以写不进配置。
这个列表由系统自己维护，命令行里改不了，改了也会在重启后恢复，之前的版本以管理员身份运行，所以没有遇到。

解决方案：
1. 打开文件管理器
2. 右键点击目录，选择属性
3. 给 Everyone 读写的权利
"""


def test_an_item_is_quoted_below_its_version() -> None:
    lines = quoted("深色模式在哪里打开", RELEASES).splitlines()
    assert lines[:3] == ["更新说明", "", "v2.3.1（2024-05-01）"]


def test_a_list_is_quoted_to_its_end_if_most_of_it_is() -> None:
    parts = parts_of("申请的同学要满足：\n- 在读三年级\n- 没有重修记录\n- 绩点三点五以上\n\n- 另一个列表\n")
    assert _rest_of_list(parts, {0, 1, 2}, 100) == {3}
    assert _rest_of_list(parts, {1, 3}, 100) == {2}
    assert _rest_of_list(parts, {0, 1, 2}, 5) == set()
    assert _rest_of_list(parts, {0, 1}, 100) == set()


def test_the_solution_of_a_trouble_is_quoted_with_it() -> None:
    assert "3. 给 Everyone 读写的权利" in quoted("permission denied 怎么办", TROUBLE).splitlines()


def test_prose_about_the_thing_of_a_row_is_quoted_beside_it() -> None:
    states = "状态 | 说明\nidle | 节点空闲\ndrain | 节点排空\nmix | 节点部分占用\n"
    text = f"{states}\ndrain 的节点不再接收新的作业，在跑的会跑完。\n集群每月第一个周一维护。\n"
    lines = quoted("drain节点是什么", text).splitlines()
    assert "状态：drain；说明：节点排空" in lines
    assert "drain 的节点不再接收新的作业，在跑的会跑完。" in lines


def test_a_row_with_a_longer_name_is_about_something_else() -> None:
    question, parts = "外语总共多少学时", parts_of("课程 | 学时\n外语概论 | 24\n数学 | 64\n外语 | 192\n大学外语 | 32\n")
    references = [Reference(1, 1, "1.txt", 1, None, "", "".join(part.text for part in parts), 0.9, "b1")]
    probability = answering(question, references, [parts], dict.fromkeys(query_terms(question), 1.0), ())
    rows = dict(zip(("head", "外语概论", "数学", "外语", "大学外语"), probability, strict=True))
    assert rows["外语"] > 10 * max(rows["外语概论"], rows["大学外语"])
