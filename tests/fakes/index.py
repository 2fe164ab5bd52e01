"""A search index in memory by brute force, for tests of everything that uses an index."""

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy

from services.errors import SearchIndexError
from services.index.aliases import definitions, is_in
from services.index.models import Hit, IndexCount, IndexedChunk, SearchRequest, SearchResult, Vector
from services.index.tokens import exact_terms, index_terms, is_word, normalise, query_terms, spelling_in
from services.index.topic import topic_of

# The constants of SQLite's bm25(), so that scores are as large as in the real index.
_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6
# Exact terms of at most this many chunks are found regardless of BM25; see `ranking.best_chunks`.
_RARE = 5


class MemoryIndex:
    """An implementation of `SearchIndex`.

    Every call raises `SearchIndexError` while `fail` is set. `fail_vectors` affects only searches by vector.
    `search_count` counts the searches.
    """

    def __init__(self) -> None:
        self.fail = False
        self.fail_vectors = False
        self.search_count = 0
        self._closed = False
        self._words: dict[str, dict[str, IndexedChunk]] = {}
        self._vectors: dict[tuple[str, str], dict[str, tuple[str, tuple[float, ...]]]] = {}

    async def add_words(self, collection: str, chunks: Sequence[IndexedChunk]) -> None:
        """Store chunks by words, replacing those with the same id, giving way to other tasks as the real index does."""
        await asyncio.sleep(0)
        self._check()
        if chunks:
            self._words.setdefault(collection, {}).update({chunk.chunk_id: chunk for chunk in chunks})

    async def add_vectors(
        self, collection: str, embedding_fingerprint: str, chunks: Sequence[IndexedChunk], vectors: Sequence[Vector]
    ) -> None:
        """Store the vectors of chunks, replacing those of the same model."""
        self._check()
        if chunks:
            stored = self._vectors.setdefault((collection, embedding_fingerprint), {})
            for chunk, vector in zip(chunks, vectors, strict=True):
                stored[chunk.chunk_id] = (chunk.build_id, tuple(vector))

    async def search(self, request: SearchRequest) -> SearchResult:
        """Score every chunk in both channels and keep the best `limit` of each."""
        self._check()
        self.search_count += 1
        if self.fail_vectors and request.vector is not None:
            raise SearchIndexError("资料索引出错了，请稍后再试。", "the vectors are broken")
        chunks = self._words.get(request.collection, {})
        terms = query_terms(request.text)
        counts = {chunk_id: Counter(_terms(chunk)) for chunk_id, chunk in chunks.items()}
        frequency = {term: sum(term in count for count in counts.values()) for term in terms}
        visible = {chunk_id for chunk_id, chunk in chunks.items() if chunk.build_id not in request.hidden_builds}
        scores = {key: score for key, score in _bm25(counts, frequency).items() if key in visible}
        rare = {term for term in exact_terms(request.text) if 0 < frequency[term] <= _RARE}
        weight = {
            key: sum(math.log1p(len(chunks) / frequency[term]) for term in rare if term in counts[key])
            for key in scores
        }
        meant = _best({key: value for key, value in weight.items() if value}, request.limit // 2)
        others = _best({key: score for key, score in scores.items() if key not in meant}, request.limit - len(meant))
        bm25 = _best({key: scores[key] for key in (*meant, *others)}, request.limit)
        cosine: dict[str, float] = {}
        if request.vector is not None:
            stored = self._vectors.get((request.collection, request.embedding_fingerprint), {})
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
        return SearchResult(hits, frequency, len(chunks), *self._topic(request))

    def _topic(self, request: SearchRequest) -> tuple[float | None, float | None]:
        stored = self._vectors.get((request.collection, request.embedding_fingerprint), {})
        if request.vector is None or not stored:
            return None, None
        return topic_of(request.vector, numpy.mean([vector for _, vector in stored.values()], axis=0))

    async def chunk_ids(self, collection: str, embedding_fingerprint: str, build_id: str) -> set[str]:
        """Return the chunks of a build that have words and, unless `embedding_fingerprint` is empty, a vector."""
        self._check()
        words = {key for key, chunk in self._words.get(collection, {}).items() if chunk.build_id == build_id}
        if not embedding_fingerprint:
            return words
        return words & self._vectors.get((collection, embedding_fingerprint), {}).keys()

    async def builds(self, collection: str) -> dict[str, int]:
        """Stored builds and their sizes."""
        self._check()
        return dict(Counter(chunk.build_id for chunk in self._words.get(collection, {}).values()))

    async def chunks(self, collection: str, build_id: str, start: int = 0, limit: int = 20) -> list[IndexedChunk]:
        """Return the chunks of a build by ordinal."""
        self._check()
        of_build = (chunk for chunk in self._words.get(collection, {}).values() if chunk.build_id == build_id)
        return sorted((chunk for chunk in of_build if chunk.ordinal >= start), key=lambda chunk: chunk.ordinal)[:limit]

    async def around(
        self, collection: str, places: Sequence[tuple[str, int]], reach: int
    ) -> dict[tuple[str, int], list[IndexedChunk]]:
        """Return the neighbours by ordinal."""
        self._check()
        stored = sorted(self._words.get(collection, {}).values(), key=lambda chunk: chunk.ordinal)
        return {
            (build_id, ordinal): [
                chunk for chunk in stored if chunk.build_id == build_id and abs(chunk.ordinal - ordinal) <= reach
            ]
            for build_id, ordinal in places
        }

    async def aliases(self, collection: str, text: str, limit: int, hidden_builds: Collection[str] = ()) -> list[str]:
        """Return the names that visible chunks define for names in the text, those of the longest name first."""
        self._check()
        normal = normalise(text)
        seen: Counter[tuple[str, str]] = Counter()
        for chunk in self._words.get(collection, {}).values():
            if chunk.build_id in hidden_builds:
                continue
            for left, right in definitions(chunk.text):
                for name, other in ((normalise(left), right), (normalise(right), left)):
                    if is_in(name, normal) and not is_in(normalise(other), normal):
                        seen[name, other] += 1
        found: dict[str, str] = {}
        for _, other in sorted(seen, key=lambda pair: (-len(pair[0]), -seen[pair], pair)):
            found.setdefault(normalise(other), other)
        return list(found.values())[:limit]

    async def spellings(
        self, collection: str, words: Sequence[str], hidden_builds: Collection[str] = ()
    ) -> dict[str, str]:
        """Return the spelling of each word in the first visible chunk that contains it."""
        self._check()
        chunks = [each for each in self._words.get(collection, {}).values() if each.build_id not in hidden_builds]
        found: dict[str, str] = {}
        for word in filter(is_word, words):
            spelt = (spelling_in(f"{each.context}\n{each.text}", word) for each in chunks)
            if spelling := next(filter(None, spelt), ""):
                found[word] = spelling
        return found

    async def delete_build(self, collection: str, build_id: str) -> None:
        """Remove a build from the words and from the vectors of every model."""
        self._check()
        words = self._words.get(collection, {})
        for key in [key for key, chunk in words.items() if chunk.build_id == build_id]:
            del words[key]
        for (owner, _), stored in self._vectors.items():
            if owner == collection:
                for key in [key for key, (build, _) in stored.items() if build == build_id]:
                    del stored[key]

    async def count(self, collection: str, embedding_fingerprint: str) -> IndexCount:
        """Return the sizes of both parts."""
        self._check()
        return IndexCount(
            len(self._words.get(collection, {})), len(self._vectors.get((collection, embedding_fingerprint), {}))
        )

    async def embedding_fingerprints(self, collection: str) -> set[str]:
        """Return the models of a collection's vectors."""
        self._check()
        return {embedding_fingerprint for owner, embedding_fingerprint in self._vectors if owner == collection}

    async def drop_vectors(self, collection: str, embedding_fingerprint: str) -> None:
        """Remove the vectors of one model."""
        self._check()
        self._vectors.pop((collection, embedding_fingerprint), None)

    async def collections(self) -> set[str]:
        """Return all collections."""
        self._check()
        return set(self._words) | {owner for owner, _ in self._vectors}

    async def close(self) -> None:
        """Reject every further call."""
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise SearchIndexError("资料索引已经关闭。")
        if self.fail:
            raise SearchIndexError("资料索引出错了，请稍后再试。")


def _terms(chunk: IndexedChunk) -> list[str]:
    return index_terms(f"{chunk.context}\n{chunk.text}")


def _bm25(counts: Mapping[str, Counter[str]], frequency: Mapping[str, int]) -> dict[str, float]:
    """Return Okapi BM25 as in SQLite's FTS5, only for chunks that share a term with the question."""
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
