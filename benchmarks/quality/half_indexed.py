"""Benchmark with half of a reading set indexed: only questions about that half may be answered, and no small talk."""

from collections.abc import Callable

import numpy as np
from opencc import OpenCC

from benchmarks.quality.collection import Shelf, open_shelf
from benchmarks.quality.datasets import Paragraph, passages_of, read_lines
from benchmarks.quality.readings import Readings
from benchmarks.quality.report import Figure, Report
from benchmarks.quality.scores import best_f1, decided
from benchmarks.quality.vectors import Vectors
from services.retrieval.models import Question, Retrieval, RetrievalStatus

HALVES = 3


async def run(
    vectors: Vectors, readings: Readings | None, paragraphs: list[Paragraph], halves: int = HALVES, of: str = ""
) -> Report:
    """Report F1 over random halves, and the share of small talk let through.

    The documents have titles or none, or the questions are in traditional characters.
    """
    report = Report(f"Half indexed{of}: {len(paragraphs)} paragraphs, {halves} random halves each")
    report.row("documents", "F1 shipped", "precision", "recall", "F1 best", "F1 cosine best", "small talk let through")
    talk = read_lines("small_talk.txt")
    traditional = OpenCC("s2twp").convert
    for name, titled, write in (
        ("named by title", True, str),
        ("names say nothing", False, str),
        ("asked in traditional characters", False, traditional),
    ):
        found: list[tuple[bool, bool, Retrieval]] = []
        async with open_shelf(vectors, readings) as shelf:
            for half in range(halves):
                found += await _half(shelf, paragraphs, half, talk, write, titled=titled)
        answers = np.array([answer for answer, _, _ in found])
        chatter = np.array([is_talk for _, is_talk, _ in found])
        usable = np.array([item.status is RetrievalStatus.USABLE for _, _, item in found])
        scores = np.array([item.metrics.max_rerank_score or 0.0 for _, _, item in found])
        cosines = np.array([item.metrics.max_vector_similarity or 0.0 for _, _, item in found])
        shipped, best = decided(usable, answers), best_f1(scores, answers)
        let_through = float(usable[chatter].mean())
        report.row(
            name,
            f"{shipped.f1:.3f}",
            f"{shipped.precision:.3f}",
            f"{shipped.recall:.3f}",
            f"{best.f1:.3f}",
            f"{best_f1(cosines, answers).f1:.3f}",
            f"{let_through:.4f}",
        )
        report.figure(Figure(f"half indexed{of} F1, {name}", shipped.f1, 0.006))
        report.figure(Figure(f"small talk kept out{of}, {name}", 1 - let_through, 0.004))
    report.line(f"noise of F1 over halves about 0.006; {len(talk)} lines of small talk are asked of every half")
    return report


async def _half(
    shelf: Shelf,
    paragraphs: list[Paragraph],
    half: int,
    talk: list[str],
    write: Callable[[str], str],
    *,
    titled: bool,
) -> list[tuple[bool, bool, Retrieval]]:
    order = np.random.default_rng(half).permutation(len(paragraphs))
    inside = [paragraphs[number] for number in order[: len(paragraphs) // 2]]
    outside = [paragraphs[number] for number in order[len(paragraphs) // 2 :]]
    collection = f"half_{half}_{int(titled)}"
    await shelf.fill(collection, passages_of(inside, titled=titled))
    asked = [
        *((True, False, question.text) for paragraph in inside for question in paragraph.questions),
        *((False, False, question.text) for paragraph in outside for question in paragraph.questions),
        *((False, True, line) for line in talk),
    ]
    return [
        (answer, is_talk, await shelf.retriever.retrieve(collection, Question(write(text))))
        for answer, is_talk, text in asked
    ]
