"""Thoughts are removed from a stream exactly as from the whole text."""

import time

from hypothesis import given
from hypothesis import strategies as st

from services.llm.thoughts import ThoughtFilter, without_thoughts

# Kelvin sign and dotless i equal k and i without case, "İ" has two characters in lower case.
PARTS = [
    *("<think>", "</think>", "<THINK>", "</Think>", "<", "</", "think", ">", "<th"),
    *("\u212a", "<thin\u212a>", "ı", "<thınk>", "İ", "答", "\ud83d"),
]


def filtered(pieces: list[str]) -> str:
    thoughts = ThoughtFilter()
    return "".join([*map(thoughts.feed, pieces), thoughts.end()])


@given(st.lists(st.sampled_from(PARTS)), st.integers(1, 5))
def test_pieces_of_any_size_give_the_same_as_the_whole_text(parts: list[str], size: int) -> None:
    text = "".join(parts)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert filtered(pieces) == without_thoughts(text)


def test_what_is_certain_is_said_at_once() -> None:
    thoughts = ThoughtFilter()
    assert thoughts.feed("三百五十元") == "三百五十元"
    assert thoughts.feed("。<thi") == "。"
    assert thoughts.feed("n>") == "<thin>"
    assert thoughts.feed("<think>嗯") == ""
    assert thoughts.feed("</think>好") == "好"


def test_many_marks_take_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        begun = time.process_time()
        filtered(["<think></think>" * count])
        return time.process_time() - begun

    seconds(1_000)
    assert seconds(80_000) < 40 * max(seconds(8_000), 0.001)
