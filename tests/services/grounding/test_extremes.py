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


PRICES = "品名 | 数量 | 单价 | 总价\n苹果 | 3 | 5 | 15\n梨 | 1 | 8 | 8\n桃 | 9 | 2 | 18\n合计 | 13 | 15 | 41\n"
ACCOUNT = "日期 | 事项 | 支出 | 余额\n9月1日 | 收班费 |  | 900\n9月3日 | 打印 | 20 | 880\n9月8日 | 班服 | 800 | 80\n"
STOCK = "物品 | 借出 | 库存\n帐篷 | 2 | 5\n桌子 | 0 | 12\n椅子 | 4 | 30\n"


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        # The price of one piece is meant, and a total is no thing.
        ("最贵的是哪个", PRICES, ["梨 "]),
        ("总价最高的是哪个", PRICES, ["桃 "]),
        ("班费还剩多少", ACCOUNT, ["9月8"]),
        ("桌子还剩多少", STOCK, []),
    ],
)
def test_what_people_mean(question: str, text: str, expected: list[str]) -> None:
    parts = parts_of(text)
    assert [parts[place].text[:2] for place in sorted(extreme_rows(question, parts))] == [part[:2] for part in expected]
