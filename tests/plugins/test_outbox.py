"""Cutting long texts loses nothing."""

from hypothesis import given
from hypothesis import strategies as st

from plugins._outbox import split_text

TEXTS = st.text(alphabet=st.sampled_from("一二三四五。！？\n ab；"), max_size=400)


@given(TEXTS, st.integers(min_value=4, max_value=60))
def test_pieces_are_the_text(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces)


def test_paragraphs_before_lines_before_sentences() -> None:
    assert split_text("甲甲甲甲\n\n乙乙。乙", 8) == ["甲甲甲甲\n\n", "乙乙。乙"]
    assert split_text("甲甲。甲甲\n乙乙乙", 7) == ["甲甲。甲甲\n", "乙乙乙"]
    assert split_text("甲甲甲。乙乙乙乙", 7) == ["甲甲甲。", "乙乙乙乙"]
