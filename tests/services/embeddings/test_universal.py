"""Tests of the fallback model."""

import numpy as np

from services.embeddings.universal import UniversalSentenceEncoder


def test_unit_vectors_for_any_text() -> None:
    encoder = UniversalSentenceEncoder(threads=1)
    texts = ["报销流程", "", " ", "a\0b", "\ud800", "a" * 20_000, "😀" * 100]
    vectors = encoder.embed_passages(texts)
    assert vectors.shape == (len(texts), 512)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert encoder.embed_queries([]).shape == (0, 512)
    question, right, wrong = encoder.embed_queries(["怎么报销差旅费？", "差旅费报销流程", "今天天气很好"])
    assert question @ right > question @ wrong + 0.1
