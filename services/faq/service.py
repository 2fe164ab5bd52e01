"""Approved answers of all collections: look-ups, and changes by those who may make them."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache

from services.embeddings.models import EmbeddingModel
from services.errors import EmbeddingError, RecordsError
from services.faq.answers import MOST_CHOICES
from services.faq.basis import Visible, basis_of, entry_of, restated, visible
from services.faq.models import Approver, Change, FaqBand, FaqEntry, FaqMatch, FaqOrigin, Pair, Refused, Written
from services.faq.pairs import QUESTION_CHARS, cited, read_pair
from services.faq.question_index import UNRELATED, ApprovedQuestion, Nearest, QuestionIndex, Vector, average_cosine
from services.faq.wording import Wording, normal_question, read_wording, searched
from services.records.conversations import Source
from services.records.documents import DocumentRecords
from services.records.faq import FaqRecords, NewFaq, StoredFaq
from services.records.faq import Written as StoredWriting
from services.retrieval.models import Question

MOST_ENTRIES = 1000
_FULL = Refused(f"问答最多 {MOST_ENTRIES} 条，放不下了，请先用 /faq delete 编号 删掉不用的。")
# A longer message is no question that somebody approved an answer to.
_LONGEST_ASKED = 2 * QUESTION_CHARS
_COLLECTIONS = 64
_AT_A_TIME = 64
# After a failure of the embedding model, questions without vectors wait so long for another attempt.
_RETRY_S = 60.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The entries of a collection and their questions in memory. `incomplete` means that some vectors are missing."""

    stored: Sequence[StoredFaq]
    by_number: Mapping[int, StoredFaq]
    index: QuestionIndex
    incomplete: bool


