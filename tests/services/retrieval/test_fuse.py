"""Tests of fusion against the formula written out by hand; neither channel hides the results of the other."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.embeddings.models import CosineScale
from services.index.models import SearchResult
from services.retrieval.fuse import fuse, weigh
from tests.services.retrieval.candidates import hit

SCALES = list(CosineScale)


def test_weights_are_the_inverse_document_frequency() -> None:
    words = weigh("", {"常见": 90, "少见": 1, "没有": 0}, 100)
    assert words.weights["常见"] == pytest.approx(math.log(1 + 10.5 / 90.5))
    assert words.weights["少见"] == pytest.approx(math.log(1 + 99.5 / 1.5))
    assert words.weights["没有"] == pytest.approx(math.log(1 + 100.5 / 0.5))


@pytest.mark.parametrize(("scale", "weight"), [(CosineScale.E5, 0.2), (CosineScale.UNIVERSAL_SENTENCE_ENCODER, 1.0)])
def test_the_score_is_the_formula(scale: CosineScale, weight: float) -> None:
    frequency = {"报销": 5, "流程": 20, "err-4032": 1, "err": 30, "4032": 1}
    words = weigh("报销流程 ERR-4032", frequency, 1000)
    found = hit("a", 0.8, frozenset({"报销", "err-4032", "err", "4032"}))
    (candidate,) = fuse(words, SearchResult((found,), frequency, 1000), scale)
    w = {term: math.log(1 + (1000 - df + 0.5) / (df + 0.5)) for term, df in frequency.items()}
    coverage = (sum(w.values()) - w["流程"]) / sum(w.values())
    m = sum(w.values()) / math.log(1 + 1000.5 / 0.5)
    # "err" alone is too short and too common to be a code; all codes of the question are present.
    assert candidate.coverage == pytest.approx(coverage)
    assert candidate.fused == pytest.approx(0.8 + weight * coverage * m / (m + 3) + 0.06)


def test_an_exact_rare_code_beats_a_nearer_passage() -> None:
    frequency = {"错误": 300, "err-4032": 1, "err": 200, "4032": 1}
    near = hit("near", 0.90, frozenset({"错误", "err"}))
    exact = hit("exact", 0.84, frozenset({"错误", "err-4032", "err", "4032"}))
    words = weigh("错误 ERR-4032", frequency, 1000)
    ranked = fuse(words, SearchResult((near, exact), frequency, 1000), CosineScale.E5)
    assert [candidate.hit.chunk.chunk_id for candidate in ranked] == ["exact", "near"]


def test_an_exact_rare_code_beats_nearer_passages_before_it_has_a_vector() -> None:
    frequency = {"错误": 300, "err-4032": 1, "err": 200, "4032": 1}
    others = [hit(f"near{number}", 0.80 + number / 100, frozenset({"错误", "err"})) for number in range(15)]
    exact = hit("exact", None, frozenset({"错误", "err-4032", "err", "4032"}))
    words = weigh("错误 ERR-4032", frequency, 1000)
    (first, *_) = fuse(words, SearchResult((*others, exact), frequency, 1000), CosineScale.E5)
    assert first.hit.chunk.chunk_id == "exact"


def test_a_code_that_is_everywhere_says_nothing() -> None:
    assert weigh("KX-200", {"kx-200": 20, "kx": 900, "200": 900}, 1000).codes == {"kx-200"}
    assert not weigh("KX-200", {"kx-200": 21, "kx": 900, "200": 900}, 1000).codes


@pytest.mark.parametrize(
    ("text", "terms", "named"),
    [
        ("ERR-4032 是什么", {"err-4032", "err", "4032"}, True),
        ("ERR-4032 是什么", {"err", "4032"}, False),
        ("2023 年的事", {"2023"}, False),
        ("transformers 怎么装", {"transformers"}, False),
        ("20230415 是谁", {"20230415"}, True),
    ],
)
def test_a_name_is_a_long_code_with_digits(text: str, terms: set[str], named: bool) -> None:
    frequency: dict[str, int] = dict.fromkeys(("err-4032", "err", "4032", "2023", "transformers", "20230415"), 1)
    assert weigh(text, frequency, 1000).names(terms) is named


@given(
    cosines=st.lists(st.one_of(st.none(), st.floats(-1, 1)), min_size=1, max_size=8),
    scale=st.sampled_from(SCALES),
)
def test_every_hit_stays_and_no_missing_vector_buries_one(cosines: list[float | None], scale: CosineScale) -> None:
    hits = tuple(hit(f"{number}", cosine) for number, cosine in enumerate(cosines))
    words = weigh("住宿", {"住宿": 1}, 100)
    fused = fuse(words, SearchResult(hits, {"住宿": 1}, 100), scale)
    assert sorted(item.hit.chunk.chunk_id for item in fused) == sorted(each.chunk.chunk_id for each in hits)
    assert [item.fused for item in fused] == sorted((item.fused for item in fused), reverse=True)
    known = [cosine for cosine in cosines if cosine is not None]
    for item in fused:
        if item.hit.cosine is None:
            assert item.fused == pytest.approx(min(known, default=0.0))
