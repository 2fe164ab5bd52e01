"""The probability of each part of the best passages that it answers the question."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from services.grounding.part_features import PART_FEATURES, Floats, describe_parts
from services.grounding.passage import Part, Role
from services.retrieval.models import Candidate, Reference

# Fitted by `benchmarks.quality.train_answering`: the logarithm of the odds for a unit of each feature.
WEIGHTS = {
    "words": 0.301,
    "token": 0.358,
    "passage": 0.090,
    "unread": 0.408,
    "rank": -0.344,
    "lead_coverage": 2.259,
    "row_below_best": 4.378,
    "row": 0.819,
    "code": 0.208,
    "item": 0.180,
    "heading": -2.972,
    "announces": -1.394,
    "points": -3.985,
    "length": 0.041,
    "type_missing": -3.175,
    "agrees": 1.455,
    "disagrees": -0.935,
    "covers": 1.431,
    "extreme": 0.329,
    "other_token": -2.132,
}


def answering(
    question: str,
    references: Sequence[Reference],
    passages: Sequence[Sequence[Part]],
    weights: Mapping[str, float],
    candidates: Iterable[Candidate],
) -> Floats:
    """Return for all parts of the passages, in order, the probability that they answer; the sum is 1."""
    features = describe_parts(question, references, passages, weights, candidates)
    scores = features @ np.array([WEIGHTS[name] for name in PART_FEATURES])
    scores[~can_answer(passages)] = -np.inf
    likely = np.exp(scores - scores.max()) if np.isfinite(scores).any() else np.ones(len(scores))
    return likely / likely.sum()


def can_answer(passages: Sequence[Sequence[Part]]) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return for all parts whether they can be an answer. The head of a table that has rows cannot."""
    return np.array(
        [
            part.role is not Role.TABLE_HEAD or all(other.head != place for other in passage)
            for passage in passages
            for place, part in enumerate(passage)
        ],
        np.bool_,
    )
