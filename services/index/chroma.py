"""Vector search: one Chroma collection for each collection and embedding fingerprint.

Synchronous; it runs in the index process.

Chroma holds vectors, ids and builds; passages and their metadata stay in the lexical store, where they are needed
anyway. A second copy in Chroma's own full-text table makes writing six times slower (measured: 57 rows a second instead
of 340).

Chroma keeps every collection that was touched in memory. Its remedy, a cache of as many collections as file descriptors
allow, forgets vectors that are not yet in a collection's own files: on the next access such a collection fails with
"Nothing found on disk" (Chroma 1.5.9). So the client is closed and reopened, in 50 ms, before too much is open.
"""

import ctypes
import hashlib
import logging
import re
import sqlite3
import sys
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import chromadb
import numpy
from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection as ChromaCollection
from chromadb.config import Settings
from numpy.typing import NDArray

from services.index.models import IndexedChunk, Vector

log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
# The key of the embedding fingerprint in the metadata of stored collections; existing data depends on it.
_FINGERPRINT_KEY = "space"
# 2,000 vectors give each cosine to the mean within 0.001 of the mean of all vectors.
_MEAN_PAGES, _MEAN_PAGE = 8, 250
_STALE_SHARE = 0.05
_MAX_ASKED = 2_000
_PAGE = 5_000
# Measured: a collection of 100,000 vectors of 384 numbers takes 205 MB, one of 50 vectors 2.7 MB.
_COLLECTION_BYTES = 2_700_000
_BYTES_BESIDE_VECTOR = 500
_MEMORY_BYTES = 400 << 20
# Chroma keeps five files open for each open collection.
_FILES_PER_COLLECTION = 5
_OPEN_FILES = 1_024


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A chunk id with the cosine of its vector to that of the question."""

    chunk_id: str
    cosine: float


class ChromaStore:
    """The vectors of all collections under one directory. A search never creates a collection."""

    def __init__(self, directory: Path, *, memory_bytes: int = _MEMORY_BYTES) -> None:
        """Open the store.

        `memory_bytes` limits the memory of all open collections together; a single larger one is opened all the same.
        """
        directory.mkdir(parents=True, exist_ok=True)
        _set_aside_damaged(directory)
        self._directory = directory
        self._memory_bytes = memory_bytes
        self._max_open = _allowed_files() // _FILES_PER_COLLECTION // 2
        self._open: dict[str, ChromaCollection] = {}
        # The approximate number of vectors of each open collection: exact when it is opened, then adjusted by what is
        # added and deleted.
        self._rows: dict[str, int] = {}
        self._memory: dict[str, int] = {}
        self._means: dict[str, tuple[int, NDArray[numpy.float32]]] = {}
        self._client = self._opened()
        _index_queue(directory / "chroma.sqlite3")
        # Name in Chroma -> the collection and the embedding fingerprint in its metadata.
        self._stored = {
            store.name: (str(store.metadata["collection"]), str(store.metadata[_FINGERPRINT_KEY]))
            for store in self._client.list_collections()
            if store.metadata and _FINGERPRINT_KEY in store.metadata
        }

    def add(
        self, collection: str, embedding_fingerprint: str, chunks: Sequence[IndexedChunk], vectors: Sequence[Vector]
    ) -> None:
        """Store vectors with their chunks' builds, replacing those with the same id."""
        matrix = numpy.asarray(vectors, dtype=numpy.float32)
        name = self._create(collection, embedding_fingerprint)
        self._store(name).upsert(
            ids=[chunk.chunk_id for chunk in chunks],
            embeddings=matrix,
            metadatas=[{"build": chunk.build_id} for chunk in chunks],
        )
        self._rows[name] += len(chunks)
        self._memory[name] += matrix.nbytes + _BYTES_BESIDE_VECTOR * len(chunks)

    def search(
        self, collection: str, embedding_fingerprint: str, vector: Vector, limit: int, hidden: Collection[str]
    ) -> list[Neighbour]:
        """Return the nearest visible chunks, nearest first."""
        store = self._find(collection, embedding_fingerprint)
        if store is None:
            return []
        asked = limit if not hidden else limit * 2
        while True:
            found = store.query(
                query_embeddings=numpy.asarray([vector], dtype=numpy.float32),
                n_results=asked,
                include=["metadatas", "distances"] if hidden else ["distances"],
            )
            ids, distances = found["ids"][0], found["distances"]
            builds = [metadata.get("build") for metadata in (found["metadatas"] or [[{}] * len(ids)])[0]]
            if distances is None:
                raise RuntimeError("Chroma left out what it was asked for")
            visible = [
                Neighbour(chunk_id, max(-1.0, min(1.0, 1.0 - distance)))
                for chunk_id, build, distance in zip(ids, builds, distances[0], strict=True)
                if build not in hidden
            ]
            if len(visible) >= limit or len(ids) < asked or asked >= _MAX_ASKED:
                return visible[:limit]
            # Hidden chunks crowd the neighbourhood while a new version is being built, so the search is widened.
            asked *= 4

    def mean(self, collection: str, embedding_fingerprint: str) -> NDArray[numpy.float32] | None:
        """Return the mean of the collection's unit vectors, or None if it has none.

        It is computed from at most 2,000 vectors spread over the collection, and kept until the collection has grown or
        shrunk by a twentieth.
        """
        store = self._find(collection, embedding_fingerprint)
        name = _chroma_name(collection, embedding_fingerprint)
        count = self._rows.get(name, 0)
        if store is None or count <= 0:
            return None
        known = self._means.get(name)
        if known is not None and abs(known[0] - count) <= known[0] * _STALE_SHARE:
            return known[1]
        count = self._rows[name] = store.count()
        if not count:
            return None
        size, step = (count, count) if count <= _MEAN_PAGES * _MEAN_PAGE else (_MEAN_PAGE, count // _MEAN_PAGES)
        parts: list[NDArray[numpy.float32]] = []
        for offset in range(0, count, step):
            embeddings = store.get(include=["embeddings"], limit=size, offset=offset)["embeddings"]
            if embeddings is not None and len(embeddings):
                parts.append(numpy.asarray(embeddings, dtype=numpy.float32))
        mean = numpy.concatenate(parts).mean(axis=0)
        self._means[name] = (count, mean)
        return mean

    def cosines(
        self, collection: str, embedding_fingerprint: str, vector: Vector, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """Return the cosine of each named chunk that has a vector here."""
        store = self._find(collection, embedding_fingerprint)
        if store is None or not chunk_ids:
            return {}
        found = store.get(ids=list(chunk_ids), include=["embeddings"])
        embeddings = found["embeddings"]
        if embeddings is None or not len(embeddings):
            return {}
        question = numpy.asarray(vector, dtype=numpy.float32)
        matrix = numpy.asarray(embeddings, dtype=numpy.float32)
        norms = numpy.linalg.norm(matrix, axis=1) * numpy.linalg.norm(question)
        values = numpy.clip(matrix @ question / numpy.maximum(norms, 1e-12), -1.0, 1.0)
        return dict(zip(found["ids"], values.tolist(), strict=True))

    def delete(self, collection: str, embedding_fingerprint: str, chunk_ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are ignored."""
        store = self._find(collection, embedding_fingerprint)
        if store is not None and chunk_ids:
            store.delete(ids=list(chunk_ids))
            self._rows[_chroma_name(collection, embedding_fingerprint)] -= len(chunk_ids)

    def chunk_ids(self, collection: str, embedding_fingerprint: str, build_id: str) -> set[str]:
        """Return the chunks of a build that have a vector."""
        store = self._find(collection, embedding_fingerprint)
        if store is None:
            return set()
        found: set[str] = set()
        while True:
            page = store.get(where={"build": build_id}, include=[], limit=_PAGE, offset=len(found))["ids"]
            found.update(page)
            if len(page) < _PAGE:
                return found

    def count(self, collection: str, embedding_fingerprint: str) -> int:
        """Return the number of all vectors of a collection by one model."""
        store = self._find(collection, embedding_fingerprint)
        return 0 if store is None else store.count()

    def embedding_fingerprints(self, collection: str) -> set[str]:
        """Return the models of a collection's vectors according to the metadata of the stored collections."""
        return {embedding_fingerprint for owner, embedding_fingerprint in self._stored.values() if owner == collection}

    def collections(self) -> set[str]:
        """Return every collection with vectors of any model."""
        return {collection for collection, _ in self._stored.values()}

    def drop_vectors(self, collection: str, embedding_fingerprint: str) -> None:
        """Remove a collection's vectors of one model."""
        name = _chroma_name(collection, embedding_fingerprint)
        if self._stored.pop(name, None) is not None:
            for kept in (self._open, self._rows, self._memory, self._means):
                kept.pop(name, None)
            self._client.delete_collection(name)

    def close(self) -> None:
        """Release files and memory."""
        for kept in (self._open, self._rows, self._memory):
            kept.clear()
        self._client.close()
        _return_memory()

    def _find(self, collection: str, embedding_fingerprint: str) -> ChromaCollection | None:
        name = _chroma_name(collection, embedding_fingerprint)
        if name not in self._stored:
            return None
        if self._stored[name] != (collection, embedding_fingerprint):
            raise RuntimeError(f"Chroma collection {name} says it is {self._stored[name]}")
        return self._store(name)

    def _create(self, collection: str, embedding_fingerprint: str) -> str:
        name = _chroma_name(collection, embedding_fingerprint)
        if self._find(collection, embedding_fingerprint) is None:
            metadata = {"collection": collection, _FINGERPRINT_KEY: embedding_fingerprint, "hnsw:space": "cosine"}
            # No embedding function anywhere: the default one would download a model on first use.
            self._client.create_collection(name, metadata=metadata, embedding_function=None)
            self._stored[name] = collection, embedding_fingerprint
        return name

    def _store(self, name: str) -> ChromaCollection:
        if (store := self._open.get(name)) is not None:
            return store
        store = self._client.get_collection(name, embedding_function=None)
        rows = store.count()
        size = _COLLECTION_BYTES + rows * (4 * (store.get_model()["dimension"] or 0) + _BYTES_BESIDE_VECTOR)
        full = sum(self._memory.values()) + size > self._memory_bytes or len(self._open) >= self._max_open
        if full and self._open:
            self.close()
            self._client = self._opened()
            store = self._client.get_collection(name, embedding_function=None)
        self._open[name], self._rows[name], self._memory[name] = store, rows, size
        return store

    def _opened(self) -> Client:
        settings = Settings(anonymized_telemetry=False)
        return cast(Client, chromadb.PersistentClient(str(self._directory), settings))


def _allowed_files() -> int:
    """Return how many files this process may have open, raising the limit if possible.

    The default of some systems is only 256.
    """
    if sys.platform == "win32":
        return _OPEN_FILES
    import resource  # noqa: PLC0415 - exists on Unix only

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _OPEN_FILES:
        soft = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def _set_aside_damaged(directory: Path) -> None:
    """Start with an empty directory if Chroma's database is damaged; the vectors are then built again."""
    database = directory / "chroma.sqlite3"
    if not database.exists():
        return
    try:
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
        stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
        directory.replace(directory.with_name(f"{directory.name}.damaged-{stamp}"))
        directory.mkdir()
        log.warning("the vectors in %s were damaged and are set aside: %s", directory, error)


def _index_queue(database: Path) -> None:
    """Let Chroma find a collection's latest rows by name.

    Chroma keeps those of all collections in one table and reads all of it to open a collection: 35 ms for 1,000 groups.
    """
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE INDEX IF NOT EXISTS embeddings_queue_topic ON embeddings_queue (topic, seq_id)")


def _return_memory() -> None:
    """Return freed memory to the system; glibc would keep most of it."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def _chroma_name(collection: str, embedding_fingerprint: str) -> str:
    name = f"{collection}.{embedding_fingerprint}"
    if _NAME.fullmatch(name) and ".." not in name:
        return name
    return f"{collection[:40].strip('._-') or 'c'}.{hashlib.sha256(name.encode()).hexdigest()[:32]}"
