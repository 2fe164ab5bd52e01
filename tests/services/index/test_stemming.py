"""Stems of English words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.index.stemming import stem


@pytest.mark.parametrize(
    "forms",
    [
        ("dataset", "datasets"),
        ("query", "queries"),
        ("install", "installs", "installed", "installing"),
        ("license", "licenses", "licensed"),
        ("run", "runs", "running"),
        ("box", "boxes"),
        ("evaluate", "evaluated", "evaluating"),
    ],
)
def test_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["class", "status", "string", "speed", "analysis", "rp2040", "gpus4", "ssh", "err"])
def test_what_only_looks_like_a_form_stays(word: str) -> None:
    assert stem(word) == word


@given(st.text(st.sampled_from("abcdeginsty"), min_size=1))
def test_a_stem_is_not_empty(word: str) -> None:
    assert stem(word)
