"""Tests of stage times."""

import pytest

from services.retrieval.timing import StageTimes


def test_rounds_of_a_stage_are_added_up_even_when_they_fail() -> None:
    times = StageTimes()
    with times.measure("search"):
        pass
    once = times.taken[0].seconds
    with times.measure("rerank"):
        pass
    with pytest.raises(ValueError, match="broken"), times.measure("search"):
        raise ValueError("broken")
    assert [time.stage for time in times.taken] == ["search", "rerank"]
    assert times.taken[0].seconds > once > 0
