"""The catalogue of a knowledge base: its documents with their names and outlines, read without a search."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from services.index.models import IndexedChunk, SearchIndex
from services.knowledge.entries import KnowledgeEntry, document_profile, knowledge_entry
from services.knowledge.models import DocumentEntry, DocumentProfile
from services.knowledge.outlines import Outline, outline_of
from services.records.documents import DocumentRecords
from services.records.tables import DocumentRecord, DocumentState

# An outline is made of so many chunks; those of a longer document stand for the beginning of it.
_MOST_CHUNKS = 4000
_CHUNKS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document, and its visible chunks with their outline; both are empty until its words are stored.

    Of a very long document, they are those of its beginning. `profile` says what it is and what it is about.
    """

    entry: DocumentEntry
    build_id: str
    chunks: Sequence[IndexedChunk]
    outline: Outline
    profile: DocumentProfile = field(default_factory=DocumentProfile)

    @property
    def is_cut(self) -> bool:
        """Whether the document has more chunks than are here."""
        return len(self.chunks) < self.entry.chunks


class Catalogue:
    """The documents of all knowledge bases. Every method reads one collection only."""

    def __init__(self, records: DocumentRecords, index: SearchIndex) -> None:
        self._records = records
        self._index = index

    async def documents(self, collection: str) -> list[DocumentEntry]:
        """Return the documents of a collection by number; of several versions, the one that is found now."""
        rows = await self._records.listed(collection)
        return [entry_of(current(versions)) for _, versions in groupby(rows, key=lambda row: row.number)]

    async def number_of(self, collection: str, build_id: str) -> int | None:
        """Return the number of the document whose visible build this is, or None if this collection has none."""
        document = (await self._records.visible(collection, {build_id})).get(build_id)
        return document.number if document else None

    async def view(self, collection: str, number: int, most_chunks: int = _MOST_CHUNKS) -> DocumentView | None:
        """Return a document with the outline of its first `most_chunks` chunks, or None if there is no such number.

        Raise `SearchIndexError` if the index fails.
        """
        rows = await self._records.by_number(collection, number)
        if not rows:
            return None
        shown = current(rows)
        chunks: list[IndexedChunk] = []
        while shown.build_id and len(chunks) < min(shown.chunk_count, most_chunks):
            wanted = min(_CHUNKS_AT_ONCE, most_chunks - len(chunks))
            more = await self._index.chunks(collection, shown.build_id, len(chunks), wanted)
            if not more:
                break
            chunks += more
        outline, profile = await asyncio.to_thread(lambda: (outline_of(chunks), document_profile(shown, chunks)))
        return DocumentView(entry_of(shown), shown.build_id, chunks, outline, profile)

    async def entries(self, collection: str, number: int) -> AsyncGenerator[KnowledgeEntry]:
        """Yield the chunks of the visible version of a document as the specification describes them, in order.

        Nothing is yielded if there is no such document or its words are not stored yet. Raise `SearchIndexError` if the
        index fails.
        """
        rows = await self._records.by_number(collection, number)
        if not rows or not (shown := current(rows)).build_id:
            return
        first = await self._index.chunks(collection, shown.build_id, 0, _CHUNKS_AT_ONCE)
        profile = await asyncio.to_thread(document_profile, shown, first)
        page = first
        while page:
            for entry in await asyncio.to_thread(_entries, shown, profile, page):
                yield entry
            page = await self._index.chunks(collection, shown.build_id, page[-1].ordinal + 1, _CHUNKS_AT_ONCE)


def _entries(document: DocumentRecord, profile: DocumentProfile, page: list[IndexedChunk]) -> list[KnowledgeEntry]:
    return [knowledge_entry(document, profile, chunk) for chunk in page]


def entry_of(document: DocumentRecord) -> DocumentEntry:
    """Return a document as it is shown in lists."""
    return DocumentEntry(
        number=document.number,
        name=document.name,
        version=document.version,
        chunks=document.chunk_count,
        size=document.size,
        group_id=document.group_id,
        uploader_id=document.uploader_id,
        uploaded_at=document.uploaded_at,
        ready=document.state == DocumentState.READY,
        embedded=bool(document.embedding_fingerprint),
    )


def current(versions: Iterable[DocumentRecord]) -> DocumentRecord:
    """Return the version of a document that can be found, or else the latest; there is at least one."""
    return max(versions, key=lambda row: (row.state == DocumentState.READY, row.version))
