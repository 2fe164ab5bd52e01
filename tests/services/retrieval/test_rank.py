"""The score and the gate, checked against the formula written out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.embeddings.models import CosineScale
from services.index.models import Hit, IndexedChunk, SearchResult
from services.retrieval.rank import rank, term_weights, threshold

SCALES = list(CosineScale)


def hit(name: str, cosine: float | None, matched: set[str]) -> Hit:
    return Hit(IndexedChunk(name, "build", 0, name), cosine, None, frozenset(matched))


def test_weights_are_the_inverse_document_frequency() -> None:
    weights = term_weights({"常见": 90, "少见": 1, "没有": 0}, 100)
    assert weights["常见"] == pytest.approx(math.log(1 + 10.5 / 90.5))
    assert weights["少见"] == pytest.approx(math.log(1 + 99.5 / 1.5))
    assert weights["没有"] == pytest.approx(math.log(1 + 100.5 / 0.5))


@pytest.mark.parametrize(("scale", "weight"), [(CosineScale.E5, 0.1), (CosineScale.UNIVERSAL_SENTENCE_ENCODER, 1.0)])
def test_the_score_is_the_formula(scale: CosineScale, weight: float) -> None:
    frequency = {"报销": 5, "流程": 20, "err-4032": 1, "err": 30, "4032": 1}
    result = SearchResult((hit("a", 0.8, {"报销", "err-4032", "err", "4032"}),), frequency, 1000)
    (candidate,) = rank("报销流程 ERR-4032", result, scale)
    w = {term: math.log(1 + (1000 - df + 0.5) / (df + 0.5)) for term, df in frequency.items()}
    coverage = (sum(w.values()) - w["流程"]) / sum(w.values())
    m = sum(w.values()) / math.log(1 + 1000.5 / 0.5)
    # "err" alone is too short and too common to be a code; all codes of the question are there.
    expected = 0.8 + weight * coverage * m / (m + 3) + 0.1
    assert candidate.coverage == pytest.approx(coverage)
    assert candidate.score == pytest.approx(expected)


def test_an_exact_rare_code_beats_a_nearer_passage() -> None:
    frequency = {"错误": 300, "err-4032": 1, "err": 200, "4032": 1}
    near, exact = hit("near", 0.90, {"错误", "err"}), hit("exact", 0.84, {"错误", "err-4032", "err", "4032"})
    ranked = rank("错误 ERR-4032", SearchResult((near, exact), frequency, 1000), CosineScale.E5)
    assert [candidate.hit.chunk.chunk_id for candidate in ranked] == ["exact", "near"]


def test_a_code_that_is_everywhere_says_nothing() -> None:
    def scores(frequency: int) -> list[float]:
        hits = (hit("a", 0.8, {"kx-200", "kx", "200"}), hit("b", 0.8, set()))
        counts = {"kx-200": frequency, "kx": 900, "200": 900}
        return [item.score for item in rank("KX-200", SearchResult(hits, counts, 1000), CosineScale.E5)]

    rare, common = scores(20), scores(21)
    assert rare[0] - rare[1] > common[0] - common[1] + 0.09


@pytest.mark.parametrize(
    ("scale", "tiny", "large"), [(CosineScale.E5, 0.860, 0.895), (CosineScale.UNIVERSAL_SENTENCE_ENCODER, 0.44, 0.53)]
)
def test_the_threshold_rises_with_the_size_of_the_collection(scale: CosineScale, tiny: float, large: float) -> None:
    sizes = (0, 1, 10, 100, 1000, 100_000)
    middle = (tiny + large) / 2
    assert [threshold(scale, size) for size in sizes] == pytest.approx([tiny, tiny, tiny, middle, large, large])


@pytest.mark.parametrize("chunks", [5, 120, 5000])
@pytest.mark.parametrize("scale", [CosineScale.E5, CosineScale.UNIVERSAL_SENTENCE_ENCODER])
def test_the_gate_opens_at_the_threshold(scale: CosineScale, chunks: int) -> None:
    least = threshold(scale, chunks)
    hits = (hit("in", least + 1e-6, set()), hit("out", least - 1e-6, set()))
    ranked = rank("问题", SearchResult(hits, {"问题": 0}, chunks), scale)
    assert [(item.hit.chunk.chunk_id, item.accepted) for item in ranked] == [("in", True), ("out", False)]


def test_without_vectors_the_covered_words_decide() -> None:
    frequency = {f"词{number}": 1 for number in range(6)}
    hits = (hit("all", None, set(frequency)), hit("one", None, {"词0"}), hit("none", None, set()))
    ranked = rank("", SearchResult(hits, frequency, 500), CosineScale.E5)
    assert [(item.hit.chunk.chunk_id, item.accepted) for item in ranked] == [
        ("all", True),
        ("one", False),
        ("none", False),
    ]


def test_a_chunk_without_a_vector_counts_as_the_least_similar() -> None:
    hits = (hit("far", 0.7, set()), hit("near", 0.9, set()), hit("new", None, set()))
    scores = {item.hit.chunk.chunk_id: item.score for item in rank("", SearchResult(hits, {}, 500), CosineScale.E5)}
    assert scores["new"] == scores["far"] == 0.7


def test_an_empty_result_ranks_nothing() -> None:
    assert rank("问题", SearchResult((), {}, 0), CosineScale.E5) == []


TERMS = ["报销", "流程", "err-4032", "err", "4032"]
COSINES = st.none() | st.floats(-1, 1)
HITS = st.lists(st.tuples(COSINES, st.sets(st.sampled_from(TERMS))), max_size=12).map(
    lambda facts: tuple(hit(f"{number:02d}", *fact) for number, fact in enumerate(facts))
)
RESULTS = st.builds(
    SearchResult,
    HITS,
    st.fixed_dictionaries({term: st.integers(0, 500) for term in TERMS}),
    st.integers(500, 5000),
)


@given(RESULTS, st.sampled_from(SCALES))
def test_ranking_keeps_every_hit_in_order_of_score(result: SearchResult, scale: CosineScale) -> None:
    ranked = rank("报销流程 ERR-4032", result, scale)
    assert sorted(item.hit.chunk.chunk_id for item in ranked) == [hit.chunk.chunk_id for hit in result.hits]
    keys = [(-item.score, item.hit.chunk.chunk_id) for item in ranked]
    assert keys == sorted(keys)
    for item in ranked:
        assert 0 <= item.coverage <= 1 + 1e-9
        assert math.isfinite(item.score)


@given(RESULTS, st.sampled_from(SCALES), st.sampled_from(TERMS))
def test_holding_one_more_word_never_hurts(result: SearchResult, scale: CosineScale, term: str) -> None:
    before = {item.hit.chunk.chunk_id: item for item in rank("报销流程 ERR-4032", result, scale)}
    more = tuple(hit(old.chunk.chunk_id, old.cosine, {*old.matched, term}) for old in result.hits)
    grown = SearchResult(more, result.document_frequency, result.chunk_count)
    for item in rank("报销流程 ERR-4032", grown, scale):
        old = before[item.hit.chunk.chunk_id]
        assert item.score >= old.score - 1e-9
        assert item.accepted >= old.accepted
