"""Tests of ratings in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.feedback.words import read_rating
from services.records.feedback import Rating
from services.records.tables import Resolution

RESOLVED, PARTLY, UNRESOLVED = Resolution.RESOLVED, Resolution.PARTIALLY_RESOLVED, Resolution.UNRESOLVED


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("5", Rating(5, RESOLVED)),
        ("4分", Rating(4, RESOLVED)),
        ("3", Rating(3, PARTLY)),
        ("２", Rating(2, UNRESOLVED)),
        ("5 已解决 步骤很清楚，谢谢", Rating(5, RESOLVED, "步骤很清楚，谢谢")),
        ("1，没解决，缺了第 3 步", Rating(1, UNRESOLVED, "缺了第 3 步")),
        ("部分解决 4 还差一点", Rating(4, PARTLY, "还差一点")),
        ("已解决", Rating(5, RESOLVED)),
        ("没解决", Rating(1, UNRESOLVED)),
        ("5\n很好\n[CQ:at,qq=all]", Rating(5, RESOLVED, "很好 [CQ:at,qq=all]")),
        ("5 5", Rating(5, RESOLVED, "5")),
    ],
)
def test_what_is_understood(text: str, rating: Rating) -> None:
    assert read_rating(text) == rating


@pytest.mark.parametrize("text", ["", "谢谢", "👋", "很好 5", "6", "0", "55", "五"])
def test_what_is_no_rating(text: str) -> None:
    assert read_rating(text) is None


@given(st.text(max_size=600))
def test_any_comment_is_one_clean_line(text: str) -> None:
    rating = read_rating(f"4 {text}")
    assert rating is not None
    assert len(rating.comment) <= 300
    assert "\n" not in rating.comment
    assert all(character.isprintable() for character in rating.comment if character.isascii())
