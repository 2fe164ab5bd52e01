"""Markdown is removed, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.grounding.plain_text import Line, plain_lines, plain_text


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("## 结论 ##\n正文", "结论\n正文"),
        ("**可以**报销，__限额__三千", "可以报销，限额三千"),
        ("2 ** 3 ** 4 和 snake__case", "2 ** 3 ** 4 和 snake__case"),
        ("* 甲\n- 乙\n  + 丙", "· 甲\n· 乙\n  · 丙"),
        ("1. 先\n2. 后", "1. 先\n2. 后"),
        ("前\n---\n后", "前\n后"),
        ("| 项 | 额 |\n|---|:--:|\n| 住 | 350 |", "项，额\n住，350"),
        (
            "| 节 | 周一 | 周二 |\n|---|---|---|\n| 1 | | 数学 |\n| 2 | 语文 | |",
            "节，周一，周二\n1，—，数学\n2，语文，—",
        ),
        ("| | 周一 |\n| --- | --- |", "—，周一"),
        ("LLM__API_KEY 和 LLM__MODEL", "LLM__API_KEY 和 LLM__MODEL"),
        ("snake_case 与 a__b__c，__重要：LLM__API_KEY__", "snake_case 与 a__b__c，重要：LLM__API_KEY"),
        ("用__init__方法，见 /x/__pycache__/y 和 __all__", "用__init__方法，见 /x/__pycache__/y 和 __all__"),
        ("f(**kwargs) 和 g(a, **more)，**x 和 **y", "f(**kwargs) 和 g(a, **more)，**x 和 **y"),
        ("2**3 和 4**5，x**(y)+(z)**2", "2**3 和 4**5，x**(y)+(z)**2"),
        ("限额**350**元，**配置**API，**注意:**不要", "限额350元，配置API，注意:不要"),
        ("***重要***，**a **b**", "重要，a **b"),
        ("# C# 与 F#", "C# 与 F#"),
        ("用 `pip install` 装", "用 pip install 装"),
        ("```python\n# 注释\na = b**2  # **x**\n```", "# 注释\na = b**2  # **x**"),
        ("见 [制度](https://a.cn/x)", "见 制度 https://a.cn/x"),
        ("[https://a.cn](https://a.cn)", "https://a.cn"),
        ("![图](https://a.cn/x.png)", "图 https://a.cn/x.png"),
        ("甲\n\n\n\n乙\n", "甲\n\n乙"),
        ("甲\r\n乙", "甲\n乙"),
        ("~~三千~~五千，~~不~~", "三千五千，不"),
        ("要 *特别* 注意，*不能* 转借", "要 特别 注意，不能 转借"),
        ("（*必填*）", "（必填）"),
        ("面积是长*宽，体积是长*宽*高，2*3*4，2 * 3 * 4", "面积是长*宽，体积是长*宽*高，2*3*4，2 * 3 * 4"),
        ("*.py 和 *.txt，f(*args, *more)，**kwargs", "*.py 和 *.txt，f(*args, *more)，**kwargs"),
        ("家目录 ~ 和 ~/bin，约~5~元", "家目录 ~ 和 ~/bin，约~5~元"),
        ("> 原文一\n> \n>> 原文二\n>「原文三」", "原文一\n\n原文二\n「原文三」"),
        ("a > b，>100 算大，>>> print(1)", "a > b，>100 算大，>>> print(1)"),
        (">100 算大\n->5", ">100 算大\n->5"),
        ("> ## 标题\n> - 甲", "标题\n· 甲"),
        ("用 `a*b*c` 和 `~~x~~`，`> y`", "用 a*b*c 和 ~~x~~，> y"),
        ("```\n> a *b* ~~c~~\n```", "> a *b* ~~c~~"),
        ("引用〔1〕不变 a|b C# #号", "引用〔1〕不变 a|b C# #号"),
        ("", ""),
    ],
)
def test_markdown_is_taken_off(markdown: str, expected: str) -> None:
    assert plain_text(markdown) == expected


@given(st.text(st.characters(categories=["L", "N"], include_characters="，。！？：（）「」"), min_size=1))
def test_plain_text_is_left_as_it_is(text: str) -> None:
    assert plain_text(text) == text


def test_what_is_code_is_known() -> None:
    assert plain_lines("运行：\n```sh\nls *.py  # **x**\n```\n**好**了") == [
        Line("运行："),
        Line("ls *.py  # **x**", code=True),
        Line("好了"),
    ]
