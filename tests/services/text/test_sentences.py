"""Where texts are cut: real cases of Chinese and English, and what holds of every text."""

import doctest
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.text import sentences as module
from services.text.sentences import CLOSING, clauses, cut_place, leading_closing, rough_sentences, sentences

LINES = st.text(st.characters(exclude_characters="\n")) | st.text("字a1.。！?;；，、…〔〕」”\"' ", max_size=40)


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    "parts",
    [
        ["他说：“到了！”", "然后走了。"],
        ["以后再说……", "先这样"],
        ["真的？！", "好"],
        ["版本 3.14 见 a.md，地址 a.cn/?page=2 可用。", "完"],
        ["加拿大第17联队驻扎在温尼伯;", "该联队有三个中队。"],
        ["x=1;y=2 写在一行"],
        ["1. 报名从周一开始。", "费用 30 元"],
        ["See Fig. 3 and Dr. Li.", " Then go."],
        ["选 A. 对。"],
        ['The "end."', " Next."],
        ['好。', '"开头', ],
    ],
)  # fmt: skip
def test_sentences_of_people(parts: list[str]) -> None:
    assert list(sentences("".join(parts))) == parts


def test_clauses_end_at_wide_commas_only() -> None:
    line = "周五前交，共 1,200 元，见 (Li, 2020)。逾期不收"
    assert list(clauses(line)) == ["周五前交，", "共 1,200 元，", "见 (Li, 2020)。", "逾期不收"]


@pytest.mark.parametrize("cut", [sentences, clauses, rough_sentences])
@given(line=LINES)
def test_the_parts_are_the_line(cut: Callable[[str], Iterator[str]], line: str) -> None:
    parts = list(cut(line))
    assert "".join(parts) == line
    assert all(parts)


@given(LINES)
def test_closing_marks_at_the_start_are_all_found(text: str) -> None:
    found = leading_closing(text)
    assert text.startswith(found)
    assert text[len(found) : len(found) + 1] not in CLOSING or not text[len(found) :]


@given(st.text("字，。、a b1（」\u0301", min_size=1, max_size=60), st.integers(2, 20))
def test_a_cut_makes_progress_within_the_limit(written: str, limit: int) -> None:
    text = " ".join(written.split())
    place = cut_place(text, 0, limit)
    assert place == len(text) or 0 < place <= limit
