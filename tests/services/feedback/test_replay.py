"""Tests of the replay that decides whether ratings move the gate."""

from hypothesis import given
from hypothesis import strategies as st

from services.feedback.replay import FEWEST, gate_opinions
from services.records.feedback import RatedPassage
from services.records.groups import GateFeedback
from services.records.tables import now
from services.retrieval.calibration import calibrated

THRESHOLD = 0.5


def rated(*pairs: tuple[float, int]) -> list[RatedPassage]:
    return [RatedPassage(passage_score, score) for passage_score, score in pairs]


def test_a_clear_border_moves_the_gate() -> None:
    ratings = rated(*([(0.55, 1), (0.95, 5)] * 20))
    opinions = gate_opinions(THRESHOLD, [], ratings)
    assert opinions == [(0.55, False), (0.95, True)] * 20
    moved = calibrated(THRESHOLD, [GateFeedback(score, helpful, now(), "rating") for score, helpful in opinions])
    assert 0.55 < moved < 0.95


def test_ratings_that_the_score_does_not_explain_move_nothing() -> None:
    # The bad answers score higher than the good ones: every stricter gate loses good answers first.
    assert gate_opinions(THRESHOLD, [], rated(*([(0.95, 1), (0.52, 5), (0.53, 5), (0.54, 5)] * 10))) == []
    assert gate_opinions(THRESHOLD, [], rated(*([(0.9, 5)] * 40))) == []


def test_few_ratings_and_middling_ones_move_nothing() -> None:
    assert gate_opinions(THRESHOLD, [], rated(*([(0.55, 1)] * (FEWEST - 1)))) == []
    assert gate_opinions(THRESHOLD, [], rated(*([(0.55, 1)] * FEWEST))) != []
    assert gate_opinions(THRESHOLD, [], rated(*([(0.55, 3)] * 50))) == []


def test_good_answers_undo_what_is_too_strict() -> None:
    strict = [GateFeedback(0.5, False, now(), "reaction")] * 6
    assert calibrated(THRESHOLD, strict) > 0.55
    assert gate_opinions(THRESHOLD, strict, rated(*([(0.55, 5)] * 40))) != []


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 5)), max_size=60),
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=20),
)
def test_all_ratings_count_or_none(pairs: list[tuple[float, int]], others: list[tuple[float, bool]]) -> None:
    known = [GateFeedback(score, helpful, now(), "reply") for score, helpful in others]
    opinions = gate_opinions(THRESHOLD, known, rated(*pairs))
    assert opinions in ([], [(passage, score >= 4) for passage, score in pairs if score != 3])
