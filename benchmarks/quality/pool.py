"""All passages of an experiment, searched exactly: any subset of them is a collection, without building an index.

Training asks thousands of questions of hundreds of collections. The real index is for measurements (see `collection`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.datasets import Passage
from services.embeddings.models import CosineScale
from services.index.models import Hit, IndexedChunk, SearchResult
from services.index.tokens import index_terms_of_normal, normalise, query_terms
from services.index.topic import topic_of
from services.retrieval.conflicts import read_question
from services.retrieval.features import Evidence, relevant
from services.retrieval.fuse import fuse, weigh
from services.retrieval.models import Question
from services.retrieval.query import build_query

_RECALL = 30
_K1, _B = 1.2, 0.75
_NONE = np.empty(0, np.int64)

Members = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question as the retriever searches it."""

    text: str
    vector: NDArray[np.float32]


def cleaned(messages: Sequence[str]) -> list[str]:
    """Return messages as the retriever embeds and searches them."""
    return [build_query(Question(message)).text for message in messages]


class Pool:
    """Passages with their vectors (passages, 384) and the postings of their terms."""

    def __init__(self, passages: Sequence[Passage], vectors: NDArray[np.float32]) -> None:
        self.passages = list(passages)
        self.vectors = vectors
        self._normals = [normalise(f"{passage.context}\n{passage.text}") for passage in passages]
        postings: dict[str, list[int]] = {}
        lengths: list[int] = []
        for number, normal in enumerate(self._normals):
            terms = index_terms_of_normal(normal)
            lengths.append(len(terms))
            for term in set(terms):
                postings.setdefault(term, []).append(number)
        self._postings = {term: np.array(numbers) for term, numbers in postings.items()}
        self._lengths = np.array(lengths, np.float64)

    def members(self, numbers: Sequence[int] | NDArray[np.int64]) -> Members:
        """Return the collection of these passages as a mask."""
        members = np.zeros(len(self.passages), np.bool_)
        members[np.asarray(numbers, np.int64)] = True
        return members

    def evidence(self, members: Members, question: AskedQuestion) -> Evidence | None:
        """Return the evidence of one recall from this collection, or None if it finds nothing."""
        result = self._search(members, question)
        words = weigh(question.text, result.document_frequency, result.chunk_count)
        recalled = fuse(words, result, CosineScale.E5)
        if not recalled:
            return None
        vector = question.vector.tolist()
        asked = read_question(question.text)
        return Evidence(question.text, words, relevant(asked, recalled), vector, result.topic, result.cohesion, asked)

    def _search(self, members: Members, question: AskedQuestion) -> SearchResult:
        size = int(members.sum())
        found = {term: self._postings.get(term, _NONE) for term in query_terms(question.text)}
        found = {term: numbers[members[numbers]] for term, numbers in found.items()}
        mean_length = float(self._lengths[members].mean())
        bm25 = np.zeros(len(self.passages))
        for numbers in found.values():
            weight = np.log(1 + (size - len(numbers) + 0.5) / (len(numbers) + 0.5))
            bm25[numbers] += weight * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * self._lengths[numbers] / mean_length))
        cosines = self.vectors @ question.vector
        dense = _best(np.where(members, cosines, -2.0), min(_RECALL, size))
        lexical = _best(bm25, min(_RECALL, int((bm25 > 0).sum())))
        hits: list[Hit] = []
        for number in np.union1d(dense, lexical).tolist():
            passage = self.passages[number]
            chunk = IndexedChunk(f"{number:06d}", passage.document, passage.ordinal, passage.text, passage.context)
            matched = frozenset(term for term, numbers in found.items() if _contains(numbers, number))
            hits.append(Hit(chunk, float(cosines[number]), float(bm25[number]) or None, matched))
        topic, cohesion = topic_of(question.vector.tolist(), self._mean(members))
        return SearchResult(tuple(hits), {term: len(n) for term, n in found.items()}, size, topic, cohesion)

    def _mean(self, members: Members) -> NDArray[np.float32]:
        key = members.tobytes()
        if getattr(self, "_mean_key", None) != key:
            self._mean_key, self._mean_value = key, self.vectors[members].mean(axis=0)
        return self._mean_value


def _best(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    if count <= 0:
        return _NONE
    return np.argpartition(-scores, count - 1)[:count]


def _contains(numbers: NDArray[np.int64], number: int) -> bool:
    position = int(np.searchsorted(numbers, number))
    return position < len(numbers) and int(numbers[position]) == number
