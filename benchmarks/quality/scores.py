"""Precision, recall and F1 of decisions by a threshold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Decision:
    """The threshold of a decision and its figures."""

    threshold: float
    precision: float
    recall: float
    f1: float


def f1_at(scores: NDArray[np.float64], answers: NDArray[np.bool_], threshold: float) -> Decision:
    """Return the figures for scores of at least `threshold`."""
    return decided(scores >= threshold, answers, threshold)


def decided(yes: NDArray[np.bool_], answers: NDArray[np.bool_], threshold: float = float("nan")) -> Decision:
    """Return the figures of decisions already made."""
    right = int((yes & answers).sum())
    precision, recall = right / max(1, int(yes.sum())), right / max(1, int(answers.sum()))
    return Decision(threshold, precision, recall, 2 * precision * recall / max(1e-9, precision + recall))


def best_f1(scores: NDArray[np.float64], answers: NDArray[np.bool_]) -> Decision:
    """Return the best figures that any threshold can give, chosen on the answers themselves."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(answers[order])
    precision, recall = right / np.arange(1, len(order) + 1), right / max(1, int(answers.sum()))
    f1 = 2 * precision * recall / np.maximum(1e-9, precision + recall)
    best = int(f1.argmax())
    return Decision(float(scores[order][best]), float(precision[best]), float(recall[best]), float(f1[best]))


def standard_error(share: float, count: int) -> float:
    """Return the standard error of a share of `count` independent cases."""
    return (share * (1 - share) / max(1, count)) ** 0.5
