"""What the rest of the product knows of an embedding model."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from langchain_core.embeddings import Embeddings


class CosineScale(StrEnum):
    """How cosines of a model are to be read: each family has its own range, so thresholds do not carry over."""

    E5 = "e5"
    UNIVERSAL_SENTENCE_ENCODER = "use"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An opened embedding model.

    `embeddings` is called only by its async methods and gives L2-normalised vectors. `fingerprint` names the space:
    two models have the same fingerprint exactly when their vectors may be compared; it matches
    `[a-z0-9][a-z0-9.-]{0,62}`. `description` is shown to users, in Chinese. `degraded` says why the preferred model
    is not in use, in one Chinese sentence, or is empty. `parallel_batches` is how many calls of `aembed_documents` are
    worth making at once.
    """

    embeddings: Embeddings
    fingerprint: str
    description: str
    scale: CosineScale
    degraded: str
    close: Callable[[], Awaitable[None]]
    parallel_batches: int = 1
