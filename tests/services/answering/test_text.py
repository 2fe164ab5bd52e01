"""The text of an answer: citations, Markdown taken off, and quotations that are really in the files."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.answering.citations import normalise_citations
from services.answering.excerpt import quotes, sentences
from services.answering.plain_text import plain_text
from services.retrieval.models import Reference


@pytest.mark.parametrize(
    ("text", "expected", "used"),
    [
        ("可以[1]。", "可以〔1〕。", [1]),
        ("可以【2】，也[1]。", "可以〔2〕，也〔1〕。", [2, 1]),
        ("可以〔1〕〔2〕", "可以〔1〕〔2〕", [1, 2]),
        ("可以[1][2]", "可以〔1〕〔2〕", [1, 2]),
        ("可以[1,2]、[2，1]", "可以〔1〕〔2〕、〔2〕〔1〕", [1, 2]),
        ("编造的[9]。", "编造的。", []),
        ("一半编造[1, 9]", "一半编造〔1〕", [1]),
        ("重复[1, 1]", "重复〔1〕", [1]),
        ("数组 a[1] 和 f()[2]", "数组 a[1] 和 f()[2]", []),
        ("年份[2024]", "年份[2024]", []),
        ("没有", "没有", []),
        ("", "", []),
    ],
)
def test_citations(text: str, expected: str, used: list[int]) -> None:
    assert normalise_citations(text, {1, 2}) == (expected, used)


MARKS = st.tuples(
    st.sampled_from("[【〔［"),
    st.lists(st.integers(0, 99).map(str), min_size=1, max_size=3).map(", ".join),
    st.sampled_from("]】〕］"),
).map("".join)


@given(st.lists(MARKS | st.text("可以。，（", max_size=3)).map("".join), st.sets(st.integers(1, 9)))
def test_no_invented_citation_is_left(text: str, numbers: set[int]) -> None:
    result, used = normalise_citations(text, numbers)
    assert {int(number) for number in re.findall(r"\d+", result)} == set(used) <= numbers
    assert [*dict.fromkeys(int(number) for number in re.findall(r"〔(\d+)〕", result))] == used
    assert normalise_citations(result, numbers) == (result, used)


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
        ("用 `pip install` 装", "用 pip install 装"),
        ("```python\n# 注释\na = b**2  # **x**\n```", "# 注释\na = b**2  # **x**"),
        ("见 [制度](https://a.cn/x)", "见 制度 https://a.cn/x"),
        ("[https://a.cn](https://a.cn)", "https://a.cn"),
        ("![图](https://a.cn/x.png)", "图 https://a.cn/x.png"),
        ("甲\n\n\n\n乙\n", "甲\n\n乙"),
        ("甲\r\n乙", "甲\n乙"),
        ("引用〔1〕不变 a|b C# #号", "引用〔1〕不变 a|b C# #号"),
        ("", ""),
    ],
)
def test_markdown_is_taken_off(markdown: str, expected: str) -> None:
    assert plain_text(markdown) == expected


@given(st.text(st.characters(categories=["L", "N"], include_characters="，。！？：（）「」"), min_size=1))
def test_plain_text_is_left_as_it_is(text: str) -> None:
    assert plain_text(text) == text


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


def test_a_table_row_keeps_its_header() -> None:
    table = "城市 | 住宿标准\n北京 | 五百元\n上海 | 四百元"
    (quote,) = quotes("上海的住宿标准", [reference(1, table)], {"上海": 3.0, "住宿": 0.1, "标准": 0.1})
    assert quote.text == "城市 | 住宿标准\n上海 | 四百元"


def test_nothing_is_quoted_from_nothing() -> None:
    assert quotes("住宿", [], {"住宿": 1.0}) == []


PASSAGES = st.lists(st.text("住宿标准元1。！\n；, |", max_size=700).filter(lambda text: bool(text.strip())), max_size=5)


@given(PASSAGES, st.dictionaries(st.sampled_from(["住宿", "标准", "1"]), st.floats(0.1, 9)), st.booleans())
def test_quotations_stand_in_their_passages(passages: list[str], weights: dict[str, float], number: bool) -> None:
    references = [reference(number, text) for number, text in enumerate(passages, start=1)]
    found = quotes("住宿多少" if number else "住宿", references, weights)
    assert bool(found) == bool(references)
    assert len(found) <= 2
    assert len({quote.reference.number for quote in found}) == len(found)
    for quote in found:
        assert quote.text
        assert len(quote.text) <= 301
        for line in quote.text.removesuffix("…").split("\n"):
            assert line in quote.reference.text


@given(st.text("字a。！？!?；;\n "))
def test_sentences_are_the_text(text: str) -> None:
    parts = sentences(text)
    assert "".join(parts) == text[: len("".join(parts))]
    assert not text[len("".join(parts)) :].strip()
    assert all(part.strip() for part in parts)


def test_citations_behind_figures_and_letters() -> None:
    text = "电话是 6688〔9〕，时间 7:50〔1〕，见 OA【2】，第[1-2]条，〔资料2〕，数组 a[1] 和 f()[0]"
    expected = "电话是 6688，时间 7:50〔1〕，见 OA〔2〕，第〔1〕〔2〕条，〔2〕，数组 a[1] 和 f()[0]"
    assert normalise_citations(text, {1, 2}) == (expected, [1, 2])
