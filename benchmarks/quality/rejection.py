"""Benchmark of rejection on real group messages: which of them does the corpus answer?

The gate decides by the shipped rule. Beside it are the scores that it is based on, each with the threshold that is best
on these very labels (as in published figures) and with thresholds chosen on the other four fifths.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.collection import open_shelf
from benchmarks.quality.datasets import Message, Passage
from benchmarks.quality.readings import Readings
from benchmarks.quality.report import Figure, Report
from benchmarks.quality.scores import Decision, best_f1, decided
from benchmarks.quality.vectors import Vectors
from services.retrieval.models import Question, RetrievalStatus
from services.retrieval.rerank import load_coefficients

_FOLDS = 5
# Random error due to which messages were labelled, estimated by resampling them: about this much of F1 for a thousand.
_NOISE = 0.012


async def run(vectors: Vectors, readings: Readings | None, messages: list[Message], corpus: list[Passage]) -> Report:
    """Report F1, precision and recall over the messages."""
    async with open_shelf(vectors, readings) as shelf:
        await shelf.fill("corpus", corpus)
        found = [await shelf.retriever.retrieve("corpus", Question(message.text)) for message in messages]
    answers = np.array([message.answerable for message in messages])
    usable = np.array([item.status is RetrievalStatus.USABLE for item in found])
    scores = {
        "gate": np.array([item.metrics.max_rerank_score or 0.0 for item in found]),
        "cosine": np.array([item.metrics.max_vector_similarity or 0.0 for item in found]),
        "fused score": np.array([item.candidates[0].fused if item.candidates else 0.0 for item in found]),
        "message length": np.array([float(len(message.text)) for message in messages]),
    }
    shipped = decided(usable, answers)
    report = Report(f"Rejection: {len(messages)} messages, {answers.sum()} answerable, {len(corpus)} chunks")
    report.row("rule", "F1", "precision", "recall")
    report.row("answer everything", *_shown(decided(np.ones_like(answers), answers)))
    for name, values in scores.items():
        report.row(f"{name}, best threshold on these labels", *_shown(best_f1(values, answers)))
        report.row(f"{name}, threshold of the other folds", *_shown(_folded(values, answers)))
    report.row("gate as shipped", *_shown(shipped))
    held_out = load_coefficients().provenance["held_out"]["read"]["messages"]
    report.line(f"held out of training, labels of the training file: {held_out}")
    report.line("published, threshold chosen on the test set: bce + knowledge graph 77.57, bce 75.88, bge-m3 70.62")
    report.figure(Figure("rejection F1", shipped.f1, _NOISE))
    return report


def _folded(scores: NDArray[np.float64], answers: NDArray[np.bool_]) -> Decision:
    folds = np.random.default_rng(0).permutation(len(answers)) % _FOLDS
    yes = np.zeros_like(answers)
    for fold in range(_FOLDS):
        others = folds != fold
        yes[~others] = scores[~others] >= best_f1(scores[others], answers[others]).threshold
    return decided(yes, answers)


def _shown(decision: Decision) -> tuple[str, str, str]:
    return f"{decision.f1:.3f}", f"{decision.precision:.3f}", f"{decision.recall:.3f}"
