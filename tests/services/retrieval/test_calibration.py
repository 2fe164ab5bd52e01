"""Tests of calibration: opinions move the gate in their direction, and never out of bounds."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.records.groups import GateFeedback
from services.retrieval.calibration import calibrated

THEN = datetime(2026, 1, 1, tzinfo=UTC)
opinions = st.lists(
    st.builds(GateFeedback, st.floats(0, 1), st.booleans(), st.just(THEN), st.just("test")), max_size=40
)


@given(feedback=opinions, threshold=st.floats(0.05, 0.95))
def test_the_threshold_stays_within_bounds(feedback: list[GateFeedback], threshold: float) -> None:
    moved = calibrated(threshold, feedback)
    odds, before = moved / (1 - moved), threshold / (1 - threshold)
    assert before * 0.606 <= odds <= before * 2.719


@given(scores=st.lists(st.floats(0.5, 1), min_size=1, max_size=30))
def test_complaints_make_it_stricter_and_praise_laxer(scores: list[float]) -> None:
    assert calibrated(0.5, [GateFeedback(score, False, THEN, "test") for score in scores]) > 0.5
    assert calibrated(0.5, [GateFeedback(score, True, THEN, "test") for score in scores]) <= 0.5


def test_one_complaint_moves_a_little_and_many_move_to_the_bound() -> None:
    one = calibrated(0.5, [GateFeedback(0.8, False, THEN, "test")])
    many = calibrated(0.5, [GateFeedback(0.8, False, THEN, "test")] * 100)
    assert 0.52 < one < 0.58
    assert many == pytest.approx(0.731, abs=0.001)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_bounds_set_by_hand_are_not_moved(threshold: float) -> None:
    assert calibrated(threshold, [GateFeedback(0.8, False, THEN, "test")]) == threshold
