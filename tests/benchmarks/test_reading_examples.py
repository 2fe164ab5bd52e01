"""Tests of the examples that the reader is trained on."""

import json
from pathlib import Path

import pytest

from benchmarks.quality.reading_examples import MOST_PASSAGE, MOST_QUESTION, Examples
from e5_int8.tokenizer import Tokenizer
from e5_int8.weights import installed_weights

_READING = [
    {
        "paragraph_id": "1",
        "title": "臺北植物園",
        "context": "臺北植物園於1921年設立，面積約8公頃。" * 2 + "園內設有九個分區，每日上午四點開放。" * 12,
        "questions": [{"question": "臺北植物園是什么时候于1921年后开放的？", "answers": ["上午四點"]}],
    },
    {"paragraph_id": "2", "title": "柳江", "context": "柳江全長773公里，流經三個縣。", "questions": []},
]
_OWN = {
    "name": "门票价目.xlsx",
    "heading": "",
    "text": "票种 | 价格 | 说明\n"
    + "\n".join(
        f"{name}票 | {50 + place}元 | 当日有效，不退不换，请提前预约入园时间"
        for place, name in enumerate("甲乙丙丁戊己庚辛壬癸")
    ),
    "questions": [{"q": "己票多少钱", "a": "55元", "kind": "table"}],
    "unanswered": ["丑票多少钱"],
    "chatter": ["门票又涨了"],
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(installed_weights().vocabulary())


@pytest.fixture
def examples(tokenizer: Tokenizer, tmp_path: Path) -> Examples:
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in [*_READING, _OWN]), encoding="utf-8")
    return Examples([path], tokenizer, seed=4)


def test_windows_hold_the_answers(examples: Examples) -> None:
    asked = [item for item in examples.examples if item.answers]
    assert len(asked) == 2
    for item in asked:
        assert item.right
        for number in item.right:
            window = examples.windows[number]
            tokens = examples.answer_tokens(number, item.answers)
            assert tokens
            shown = "".join(window.text[slice(*window.places[token])] for token in tokens)
            assert any(answer in shown for answer in item.answers)
        assert not set(item.right) & {*item.near, *item.far}
        for number in (*item.near, *item.far):
            assert not any(answer in examples.windows[number].text for answer in item.answers)
    assert all(len(window.ids) == len(window.places) <= MOST_PASSAGE for window in examples.windows)


def test_each_part_of_a_table_has_its_header(examples: Examples) -> None:
    parts = [window.text for window in examples.windows if "元 | 当日" in window.text]
    assert len(parts) > 1
    assert all(part.startswith("票种 | 价格 | 说明\n") for part in parts)


def test_unanswered_messages_have_no_right_window(examples: Examples) -> None:
    messages = [item for item in examples.examples if not item.right]
    assert [item.wordings[0] for item in messages] == ["丑票多少钱", "门票又涨了"]
    assert all(item.own for item in messages)


def test_an_exchanged_question_is_another_one(examples: Examples) -> None:
    exchanged = [text for item in examples.examples for text in item.exchanged]
    assert exchanged
    assert not any("1921" in text and "台北植物园" in text for text in exchanged)


def test_long_questions_are_cut(examples: Examples) -> None:
    assert len(examples.question_ids("多少" * 300)) == MOST_QUESTION + 2
