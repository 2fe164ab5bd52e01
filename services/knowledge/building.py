"""From a kept original to chunks in the index: read, split, embed, store, in an order that survives a kill."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.embeddings.models import EmbeddingModel
from services.errors import DocumentRejected
from services.index.models import IndexedChunk, SearchIndex
from services.knowledge.models import Chunk, Passages
from services.knowledge.parsing import ParseLimits, parse_and_split
from services.records.tables import DocumentRecord

# Two batches of the embedding model; small enough that builds of several groups take turns within a second.
_BATCH = 16
# Changes when loaders or the splitter give other chunks for the same file, so that an interrupted build of an older
# release is begun anew instead of being mixed with a newer one.
_PARSER_REVISION = 3


@dataclass(frozen=True, slots=True)
class Building:
    """How documents are built: where the chunks go and how large they are, in characters."""

    index: SearchIndex
    embedding: EmbeddingModel
    limits: ParseLimits
    chunk_chars: int
    overlap_chars: int

    def build_id(self, document: DocumentRecord) -> str:
        """The id of the build that these settings make of this version: the same after every restart."""
        parts = (
            document.id,
            document.content_hash,
            document.revision,
            self.chunk_chars,
            self.overlap_chars,
            self.embedding.fingerprint,
            _PARSER_REVISION,
        )
        return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:32]

    async def run(self, document: DocumentRecord, path: Path, report: Callable[[int, int], None]) -> Passages:
        """Put the whole document into the index under its build id, going on where an earlier attempt stopped.

        `report` is called with chunks done and chunks in all. Returns what was read. Raises `DocumentRejected` when
        the file cannot be read, `EmbeddingError` or `SearchIndexError` when a service failed.
        """
        build_id = self.build_id(document)
        parsed = await parse_and_split(path, document.file_type, self.limits, self.chunk_chars, self.overlap_chars)
        chunks = [_indexed(document, build_id, chunk) for chunk in parsed.chunks]
        if not chunks:
            raise DocumentRejected("文件里没有可以入库的文字。")
        stored = await self.index.chunk_ids(document.collection, self.embedding.fingerprint, build_id)
        missing = [chunk for chunk in chunks if chunk.chunk_id not in stored]
        done = len(chunks) - len(missing)
        report(done, len(chunks))
        # Chunks of like length share a batch, so that little of the model's work is padding.
        missing.sort(key=lambda chunk: len(chunk.text))
        batches = [missing[start : start + _BATCH] for start in range(0, len(missing), _BATCH)]
        await self._store(document.collection, batches, lambda count: report(done + count, len(chunks)))
        return parsed

    async def _store(
        self, collection: str, batches: Sequence[Sequence[IndexedChunk]], report: Callable[[int], None]
    ) -> None:
        writing: asyncio.Task[None] | None = None
        finished = 0
        try:
            for batch in batches:
                vectors = await self.embedding.embeddings.aembed_documents([embedded_text(chunk) for chunk in batch])
                if writing is not None:
                    await writing
                # The index writes this batch while the model works on the next.
                writing = asyncio.create_task(
                    self.index.add(collection, self.embedding.fingerprint, batch, vectors), name="index-add"
                )
                finished += len(batch)
                report(finished)
            if writing is not None:
                await writing
        finally:
            if writing is not None and not writing.done():
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)


def embedded_text(chunk: IndexedChunk) -> str:
    """What the model sees of a chunk: its place in the document tells what a bare passage is about."""
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def _indexed(document: DocumentRecord, build_id: str, chunk: Chunk) -> IndexedChunk:
    title = Path(document.name).stem
    return IndexedChunk(
        chunk_id=f"{build_id}-{chunk.ordinal:06d}",
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
