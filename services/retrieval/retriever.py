"""The retriever, which is the only way to search a knowledge base.

build_query ─► recall ─► fuse ─► rerank ─► gate ─► approved references

A question whose own words fall short (`is_near_miss`) is searched once more with other words; `better` chooses.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from services.embeddings.models import EmbeddingModel
from services.errors import EmbeddingError, ReadingError, RerankError, SearchIndexError, ServiceError, code_suffix
from services.index.models import IndexedChunk, IndexGap, SearchIndex, SearchRequest, SearchResult
from services.index.tokens import matched_terms, normalise
from services.reading.models import Reader, Text
from services.records.documents import DocumentRecords
from services.records.groups import GateFeedback, GateFeedbackRecords
from services.records.tables import DocumentRecord
from services.retrieval.calibration import calibrated
from services.retrieval.conflicts import AskedQuestion, read_question
from services.retrieval.expansion import MOST_WORDS, new_words
from services.retrieval.extremes import extremes, wants_extreme
from services.retrieval.features import Evidence, relevant
from services.retrieval.fuse import QuestionWords, fuse, weigh
from services.retrieval.gate import GateRules, judge
from services.retrieval.identifiers import identifiers
from services.retrieval.models import (
    Candidate,
    Question,
    Reference,
    Retrieval,
    RetrievalMetrics,
    RetrievalStatus,
    Strictness,
    Verdict,
)
from services.retrieval.passages import (
    join,
    joined_text,
    reference,
    select,
    spread,
    table_around,
    table_header,
    table_rows,
)
from services.retrieval.pointing import pointed_at
from services.retrieval.query import Query, build_query
from services.retrieval.rerank import Reranker
from services.retrieval.wording import content_terms
from services.settings import RetrievalSettings
from services.text.tables import cells
from services.tracing.calls import record_tool
from services.tracing.stages import stage

log = logging.getLogger(__name__)

_NEAREST = 3
# A second round is worth its time only if the best candidate comes this close, so not for greetings. On half-indexed
# CMRC, other words never raised a score from below this value to above the gate.
_NEAR_MISS = 0.03
_REACH = 1
# A table with more chunks than this on either side is compared in part. A chunk has about ten rows.
_TABLE_CHUNKS = 100
_NO_VECTORS = "资料的向量索引出错了，请管理员查看日志。"
_BY_WORDS = "这次只按字词查找。"
_SOME_BY_WORDS = "有 {count} 个文件还在入库，现在只能按字词找到，稍后再问可能会有。"


@dataclass(frozen=True, slots=True)
class _Recall:
    """The part of the index's results that the collection may show, with the documents it belongs to.

    `by_words` is the number of documents that are still being embedded.
    """

    result: SearchResult
    documents: Mapping[str, DocumentRecord]
    hidden: frozenset[str]
    vector: list[float] | None
    feedback: Sequence[GateFeedback]
    by_words: int
    warning: str


@dataclass(frozen=True, slots=True)
class _Named:
    """What a question names, which a passage that answers it must be about.

    `builds` are those of the documents in which it says that its answer stands, empty if it does not. A passage that is
    quoted must have one of the terms of `remark`, which is None for a question.
    """

    identifiers: frozenset[str]
    asked: AskedQuestion
    builds: frozenset[str] = frozenset()
    remark: frozenset[str] | None = None

    def allows_quoting(self, candidate: Candidate) -> bool:
        """Return whether a candidate may be quoted, or is only about what was asked before a remark."""
        if self.remark is None:
            return True
        chunk = candidate.hit.chunk
        return bool(matched_terms(normalise(f"{chunk.context}\n{chunk.text}"), self.remark))


class Retriever:
    """Search by meaning and by words, with ranking and a gate."""

    def __init__(
        self,
        records: DocumentRecords,
        index: SearchIndex,
        embedding: EmbeddingModel,
        reader: Reader | None,
        reranker: Reranker,
        feedback: GateFeedbackRecords,
        settings: RetrievalSettings,
        mend: Callable[[str], Awaitable[IndexGap | None]],
    ) -> None:
        """`mend` compares the index of a collection with the records, and repairs it in the background."""
        self._records = records
        self._index = index
        self._embedding = embedding
        self._reader = reader
        self._reranker = reranker
        self._feedback = feedback
        self._settings = settings
        self._mend = mend
        # Collections that were found whole since the start.
        self._whole: set[str] = set()

    @property
    def most_passages(self) -> int:
        """The largest number of passages that are approved for one answer."""
        return self._settings.submit_top_k

    async def retrieve(
        self,
        collection: str,
        question: Question,
        *,
        strictness: Strictness = Strictness.ASKED,
        words: Sequence[str] = (),
    ) -> Retrieval:
        """Return the approved passages of one collection for a question, and why the others are not approved.

        `words` are searched in addition to the question's own. If the embedding service or the vectors fail, the search
        continues by words alone and the warning says so. If a rerank service fails, nothing is approved and the warning
        says so. Raise `SearchIndexError` if the index fails.
        """
        record_tool("retriever", self._settings.model_dump(mode="json"))
        query = build_query(question)
        if words:
            query = query.with_words(words)
        recall = await self._recall(collection, query)
        named = _named(question, recall.documents)
        found = await self._judge(collection, query, recall, strictness, named)
        return replace(found, expansions=tuple(words))

    async def aliases(self, collection: str, question: Question) -> list[str]:
        """Return other words for what a question names, as the group's own documents define them.

        Raise `SearchIndexError` if the index fails.
        """
        query = build_query(question)
        with stage("expand"):
            hidden = await self._records.hidden_builds(collection)
            return new_words(query, await self._index.aliases(collection, query.text, MOST_WORDS, hidden))

    async def retrieve_twice(
        self, collection: str, question: Question, *, strictness: Strictness = Strictness.ASKED
    ) -> Retrieval:
        """Return what a question finds without a model: by its own words, or if they fall short by aliases, too.

        Raise as `retrieve` does.
        """
        found = await self.retrieve(collection, question, strictness=strictness)
        words = await self.aliases(collection, question) if is_near_miss(found) and not question.remark else []
        if not words:
            return found
        return better(found, await self.retrieve(collection, question, strictness=strictness, words=words))

    async def search(self, collection: str, words: str, limit: int) -> tuple[Reference, ...]:
        """Return passages for a manual search, best first, whether or not the gate would approve them for an answer."""
        query = build_query(Question(words))
        recall = await self._recall(collection, query)
        weights = weigh(query.text, recall.result.document_frequency, recall.result.chunk_count)
        best = [item for item in fuse(weights, recall.result, self._embedding.scale) if item.coverage > 0][:limit]
        return tuple(
            reference(
                number,
                recall.documents[item.hit.chunk.build_id],
                item.hit.chunk,
                item.hit.chunk.text,
                item.fused,
                item.hit.chunk.ordinal,
            )
            for number, item in enumerate(best, start=1)
        )

    async def shows(self, collection: str, build_ids: Collection[str]) -> bool:
        """Return whether all of these builds still belong to visible documents of the collection."""
        return set(await self._records.visible(collection, set(build_ids))) == set(build_ids)

    async def passage(self, collection: str, build_id: str, first_ordinal: int, last_ordinal: int) -> Reference | None:
        """Return a passage that was cited earlier, or None if its document is gone or has a newer version."""
        documents = await self._records.visible(collection, {build_id})
        if build_id not in documents:
            return None
        count = last_ordinal - first_ordinal + 1
        chunks = await self._index.chunks(collection, build_id, first_ordinal, count)
        if [chunk.ordinal for chunk in chunks] != list(range(first_ordinal, last_ordinal + 1)):
            return None
        return reference(1, documents[build_id], chunks[0], joined_text(chunks), 0.0, last_ordinal)

    # -- the stages ---------------------------------------------------------------------------------------------------

    async def _recall(self, collection: str, query: Query, *, repeat: bool = True) -> _Recall:
        (vector, warning), hidden, feedback, expected = await asyncio.gather(
            self._embed(query.text),
            self._records.hidden_builds(collection),
            self._feedback.all(collection),
            self._records.visible_chunks(collection, self._embedding.fingerprint),
        )
        request = SearchRequest(
            collection=collection,
            text=query.text,
            embedding_fingerprint=self._embedding.fingerprint,
            vector=vector,
            limit=self._settings.recall_top_k,
            hidden_builds=hidden,
        )
        with stage("search"):
            try:
                result = await self._index.search(request)
            except SearchIndexError as error:
                if vector is None:
                    raise
                # Texts and words are stored separately from the vectors, so possibly only the vectors are broken.
                log.warning("searching %s by words alone: %s", collection, error)
                result = await self._index.search(replace(request, vector=None))
                vector, warning = None, f"{_NO_VECTORS}{code_suffix(error.code)}{_BY_WORDS}"
        # The specification's source_scope_valid: a candidate that does not belong to a visible build of this collection
        # is ignored, whatever the index says about it.
        documents = await self._records.visible(collection, {hit.chunk.build_id for hit in result.hits})
        hits = tuple(hit for hit in result.hits if hit.chunk.build_id in documents)
        # A search by vectors finds something wherever a chunk is visible. If it does not, the index has lost the
        # visible build, or another build became visible during the search.
        by_vectors = vector is not None and expected.vectors > 0
        unseen = by_vectors and not hits
        replaced = len(hits) < len(result.hits) or (not hits and expected.chunks > 0)
        lost = result.chunk_count < expected.chunks or unseen or (by_vectors and result.topic is None)
        if gap := await self._gap(collection, lost=lost):
            if not gap.searchable:
                raise SearchIndexError(gap.notice)
            warning += gap.notice
        elif replaced and repeat:
            return await self._recall(collection, query, repeat=False)
        found = replace(result, hits=hits)
        return _Recall(found, documents, hidden, vector, feedback, expected.by_words, warning)

    async def _gap(self, collection: str, *, lost: bool) -> IndexGap | None:
        """What the index has lost of a collection: looked for at its first search, and when a search shows it."""
        if collection in self._whole and not lost:
            return None
        try:
            gap = await self._mend(collection)
        except ServiceError:
            # What was found is still good for an answer.
            log.exception("the index of %s could not be compared with the records", collection)
            return None
        if gap is None:
            self._whole.add(collection)
        return gap

    async def _judge(
        self, collection: str, query: Query, recall: _Recall, strictness: Strictness, named: "_Named"
    ) -> Retrieval:
        words = weigh(query.text, recall.result.document_frequency, recall.result.chunk_count)
        fused = fuse(words, recall.result, self._embedding.scale)
        if meant := named.builds & {item.hit.chunk.build_id for item in fused}:
            fused = [item for item in fused if item.hit.chunk.build_id in meant]
        best = spread(fused, self._settings.rerank_top_k)
        chosen = {item.hit.chunk.chunk_id for item in best}
        others = [item for item in fused if item.hit.chunk.chunk_id not in chosen]
        found = Retrieval(
            status=RetrievalStatus.NO_RECALL,
            candidates=tuple(fused),
            metrics=_metrics(fused),
            term_weights=words.weights,
            threshold=calibrated(self.threshold(strictness), recall.feedback),
            chunk_count=recall.result.chunk_count,
            # With an answer it does not matter that there might have been another one.
            warning=recall.warning or (_SOME_BY_WORDS.format(count=recall.by_words) if recall.by_words else ""),
        )
        if not fused:
            return found
        try:
            best = await self._read(query, best)
            by_id = {item.hit.chunk.chunk_id: item for item in best}
            read = [by_id.get(item.hit.chunk.chunk_id, item) for item in fused]
            with stage("rerank"):
                scores = await self._reranker.scores(_evidence(query, named.asked, words, read, recall), best)
        except RerankError as error:
            log.warning("reranking failed: %s", error)
            warning = f"{recall.warning}{error.told()}"
            return replace(found, status=RetrievalStatus.RERANK_FAILED, warning=warning)
        scored = [replace(item, rerank_score=score) for item, score in zip(best, scores, strict=True)]
        rules = GateRules(
            min_vector_similarity=self._min_similarity(),
            min_rerank_score=found.threshold,
            min_qualified_count=self._settings.min_qualified_count,
            identifiers=named.identifiers,
            asked=named.asked,
            min_companion_score=None if self._settings.min_rerank_score is not None else self._reranker.companion,
        )
        judged = select(judge([*scored, *others], rules), self._settings.submit_top_k)
        approved = [item for item in judged if item.verdict is Verdict.APPROVED]
        if wants_extreme(query.text):
            approved = await self._with_extreme(collection, query.text, approved)
        quotable = calibrated(self.threshold(Strictness.ASKED), recall.feedback)
        return replace(
            found,
            status=RetrievalStatus.USABLE if approved else RetrievalStatus.LOW_CONFIDENCE,
            warning=recall.warning if approved else found.warning,
            references=tuple(await self._references(collection, approved, recall.documents)),
            quotable=not approved
            or any((item.rerank_score or 0.0) >= quotable and named.allows_quoting(item) for item in approved),
            nearest=_names(judged, recall.documents),
            candidates=tuple(judged),
            metrics=replace(
                found.metrics,
                rerank_count=len(scores),
                approved_count=len(approved),
                max_rerank_score=max(scores),
            ),
        )

    async def _read(self, query: Query, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with what the reader finds in them, or as they are if there is none or it fails."""
        if self._reader is None:
            return list(candidates)
        chunks = [item.hit.chunk for item in candidates]
        try:
            with stage("read"):
                readings = await self._reader.read(query.text, [Text(chunk.context, chunk.text) for chunk in chunks])
        except ReadingError as error:
            log.warning("ranking without the reader: %s", error)
            return list(candidates)
        return [replace(item, reading=reading) for item, reading in zip(candidates, readings, strict=True)]

    async def _with_extreme(self, collection: str, question: str, approved: Sequence[Candidate]) -> list[Candidate]:
        """Return the approved passages with the row that is asked for in place of other chunks of its table.

        The largest value of one chunk is not that of a table with several. Only the table of the best passage is read.
        """
        if not approved or not (header := table_header(approved[0].hit.chunk.text)):
            return list(approved)
        best = approved[0].hit.chunk
        first = max(0, best.ordinal - _TABLE_CHUNKS)
        beside = await self._index.chunks(collection, best.build_id, first, 2 * _TABLE_CHUNKS + 1)
        # Comparing thousands of rows takes too long for the event loop.
        table, holders = await asyncio.to_thread(_holders, question, best, header, beside)
        if not holders:
            return list(approved)
        parts = {chunk.chunk_id for chunk in table}
        known = {item.hit.chunk.chunk_id: item for item in approved}
        chosen = [
            known.get(identity, replace(approved[0], hit=replace(approved[0].hit, chunk=chunk), reading=None))
            for identity, chunk in list(holders.items())[: self._settings.submit_top_k]
        ]
        return [*chosen, *(item for item in approved if item.hit.chunk.chunk_id not in parts)]

    async def _references(
        self, collection: str, approved: Sequence[Candidate], documents: Mapping[str, DocumentRecord]
    ) -> list[Reference]:
        if not approved:
            return []
        places = [(item.hit.chunk.build_id, item.hit.chunk.ordinal) for item in approved]
        around = await self._index.around(collection, places, _REACH)
        return join(approved, around, documents, self._settings.max_reference_chars)

    def threshold(self, strictness: Strictness) -> float:
        """Return the lowest score of a passage that answers, 0 to 1, before a group's opinions move it."""
        own = self._reranker.thresholds
        asked = self._settings.min_rerank_score
        if asked is None:
            return own[strictness]
        return max(asked, own[strictness]) if strictness is Strictness.UNASKED else asked

    def _min_similarity(self) -> float:
        return -1.0 if self._settings.min_vector_similarity is None else self._settings.min_vector_similarity

    async def _embed(self, text: str) -> tuple[list[float] | None, str]:
        try:
            with stage("embed"):
                return await self._embedding.embeddings.aembed_query(text), ""
        except EmbeddingError as error:
            log.warning("searching by words alone: %s", error)
            return None, f"{error.told()}{_BY_WORDS}"


