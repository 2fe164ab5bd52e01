"""The embedded index: words in SQLite and vectors in Chroma, in one directory.

Synchronous; it runs in the index process.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from services.index.chroma import ChromaStore
from services.index.lexical import LexicalStore
from services.index.models import Hit, IndexCount, IndexedChunk, SearchRequest, SearchResult, Vector
from services.index.tokens import matched_terms
from services.index.topic import topic_of
from services.text.cleaning import without_surrogates


class LocalIndex:
    """Both stores as one. The caller writes words before vectors, so a chunk with a vector always has its text."""

    def __init__(self, directory: Path) -> None:
        self._words = LexicalStore(directory / "lexical")
        self._vectors = ChromaStore(directory / "chroma")

    def add_words(self, collection: str, chunks: Sequence[IndexedChunk]) -> None:
        """Store chunks by words; see `SearchIndex.add_words`."""
        if chunks:
            self._words.add(collection, [_storable(chunk) for chunk in chunks])

    def add_vectors(
        self, collection: str, embedding_fingerprint: str, chunks: Sequence[IndexedChunk], vectors: Sequence[Vector]
    ) -> None:
        """Store the vectors of chunks; see `SearchIndex.add_vectors`."""
        if chunks:
            self._vectors.add(collection, embedding_fingerprint, chunks, vectors)

    def search(self, request: SearchRequest) -> SearchResult:
        """Return candidates of both channels with the facts of each; see `SearchIndex.search`."""
        collection, embedding_fingerprint, vector = request.collection, request.embedding_fingerprint, request.vector
        words = self._words.search(collection, request.text, request.limit, request.hidden_builds)
        stored = {item.chunk.chunk_id: item for item, _ in words.hits}
        bm25 = {item.chunk.chunk_id: score for item, score in words.hits}
        cosine: dict[str, float] = {}
        topic = cohesion = None
        if vector is not None:
            topic, cohesion = topic_of(vector, self._vectors.mean(collection, embedding_fingerprint))
            near = self._vectors.search(collection, embedding_fingerprint, vector, request.limit, request.hidden_builds)
            cosine = {neighbour.chunk_id: neighbour.cosine for neighbour in near}
            missing = [chunk_id for chunk_id in stored if chunk_id not in cosine]
            cosine |= self._vectors.cosines(collection, embedding_fingerprint, vector, missing)
            only_near = [neighbour.chunk_id for neighbour in near if neighbour.chunk_id not in stored]
            stored |= {item.chunk.chunk_id: item for item in self._words.get(collection, only_near)}
        terms = [term for term, count in words.document_frequency.items() if count]
        hits: list[Hit] = []
        for chunk_id, item in stored.items():
            matched = matched_terms(item.normal, terms)
            hits.append(Hit(item.chunk, cosine.get(chunk_id), bm25.get(chunk_id), matched))
        return SearchResult(tuple(hits), words.document_frequency, words.chunk_count, topic, cohesion)

    def chunk_ids(self, collection: str, embedding_fingerprint: str, build_id: str) -> set[str]:
        """Return the completely stored chunks; see `SearchIndex.chunk_ids`."""
        stored = self._words.chunk_ids(collection, build_id)
        if not embedding_fingerprint:
            return stored
        return stored & self._vectors.chunk_ids(collection, embedding_fingerprint, build_id)

    def builds(self, collection: str) -> dict[str, int]:
        """Return the stored builds; see `SearchIndex.builds`."""
        return self._words.builds(collection)

    def chunks(self, collection: str, build_id: str, start: int, limit: int) -> list[IndexedChunk]:
        """Return the chunks of a build in order."""
        return self._words.page(collection, build_id, start, limit)

    def around(
        self, collection: str, places: Sequence[tuple[str, int]], reach: int
    ) -> dict[tuple[str, int], list[IndexedChunk]]:
        """Return the neighbours of each place."""
        return self._words.around(collection, places, reach)

    def aliases(self, collection: str, text: str, limit: int, hidden_builds: Collection[str]) -> list[str]:
        """Return other names for what a text names."""
        return self._words.aliases(collection, text, limit, hidden_builds)

    def spellings(self, collection: str, words: Sequence[str], hidden_builds: Collection[str]) -> dict[str, str]:
        """Return the spellings of known words."""
        return self._words.spellings(collection, words, hidden_builds)

    def delete_some(self, collection: str, build_id: str, limit: int) -> int:
        """Remove up to `limit` chunks of a build with their vectors, and return how many, 0 if none is left.

        Vectors are removed first: without the words they could no longer be found for removal.
        """
        embedding_fingerprints = self._vectors.embedding_fingerprints(collection)
        chunk_ids = [chunk.chunk_id for chunk in self._words.page(collection, build_id, 0, limit)]
        for embedding_fingerprint in embedding_fingerprints:
            self._vectors.delete(collection, embedding_fingerprint, chunk_ids)
        if chunk_ids:
            return self._words.delete_chunks(collection, chunk_ids)
        # Vectors whose words are lost, for example because only a part of the directory was restored.
        for embedding_fingerprint in embedding_fingerprints:
            if stray := sorted(self._vectors.chunk_ids(collection, embedding_fingerprint, build_id))[:limit]:
                self._vectors.delete(collection, embedding_fingerprint, stray)
                return len(stray)
        return 0

    def count(self, collection: str, embedding_fingerprint: str) -> IndexCount:
        """Return the sizes of a collection."""
        return IndexCount(self._words.count(collection), self._vectors.count(collection, embedding_fingerprint))

    def embedding_fingerprints(self, collection: str) -> set[str]:
        """Return the models of the stored vectors."""
        return self._vectors.embedding_fingerprints(collection)

    def drop_vectors(self, collection: str, embedding_fingerprint: str) -> None:
        """Remove the vectors of one model."""
        self._vectors.drop_vectors(collection, embedding_fingerprint)

    def collections(self) -> set[str]:
        """Return all collections."""
        return self._words.collections() | self._vectors.collections()

    def close(self) -> None:
        """Close the files."""
        self._words.close()
        self._vectors.close()


def _storable(chunk: IndexedChunk) -> IndexedChunk:
    """Return the chunk without lone surrogates, which some PDF fonts produce and no store can write."""
    metadata = {key: _storable_value(value) for key, value in chunk.metadata.items()}
    return replace(
        chunk, text=without_surrogates(chunk.text), context=without_surrogates(chunk.context), metadata=metadata
    )


def _storable_value(value: str | int | float | bool) -> str | int | float | bool:
    return without_surrogates(value) if isinstance(value, str) else value
