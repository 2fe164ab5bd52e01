"""The probability that an answer is right, from what is known about it without asking a model."""

import math

from services.grounding.models import Answer, AnswerKind
from services.retrieval.models import Retrieval

# A logistic regression on whether a quotation was right, fitted on the quoted answers of the development groups with
# L2 = 1: the intercept, and the weights of the log-odds of the best score and of the second one. With each group left
# out in turn its four quarters predict .60 .78 .87 .94 and are right in .57 .82 .90 .89; AUC .71, Brier .146 (.163
# without it). `python -m benchmarks.quality.confidence` repeats this.
INTERCEPT, BEST, SECOND = -0.25, 0.79, -0.18
# A text that a model wrote is as likely to be right as the passages it cites, unless the check of its claims failed.
# Without data from a model these are bounds and no estimates: an answer that nothing confirms is a guess.
_UNCONFIRMED, _UNFOUNDED = 0.4, 0.3
_LEAST = 1e-4


def confidence(answer: Answer, retrieval: Retrieval | None) -> float | None:
    """Return the probability (0 to 1) that an answer is right, or None for one that claims nothing.

    It is computed from the scores of the gate, from whether passages and answer agree, and from the citations that are
    left after the check of the claims.
    """
    if answer.kind in (AnswerKind.NOTHING_FOUND, AnswerKind.FAILED) or retrieval is None:
        return None
    if answer.kind is AnswerKind.GENERAL:
        return _UNFOUNDED
    scores = sorted((item.rerank_score for item in retrieval.candidates if item.rerank_score is not None), reverse=True)
    if not answer.sources or not scores:
        return _UNFOUNDED if retrieval.references else None
    cited = {(source.build_id, source.first_ordinal) for source in answer.sources}
    best = max(
        (
            reference.score
            for reference in retrieval.references
            if (reference.build_id, reference.first_ordinal) in cited
        ),
        default=scores[0],
    )
    estimate = from_scores(best, second_score(retrieval))
    return min(estimate, _UNCONFIRMED) if answer.doubtful else estimate


def second_score(retrieval: Retrieval) -> float:
    """Return the second best score of the gate, 0 if there is none."""
    scores = sorted((item.rerank_score or 0.0 for item in retrieval.candidates), reverse=True)
    return scores[1] if len(scores) > 1 else 0.0


def from_scores(best: float, second: float) -> float:
    """Return the probability that a quotation is right whose best passages have these scores.

    >>> from_scores(0.95, 0.3) > from_scores(0.95, 0.9) > from_scores(0.5, 0.3)
    True
    """
    return 1 / (1 + math.exp(-(INTERCEPT + BEST * _log_odds(best) + SECOND * _log_odds(second))))


def _log_odds(score: float) -> float:
    bounded = min(1 - _LEAST, max(_LEAST, score))
    return math.log(bounded / (1 - bounded))