class FaqService:
    """Look-ups and changes. Every method concerns one collection only."""

    def __init__(
        self,
        records: FaqRecords,
        documents: DocumentRecords,
        embedding: EmbeddingModel,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._records = records
        self._documents = documents
        self._embedding = embedding
        self._clock = clock
        self._loaded: LRUCache[str, _Loaded] = LRUCache(_COLLECTIONS)
        self._unrelated: float | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._retry_at: dict[str, float] = {}

    # -- look-up ------------------------------------------------------------------------------------------------------

    async def look_up(self, collection: str, question: Question) -> FaqMatch:
        """Return the approved answer to a question, or the entries among which the person has to choose.

        A question that quotes a message is only found if its own words are those of an entry. A collection without
        entries costs one look into memory. Raise `RecordsError` if the database fails.
        """
        stored = await self._records.current(collection)
        if not stored or len(question.text) > _LONGEST_ASKED:
            return FaqMatch(FaqBand.NONE)
        loaded = await self._load(collection, stored)
        found = await self._nearest(loaded.index, read_wording(question.text), question)
        documents = await self._visible(collection)
        direct = None if found.direct is None else entry_of(loaded.by_number[found.direct], documents)
        if direct is not None:
            return FaqMatch(FaqBand.NONE, stale=direct) if direct.stale else FaqMatch(FaqBand.DIRECT, direct)
        candidates = [entry_of(loaded.by_number[number], documents) for number in found.candidates]
        choices = tuple(entry for entry in candidates if not entry.stale)[:MOST_CHOICES]
        return FaqMatch(FaqBand.ASK, choices=choices) if choices else FaqMatch(FaqBand.NONE)

    async def entry(self, collection: str, number: int) -> FaqEntry | None:
        """Return the entry of a number, or None if there is none."""
        return next((entry for entry in await self.entries(collection) if entry.number == number), None)

    async def entries(self, collection: str) -> list[FaqEntry]:
        """Return all entries of a collection by number, at most `MOST_ENTRIES`."""
        documents = await self._visible(collection)
        return [entry_of(each, documents) for each in await self._records.current(collection)]

    # -- changes ------------------------------------------------------------------------------------------------------

    async def add(
        self,
        collection: str,
        question: str,
        answer: str,
        approver: Approver,
        origin: FaqOrigin,
        sources: Sequence[Source] = (),
    ) -> Written | Refused:
        """Write an approved answer. If the same question has another one, that is replaced by a new version.

        Of the numbers 〔n〕 in the answer, those without a source are removed.
        """
        pair = read_pair(question, answer)
        if isinstance(pair, str):
            return Refused(f"没有记下：{pair}。")
        documents = await self._visible(collection)
        basis = basis_of(sources, documents)
        text, named = cited(pair.answer, tuple(sources))
        normal = normal_question(pair.question)
        before = next((each for each in await self._records.current(collection) if each.normal == normal), None)
        if before is not None and (before.answer, before.sources, before.basis) == (text, named, basis):
            return Written(Change.SAME, entry_of(before, documents))
        new = NewFaq(pair.question, normal, text, named, basis, origin, approver.user_id, approver.name)
        written = await self._records.write(collection, [new], MOST_ENTRIES)
        if written is None:
            return _FULL
        await self._complete(collection)
        return _change(written[0], documents)

    async def add_all(self, collection: str, pairs: Sequence[Pair], approver: Approver) -> list[Written] | Refused:
        """Write the pairs of a table, all of them or none. Those that are there already stay as they are."""
        documents = await self._visible(collection)
        present = {each.normal: each for each in await self._records.current(collection)}
        normals = await asyncio.to_thread(_normals, pairs)
        # A table has no sources: the same answer comes back without its numbers, and stays as it is.
        answers = {normal: cited(entry.answer, ())[0] for normal, entry in present.items()}
        new = [
            NewFaq(pair.question, normal, text, (), (), FaqOrigin.IMPORT, approver.user_id, approver.name)
            for pair, normal in zip(pairs, normals, strict=True)
            if (text := cited(pair.answer, ())[0]) != answers.get(normal)
        ]
        written = await self._records.write(collection, new, MOST_ENTRIES)
        if written is None:
            return _FULL
        await self._complete(collection)
        changed = {each.normal for each in new}
        same = [
            Written(Change.SAME, entry_of(present[normal], documents)) for normal in normals if normal not in changed
        ]
        return [*(_change(each, documents) for each in written), *same]

    async def edit(self, collection: str, number: int, answer: str, approver: Approver) -> Written | Refused | None:
        """Give an entry another answer, as a new version. Return None if there is no such entry.

        The answer is valid for the documents as they are now.
        """
        stored = await self._stored(collection, number)
        if stored is None:
            return None
        pair = read_pair(stored.question, answer)
        if isinstance(pair, str):
            return Refused(f"没有改：{pair}。")
        return await self._restate(collection, stored, pair.answer, approver)

    async def confirm(self, collection: str, number: int, approver: Approver) -> Written | None:
        """Declare that an answer holds for the documents as they are now. Return None if there is no such entry."""
        stored = await self._stored(collection, number)
        return stored and await self._restate(collection, stored, stored.answer, approver)

    async def delete(self, collection: str, number: int) -> FaqEntry | None:
        """Delete an entry with all its versions, and return it, or None if there is no such entry."""
        deleted = await self._records.delete(collection, number)
        return deleted and entry_of(deleted, {})

    async def close(self) -> None:
        """End what is still embedding."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _restate(self, collection: str, stored: StoredFaq, answer: str, approver: Approver) -> Written | None:
        documents = await self._visible(collection)
        text, sources, basis = restated(answer, stored, documents)
        new = NewFaq(
            stored.question, stored.normal, text, sources, basis, stored.origin, approver.user_id, approver.name
        )
        written = await self._records.change(collection, stored.number, new)
        return written and _change(written, documents)

    async def _stored(self, collection: str, number: int) -> StoredFaq | None:
        return next((each for each in await self._records.current(collection) if each.number == number), None)

    async def _visible(self, collection: str) -> Visible:
        return visible(await self._documents.listed(collection))

    # -- vectors ------------------------------------------------------------------------------------------------------

    async def _load(self, collection: str, stored: Sequence[StoredFaq]) -> _Loaded:
        loaded = self._loaded.get(collection)
        if loaded is None or loaded.stored is not stored:
            unrelated = await self._unrelated_cosine(stored)
            loaded = await asyncio.to_thread(_built, stored, self._embedding.fingerprint, unrelated)
            self._loaded[collection] = loaded
        if loaded.incomplete and self._clock() >= self._retry_at.get(collection, 0.0):
            self._completing(collection)
        return loaded

    async def _nearest(self, index: QuestionIndex, asked: Wording, question: Question) -> Nearest:
        """Return what a question means. Its vector is only computed if its words do not say it."""
        by_words = index.same(asked) if question.material else index.nearest(asked, None).direct
        if by_words is not None or question.material or not index.compares_vectors:
            return Nearest(by_words)
        try:
            vector = await self._embedding.embeddings.aembed_query(searched(question.text))
        except EmbeddingError as error:
            log.warning("approved answers are found by their words only: %s", error)
            return Nearest()
        return index.nearest(asked, np.asarray(vector, np.float32))

    async def _unrelated_cosine(self, stored: Sequence[StoredFaq]) -> float | None:
        """Return what unrelated questions have, or None if it cannot be computed or is not needed."""
        if self._unrelated is None and any(each.fingerprint == self._embedding.fingerprint for each in stored):
            try:
                self._unrelated = average_cosine(await self._embed(UNRELATED))
            except EmbeddingError as error:
                log.warning("approved answers are found by their words only: %s", error)
        return self._unrelated

    async def _complete(self, collection: str) -> None:
        """Wait until the entries have vectors, or the embedding model has failed."""
        await asyncio.shield(self._completing(collection))

    def _completing(self, collection: str) -> asyncio.Task[None]:
        task = self._tasks.get(collection)
        if task is None or task.done():
            task = asyncio.create_task(self._embed_missing(collection), name=f"faq-{collection}")
            self._tasks[collection] = task
            task.add_done_callback(lambda done: self._tasks.get(collection) is done and self._tasks.pop(collection))
        return task

    async def _embed_missing(self, collection: str) -> None:
        fingerprint = self._embedding.fingerprint
        try:
            while missing := [
                each for each in await self._records.current(collection) if each.fingerprint != fingerprint
            ]:
                part = missing[:_AT_A_TIME]
                vectors = await self._embed([searched(each.question) for each in part])
                made = {each.normal: vector.tobytes() for each, vector in zip(part, vectors, strict=True)}
                await self._records.store_vectors(collection, made, fingerprint)
        except (EmbeddingError, RecordsError) as error:
            log.warning("the approved questions of %s have no vectors yet: %s", collection, error)
            self._retry_at[collection] = self._clock() + _RETRY_S

    async def _embed(self, texts: Sequence[str]) -> Vector:
        """Return the vectors of questions, a few at a time, so that people who ask do not wait for all of them."""
        vectors: list[list[float]] = []
        at_once = self._embedding.parallel_batches
        for start in range(0, len(texts), at_once):
            part = texts[start : start + at_once]
            vectors += await asyncio.gather(*map(self._embedding.embeddings.aembed_query, part))
        return np.asarray(vectors, "<f4")


def _normals(pairs: Sequence[Pair]) -> list[str]:
    return [normal_question(pair.question) for pair in pairs]


def _built(stored: Sequence[StoredFaq], fingerprint: str, unrelated: float | None) -> _Loaded:
    questions = [
        ApprovedQuestion(
            each.number,
            read_wording(each.question),
            " ".join(each.answer.split()),
            _vector(each, fingerprint) if unrelated is not None else None,
        )
        for each in stored
    ]
    incomplete = any(question.vector is None for question in questions)
    by_number = {each.number: each for each in stored}
    return _Loaded(stored, by_number, QuestionIndex(questions, unrelated or 0.0), incomplete)


def _vector(stored: StoredFaq, fingerprint: str) -> Vector | None:
    if stored.vector is None or stored.fingerprint != fingerprint:
        return None
    return np.frombuffer(stored.vector, "<f4")


def _change(written: StoredWriting, documents: Visible) -> Written:
    entry = entry_of(written.entry, documents)
    if written.replaced is None:
        return Written(Change.ADDED, entry)
    if written.replaced.answer == written.entry.answer:
        return Written(Change.SAME, entry)
    return Written(Change.REPLACED, entry, written.replaced.answer)
