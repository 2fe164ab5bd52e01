"""Train the model that tells whether a question stands alone: `python -m benchmarks.quality.train_dependence --help`.

It is a logistic regression over the features of `services.workflows.qa.dependence`. Follow-up questions are those of a
chat corpus; questions that stand alone are our own, as members of a group type them, and those of a reading set. The
threshold is where three in a hundred of our own questions that were left out count as follow-ups.
"""

import argparse
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.datasets import (
    Paragraph,
    read_lines,
    read_member_questions,
    read_paragraphs,
    read_small_groups,
)
from services.workflows.qa.dependence import COEFFICIENTS, Dependence, features, plain

Floats = NDArray[np.float64]

FOLDS = 10
ASKS_BACK = "你想问的是哪一个"
_STEPS, _RATE, _DECAY = 200, 0.05, 4.0
_LETTERS, _LEAST_COUNT, _LEAST_WEIGHT = 200, 6, 0.05
_SAMPLE = 1_500
_FOLLOW_UP_WEIGHT = 5.0
_CHANGED = 0.03


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question of a chat, the two messages before it, and how a person wrote it so that it stands alone."""

    before: tuple[str, str]
    text: str
    rewritten: str


@dataclass(frozen=True, slots=True)
class Case:
    """A question after an answer. `is_own` marks questions as members of a group type them."""

    question: str
    answer: str
    depends: bool
    is_own: bool = False

    @property
    def fold(self) -> int:
        """The part of the cases that this one belongs to, the same for the same question."""
        return fold_of(self.question)


def fold_of(question: str) -> int:
    """Return the number of the fold of a question."""
    return zlib.crc32(question.encode()) % FOLDS


def read_follow_ups(path: Path) -> list[FollowUp]:
    """Read lines of {"before": [two messages], "question", "rewritten"}."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [FollowUp((line["before"][0], line["before"][1]), line["question"], line["rewritten"]) for line in lines]


def cases_of(follow_ups: Sequence[FollowUp], reading: Sequence[Paragraph]) -> list[Case]:
    """Return all cases: of a chat, of a reading set, and our own."""
    own = [*read_member_questions(), *read_small_groups()]
    return [
        *(Case(item.text, item.before[1], True) for item in follow_ups),
        *(case for paragraph in reading for case in _in_turn(paragraph, is_own=False)),
        *(case for paragraph in own for case in _in_turn(paragraph, is_own=True)),
        *(Case(text, "", False, is_own=True) for text in read_lines("questions.txt")),
        *(Case(text, "", False) for text in read_lines("small_talk.txt")),
    ]


def _in_turn(paragraph: Paragraph, *, is_own: bool) -> list[Case]:
    """Return the questions about a paragraph, each after the answer to the one before it, the first after a question.

    So a question back alone does not make the next one a follow-up.
    """
    answers = [(question.answers or ("",))[0] for question in paragraph.questions]
    texts = [*(question.text for question in paragraph.questions), *paragraph.unanswered]
    answers += [""] * len(paragraph.unanswered)
    return [Case(text, answer, False, is_own) for text, answer in zip(texts, [ASKS_BACK, *answers], strict=False)]


def frequent_letters(cases: Sequence[Case]) -> frozenset[str]:
    """Return the characters, except of ASCII, that occur in most questions of both kinds."""
    own = sorted((case.question for case in cases if case.is_own), key=lambda text: zlib.crc32(text.encode()))
    counts = Counter[str]()
    for text in [*(case.question for case in cases if case.depends), *own[:_SAMPLE]]:
        counts.update(character for character in set(plain(text)) if not character.isascii())
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    return frozenset(ranked[:_LETTERS])


def fit(cases: Sequence[Case]) -> Dependence:
    """Return the model of the cases, without a threshold chosen."""
    letters = frequent_letters(cases)
    found = [features(case.question, case.answer, letters) for case in cases]
    counts = Counter(name for names in found for name in names)
    names = sorted(name for name, count in counts.items() if count >= _LEAST_COUNT)
    number = {name: place for place, name in enumerate(names)}
    rows = [[number[name] for name in names if name in number] for names in found]
    places = np.array([place for row in rows for place in row])
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    labels = np.array([case.depends for case in cases], np.float64)
    importance = np.where(labels == 1, _FOLLOW_UP_WEIGHT, 1.0)
    weights = np.zeros(len(names) + 1)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        scores = np.bincount(owners, weights[places], len(rows)) + weights[-1]
        errors = importance * (1 / (1 + np.exp(-scores)) - labels)
        gradient = np.bincount(places, errors[owners], len(weights))
        gradient[-1] = errors.sum()
        gradient[:-1] += _DECAY * weights[:-1]
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        weights -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    kept = {
        name: round(float(weight), 2)
        for name, weight in zip(names, weights[:-1], strict=True)
        if abs(weight) >= _LEAST_WEIGHT
    }
    return Dependence(letters, kept, float(weights[-1]), {})


def with_threshold(model: Dependence, cases: Sequence[Case]) -> Dependence:
    """Return a model that takes three in a hundred of our own questions, which it was not fitted on, for follow-ups."""
    scores = [model.score(case.question, case.answer) for case in cases if case.is_own]
    return replace(model, bias=model.bias - float(np.quantile(scores, 1 - _CHANGED)))


def cross_validated(cases: Sequence[Case]) -> list[Dependence]:
    """Return for each fold a model that was not fitted on it. Its threshold is chosen on the next fold.

    That fold is left out of the fit, too.
    """
    models: list[Dependence] = []
    for fold in range(FOLDS):
        following = (fold + 1) % FOLDS
        model = fit([case for case in cases if case.fold not in (fold, following)])
        models.append(with_threshold(model, [case for case in cases if case.fold == following]))
    return models


def main() -> None:
    """Fit the model, print figures on what was left out, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("followups", type=Path, help="lines of follow-up questions with their rewrites")
    parser.add_argument("reading", type=Path, help="a reading set")
    parser.add_argument("--out", type=Path, default=COEFFICIENTS)
    arguments = parser.parse_args()
    cases = cases_of(read_follow_ups(arguments.followups), read_paragraphs(arguments.reading))
    models = cross_validated(cases)
    kinds = {
        "follow-ups": [case for case in cases if case.depends],
        "own": [case for case in cases if case.is_own],
        "reading": [case for case in cases if not case.depends and not case.is_own],
    }
    held_out = {
        name: round(float(np.mean([models[case.fold].depends(case.question, case.answer) for case in chosen])), 4)
        for name, chosen in kinds.items()
    }
    model = fit(cases)
    # Models of nine tenths of the cases stand for the one of all of them.
    biases: list[float] = []
    for fold in range(FOLDS):
        part = fit([case for case in cases if case.fold != fold])
        biases.append(with_threshold(part, [case for case in cases if case.fold == fold]).bias)
    model = replace(model, bias=float(np.mean(biases)))
    provenance = {
        "by": "python -m benchmarks.quality.train_dependence",
        "trained": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cases": {name: len(chosen) for name, chosen in kinds.items()},
        "taken for follow-ups when left out": held_out,
    }
    np.savez_compressed(
        arguments.out,
        letters=np.array("".join(sorted(model.letters))),
        names=np.array(list(model.weights)),
        weights=np.array(list(model.weights.values()), np.float32),
        bias=np.array(model.bias),
        provenance=np.array(json.dumps(provenance, ensure_ascii=False)),
    )
    print(json.dumps(provenance, ensure_ascii=False, indent=1))
    print(f"{len(model.weights)} weights, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
