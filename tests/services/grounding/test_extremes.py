"""The row with the largest or smallest value."""

import pytest

from services.grounding.extremes import extreme_rows
from services.grounding.passage import parts_of

NODES = "节点 | 内存 | 显卡 | 用时(s)\na1 | 144G | 2 | 9.4\na2 | 32G | 4 | 6.9\na3 | 1T | 1 | 8.0\na4 | 64G | 8 | 12\n"


def rows(question: str, text: str = NODES) -> list[str]:
    parts = parts_of(text)
    return [parts[place].text[:2] for place in sorted(extreme_rows(question, parts))]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("哪个节点内存最小", ["a2"]),
        ("内存最大的是哪台", ["a3"]),
        ("显卡最多的节点", ["a4"]),
        ("用时最长的一次", ["a4"]),
        # Fast is a short time.
        ("哪个跑得最快", ["a2"]),
        ("最慢的是哪个", ["a4"]),
        # No column is named, and several hold numbers.
        ("哪个最大", []),
        ("a1 的内存多少", []),
    ],
)
def test_the_asked_column_decides(question: str, expected: list[str]) -> None:
    assert rows(question) == expected


def test_equal_values_are_all_meant() -> None:
    assert rows("最便宜的是哪个", "品名 | 单价\n苹果 | 3 元\n梨 | 2 元\n桃 | 2 元\n") == ["梨 ", "桃 "]


def test_two_rows_are_not_compared() -> None:
    assert rows("最便宜的是哪个", "品名 | 单价\n苹果 | 3 元\n梨 | 2 元\n") == []
