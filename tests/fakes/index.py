"""A search index in memory: honest brute force, for tests of everything that uses an index."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from services.errors import SearchIndexError
from services.index.models import Hit, IndexCount, IndexedChunk, SearchRequest, SearchResult, Vector
from services.index.tokens import index_terms, query_terms

# The constants of SQLite's bm25(), so that scores have the size that they have in the real index.
_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6


class MemoryIndex:
    """Implements `SearchIndex`. `fail` makes every call raise `SearchIndexError` until it is set back."""

    def __init__(self) -> None:
        self.fail = False
        self._closed = False
        self._words: dict[str, dict[str, IndexedChunk]] = {}
        self._vectors: dict[tuple[str, str], dict[str, tuple[str, tuple[float, ...]]]] = {}

    async def add(
        self, collection: str, space: str, chunks: Sequence[IndexedChunk], vectors: Sequence[Vector] | None
    ) -> None:
        """Store chunks, replacing those of the same id."""
        self._check()
        if not chunks:
            return
        self._words.setdefault(collection, {}).update({chunk.chunk_id: chunk for chunk in chunks})
        if vectors is not None:
            stored = self._vectors.setdefault((collection, space), {})
            for chunk, vector in zip(chunks, vectors, strict=True):
                stored[chunk.chunk_id] = (chunk.build_id, tuple(vector))

    async def search(self, request: SearchRequest) -> SearchResult:
        """Score every chunk in both channels and keep the best `limit` of each."""
        self._check()
        chunks = self._words.get(request.collection, {})
        terms = query_terms(request.text)
        counts = {chunk_id: Counter(_terms(chunk)) for chunk_id, chunk in chunks.items()}
        frequency = {term: sum(term in count for count in counts.values()) for term in terms}
        visible = {chunk_id for chunk_id, chunk in chunks.items() if chunk.build_id not in request.hidden_builds}
        bm25 = _best({key: score for key, score in _bm25(counts, frequency).items() if key in visible}, request.limit)
        cosine: dict[str, float] = {}
        if request.vector is not None:
            stored = self._vectors.get((request.collection, request.space), {})
            question = request.vector
            cosine = {key: _cosine(question, vector) for key, (_, vector) in stored.items() if key in visible}
        found = [*bm25, *(key for key in _best(cosine, request.limit) if key not in bm25)]
        hits = tuple(
            Hit(
                chunk=chunks[key],
                cosine=cosine.get(key),
                bm25=bm25.get(key),
                matched=frozenset(term for term in terms if term in counts[key]),
            )
            for key in found
        )
        return SearchResult(hits, frequency, len(chunks))

    async def chunk_ids(self, collection: str, space: str, build_id: str) -> set[str]:
        """Chunks of a build with words and, unless `space` is empty, a vector."""
        self._check()
        words = {key for key, chunk in self._words.get(collection, {}).items() if chunk.build_id == build_id}
        return words & self._vectors.get((collection, space), {}).keys() if space else words

    async def chunks(self, collection: str, build_id: str, start: int = 0, limit: int = 20) -> list[IndexedChunk]:
        """Chunks of a build by ordinal."""
        self._check()
        of_build = (chunk for chunk in self._words.get(collection, {}).values() if chunk.build_id == build_id)
        return sorted((chunk for chunk in of_build if chunk.ordinal >= start), key=lambda chunk: chunk.ordinal)[:limit]

    async def delete_build(self, collection: str, build_id: str) -> None:
        """Remove a build from words and every space."""
        self._check()
        words = self._words.get(collection, {})
        for key in [key for key, chunk in words.items() if chunk.build_id == build_id]:
            del words[key]
        for (owner, _), stored in self._vectors.items():
            if owner == collection:
                for key in [key for key, (build, _) in stored.items() if build == build_id]:
                    del stored[key]

    async def builds(self, collection: str) -> set[str]:
        """Builds with words or vectors."""
        self._check()
        found = {chunk.build_id for chunk in self._words.get(collection, {}).values()}
        for (owner, _), stored in self._vectors.items():
            if owner == collection:
                found |= {build for build, _ in stored.values()}
        return found

    async def count(self, collection: str, space: str) -> IndexCount:
        """Sizes of both parts."""
        self._check()
        return IndexCount(len(self._words.get(collection, {})), len(self._vectors.get((collection, space), {})))

    async def spaces(self, collection: str) -> set[str]:
        """Spaces of a collection."""
        self._check()
        return {space for owner, space in self._vectors if owner == collection}

    async def drop_space(self, collection: str, space: str) -> None:
        """Remove the vectors of one space."""
        self._check()
        self._vectors.pop((collection, space), None)

    async def drop(self, collection: str) -> None:
        """Remove a collection."""
        self._check()
        self._words.pop(collection, None)
        for key in [key for key in self._vectors if key[0] == collection]:
            del self._vectors[key]

    async def collections(self) -> set[str]:
        """All collections."""
        self._check()
        return set(self._words) | {owner for owner, _ in self._vectors}

    async def close(self) -> None:
        """Refuse every further call."""
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise SearchIndexError("资料索引已经关闭。")
        if self.fail:
            raise SearchIndexError("资料索引出错了，请稍后再试。")


def _terms(chunk: IndexedChunk) -> list[str]:
    return index_terms(f"{chunk.context}\n{chunk.text}")


def _bm25(counts: Mapping[str, Counter[str]], frequency: Mapping[str, int]) -> dict[str, float]:
    """Okapi BM25 as SQLite's FTS5 has it; only chunks that share a term are in the result."""
    total = len(counts)
    average = sum(count.total() for count in counts.values()) / total if total else 1.0
    scores: dict[str, float] = {}
    for key, count in counts.items():
        shared = [term for term in frequency if term in count]
        if not shared:
            continue
        length = _K1 * (1 - _B + _B * count.total() / average)
        scores[key] = sum(
            max(math.log((total - frequency[term] + 0.5) / (frequency[term] + 0.5)), _LEAST_IDF)
            * count[term]
            * (_K1 + 1)
            / (count[term] + length)
            for term in shared
        )
    return scores


def _cosine(left: Vector, right: Vector) -> float:
    norms = math.hypot(*left) * math.hypot(*right)
    dot = sum(a * b for a, b in zip(left, right, strict=True))
    return max(-1.0, min(1.0, dot / norms)) if norms else 0.0


def _best(scores: Mapping[str, float], limit: int) -> dict[str, float]:
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit])
