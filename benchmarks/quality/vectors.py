"""Vectors of the embedded model, cached in a file between runs: embedding a corpus takes a quarter of an hour."""

import hashlib
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from e5_int8 import DIMENSION, convert
from services.embeddings.e5 import E5, open_e5

_BATCH = 256


class Vectors:
    """A cache of unit vectors in which every text is embedded only once."""

    def __init__(self, directory: Path, threads: int = 2) -> None:
        """Open the cache in `directory`, which holds the converted model and the vectors."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self._threads = directory, threads
        self._file = sqlite3.connect(directory / "vectors.sqlite3")
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        self._model: E5 | None = None

    def questions(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, shape (texts, 384)."""
        return self._vectors("query", texts)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages, shape (texts, 384)."""
        return self._vectors("passage", texts)

    def _vectors(self, kind: str, texts: Sequence[str]) -> NDArray[np.float32]:
        keys = [hashlib.sha256(f"{kind}\n{text}".encode("utf-8", "replace")).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if self._read(key) is None}
        # Texts of similar length are embedded together, so that both threads are busy until the end of a batch.
        ordered = sorted(missing.items(), key=lambda item: len(item[1]))
        for start in range(0, len(ordered), _BATCH):
            batch = ordered[start : start + _BATCH]
            embed = self._e5().embed_queries if kind == "query" else self._e5().embed_passages
            vectors = embed([text for _, text in batch])
            rows = [(key, vector.tobytes()) for (key, _), vector in zip(batch, vectors, strict=True)]
            with self._file:
                self._file.executemany("INSERT OR REPLACE INTO vectors VALUES (?,?)", rows)
            if len(ordered) > 4 * _BATCH:
                print(f"embedding {start + len(batch)}/{len(ordered)}", file=sys.stderr, flush=True)
        found = [self._read(key) for key in keys]
        vectors = [vector for vector in found if vector is not None]
        return np.stack(vectors) if vectors else np.empty((0, DIMENSION), np.float32)

    def _read(self, key: str) -> NDArray[np.float32] | None:
        row = self._file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32)

    def _e5(self) -> E5:
        if self._model is None:
            models = self.directory / "models"
            convert(models)
            self._model = open_e5(models, self._threads)
        return self._model
