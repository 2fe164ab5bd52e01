"""Stacks of combining marks are cut; every text that a language needs stays."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from services.characters import without_stacked_marks


def test_a_stack_is_cut() -> None:
    assert without_stacked_marks("a" + "\u0301\u0316" * 500 + "b") == "a" + "\u0301\u0316" * 15 + "b"


@given(st.text(st.characters(categories=["L", "M", "N", "P", "Z"]), max_size=29))
def test_a_short_text_is_left_as_it_is(text: str) -> None:
    assert without_stacked_marks(text) == text


@given(st.text("e\u0301\u0316\u05b0字", max_size=300))
def test_no_stack_is_left(text: str) -> None:
    run = longest = 0
    for sign in without_stacked_marks(text):
        run = run + 1 if unicodedata.combining(sign) else 0
        longest = max(longest, run)
    assert longest <= 30