def is_near_miss(found: Retrieval) -> bool:
    """Return whether other words might find what a question's own words did not: not for greetings."""
    if found.status is not RetrievalStatus.LOW_CONFIDENCE and found.quotable:
        return False
    return (found.metrics.max_rerank_score or 0.0) >= _NEAR_MISS


def better(first: Retrieval, second: Retrieval) -> Retrieval:
    """Return the result of the second search if it is usable and at least as certain, otherwise that of the first.

    Either one names the words that were added.
    """
    is_better = second.quotable or first.status is not RetrievalStatus.USABLE
    chosen = second if second.status is RetrievalStatus.USABLE and is_better else first
    return replace(chosen, expansions=second.expansions)


def _named(question: Question, documents: Mapping[str, DocumentRecord]) -> _Named:
    names = [document.name for document in documents.values()]
    meant = pointed_at(question.text, names)
    return _Named(
        identifiers(question.text) or identifiers(question.quoted),
        read_question(question.text, names),
        frozenset(build_id for build_id, document in documents.items() if document.name in meant),
        content_terms(question.remark) if question.remark else None,
    )


def _holders(
    question: str, best: IndexedChunk, header: str, beside: Sequence[IndexedChunk]
) -> tuple[list[IndexedChunk], dict[str, IndexedChunk]]:
    """Return the chunks of a table, and by id those with the row that a question asks for."""
    table = table_around(best, header, beside)
    rows = [(chunk, row) for chunk in table for row in table_rows(chunk.text, header)]
    names = cells(header.strip("\n").rpartition("\n")[2])
    found = extremes(question, names, dict(enumerate(row for _, row in rows)))
    return table, {rows[number][0].chunk_id: rows[number][0] for number in sorted(found)}


def _evidence(
    query: Query, asked: AskedQuestion, words: QuestionWords, fused: Sequence[Candidate], recall: _Recall
) -> Evidence:
    return Evidence(
        text=query.text,
        asked=asked,
        words=words,
        recalled=relevant(asked, fused),
        vector=recall.vector,
        topic=recall.result.topic,
        cohesion=recall.result.cohesion,
    )


def _names(candidates: Sequence[Candidate], documents: Mapping[str, DocumentRecord]) -> tuple[str, ...]:
    """Return the documents worth naming when none answers the question. A greeting is close to none."""
    near = [item for item in candidates if (item.rerank_score or 0.0) >= _NEAR_MISS]
    return tuple(dict.fromkeys(documents[item.hit.chunk.build_id].name for item in near))[:_NEAREST]


def _metrics(recalled: Sequence[Candidate]) -> RetrievalMetrics:
    similarities = [item.hit.cosine for item in recalled if item.hit.cosine is not None]
    return RetrievalMetrics(recall_count=len(recalled), max_vector_similarity=max(similarities, default=None))
