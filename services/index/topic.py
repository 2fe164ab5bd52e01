"""Similarity of a question to the subject of a whole collection."""

import numpy
from numpy.typing import NDArray

from services.index.models import Vector


def topic_of(vector: Vector, mean: NDArray[numpy.float32] | None) -> tuple[float | None, float | None]:
    """Return `topic` and `cohesion` of a `SearchResult` for a question's unit vector and the collection's mean."""
    length = 0.0 if mean is None else float(numpy.linalg.norm(mean))
    if mean is None or length == 0.0:
        return None, None
    return float(numpy.asarray(vector, dtype=numpy.float32) @ mean) / length, length
