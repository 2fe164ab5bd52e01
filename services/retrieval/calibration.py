"""Calibration of one knowledge base's gate by its users' feedback, within bounds."""

import math
from collections.abc import Iterable

from services.records.groups import GateFeedback

# In log-odds. A group can make its gate stricter (0.5 becomes 0.73) by more than it can relax it (0.5 becomes 0.38),
# because a wrong answer costs more than silence.
STRICTEST, LAXEST = 1.0, -0.5
# Standard deviation of the prior: the shipped rule weighs as much as about a dozen opinions.
_DEVIATION = 0.5
_STEPS = 20
_EDGE = 1e-6


def calibrated(threshold: float, feedback: Iterable[GateFeedback]) -> float:
    """Return the threshold for a knowledge base with this feedback, 0 to 1, or `threshold` if there is none.

    The odds that an answer of score s helps are the odds of s lowered by a shift that is specific to the group. The
    result uses the most likely shift, given the opinions and a normal prior around zero (maximum a posteriori, by
    Newton's method), clipped to the bounds.
    """
    opinions = [(_logit(item.rerank_score), item.helpful) for item in feedback]
    if not opinions or not 0.0 < threshold < 1.0:
        return threshold
    shift = 0.0
    for _ in range(_STEPS):
        likely = [_logistic(score - shift) for score, _ in opinions]
        slope = sum(p - helpful for p, (_, helpful) in zip(likely, opinions, strict=True)) - shift / _DEVIATION**2
        curvature = sum(p * (1 - p) for p in likely) + 1 / _DEVIATION**2
        shift += slope / curvature
    return _logistic(_logit(threshold) + min(STRICTEST, max(LAXEST, shift)))


def _logit(value: float) -> float:
    bounded = min(1 - _EDGE, max(_EDGE, value))
    return math.log(bounded / (1 - bounded))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
