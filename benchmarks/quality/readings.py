"""What the reader finds in passages, cached in a file between runs: thirty passages take a second."""

import hashlib
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from e5_int8 import PassageReader, convert_reader
from e5_int8.adapter import adapter_digest
from services.reading.models import Reading, Text
from services.retrieval.models import Candidate
from services.retrieval.passages import spread
from services.text.cleaning import without_surrogates
from services.text.scripts import simplified

# As the settings of retrieval have it.
READ = 8


def is_held_out(document: str) -> bool:
    """Return whether the questions about a document were held out of the reader's training: one in five."""
    return zlib.crc32(document.encode()) % 5 == 0


class Readings:
    """A reader in which every text is read only once for each question, also by later runs."""

    def __init__(self, directory: Path, threads: int = 2) -> None:
        """Open the cache in `directory`, which holds the converted model and the readings."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._threads = directory, threads
        self._file = sqlite3.connect(directory / "readings.sqlite3")
        self._file.execute("CREATE TABLE IF NOT EXISTS readings (key TEXT PRIMARY KEY, reading BLOB) WITHOUT ROWID")
        self._reader: PassageReader | None = None

    async def read(self, question: str, texts: Sequence[Text]) -> list[Reading]:
        """Return one reading for each text, as `services.reading.models.Reader` does."""
        return self.now(question, texts)

    def now(self, question: str, texts: Sequence[Text]) -> list[Reading]:
        """Return one reading for each text."""
        keys = [_key(question, text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if self._stored(key) is None}
        if missing:
            pairs = [(_plain(text.context), _plain(text.text)) for text in missing.values()]
            found = self._model().read(_plain(question), pairs)
            with self._file:
                self._file.executemany(
                    "INSERT OR REPLACE INTO readings VALUES (?,?)",
                    [
                        (key, _packed(item.answers, item.starts, item.ends, item.logits))
                        for key, item in zip(missing, found, strict=True)
                    ],
                )
        return [reading for key in keys if (reading := self._stored(key)) is not None]

    def attach(self, question: str, recalled: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates, those with a reading that the retriever would have read."""
        chosen = spread(recalled, READ)
        read = self.now(question, [text_of(item) for item in chosen])
        by_id = {item.hit.chunk.chunk_id: reading for item, reading in zip(chosen, read, strict=True)}
        return [replace(item, reading=by_id.get(item.hit.chunk.chunk_id)) for item in recalled]

    def _stored(self, key: str) -> Reading | None:
        row = self._file.execute("SELECT reading FROM readings WHERE key = ?", (key,)).fetchone()
        return None if row is None else _unpacked(row[0])

    def _model(self) -> PassageReader:
        if self._reader is None:
            models = self._directory / "models"
            convert_reader(models)
            self._reader = PassageReader.open(models, threads=self._threads)
        return self._reader


def text_of(candidate: Candidate) -> Text:
    """Return a candidate as the reader gets it."""
    return Text(candidate.hit.chunk.context, candidate.hit.chunk.text)


def _plain(text: str) -> str:
    return simplified(without_surrogates(text))


def _key(question: str, text: Text) -> str:
    content = "\0".join((adapter_digest(), question, text.context, text.text))
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


def _packed(answers: float, starts: NDArray[Any], ends: NDArray[Any], scores: NDArray[Any]) -> bytes:
    parts = (np.array([answers], np.float32), starts.astype(np.int32), ends.astype(np.int32), scores.astype(np.float32))
    return b"".join(part.tobytes() for part in parts)


def _unpacked(blob: bytes) -> Reading:
    count = (len(blob) - 4) // 12
    starts, ends = (np.frombuffer(blob, np.int32, count, 4 + 4 * count * place) for place in (0, 1))
    return Reading(
        float(np.frombuffer(blob, np.float32, 1)[0]),
        starts,
        ends,
        np.frombuffer(blob, np.float32, count, 4 + 8 * count),
    )
