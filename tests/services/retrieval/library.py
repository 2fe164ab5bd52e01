"""A small library in memory: documents that are really registered, indexed and published, without files."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from services.database import Database
from services.embeddings.models import EmbeddingModel
from services.index.models import IndexedChunk, IndexGap, SearchIndex
from services.reading.models import Reader
from services.records.documents import DocumentRecords, NewDocument, Registration
from services.records.groups import GateFeedbackRecords
from services.records.tables import DocumentRecord, now
from services.retrieval.rerank import EmbeddedReranker, Reranker, load_coefficients
from services.retrieval.retriever import Retriever
from services.settings import RetrievalSettings
from tests.fakes.embeddings import BigramEmbeddings, bigram_model
from tests.fakes.index import MemoryIndex


async def _nothing_to_mend(_collection: str) -> None:
    """The index is what the test made it."""


@dataclass
class Library:
    """Records, index and embedding, with a retriever that uses them."""

    database: Database
    embeddings: BigramEmbeddings = field(default_factory=BigramEmbeddings)
    index: MemoryIndex = field(default_factory=MemoryIndex)

    @property
    def records(self) -> DocumentRecords:
        """The records of the documents."""
        return DocumentRecords(self.database)

    @property
    def feedback(self) -> GateFeedbackRecords:
        """The records of the feedback on answers."""
        return GateFeedbackRecords(self.database)

    @property
    def model(self) -> EmbeddingModel:
        """The opened embedding model."""
        return bigram_model(embeddings=self.embeddings)

    @property
    def retriever(self) -> Retriever:
        """A retriever as the container creates it."""
        return self.retriever_with()

    def retriever_with(
        self,
        *,
        index: SearchIndex | None = None,
        model: EmbeddingModel | None = None,
        reader: Reader | None = None,
        reranker: Reranker | None = None,
        settings: RetrievalSettings | None = None,
        mend: Callable[[str], Awaitable[IndexGap | None]] | None = None,
    ) -> Retriever:
        """Return such a retriever with some parts replaced."""
        index, model = index or self.index, model or self.model
        return Retriever(
            self.records,
            index,
            model,
            reader,
            reranker or EmbeddedReranker(model.scale, load_coefficients()),
            self.feedback,
            settings or RetrievalSettings.model_construct(),
            mend or _nothing_to_mend,
        )

    @staticmethod
    def build_id(collection: str, name: str, passages: Sequence[str]) -> str:
        """Return the id of the build that `add` creates for these passages."""
        return f"{collection}-{name}-{abs(hash(tuple(passages)))}"[-64:]

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
        file: str = "",
    ) -> DocumentRecord:
        """Put a document with these passages into a collection. Without `visible`, its build is not published."""
        build = self.build_id(collection, name, passages)
        new = NewDocument(collection, name, "txt", 1, build[-64:], f"{build}.txt"[-64:], 1, 2, now())
        registration = await self.records.register(new)
        assert isinstance(registration, Registration)
        document = registration.document
        await self.records.set_target(document.id, build[-64:])
        metadata = {"page": page, "heading": heading, "file": file}
        chunks = [
            IndexedChunk(f"{build}-{number:03d}", build[-64:], number, text, name, metadata)
            for number, text in enumerate(passages)
        ]
        await self.index.add_words(collection, chunks)
        if vectors:
            embedded = self.embeddings.embed_documents([f"{name}\n{text}" for text in passages])
            await self.index.add_vectors(collection, self.model.fingerprint, chunks, embedded)
        if visible:
            embedding_fingerprint = self.model.fingerprint if vectors else ""
            await self.records.publish(collection, document.id, build[-64:], embedding_fingerprint, len(chunks))
        return document
