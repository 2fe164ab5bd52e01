"""How well the confidence of an answer is calibrated: `python -m benchmarks.quality.confidence SET`.

The quoted answers of a set of groups are divided by their confidence, and each part says how many of them are right.
The weights are fitted again with each group left out in turn, so that no answer is judged by weights that have seen its
group, and once more on all groups: these are the ones that `services.workflows.qa.confidence` ships.
"""

import argparse
import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.groups import Outcome, read_groups, run
from benchmarks.quality.readings import Readings
from benchmarks.quality.vectors import Vectors
from services.workflows.qa.confidence import BEST, INTERCEPT, SECOND, second_score

Floats = NDArray[np.float64]
_L2 = 1.0
_PARTS = 4
_LEAST = 1e-4


def _features(outcome: Outcome) -> tuple[float, float, float]:
    best = max((item.rerank_score or 0.0 for item in outcome.retrieval.candidates), default=0.0)
    return 1.0, _log_odds(best), _log_odds(second_score(outcome.retrieval))


def _log_odds(score: float) -> float:
    bounded = min(1 - _LEAST, max(_LEAST, score))
    return math.log(bounded / (1 - bounded))


def _fit(features: Floats, right: Floats) -> Floats:
    weights = np.zeros(features.shape[1])
    penalty = np.diag([0.0, *[_L2] * (features.shape[1] - 1)])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (features * (likely * (1 - likely))[:, None]) + penalty
        weights -= np.linalg.solve(slope, features.T @ (likely - right) + penalty @ weights)
    return weights


def _print_parts(title: str, likely: Floats, right: Floats) -> None:
    order = np.argsort(likely)
    print(f"{title}: Brier {np.mean((likely - right) ** 2):.3f}, without it {right.mean() * (1 - right.mean()):.3f}")
    for part in np.array_split(order, _PARTS):
        print(f"  predicted {likely[part].mean():.2f}  right {right[part].mean():.2f}  ({len(part)} answers)")


def report(outcomes: Sequence[Outcome]) -> None:
    """Print the calibration of the answers that quote something."""
    quoted = [outcome for outcome in outcomes if outcome.answer.sources]
    features = np.array([_features(outcome) for outcome in quoted])
    right = np.array([float(outcome.verdict in ("right", "ok")) for outcome in quoted])
    groups = np.array([outcome.question.group for outcome in quoted])
    held = np.zeros(len(quoted))
    for group in sorted(set(groups.tolist())):
        there = groups == group
        held[there] = 1 / (1 + np.exp(-features[there] @ _fit(features[~there], right[~there])))
    _print_parts("groups left out", held, right)
    _print_parts("shipped", 1 / (1 + np.exp(-features @ np.array([INTERCEPT, BEST, SECOND]))), right)
    print("fitted on all groups:", ", ".join(f"{weight:.2f}" for weight in _fit(features, right)))


def main() -> None:
    """Play the groups and print the calibration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="where vectors and readings are kept between runs")
    arguments = parser.parse_args()
    outcomes = asyncio.run(run(Vectors(arguments.cache), Readings(arguments.cache), read_groups(arguments.groups)))
    report(outcomes)


if __name__ == "__main__":
    main()
