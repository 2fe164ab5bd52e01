"""The types by which the rest of the product uses an embedding model."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from langchain_core.embeddings import Embeddings


class CosineScale(StrEnum):
    """The model family that determines how a cosine is to be read.

    Each family has its own range of cosines, so thresholds are not transferable.
    """

    E5 = "e5"
    UNIVERSAL_SENTENCE_ENCODER = "use"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An opened embedding model.

    Only the asynchronous methods of `embeddings` are called; they return L2-normalised vectors. `fingerprint`
    identifies the vector space: two models have the same fingerprint if and only if their vectors are comparable. It
    matches `[a-z0-9][a-z0-9.-]{0,62}`. `description` is shown to users, in Chinese. `degraded` is one Chinese sentence
    that says why the preferred model is not in use, or is empty. `parallel_batches` is how many calls of
    `aembed_documents` are worth making at once.
    """

    embeddings: Embeddings
    fingerprint: str
    description: str
    scale: CosineScale
    degraded: str
    close: Callable[[], Awaitable[None]]
    parallel_batches: int = 1
