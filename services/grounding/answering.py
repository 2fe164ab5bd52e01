"""The probability of each part of the best passages that it answers the question."""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.grounding.part_features import PART_FEATURES, Floats, describe_parts
from services.grounding.passage import Part, Role
from services.retrieval.models import Candidate, Reference

COEFFICIENTS = Path(__file__).parent / "answering.json"


@functools.cache
def load_weights() -> Floats:
    """Return the weight of each feature, in log-odds for a unit of it; `benchmarks.quality.train_answering` fits them.

    Raise `ValueError` if they were fitted on other features.
    """
    weights = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))["weights"]
    if tuple(weights) != PART_FEATURES:
        raise ValueError(f"{COEFFICIENTS.name} was fitted on other features: {list(weights)}")
    return np.array(list(weights.values()), np.float64)


def answering(
    question: str,
    references: Sequence[Reference],
    passages: Sequence[Sequence[Part]],
    weights: Mapping[str, float],
    candidates: Iterable[Candidate],
) -> Floats:
    """Return for all parts of the passages, in order, the probability that they answer; the sum is 1."""
    features = describe_parts(question, references, passages, weights, candidates)
    scores = features @ load_weights()
    scores[~can_answer(passages)] = -np.inf
    likely = np.exp(scores - scores.max()) if np.isfinite(scores).any() else np.ones(len(scores))
    return likely / likely.sum()


def can_answer(passages: Sequence[Sequence[Part]]) -> NDArray[np.bool_]:
    """Return for all parts whether they can be an answer. The head of a table that has rows cannot."""
    return np.array(
        [
            part.role is not Role.TABLE_HEAD or all(other.head != place for other in passage)
            for passage in passages
            for place, part in enumerate(passage)
        ],
        np.bool_,
    )
