"""The measurement of approved answers, on pairs whose outcome is known."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.quality.faq import Asked, Pair, ask_all, measure, read_pairs
from tests.fakes.embeddings import BigramEmbeddings

PAIRS = [
    Pair("宿舍几点熄灯", "请问宿舍几点熄灯？", same=True),
    Pair("宿舍几点熄灯", "寝室熄灯时间", same=True),
    Pair("从北京到成都的火车票", "从成都到北京的火车票", same=False),
    Pair("报销要几天", "报销要五天", same=False),
    Pair("差旅费怎么报", "完全无关的话题", same=False),
]


class _Bigrams:
    """The vectors of the fake model."""

    def questions(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(BigramEmbeddings().embed_documents(list(texts)), np.float32)


@pytest.fixture
def asked() -> dict[str, Asked]:
    return ask_all(_Bigrams(), PAIRS)


def test_questions_that_ask_the_same_are_one_group(asked: dict[str, Asked]) -> None:
    assert asked["请问宿舍几点熄灯？"].group == asked["宿舍几点熄灯"].group == asked["寝室熄灯时间"].group
    assert asked["报销要几天"].group != asked["报销要五天"].group


def test_the_shares_of_a_draw(asked: dict[str, Asked]) -> None:
    shares = measure(PAIRS, asked, 0.1, len(PAIRS), seed=1)
    assert shares["same direct right"] == 0.5
    assert shares["near direct wrong"] == shares["same direct wrong"] == 0.0
    assert shares["near asked"] == pytest.approx(2 / 3)
    assert np.isnan(shares["other asked"])


def test_pairs_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl.gz"
    rows = [{"a": pair.first, "b": pair.second, "same": pair.same} for pair in PAIRS]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert read_pairs(path) == PAIRS
