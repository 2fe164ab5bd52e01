"""Train the sentence model for quotations: `python -m benchmarks.quality.train_extraction --help`.

The model is a network of sixteen units over the features of `services.grounding.sentence_model`, trained in numpy with
a fixed seed. Each question is searched in the whole reading set. Its loss is minus the logarithm of the softmax
probability of the sentences that contain an answer, among all that were found.
"""

import argparse
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.quality.cases import Case, Flags, hits, read_cases
from benchmarks.quality.datasets import Paragraph, read_paragraphs
from benchmarks.quality.vectors import Vectors
from services.grounding.sentence_model import (
    COEFFICIENTS,
    FEATURES,
    Floats,
    SentenceModel,
    standardised,
)

FOLDS = 5
_UNITS, _DECAY, _EPOCHS, _BATCH, _RATE = 16, 3e-2, 20, 64, 3e-3


@dataclass(frozen=True, slots=True)
class _Rows:
    """The sentences of all questions, one after another.

    The sentences of a question go from one of `starts` to the next.
    """

    features: Floats
    gold: Floats
    starts: list[int]


def read_training_cases(vectors: Vectors, paragraphs: list[Paragraph]) -> list[Case]:
    """Return the cases of the whole set, with titles and without."""
    return [case for titled in (True, False) for case in read_cases(vectors, paragraphs, titled=titled)]


def fit(cases: Sequence[Case], seed: int, provenance: Mapping[str, object]) -> SentenceModel:
    """Fit a model by Adam with a decreasing rate, on the cases that have a sentence with an answer."""
    known = [case for case in cases if case.gold.any()]
    stacked = np.concatenate([case.features for case in known])
    mean, scale = stacked.mean(axis=0), stacked.std(axis=0) + 1e-3
    inputs = [standardised(case.features, mean, scale) for case in known]
    random = np.random.default_rng(seed)
    size = len(FEATURES)
    parts = [
        random.normal(0, size**-0.5, (size, _UNITS)),
        np.zeros(_UNITS),
        random.normal(0, _UNITS**-0.5, _UNITS),
        np.zeros(size),
    ]
    first, second = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    steps = _EPOCHS * (len(known) // _BATCH)
    step = 0
    for _ in range(_EPOCHS):
        order = random.permutation(len(known))
        for start in range(0, len(order) - _BATCH + 1, _BATCH):
            step += 1
            batch = order[start : start + _BATCH]
            rows = _rows([inputs[number] for number in batch], [known[number].gold for number in batch])
            for number, gradient in enumerate(_gradients(parts, rows)):
                change = gradient + _DECAY * parts[number]
                first[number] = 0.9 * first[number] + 0.1 * change
                second[number] = 0.999 * second[number] + 0.001 * change**2
                moved = first[number] / (1 - 0.9**step) / (np.sqrt(second[number] / (1 - 0.999**step)) + 1e-8)
                parts[number] = parts[number] - _RATE * (1 - step / (steps + 1)) * moved
    return SentenceModel(mean, scale, parts[0], parts[1], parts[2], parts[3], {"features": FEATURES, **provenance})


def held_out(cases: Sequence[Case], seed: int) -> Callable[[Case], Floats]:
    """Return a function that scores a case by a model that has not seen its paragraph."""
    models = [
        fit([case for case in cases if _fold(case) != fold], seed, {"held_out_fold": fold}) for fold in range(FOLDS)
    ]
    return lambda case: models[_fold(case)].scores(case.features)


def save(model: SentenceModel, path: Path) -> None:
    """Write a file for `load_sentence_model`."""
    np.savez_compressed(
        path,
        mean=model.mean,
        scale=model.scale,
        hidden=model.hidden,
        bias=model.bias,
        output=model.output,
        direct=model.direct,
        provenance=np.array(json.dumps(model.provenance, ensure_ascii=False)),
    )


def _fold(case: Case) -> int:
    return zlib.crc32(case.group.encode()) % FOLDS


def _rows(inputs: Sequence[Floats], gold: Sequence[Flags]) -> _Rows:
    sizes = [len(rows) for rows in inputs]
    starts = [0, *np.cumsum(sizes)[:-1].tolist()]
    return _Rows(np.concatenate(inputs), np.concatenate(gold).astype(np.float64), starts)


def _gradients(parts: Sequence[Floats], rows: _Rows) -> list[Floats]:
    hidden, bias, output, direct = parts
    before = rows.features @ hidden + bias
    units = np.maximum(before, 0.0)
    scores = units @ output + rows.features @ direct
    sizes = np.diff([*rows.starts, len(scores)])
    weights = np.exp(scores - np.repeat(np.maximum.reduceat(scores, rows.starts), sizes))
    probability = weights / np.repeat(np.add.reduceat(weights, rows.starts), sizes)
    right = probability * rows.gold
    error = (probability - right / np.repeat(np.add.reduceat(right, rows.starts), sizes)) / len(rows.starts)
    back = np.outer(error, output) * (before > 0)
    return [rows.features.T @ back, back.sum(axis=0), units.T @ error, rows.features.T @ error]


def main() -> None:
    """Train, print the held-out figures, and write the coefficients."""
    parser = argparse.ArgumentParser(description="Train the sentence model of quotations.")
    parser.add_argument("--reading", type=Path, required=True, help="paragraphs with questions, JSON lines")
    parser.add_argument("--cache", type=Path, default=Path("data/benchmark-cache"))
    parser.add_argument("--output", type=Path, default=COEFFICIENTS)
    parser.add_argument("--seed", type=int, default=11)
    arguments = parser.parse_args()
    vectors, paragraphs = Vectors(arguments.cache), read_paragraphs(arguments.reading)
    cases = read_training_cases(vectors, paragraphs)
    found = hits(cases, held_out(cases, arguments.seed))
    figures = f"sentence {100 * found.sentence.mean():.1f}"
    print(f"held out by paragraph: {figures}")
    provenance = {
        "trained": datetime.now(UTC).date().isoformat(),
        "by": "python -m benchmarks.quality.train_extraction",
        "reading": arguments.reading.name,
        "seed": arguments.seed,
        "held_out": figures,
    }
    save(fit(cases, arguments.seed, provenance), arguments.output)
    print(f"written to {arguments.output}")


if __name__ == "__main__":
    main()
