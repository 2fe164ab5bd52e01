"""An embedding model without weights: texts that share pairs of characters are close to each other."""

import asyncio
import math
import zlib
from collections.abc import Callable

from langchain_core.embeddings import Embeddings

from services.embeddings.models import CosineScale, EmbeddingModel
from services.errors import EmbeddingError
from services.index.tokens import index_terms

DIMENSIONS = 128


class BigramEmbeddings(Embeddings):
    """Vectors of hashed terms. Every call raises while `fail` is set."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self.fail = False
        self.embedded = 0
        self._before = before

    def embed_query(self, text: str) -> list[float]:
        """Return a unit vector."""
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a unit vector for each text."""
        if self.fail:
            raise EmbeddingError("向量服务暂时连不上。")
        self._before()
        self.embedded += len(texts)
        return [_vector(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """Return the same as `embed_query`."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the same as `embed_documents`, giving way to other tasks as the real models do."""
        await asyncio.sleep(0)
        return self.embed_documents(texts)


def bigram_model(fingerprint: str = "bigram", embeddings: BigramEmbeddings | None = None) -> EmbeddingModel:
    """Return the opened model, with any fingerprint."""

    async def close() -> None:
        return None

    return EmbeddingModel(
        embeddings=embeddings or BigramEmbeddings(),
        fingerprint=fingerprint,
        description="测试向量",
        scale=CosineScale.UNIVERSAL_SENTENCE_ENCODER,
        degraded="",
        close=close,
    )


def _vector(text: str) -> list[float]:
    values = [0.0] * DIMENSIONS
    for term in index_terms(text):
        values[zlib.crc32(term.encode()) % DIMENSIONS] += 1.0
    norm = math.sqrt(sum(value * value for value in values)) or 1.0
    return [value / norm for value in values]
