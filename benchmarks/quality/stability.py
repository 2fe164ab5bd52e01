"""Benchmark of one rule for every collection size: its F1 against the best threshold for each number of chunks."""

from collections.abc import Mapping

import numpy as np

from benchmarks.quality.collection import Shelf, open_shelf
from benchmarks.quality.datasets import Paragraph, Passage, passages_of
from benchmarks.quality.readings import Readings
from benchmarks.quality.report import Figure, Report
from benchmarks.quality.scores import best_f1, decided
from benchmarks.quality.vectors import Vectors
from services.retrieval.models import Question, Retrieval, RetrievalStatus

# The number of collections for each number of chunks.
SIZES = {30: 8, 300: 2, 3_000: 1, 15_000: 1}
_QUESTIONS = 400


async def run(
    vectors: Vectors,
    readings: Readings | None,
    paragraphs: list[Paragraph],
    corpus: list[Passage],
    sizes: Mapping[int, int] = SIZES,
) -> Report:
    """Report F1 on collections of a part of the reading set, the larger ones filled up with the corpus."""
    report = Report("Stability: F1 by size of the collection, one shipped rule")
    report.row("chunks", "questions", "F1 shipped", "F1 best threshold", "difference", "F1 cosine at one threshold")
    losses: list[float] = []
    async with open_shelf(vectors, readings) as shelf:
        for size, draws in sizes.items():
            answers, usable, scores, cosines = [], [], [], []
            for draw in range(draws):
                for answer, result in await _ask(shelf, paragraphs, corpus, size, draw):
                    answers.append(answer)
                    usable.append(result.status is RetrievalStatus.USABLE)
                    scores.append(result.metrics.max_rerank_score or 0.0)
                    cosines.append(result.metrics.max_vector_similarity or 0.0)
            truth = np.array(answers)
            shipped, best = decided(np.array(usable), truth).f1, best_f1(np.array(scores), truth).f1
            fixed = decided(np.array(cosines) >= 0.886, truth).f1
            losses.append(best - shipped)
            report.row(
                str(size), str(len(truth)), f"{shipped:.3f}", f"{best:.3f}", f"{best - shipped:.3f}", f"{fixed:.3f}"
            )
    report.figure(Figure("stability, 1 - largest loss", 1 - max(losses), 0.008))
    return report


async def _ask(
    shelf: Shelf, paragraphs: list[Paragraph], corpus: list[Passage], size: int, draw: int
) -> list[tuple[bool, Retrieval]]:
    random = np.random.default_rng(100 * size + draw)
    order = random.permutation(len(paragraphs)).tolist()
    half = len(paragraphs) // 2
    inside: list[Paragraph] = []
    passages: list[Passage] = []
    for number in order[:half]:
        more = passages_of([paragraphs[number]], titled=draw % 2 == 0)
        if len(passages) + len(more) > size:
            break
        inside.append(paragraphs[number])
        passages += more
    filler = random.choice(len(corpus), max(0, min(size - len(passages), len(corpus))), replace=False).tolist()
    passages += [corpus[number] for number in sorted(filler)]
    collection = f"size_{size}_{draw}"
    await shelf.fill(collection, passages)
    outside = [paragraphs[number] for number in order[half:]]
    yes = [question.text for paragraph in inside for question in paragraph.questions]
    no = [question.text for paragraph in outside for question in paragraph.questions]
    count = min(_QUESTIONS, len(yes), len(no))
    asked = [
        *((True, text) for text in random.permutation(yes)[:count].tolist()),
        *((False, text) for text in random.permutation(no)[:count].tolist()),
    ]
    return [(answer, await shelf.retriever.retrieve(collection, Question(text))) for answer, text in asked]
