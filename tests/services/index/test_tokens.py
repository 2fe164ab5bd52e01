"""Terms of texts and questions."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.index.tokens import exact_terms, index_terms, matched_terms, normalise, query_terms

ANY_TEXT = st.text(st.characters(codec=None) | st.sampled_from("退款報錯ERR-4032X._-/:#@+ \"'*()ﬃﷺ①ＡあアÅ한"))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("退款", ["退款"]),
        ("退", ["退"]),
        ("A的B", ["a", "的", "b"]),
        ("退款吗？退款", ["退款", "款吗"]),
        ("ERR-4032X", ["err-4032x", "err", "4032x"]),
        ("foo_bar.baz", ["foo_bar.baz", "foo", "bar", "baz"]),
        ("v1.2.3.", ["v1.2.3", "v1", "2", "3"]),
        ("第20230415-07号", ["第", "20230415-07", "20230415", "07", "号"]),
        ("ＷＩＦＩ密碼", ["wifi", "密码"]),
        ("datasets 登陸", ["dataset", "登录"]),
        ("log_levels", ["log_levels", "log", "level"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("Ünïcode Привет", None),
        ("，。！👍 \n", []),
    ],
)
def test_query_terms(text: str, terms: list[str] | None) -> None:
    found = query_terms(text)
    assert len(found) == len(set(found))
    if terms is not None:
        assert found == terms


@pytest.mark.parametrize(
    ("question", "text"),
    [("怎么登陆", "登录系统"), ("帐号", "账号管理"), ("which datasets", "one dataset"), ("queries", "a query")],
)
def test_variants_and_forms_match(question: str, text: str) -> None:
    assert matched_terms(normalise(text), query_terms(question))


@given(ANY_TEXT, ANY_TEXT)
def test_matched_terms_are_the_index_terms_of_the_text(text: str, question: str) -> None:
    asked = query_terms(f"{question}{text[:20]}")
    assert matched_terms(normalise(text), asked) == set(asked) & set(index_terms(text))


def test_index_terms_repeat_and_hold_single_characters() -> None:
    assert index_terms("退款退") == ["退", "款", "退", "退款", "款退"]
    assert index_terms("a-b a") == ["a-b", "a", "b", "a"]


def test_exact_terms() -> None:
    assert exact_terms("ERR-4032X 第3章 a 和 QQ") == {"err-4032x", "err", "4032x", "qq"}
    assert exact_terms("怎么退款") == frozenset()


def test_traditional_characters_are_folded_one_by_one() -> None:
    assert normalise("臺灣軟體 乾隆 皇后後面") == "台湾软体 干隆 皇后后面"


@given(ANY_TEXT)
def test_a_text_contains_every_term_of_itself(text: str) -> None:
    terms = index_terms(text)
    assert set(query_terms(text)) <= set(terms)
    assert exact_terms(text) <= set(terms)


@given(ANY_TEXT)
def test_a_term_is_one_quoted_fts5_token(text: str) -> None:
    for term in index_terms(text):
        assert term
        assert not set(term) & set("\"' \0\n\t*^(){}")
        term.encode()


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1), st.data())
def test_any_phrase_of_a_text_is_found(text: str, data: st.DataObject) -> None:
    text = normalise(text)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert set(query_terms(text[start:end])) <= set(index_terms(text))


def test_every_character_has_terms_or_none() -> None:
    for code in range(0, sys.maxunicode, 7):
        index_terms(f"退{chr(code)}款")
