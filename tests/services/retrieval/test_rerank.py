"""Tests of the embedded reranker: coefficients that match the code, calibrated scores, sensible fallbacks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from services.embeddings.models import CosineScale
from services.index.models import SearchResult
from services.retrieval.features import READ, SEARCHED, Evidence, describe
from services.retrieval.fuse import fuse, weigh
from services.retrieval.models import Strictness
from services.retrieval.rerank import COEFFICIENTS, EmbeddedReranker, load_coefficients
from tests.fakes.reader import reading
from tests.services.retrieval.candidates import hit

COEFFICIENT_SET = load_coefficients()


def evidence(
    cosines: list[float | None], *, scale: CosineScale = CosineScale.E5, vector: bool = True, matched: str = ""
) -> Evidence:
    hits = tuple(
        hit(f"{number}", cosine, frozenset(matched.split()), text="住宿标准为每晚三百五十元")
        for number, cosine in enumerate(cosines)
    )
    frequency = {"住宿": 3, "宿标": 2, "标准": 9}
    words = weigh("住宿标准", frequency, 400)
    fused = fuse(words, SearchResult(hits, frequency, 400), scale)
    question = COEFFICIENT_SET.landmarks[0].tolist() if vector else None
    return Evidence("住宿标准", words, fused, question, 0.85 if vector else None, 0.9 if vector else None)


def test_coefficients_carry_their_provenance() -> None:
    provenance = COEFFICIENT_SET.provenance
    assert tuple(provenance["features"]) == (*SEARCHED, *READ)
    assert {"trained", "by", "labels", "corpus", "reading", "seed", "held_out"} <= set(provenance)


def test_coefficients_for_other_features_are_refused(tmp_path: Path) -> None:
    with np.load(COEFFICIENTS, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["provenance"] = np.array('{"features": ["cosine"], "networks": 1}')
    np.savez(tmp_path / "other.npz", **arrays)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="other features"):
        load_coefficients(tmp_path / "other.npz")


def test_every_feature_is_a_number() -> None:
    for item in (evidence([0.9, 0.8]), evidence([None]), evidence([0.9], vector=False)):
        values = describe(item, COEFFICIENT_SET.background)
        assert values.read is None
        assert values.searched.shape == (len(SEARCHED),)
        assert np.isfinite(values.searched).all()


def test_what_was_read_is_described_too() -> None:
    found = evidence([0.9, 0.8])
    read = [replace(item, reading=reading(item.hit.chunk.text, "三百五十元")) for item in found.recalled]
    values = describe(replace(found, recalled=read), COEFFICIENT_SET.background)
    assert values.read is not None
    assert values.read.shape == (len(READ),)
    assert np.isfinite(values.read).all()


async def test_what_the_reader_believes_in_scores_higher() -> None:
    found = evidence([0.9, 0.89], matched="住宿 宿标 标准")
    reranker = EmbeddedReranker(CosineScale.E5, COEFFICIENT_SET)

    async def scores(first: float, second: float) -> list[float]:
        beliefs = zip(found.recalled, (first, second), strict=True)
        read = [replace(item, reading=reading(item.hit.chunk.text, "三百五十元", belief)) for item, belief in beliefs]
        return await reranker.scores(replace(found, recalled=read), read)

    low, high = await scores(-6.0, -6.0), await scores(-6.0, 6.0)
    assert high[1] > low[1]
    assert high[1] > high[0]


async def test_scores_fall_with_the_fused_score_and_are_probabilities() -> None:
    found = evidence([0.93, 0.92, 0.90, 0.84], matched="住宿 宿标 标准")
    scores = await EmbeddedReranker(CosineScale.E5, COEFFICIENT_SET).scores(found, found.recalled)
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)
    assert scores[-1] < 0.1 * scores[0]


@pytest.mark.parametrize(
    ("text", "says"), [("=1+1", False), ("？！", False), ("　", False), ("20231115", True), ("住", True)]
)
async def test_what_says_nothing_is_answered_by_nothing(text: str, says: bool) -> None:
    found = replace(evidence([0.95], matched="住宿 宿标 标准"), text=text)
    (score,) = await EmbeddedReranker(CosineScale.E5, COEFFICIENT_SET).scores(found, found.recalled)
    assert (score > 0) is says


async def test_a_passage_with_the_number_that_is_asked_for_comes_first_before_it_has_a_vector() -> None:
    frequency = {"工号": 50, "88213": 1, "是谁": 50}
    near = [hit(f"{number}", 0.93, frozenset({"工号", "是谁"})) for number in range(3)]
    exact = hit("exact", None, frozenset({"工号", "88213", "是谁"}))
    words = weigh("工号 88213 是谁", frequency, 60)
    fused = fuse(words, SearchResult((*near, exact), frequency, 60), CosineScale.E5)
    found = Evidence("工号 88213 是谁", words, fused, COEFFICIENT_SET.landmarks[0].tolist(), 0.9, 0.95)
    first, *others = await EmbeddedReranker(CosineScale.E5, COEFFICIENT_SET).scores(found, fused)
    assert fused[0].hit.chunk.chunk_id == "exact"
    assert first >= 0.5
    assert max(others) < 0.1


async def test_a_nearer_collection_is_more_likely_to_answer() -> None:
    reranker = EmbeddedReranker(CosineScale.E5, COEFFICIENT_SET)
    near, far = evidence([0.95], matched="住宿 宿标 标准"), evidence([0.80])
    assert (await reranker.scores(near, near.recalled))[0] > 2 * (await reranker.scores(far, far.recalled))[0]


@pytest.mark.parametrize(
    ("scale", "vector"),
    [(CosineScale.UNKNOWN, True), (CosineScale.E5, False), (CosineScale.UNIVERSAL_SENTENCE_ENCODER, False)],
)
async def test_without_measured_vectors_the_words_decide(scale: CosineScale, vector: bool) -> None:
    reranker = EmbeddedReranker(scale, COEFFICIENT_SET)
    lowest = reranker.thresholds[Strictness.ASKED]
    unlike = evidence([0.99], scale=scale, vector=vector)
    alike = evidence([0.1], scale=scale, vector=vector, matched="住宿 宿标 标准")
    assert (
        (await reranker.scores(unlike, unlike.recalled))[0] < lowest < (await reranker.scores(alike, alike.recalled))[0]
    )


async def test_who_writes_a_rare_code_is_answered_only_when_asked() -> None:
    frequency = {"err-40321": 1, "err": 60, "40321": 1}
    words = weigh("ERR-40321", frequency, 1000)
    hits = (hit("code", 0.70, frozenset(frequency)), hit("other", 0.75, frozenset({"err"})))
    fused = fuse(words, SearchResult(hits, frequency, 1000), CosineScale.E5)
    vector = COEFFICIENT_SET.landmarks[0].tolist()
    reranker = EmbeddedReranker(CosineScale.E5, COEFFICIENT_SET)
    scores = await reranker.scores(Evidence("ERR-40321", words, fused, vector, 0.7, 0.8), fused)
    by_name = {item.hit.chunk.chunk_id: score for item, score in zip(fused, scores, strict=True)}
    assert reranker.thresholds[Strictness.ASKED] <= by_name["code"] < reranker.thresholds[Strictness.UNASKED]
    assert by_name["other"] < reranker.thresholds[Strictness.ASKED]


@pytest.mark.parametrize("scale", [CosineScale.E5, CosineScale.UNIVERSAL_SENTENCE_ENCODER])
async def test_a_document_that_is_still_being_embedded_counts_by_its_words(scale: CosineScale) -> None:
    """The other candidates are scored as if it were not there, and it is scored as if nothing had a vector."""
    reranker = EmbeddedReranker(scale, COEFFICIENT_SET)
    matched = frozenset(("住宿", "宿标", "标准"))
    frequency = {"住宿": 3, "宿标": 2, "标准": 9}
    words = weigh("住宿标准", frequency, 400)
    vector = COEFFICIENT_SET.landmarks[0].tolist()

    async def scores(**cosines: float | None) -> dict[str, float]:
        hits = tuple(
            hit(name, cosine, matched if name == "answer" else frozenset(), text="住宿标准为每晚三百五十元")
            for name, cosine in cosines.items()
        )
        fused = fuse(words, SearchResult(hits, frequency, 400), scale)
        found = Evidence("住宿标准", words, fused, vector, 0.7, 0.8)
        scored = zip(fused, await reranker.scores(found, fused), strict=True)
        return {item.hit.chunk.chunk_id: score for item, score in scored}

    low = 0.75 if scale is CosineScale.E5 else 0.3
    alone, mixed = await scores(one=low, other=low - 0.01), await scores(one=low, other=low - 0.01, answer=None)
    assert {name: mixed[name] for name in alone} == pytest.approx(alone)
    assert mixed["answer"] == pytest.approx((await scores(answer=None))["answer"])
    assert mixed["answer"] > reranker.thresholds[Strictness.ASKED] > max(alone.values())
