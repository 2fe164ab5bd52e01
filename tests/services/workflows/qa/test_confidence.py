"""The confidence of an answer: from the scores of its passages, and lower if nothing confirms it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from services.grounding.models import Answer, AnswerKind, source_of
from services.index.models import Hit, IndexedChunk
from services.retrieval.models import Candidate, Reference, Retrieval, RetrievalStatus, Verdict
from services.workflows.qa.confidence import confidence, from_scores

scores = st.floats(0, 1)


def retrieval(*given_scores: float) -> Retrieval:
    """Return what was found with these scores, best first; the first one is approved."""
    candidates = tuple(
        Candidate(
            Hit(IndexedChunk(f"b-{place}", "b", place, f"段落{place}"), 0.8, None, frozenset()),
            1.0,
            1.0,
            score,
            Verdict.APPROVED if place == 0 else Verdict.BELOW_SCORE,
        )
        for place, score in enumerate(given_scores)
    )
    first = Reference(1, 1, "文件.md", 1, None, "", "段落0", given_scores[0], "b", 0, 0)
    return Retrieval(RetrievalStatus.USABLE, (first,), candidates=candidates)


def quoted(found: Retrieval) -> Answer:
    return Answer(AnswerKind.EXCERPT, "「段落0」〔1〕", (source_of(found.references[0], 1),))


def test_a_clear_winner_is_surer_than_one_of_several() -> None:
    alone, among = retrieval(0.9, 0.1), retrieval(0.9, 0.8)
    sure, unsure = confidence(quoted(alone), alone), confidence(quoted(among), among)
    assert sure is not None
    assert unsure is not None
    assert 0.5 < unsure < sure < 1


def test_what_nothing_confirms_is_a_guess() -> None:
    found = retrieval(0.95, 0.1)
    answer = quoted(found)
    assert confidence(replace(answer, doubtful=True), found) == 0.4
    assert confidence(replace(answer, sources=()), found) == 0.3
    assert confidence(replace(answer, kind=AnswerKind.GENERAL), found) == 0.3


def test_what_claims_nothing_has_none() -> None:
    found = retrieval(0.9, 0.1)
    for kind in (AnswerKind.NOTHING_FOUND, AnswerKind.FAILED):
        assert confidence(replace(quoted(found), kind=kind), found) is None
    assert confidence(quoted(found), None) is None


@given(scores, scores, scores)
def test_a_better_score_is_never_less_sure(low: float, high: float, second: float) -> None:
    low, high = sorted((low, high))
    assert 0 < from_scores(low, second) <= from_scores(high, second) < 1
