"""Tests of the embedded model: what is done to a text before it is encoded."""

import numpy as np

from services.embeddings.e5 import E5


def test_both_writings_are_one(e5: E5) -> None:
    traditional, same = e5.embed_queries(["圖書館幾點開門", "图书馆几点开门"])
    assert float(traditional @ same) > 0.9999


def test_what_no_tokenizer_takes_is_left_out(e5: E5) -> None:
    assert np.array_equal(e5.embed_queries(["报销\0流\ud800程"]), e5.embed_queries(["报销流程"]))
    assert np.array_equal(e5.embed_passages(["报销\0流\ud800程"]), e5.embed_passages(["报销流程"]))


def test_questions_and_passages_are_told_apart(e5: E5) -> None:
    assert not np.allclose(e5.embed_queries(["报销流程"]), e5.embed_passages(["报销流程"]), atol=1e-3)
    assert e5.embed_queries([]).shape == (0, 384)
