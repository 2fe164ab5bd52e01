"""The numbers that people choose files by."""

import pytest

from qq.number_ranges import number_ranges


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("3", [(3, 3)]),
        ("1 3-5", [(1, 1), (3, 5)]),
        ("1，3 ~ 5、7至9", [(1, 1), (3, 5), (7, 9)]),
    ],
)
def test_numbers_and_ranges(text: str, ranges: list[tuple[int, int]]) -> None:
    assert number_ranges(text) == ranges


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("-1", "「-1」不是编号，请写成 /kb pull 1 3-5 这样。"),
        ("2 -", "「-」不是编号，请写成 /kb pull 1 3-5 这样。"),
        ("0", "编号从 1 开始，例如 /kb pull 1 3-5。"),
        ("0-3", "编号从 1 开始，例如 /kb pull 1 3-5。"),
        ("5-3", "「5-3」前大后小，请写成 /kb pull 3-5。"),
        ("1234567", "「1234567」不是编号，请写成 /kb pull 1 3-5 这样。"),
        ("，", "请写上编号，例如 /kb pull 1 3-5。"),
    ],
)
def test_what_is_no_number_gets_a_sentence(text: str, reply: str) -> None:
    assert number_ranges(text) == reply
