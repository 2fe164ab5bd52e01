"""Durations as people write them."""

import doctest
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.proactive import durations
from services.proactive.durations import parse_duration


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(durations).failed == 0


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("30分钟", 30),
        ("2小时", 120),
        ("1天", 1440),
        ("30m", 30),
        ("2h", 120),
        ("1d", 1440),
        ("90", 90),
        ("半小时", 30),
        ("一个半小时", 90),
        ("两个小时", 120),
        ("十五分钟", 15),
        ("1小时30分", 90),
        ("1.5 小时", 90),
        ("３０分钟", 30),
        ("七天", 10080),
        ("一百二十分钟", 120),
        ("一百二十", 120),
        ("一百零五分钟", 105),
        ("两百分钟", 200),
        ("一千四百四十分钟", 1440),
        ("二十四小时", 1440),
        ("半个小时", 30),
        ("两个半小时", 150),
        ("两天", 2880),
        ("两天半", 3600),
        ("半天", 720),
        ("90min", 90),
        ("1.5小时", 90),
        ("一小时零五分", 65),
        ("一刻钟", 15),
        ("三刻钟", 45),
        ("一个星期", 10080),
        ("1h30m", 90),
        ("一周", 10080),
        ("0", 0),
        ("0分钟", 0),
        ("解除", 0),
        ("0.2分钟", 1),
    ],
)
def test_durations(text: str, minutes: int) -> None:
    assert parse_duration(text) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "很久",
        "小时",
        "30秒",
        "明天",
        "-5",
        "1小时30",
        "半",
        "5半",
        "h2",
        "9" * 400,
        "九" * 400,
        "1:30",
        "30分钟吧",
        "一百二十秒",
    ],
)
def test_no_durations(text: str) -> None:
    assert parse_duration(text) is None


def test_a_duration_beyond_all_measure_is_too_long() -> None:
    duration = parse_duration("9" * 15 + "天")
    assert duration is not None
    assert duration > durations.LONGEST_QUIET


@given(st.integers(0, 7 * 1440))
def test_what_is_written_is_read_back(minutes: int) -> None:
    duration = timedelta(minutes=minutes)
    assert parse_duration(f"{minutes // 1440}天{minutes // 60 % 24} 小时{minutes % 60}分钟") == duration


@given(st.text(max_size=30))
def test_any_text_is_understood_or_not(text: str) -> None:
    duration = parse_duration(text)
    assert duration is None or duration >= timedelta(0)
