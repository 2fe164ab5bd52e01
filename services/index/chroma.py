"""Search by meaning: one Chroma collection for each collection and space. Synchronous; lives in the index process.

Chroma holds vectors and metadata; the passages themselves stay with the lexical store, where they are needed for words
anyway: a second copy in Chroma's own full-text table makes writing six times slower (measured: 57 rows a second
instead of 340).
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import numpy
from chromadb.api.models.Collection import Collection as ChromaCollection
from chromadb.config import Settings
from chromadb.errors import NotFoundError

from services.index.models import IndexedChunk, Vector

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_MAX_ASKED = 2_000
_PAGE = 5_000


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A chunk id with the cosine of its vector to the question's."""

    chunk_id: str
    cosine: float


class ChromaStore:
    """Vectors of all collections under one directory. A search never creates a collection."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._client = chromadb.PersistentClient(str(directory), Settings(anonymized_telemetry=False))
        self._open: dict[str, ChromaCollection] = {}

    def add(self, collection: str, space: str, chunks: Sequence[IndexedChunk], vectors: Sequence[Vector]) -> None:
        """Store vectors with their chunks' metadata, replacing those of the same id."""
        self._connect(collection, space, create=True).upsert(
            ids=[chunk.chunk_id for chunk in chunks],
            embeddings=numpy.asarray(vectors, dtype=numpy.float32),
            metadatas=[{**chunk.metadata, "build": chunk.build_id} for chunk in chunks],
        )

    def search(
        self, collection: str, space: str, vector: Vector, limit: int, hidden: Collection[str]
    ) -> list[Neighbour]:
        """The nearest visible chunks, nearest first."""
        store = self._find(collection, space)
        if store is None:
            return []
        asked = limit if not hidden else limit * 2
        while True:
            found = store.query(
                query_embeddings=numpy.asarray([vector], dtype=numpy.float32),
                n_results=asked,
                include=["metadatas", "distances"],
            )
            metadatas, distances = found["metadatas"], found["distances"]
            if metadatas is None or distances is None:
                raise RuntimeError("Chroma left out what it was asked for")
            visible = [
                Neighbour(chunk_id, max(-1.0, min(1.0, 1.0 - distance)))
                for chunk_id, metadata, distance in zip(found["ids"][0], metadatas[0], distances[0], strict=True)
                if metadata.get("build") not in hidden
            ]
            if len(visible) >= limit or len(found["ids"][0]) < asked or asked >= _MAX_ASKED:
                return visible[:limit]
            # Hidden chunks crowd the neighbourhood while a new version is being built: look further out.
            asked *= 4

    def cosines(self, collection: str, space: str, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The cosine of each named chunk that has a vector here."""
        store = self._find(collection, space)
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

    def delete(self, collection: str, space: str, chunk_ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are fine."""
        store = self._find(collection, space)
        if store is not None and chunk_ids:
            store.delete(ids=list(chunk_ids))

    def chunk_ids(self, collection: str, space: str, build_id: str) -> set[str]:
        """The chunks of a build that have a vector."""
        store = self._find(collection, space)
        if store is None:
            return set()
        found: set[str] = set()
        while True:
            page = store.get(where={"build": build_id}, include=[], limit=_PAGE, offset=len(found))["ids"]
            found.update(page)
            if len(page) < _PAGE:
                return found

    def builds(self, collection: str) -> set[str]:
        """Builds with at least one vector in any space."""
        found: set[str] = set()
        for space in self.spaces(collection):
            store = self._connect(collection, space)
            total, offset = store.count(), 0
            while offset < total:
                page = store.get(include=["metadatas"], limit=_PAGE, offset=offset)["metadatas"] or []
                found.update(str(metadata["build"]) for metadata in page)
                offset += _PAGE
        return found

    def count(self, collection: str, space: str) -> int:
        """All vectors of a collection in a space."""
        store = self._find(collection, space)
        return 0 if store is None else store.count()

    def spaces(self, collection: str) -> set[str]:
        """The spaces of a collection, by what the stored collections say of themselves."""
        return {str(metadata["space"]) for metadata in self._described() if metadata.get("collection") == collection}

    def collections(self) -> set[str]:
        """Every collection with vectors in any space."""
        return {str(metadata["collection"]) for metadata in self._described() if "collection" in metadata}

    def drop_space(self, collection: str, space: str) -> None:
        """Remove a collection's vectors of one space."""
        name = _chroma_name(collection, space)
        self._open.pop(name, None)
        try:
            self._client.delete_collection(name)
        except NotFoundError:
            return

    def _described(self) -> Iterable[dict[str, Any]]:
        return [dict(store.metadata or {}) for store in self._client.list_collections()]

    def _find(self, collection: str, space: str) -> ChromaCollection | None:
        try:
            return self._connect(collection, space)
        except NotFoundError:
            return None

    def _connect(self, collection: str, space: str, *, create: bool = False) -> ChromaCollection:
        name = _chroma_name(collection, space)
        if (store := self._open.get(name)) is not None:
            return store
        identity = {"collection": collection, "space": space}
        # No embedding function anywhere: the default one would fetch a model at its first use.
        if create:
            store = self._client.get_or_create_collection(
                name, metadata={**identity, "hnsw:space": "cosine"}, embedding_function=None
            )
        else:
            store = self._client.get_collection(name, embedding_function=None)
        described = store.metadata or {}
        if {key: described.get(key) for key in identity} != identity:
            raise RuntimeError(f"Chroma collection {name} says it is {described}")
        self._open[name] = store
        return store


def _chroma_name(collection: str, space: str) -> str:
    name = f"{collection}.{space}"
    if _NAME.fullmatch(name) and ".." not in name:
        return name
    return f"{collection[:40].strip('._-') or 'c'}.{hashlib.sha256(name.encode()).hexdigest()[:32]}"
