"""A small library in memory: documents that are really registered, indexed and published, without files."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from services.embeddings.models import EmbeddingModel
from services.index.models import IndexedChunk
from services.records.documents import DocumentRecords, NewDocument
from services.records.tables import DocumentRecord, now
from services.retrieval.retriever import Retriever
from tests.fakes.embeddings import BigramEmbeddings, bigram_model
from tests.fakes.index import MemoryIndex


@dataclass
class Library:
    """Records, index and embedding, and the retriever on them."""

    records: DocumentRecords
    embeddings: BigramEmbeddings = field(default_factory=BigramEmbeddings)
    index: MemoryIndex = field(default_factory=MemoryIndex)

    @property
    def model(self) -> EmbeddingModel:
        """The embedding model, opened."""
        return bigram_model(embeddings=self.embeddings)

    @property
    def retriever(self) -> Retriever:
        """A retriever as the container makes it."""
        return Retriever(self.records, self.index, self.model)

    async def add(
        self,
        collection: str,
        name: str,
        passages: Sequence[str],
        *,
        visible: bool = True,
        vectors: bool = True,
        page: int = 0,
        heading: str = "",
    ) -> DocumentRecord:
        """Put a document of these passages into a collection; without `visible` it stays a build under way."""
        build = f"{collection}-{name}-{abs(hash(tuple(passages)))}"
        new = NewDocument(collection, name, "txt", 1, build[-64:], f"{build}.txt"[-64:], 1, 2, now())
        document = (await self.records.register(new)).document
        await self.records.set_target(document.id, build[-64:])
        metadata = {"page": page, "heading": heading}
        chunks = [
            IndexedChunk(f"{build}-{number:03d}", build[-64:], number, text, name, metadata)
            for number, text in enumerate(passages)
        ]
        embedded = self.embeddings.embed_documents([f"{name}\n{text}" for text in passages]) if vectors else None
        await self.index.add(collection, self.model.fingerprint, chunks, embedded)
        if visible:
            space = self.model.fingerprint
            await self.records.publish(collection, document.id, build[-64:], space, len(chunks))
        return document
