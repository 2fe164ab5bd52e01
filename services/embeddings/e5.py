"""The embedded model: multilingual-e5-small, with texts cleaned and in simplified characters."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from e5_int8 import SentenceEncoder
from services.embeddings.cleaning import clean, simplified


class E5:
    """Encoder from texts to unit vectors of 384 numbers."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, shape (texts, 384)."""
        return self._encoder.encode_queries([simplified(clean(text)) for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages, shape (texts, 384)."""
        return self._encoder.encode_passages([simplified(clean(text)) for text in texts])


def open_e5(directory: Path, threads: int) -> E5:
    """Open the model that was converted into `directory`. Raise as `SentenceEncoder.open` does."""
    return E5(SentenceEncoder.open(directory, threads=threads))
