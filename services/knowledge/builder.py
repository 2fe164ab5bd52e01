"""Build the index of a document from its original: read, split, embed and store, in an order that survives a kill."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from pathlib import Path

from services.embeddings.models import EmbeddingModel
from services.errors import DocumentRejected
from services.index.models import IndexedChunk, SearchIndex
from services.knowledge.models import Chunk, Passages
from services.knowledge.parsing import ParseLimits, parse_and_split
from services.knowledge.scheduling import JobGate, Places
from services.records.tables import DocumentRecord

# The embedded model needs 0.6 s for a batch on two cores, so builds of several chats alternate within a second.
_BATCH = 16
_PARSES = Places(total=3, of_chat=2, large=1, large_of_chat=1, small=1 << 20)
# Sizes are remaining chunks. The embedding process works on one batch at a time; a service accepts several requests.
_LOCAL_BATCHES = Places(total=1, of_chat=1, large=1, large_of_chat=1, small=0)
_SERVICE_BATCHES = Places(total=4, of_chat=3, large=3, large_of_chat=2, small=64)
# Increase this when the loaders or the splitter produce different chunks for the same file. A build that an older
# release left unfinished then starts again instead of being mixed with a newer one.
_PARSER_REVISION = 4


class IndexBuilder:
    """Builds documents: splits files into chunks of a given size in characters and stores them in the index.

    At most three subprocesses read files, at most one of them a large file, so that each gets enough processor time to
    finish within its limit. Chats alternate in batches of embeddings, and small files go first: a large file delays
    another chat's small file by a batch or two, not by the whole file.
    """

    def __init__(
        self, index: SearchIndex, embedding: EmbeddingModel, limits: ParseLimits, chunk_chars: int, overlap_chars: int
    ) -> None:
        self.embedding = embedding
        self._index = index
        self._limits = limits
        self._chunk_chars = chunk_chars
        self._overlap_chars = overlap_chars
        self._parses = JobGate(_PARSES)
        self._batches = JobGate(_LOCAL_BATCHES if embedding.parallel_batches == 1 else _SERVICE_BATCHES)

    def build_id(self, document: DocumentRecord) -> str:
        """Return the id of the build of this document version with these settings; it survives restarts."""
        parts = (
            document.id,
            document.content_hash,
            document.revision,
            self._chunk_chars,
            self._overlap_chars,
            self.embedding.fingerprint,
            _PARSER_REVISION,
        )
        return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:32]

    async def run(
        self,
        document: DocumentRecord,
        path: Path,
        admit: Callable[[int], Awaitable[None]],
        report: Callable[[int, int], None],
    ) -> Passages:
        """Put the whole document into the index under its build id, continuing where an earlier attempt stopped.

        `admit` gets the number of chunks before any is stored, and raises `DocumentRejected` when there is no room for
        them. `report` gets the number of finished chunks and the total. Return what was read. Raise `DocumentRejected`
        when the file cannot be read, and `EmbeddingError` or `SearchIndexError` when a service fails.
        """
        build_id = self.build_id(document)
        async with self._parses.place(chat_of(document), document.size):
            parsed = await parse_and_split(
                path, document.file_type, self._limits, self._chunk_chars, self._overlap_chars
            )
        chunks = parsed.chunks
        if not chunks:
            raise DocumentRejected("文件里没有可以入库的文字。")
        await admit(len(chunks))
        stored = await self._index.chunk_ids(document.collection, self.embedding.fingerprint, build_id)
        # A file can have tens of thousands of chunks: sorting them here would block the event loop.
        batches = await asyncio.to_thread(_batches, chunks, build_id, stored)
        done = len(chunks) - sum(map(len, batches))
        report(done, len(chunks))
        await self._store(document, build_id, batches, lambda count: report(done + count, len(chunks)))
        return parsed

    async def _store(
        self,
        document: DocumentRecord,
        build_id: str,
        batches: Sequence[Sequence[Chunk]],
        report: Callable[[int], None],
    ) -> None:
        writing: asyncio.Task[None] | None = None
        finished = 0
        remaining = sum(map(len, batches))
        try:
            for chunks in batches:
                batch = [_indexed(document, build_id, chunk) for chunk in chunks]
                async with self._batches.place(chat_of(document), remaining):
                    texts = [embedded_text(chunk) for chunk in batch]
                    vectors = await self.embedding.embeddings.aembed_documents(texts)
                if writing is not None:
                    await writing
                # The index writes this batch while the model works on the next one.
                writing = asyncio.create_task(
                    self._index.add(document.collection, self.embedding.fingerprint, batch, vectors), name="index-add"
                )
                finished += len(batch)
                remaining -= len(batch)
                report(finished)
            if writing is not None:
                await writing
        finally:
            if writing is not None and not writing.done():
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)


def chat_of(document: DocumentRecord) -> Hashable:
    """Return the chat that the work on a document counts for: its group, or its sender for a private file."""
    return chat_key(document.group_id, document.uploader_id)


def chat_key(group_id: int | None, user_id: int) -> Hashable:
    """Return the same key as `chat_of` for a file that is not registered yet."""
    return ("group", group_id) if group_id is not None else ("private", user_id)


def embedded_text(chunk: IndexedChunk) -> str:
    """Return the text of a chunk to embed: its place in the document says what a bare passage is about."""
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def _batches(chunks: Sequence[Chunk], build_id: str, stored: Collection[str]) -> list[list[Chunk]]:
    """Return the chunks that are not stored yet, in batches of similar length: little work then goes into padding."""
    missing = [chunk for chunk in chunks if _chunk_id(build_id, chunk) not in stored]
    missing.sort(key=lambda chunk: len(chunk.text))
    return [missing[start : start + _BATCH] for start in range(0, len(missing), _BATCH)]


def _chunk_id(build_id: str, chunk: Chunk) -> str:
    return f"{build_id}-{chunk.ordinal:06d}"


def _indexed(document: DocumentRecord, build_id: str, chunk: Chunk) -> IndexedChunk:
    title = Path(document.name).stem
    return IndexedChunk(
        chunk_id=_chunk_id(build_id, chunk),
        build_id=build_id,
        ordinal=chunk.ordinal,
        text=chunk.text,
        context=" ".join((title, *chunk.heading))[:80],
        metadata={
            "group": document.group_id or 0,
            "uploader": document.uploader_id,
            "uploaded_at": document.uploaded_at.isoformat(),
            "file": document.name,
            "version": document.version,
            "page": chunk.page or 0,
            "heading": " › ".join(chunk.heading),
            "ordinal": chunk.ordinal,
        },
    )
