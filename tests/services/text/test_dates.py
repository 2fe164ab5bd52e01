"""Times of day in every common reading. Durations are tested where they are used, in `proactive`."""

import doctest

import pytest

from services.text import dates
from services.text.dates import times_of_day


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(dates).failed == 0


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("22:30 熄灯", {"10:30", "22:30"}),
        ("下午两点一刻", {"2:15", "14:15"}),
        ("十点", {"10:00", "22:00"}),
        ("7点05分", {"7:05", "19:05"}),
        ("比例 1:2:3 和 3.10:30", set[str]()),
    ],
)
def test_times_of_day(text: str, times: set[str]) -> None:
    assert set(times_of_day(text)) == times
