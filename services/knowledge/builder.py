"""Build the index of a document from its original: first its words, then its vectors.

Words are stored within seconds, while the model needs a minute for a megabyte. Both steps skip what an earlier attempt
has stored.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Hashable
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path

from services.embeddings.models import EmbeddingModel
from services.errors import DocumentRejected, SearchIndexError
from services.index.models import IndexedChunk, SearchIndex
from services.knowledge.chunk_metadata import BELOW, profile_metadata
from services.knowledge.models import Chunk, Passages
from services.knowledge.parsing import ParseLimits, parse_and_split
from services.knowledge.picture_reading import parse_with_pictures
from services.knowledge.scheduling import JobGate, Places
from services.pictures.models import Ocr
from services.records.tables import DocumentRecord

# The embedded model needs 0.6 s for a batch on two cores, so builds of several chats alternate within a second.
_BATCH = 16
# Chunks that are converted or fetched from the index at a time: about 2 ms of the event loop.
_PAGE = 128
_LOST_WORDS = "资料的字词索引丢了一部分，正在用原文件重建。"
_PARSES = Places(total=3, of_chat=2, large=1, large_of_chat=1, small=1 << 20)
# Sizes are remaining chunks. The embedding process works on one batch at a time; a service accepts several requests.
_LOCAL_BATCHES = Places(total=1, of_chat=1, large=1, large_of_chat=1, small=0)
_SERVICE_BATCHES = Places(total=4, of_chat=3, large=3, large_of_chat=2, small=64)
# Increase this when the loaders or the splitter produce different chunks for the same file. A build that an older
# release left unfinished then starts again instead of being mixed with a newer one.
_PARSER_REVISION = 6


class IndexBuilder:
    """Builds documents: splits files into chunks of a given size in characters and stores them in the index.

    At most three subprocesses read files, at most one of them a large file, so that each gets enough processor time to
    finish within its limit. Chats alternate in batches of embeddings, and small files go first: a large file delays
    another chat's small file by a batch or two, not by the whole file.
    """

    def __init__(
        self,
        index: SearchIndex,
        embedding: EmbeddingModel,
        limits: ParseLimits,
        chunk_chars: int,
        overlap_chars: int,
        ocr: Ocr | None = None,
    ) -> None:
        """Use `ocr`, if any, for the pictures of files."""
        self.embedding = embedding
        self._index = index
        self._limits = limits
        self._chunk_chars = chunk_chars
        self._overlap_chars = overlap_chars
        self._ocr = ocr
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
            *(() if self._ocr is None else ("ocr",)),
        )
        return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:32]

    async def add_words(
        self, document: DocumentRecord, path: Path, admit: Callable[[int], Awaitable[None]]
    ) -> Passages:
        """Read a file and store its chunks by words under the document's build id; skip those already stored.

        `admit` gets the number of chunks before any is stored, and raises `DocumentRejected` when there is no room for
        them. Return what was read. Raise `DocumentRejected` when the file cannot be read, and `SearchIndexError` when
        the index fails.
        """
        build_id = self.build_id(document)
        parsed = await self._parsed(document, path)
        if not parsed.chunks:
            raise DocumentRejected("文件里没有可以入库的文字。")
        await admit(len(parsed.chunks))
        stored = await self._index.chunk_ids(document.collection, "", build_id)
        if stored and parsed.recognised:
            await self._index.delete_build(document.collection, build_id)
            stored = set()
        for start in range(0, len(parsed.chunks), _PAGE):
            # A file can have tens of thousands of chunks: converting them all at once would block the event loop.
            page = [
                indexed_chunk(document, build_id, chunk, parsed.chunk_profiles[chunk.ordinal])
                for chunk in parsed.chunks[start : start + _PAGE]
            ]
            await self._index.add_words(document.collection, [chunk for chunk in page if chunk.chunk_id not in stored])
        return parsed

    async def _parsed(self, document: DocumentRecord, path: Path) -> Passages:
        def place() -> AbstractAsyncContextManager[None]:
            return self._parses.place(chat_of(document), document.size)

        settings = (path, document.file_type, self._limits, self._chunk_chars, self._overlap_chars, document.name)
        if self._ocr is not None:
            return await parse_with_pictures(*settings, self._ocr, place)
        async with place():
            return await parse_and_split(*settings)

    async def has_words(self, document: DocumentRecord) -> bool:
        """Return whether every chunk of the visible build is stored by words."""
        stored = await self._index.chunk_ids(document.collection, "", document.build_id)
        return len(stored) >= document.chunk_count

    async def add_vectors(
        self, document: DocumentRecord, build_id: str, count: int, report: Callable[[int, int], None]
    ) -> None:
        """Embed the `count` chunks of a build, whose words are stored, and skip those that have a vector.

        The chunks come from the index, so a build that was stopped continues without its original. `report` gets the
        number of chunks with a vector and `count`. Raise `EmbeddingError` or `SearchIndexError` when a service fails.
        """
        stored = await self._index.chunk_ids(document.collection, self.embedding.fingerprint, build_id)
        finished = len(stored)
        report(finished, count)
        writing: asyncio.Task[None] | None = None
        try:
            async with aclosing(self._without_vectors(document, build_id, count, stored)) as batches:
                async for batch in batches:
                    async with self._batches.place(chat_of(document), count - finished):
                        texts = [embedded_text(chunk) for chunk in batch]
                        vectors = await self.embedding.embeddings.aembed_documents(texts)
                    if writing is not None:
                        await writing
                    # The index writes this batch while the model works on the next one.
                    writing = asyncio.create_task(
                        self._index.add_vectors(document.collection, self.embedding.fingerprint, batch, vectors),
                        name="index-add",
                    )
                    finished += len(batch)
                    report(finished, count)
            if writing is not None:
                await writing
        finally:
            if writing is not None and not writing.done():
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
        if finished < count:
            raise SearchIndexError(_LOST_WORDS, f"{count - finished} chunks of build {build_id} are gone")

    async def _without_vectors(
        self, document: DocumentRecord, build_id: str, count: int, stored: Collection[str]
    ) -> AsyncGenerator[list[IndexedChunk]]:
        """Yield the chunks of a build that are not among `stored`, in batches and in order."""
        batch: list[IndexedChunk] = []
        for start in range(0, count, _PAGE):
            for chunk in await self._index.chunks(document.collection, build_id, start, _PAGE):
                # The page is what has ordinals from `start` on: chunks that are missing must not shift it.
                if start <= chunk.ordinal < start + _PAGE and chunk.chunk_id not in stored:
                    batch.append(chunk)
                if len(batch) == _BATCH:
                    yield batch
                    batch = []
        if batch:
            yield batch


def chat_of(document: DocumentRecord) -> Hashable:
    """Return the chat that the work on a document counts for: its group, or its sender for a private file."""
    return chat_key(document.group_id, document.uploader_id)


def chat_key(group_id: int | None, user_id: int) -> Hashable:
    """Return the same key as `chat_of` for a file that is not registered yet."""
    return ("group", group_id) if group_id is not None else ("private", user_id)


def embedded_text(chunk: IndexedChunk) -> str:
    """Return the text of a chunk to embed: its place in the document says what a bare passage is about."""
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def _chunk_id(build_id: str, chunk: Chunk) -> str:
    return f"{build_id}-{chunk.ordinal:06d}"


def indexed_chunk(document: DocumentRecord, build_id: str, chunk: Chunk, profile: str = "") -> IndexedChunk:
    """Return a chunk of a document as the index stores it; `profile` is that of `Passages`, if it is known.

    The metadata is neither embedded nor searched: `text` and `context` alone decide what is found.
    """
    title = Path(document.name).stem
    flags = {"uncertain_table": True} if chunk.uncertain_table else {}
    rated = profile_metadata(chunk, profile) if profile else {}
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
            "heading": BELOW.join(chunk.heading),
            "ordinal": chunk.ordinal,
            **flags,
            **rated,
        },
    )
