"""Citation marks: all in one form, and none that names nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.grounding.citations import cited_numbers, normalise_citations, without_invented


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("可以[1]。", "可以〔1〕。"),
        ("可以【2】，也[1]。", "可以〔2〕，也〔1〕。"),
        ("可以〔1〕〔2〕", "可以〔1〕〔2〕"),
        ("可以[1][2]", "可以〔1〕〔2〕"),
        ("可以[1,2]、[2，1]", "可以〔1〕〔2〕、〔2〕〔1〕"),
        ("编造的[9]。", "编造的。"),
        ("一半编造[1, 9]", "一半编造〔1〕"),
        ("重复[1, 1]", "重复〔1〕"),
        ("数组 a[1] 和 f()[2]", "数组 a[1] 和 f()[2]"),
        ("年份[2024]，国发〔2024〕15号", "年份[2024]，国发〔2024〕15号"),
        ("嵌套〔〔9〕7〕", "嵌套"),
        ("全角〔１〕", "全角〔1〕"),
        ("没有", "没有"),
        ("", ""),
        (
            "电话是 6688〔9〕，时间 7:50〔1〕，见 OA【2】，第[1-2]条，〔资料2〕",
            "电话是 6688，时间 7:50〔1〕，见 OA〔2〕，第〔1〕〔2〕条，〔2〕",
        ),
    ],
)
def test_citations(text: str, expected: str) -> None:
    assert normalise_citations(text, {1, 2}) == expected


MARKS = st.tuples(
    st.sampled_from("[【〔［"),
    st.lists(st.integers(0, 99).map(str), min_size=1, max_size=3).map(", ".join),
    st.sampled_from("]】〕］"),
).map("".join)


@given(st.lists(MARKS | st.text("可以。，（", max_size=3)).map("".join), st.sets(st.integers(1, 9)))
def test_no_invented_citation_is_left(text: str, numbers: set[int]) -> None:
    result = normalise_citations(text, numbers)
    used = cited_numbers(result)
    assert {int(number) for number in re.findall(r"\d+", result)} == set(used) <= numbers
    assert normalise_citations(result, numbers) == result


@given(st.text("〔〕[]1239 \n字", max_size=30), st.sets(st.integers(1, 3)))
def test_whatever_is_taken_out_leaves_no_mark_that_names_nothing(text: str, numbers: set[int]) -> None:
    for result in (without_invented(text, numbers), normalise_citations(text, numbers)):
        assert {int(found) for found in re.findall(r"〔\s*(\d{1,3})\s*〕", result)} <= numbers
