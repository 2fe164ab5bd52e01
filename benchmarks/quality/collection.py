"""Knowledge bases of an experiment in the real stores, with the product's retriever."""

import hashlib
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from langchain_core.embeddings import Embeddings

from benchmarks.quality.datasets import Passage
from benchmarks.quality.readings import Readings
from benchmarks.quality.vectors import Vectors
from services.database import open_database, sqlite_url
from services.embeddings.models import CosineScale, EmbeddingModel
from services.index.process import IndexProcess
from services.knowledge.builder import embedded_text, indexed_chunk
from services.knowledge.models import Chunk
from services.records.documents import DocumentRecords, NewDocument, Registration
from services.records.groups import GateFeedbackRecords
from services.records.tables import now
from services.retrieval.rerank import EmbeddedReranker, load_coefficients
from services.retrieval.retriever import Retriever
from services.settings import RetrievalSettings

_FINGERPRINT = "e5"
_BATCH = 200


class CachedEmbeddings(Embeddings):
    """The embedded model with a cache of vectors from earlier runs."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self._vectors.questions([text])[0].tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages."""
        return self._vectors.passages(texts).tolist()

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a question, read in this thread, because the SQLite connection belongs to it."""
        return self.embed_query(text)


@dataclass(frozen=True, slots=True)
class Shelf:
    """Knowledge bases under construction, and the retriever that searches them."""

    records: DocumentRecords
    index: IndexProcess
    vectors: Vectors
    retriever: Retriever

    async def fill(self, collection: str, passages: Sequence[Passage]) -> None:
        """Store passages as visible documents named by their title, in order of appearance."""
        documents: dict[str, list[Passage]] = {}
        for passage in passages:
            documents.setdefault(passage.document, []).append(passage)
        for name, parts in documents.items():
            chunks = [(part.context, Chunk(part.ordinal, part.text)) for part in parts]
            await self._publish(collection, f"{name[-200:]}.md", chunks)

    async def add(self, collection: str, name: str, chunks: Sequence[Chunk]) -> None:
        """Store the chunks of a file as the product does, as a visible document."""
        if chunks:
            await self._publish(collection, name, [(None, chunk) for chunk in chunks])

    async def _publish(self, collection: str, name: str, chunks: Sequence[tuple[str | None, Chunk]]) -> None:
        """Store chunks, each with its own context or, if that is None, with the product's."""
        build = hashlib.sha256(f"{collection}/{name}".encode()).hexdigest()[:32]
        file_type = Path(name).suffix.removeprefix(".")
        new = NewDocument(collection, name, file_type, 1, build, f"{build}.{file_type}", 1, 1, now())
        registration = await self.records.register(new)
        assert isinstance(registration, Registration)
        document = registration.document
        indexed = [indexed_chunk(document, build, chunk) for _, chunk in chunks]
        indexed = [
            stored if context is None else replace(stored, context=context)
            for stored, (context, _) in zip(indexed, chunks, strict=True)
        ]
        await self.records.set_target(document.id, build)
        await self.index.add_words(collection, indexed)
        embedded = self.vectors.passages([embedded_text(chunk) for chunk in indexed]).tolist()
        await self.index.add_vectors(collection, _FINGERPRINT, indexed, embedded)
        await self.records.publish(collection, document.id, build, _FINGERPRINT, len(indexed))


@asynccontextmanager
async def open_shelf(
    vectors: Vectors, readings: Readings | None, directory: Path | None = None
) -> AsyncGenerator[Shelf]:
    """Open the shelf in `directory`, or an empty one that is deleted when the block ends.

    Without `readings` nothing is read.
    """
    with nullcontext(directory) if directory else tempfile.TemporaryDirectory() as place:
        path = Path(place)
        path.mkdir(parents=True, exist_ok=True)
        database = await open_database(sqlite_url(path / "app.sqlite3"))
        index = IndexProcess(path)
        try:
            await index.open()
            embedding = EmbeddingModel(CachedEmbeddings(vectors), _FINGERPRINT, "e5", CosineScale.E5, "", _nothing)
            records = DocumentRecords(database)
            retriever = Retriever(
                records,
                index,
                embedding,
                readings,
                EmbeddedReranker(embedding.scale, load_coefficients()),
                GateFeedbackRecords(database),
                RetrievalSettings.model_construct(),
                _nothing_to_mend,
            )
            yield Shelf(records, index, vectors, retriever)
        finally:
            await index.close()
            await database.close()


async def _nothing_to_mend(_collection: str) -> None:
    """The index was written just now."""


async def _nothing() -> None:
    """Do nothing: there is no model process to close."""
