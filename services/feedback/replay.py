"""Whether ratings may move the gate of a knowledge base: only if replaying the log shows a gain."""

from collections.abc import Sequence

from services.records.feedback import RatedPassage
from services.records.groups import GateFeedback
from services.records.tables import now
from services.retrieval.calibration import LAXEST, STRICTEST, calibrated

SOURCE = "rating"
# Fewer ratings than the prior weighs (see `calibrated`) prove nothing.
FEWEST = 12
_FOLDS = 10
# A wrong answer costs as much more than silence as the gate may become stricter than laxer.
_WRONG_COSTS = STRICTEST / -LAXEST
_HELPFUL, _UNHELPFUL = 4, 2


def gate_opinions(
    threshold: float, others: Sequence[GateFeedback], ratings: Sequence[RatedPassage]
) -> list[tuple[float, bool]]:
    """Return the ratings that may move the gate, as pairs of score and whether the answer helped, or nothing.

    `threshold` is that of the gate before any opinion, and `others` are the opinions that already count. The ratings
    are split into ten parts. Each part is replayed with the gate that the other nine would make: an answer that helped
    counts 1 if it passes, one that did not costs 2. The ratings count only if that sum is larger than with the gate as
    it is. A score of 3 is no opinion.
    """
    opinions = [
        (rating.passage_score, rating.score >= _HELPFUL)
        for rating in ratings
        if rating.score >= _HELPFUL or rating.score <= _UNHELPFUL
    ]
    if len(opinions) < FEWEST:
        return []
    present = calibrated(threshold, others)
    gain = 0.0
    for fold in range(_FOLDS):
        learnt = [opinion for place, opinion in enumerate(opinions) if place % _FOLDS != fold]
        replayed = opinions[fold::_FOLDS]
        moved = calibrated(threshold, [*others, *map(_as_feedback, learnt)])
        gain += _worth(moved, replayed) - _worth(present, replayed)
    return opinions if gain > 0 else []


def _worth(threshold: float, opinions: Sequence[tuple[float, bool]]) -> float:
    return sum(1.0 if helpful else -_WRONG_COSTS for score, helpful in opinions if score >= threshold)


def _as_feedback(opinion: tuple[float, bool]) -> GateFeedback:
    score, helpful = opinion
    return GateFeedback(score, helpful, now(), SOURCE)
