"""Amounts and ranges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.index.tokens import normalise
from services.text.amounts import Amount, amounts, ranges


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80～89 | 3.5～4.4", [(80, 89), (3.5, 4.4)]),
        ("60000≤Q＜80000", [(60000, 80000)]),
        ("满 3 万元", [(30000, math.inf)]),
        ("不满 6 万元", [(-math.inf, 60000)]),
        ("5 万元（含）以上", [(50000, math.inf)]),
        ("1-3 万", [(10000, 30000)]),
        ("2018-2021 年", []),
        ("6:20—23:00", []),
        ("电话 0571-8691", []),
    ],
)
def test_ranges(text: str, expected: list[tuple[float, float]]) -> None:
    found = {(item.low, item.high) for item in ranges(normalise(text))}
    assert found >= set(expected)
    assert bool(found) is bool(expected)


@pytest.mark.parametrize(
    ("question", "row", "covered"),
    [
        ("85分算几点几", "80～89分 | 3.5", True),
        ("85分算几点几", "70～79分 | 2.5", False),
        ("充5万块能返多少", "3万-10万元 | 返 10%", True),
        ("一万二的单子谁批", "1万元以上 | 分管副总", True),
        ("工龄三年有几天", "1 年以上 5 年以下 | 5 天", True),
    ],
)
def test_a_row_covers_the_amount_of_a_question(question: str, row: str, covered: bool) -> None:
    asked = amounts(normalise(question))
    found = [item for item in ranges(normalise(row)) if item.is_comparable(asked[0])]
    assert any(item.covers(asked[0]) for item in found) is covered


def test_units_that_differ_are_not_compared() -> None:
    (years,) = ranges(normalise("满 3 年"))
    assert not years.is_comparable(Amount(5, "元"))
    assert years.is_comparable(Amount(5, ""))


@given(st.text("0123456789.,~-至年元万满以上下不≤<| ", max_size=60))
def test_every_range_is_ordered(text: str) -> None:
    assert all(item.low < item.high for item in ranges(text))
