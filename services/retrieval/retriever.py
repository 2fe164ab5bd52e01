"""The one way to search a knowledge base: only visible passages of the asked collection come out."""

import asyncio
import logging
from collections.abc import Mapping

from services.embeddings.models import EmbeddingModel
from services.errors import EmbeddingError
from services.index.models import SearchIndex, SearchRequest
from services.records.documents import DocumentRecords
from services.records.tables import DocumentRecord
from services.retrieval.models import Candidate, Reference, Retrieval, RetrievalStatus
from services.retrieval.rank import rank, term_weights

log = logging.getLogger(__name__)

# Candidates of each channel; the gate and the ranking choose among them.
_RECALL = 20
_NEAREST = 3
# A message longer than this is not a question but a paste; its beginning says what it is about.
_MAX_QUESTION_CHARS = 1000


class Retriever:
    """Searches by meaning and by words, ranks, and lets through what the gate accepts."""

    def __init__(self, records: DocumentRecords, index: SearchIndex, embedding: EmbeddingModel) -> None:
        self._records = records
        self._index = index
        self._embedding = embedding

    async def retrieve(self, collection: str, question: str, top_k: int) -> Retrieval:
        """The best `top_k` passages of one collection for a question.

        When the embedding service fails the search goes on by words alone and says so. Raises `SearchIndexError`.
        """
        question = question[:_MAX_QUESTION_CHARS]
        (vector, degraded), hidden = await asyncio.gather(
            self._embed(question), self._records.hidden_builds(collection)
        )
        request = SearchRequest(
            collection=collection,
            text=question,
            space=self._embedding.fingerprint,
            vector=vector,
            limit=_RECALL,
            hidden_builds=hidden,
        )
        result = await self._index.search(request)
        ranked = rank(question, result, self._embedding.scale)
        documents = await self._records.visible(collection, {item.hit.chunk.build_id for item in ranked})
        candidates = [item for item in ranked if item.hit.chunk.build_id in documents]
        accepted = [item for item in candidates if item.accepted][:top_k]
        return Retrieval(
            status=_status(candidates, accepted) if result.chunk_count else RetrievalStatus.EMPTY,
            references=tuple(_reference(number, item, documents) for number, item in enumerate(accepted, start=1)),
            nearest=tuple(dict.fromkeys(documents[item.hit.chunk.build_id].name for item in candidates))[:_NEAREST],
            candidates=tuple(candidates),
            term_weights=term_weights(result.document_frequency, result.chunk_count),
            degraded=degraded,
        )

    async def search(self, collection: str, words: str, limit: int) -> tuple[Reference, ...]:
        """Passages for a look-up by hand, best first, whether or not the gate would let them into an answer."""
        found = await self.retrieve(collection, words, limit)
        documents = await self._records.visible(collection, {item.hit.chunk.build_id for item in found.candidates})
        best = [
            item
            for item in found.candidates
            if (item.accepted or item.coverage > 0) and item.hit.chunk.build_id in documents
        ][:limit]
        return tuple(_reference(number, item, documents) for number, item in enumerate(best, start=1))

    async def _embed(self, question: str) -> tuple[list[float] | None, str]:
        try:
            return await self._embedding.embeddings.aembed_query(question), ""
        except EmbeddingError as error:
            log.warning("searching by words alone: %s", error)
            return None, f"{error.user_message}这次只按字词查找。"


def _status(candidates: list[Candidate], accepted: list[Candidate]) -> RetrievalStatus:
    if accepted:
        return RetrievalStatus.USABLE
    return RetrievalStatus.LOW_CONFIDENCE if candidates else RetrievalStatus.NO_RECALL


def _reference(number: int, candidate: Candidate, documents: Mapping[str, DocumentRecord]) -> Reference:
    chunk = candidate.hit.chunk
    document = documents[chunk.build_id]
    page = chunk.metadata.get("page")
    return Reference(
        number=number,
        document_number=document.number,
        name=document.name,
        version=document.version,
        page=page if isinstance(page, int) and page > 0 else None,
        heading=str(chunk.metadata.get("heading", "")),
        text=chunk.text,
        score=candidate.score,
    )
