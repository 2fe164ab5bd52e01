"""Benchmark of ranking: is the passage with the answer first?

The baselines are each channel alone and their equal reciprocal rank fusion.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.collection import open_shelf
from benchmarks.quality.datasets import Paragraph, passages_of
from benchmarks.quality.readings import Readings
from benchmarks.quality.report import Figure, Report
from benchmarks.quality.scores import standard_error
from benchmarks.quality.vectors import Vectors
from services.retrieval.models import Candidate, Question

_RRF = 60


async def run(vectors: Vectors, readings: Readings | None, paragraphs: list[Paragraph]) -> Report:
    """Report the recall at 1 and 3 of the right paragraph.

    The figures are for all questions and for the quarter with the least word overlap. The strict figures count only
    chunks that contain an answer word for word.
    """
    report = Report("Ranking: chunks of at most 500 characters, the whole set in one collection")
    report.row(
        "documents", "order", "recall@1", "recall@3", "recall@1, lowest overlap", "strict recall@1", "strict recall@3"
    )
    questions = [question for paragraph in paragraphs for question in paragraph.questions]
    for titled in (True, False):
        passages = passages_of(paragraphs, titled=titled)
        async with open_shelf(vectors, readings) as shelf:
            await shelf.fill("reading", passages)
            found = [(await shelf.retriever.retrieve("reading", Question(q.text))) for q in questions]
        shown = "named by title" if titled else "names say nothing"
        of_paragraph: dict[str, set[str]] = {}
        for passage in passages:
            of_paragraph.setdefault(passage.document, set()).add(passage.text)
        loose = [of_paragraph[question.paragraph] for question in questions]
        strict = [
            {text for text in of_paragraph[question.paragraph] if any(answer in text for answer in question.answers)}
            or of_paragraph[question.paragraph]
            for question in questions
        ]
        lowest = _lowest_overlap([result.candidates for result in found], loose)
        for order, score in (
            ("dense alone", _cosine),
            ("BM25 alone", _bm25),
            ("equal RRF", None),
            ("as shipped", _rank),
        ):
            ranked = [_ordered(result.candidates, score) for result in found]
            first, third = _hits(ranked, loose, 1), _hits(ranked, loose, 3)
            strict_first, strict_third = _hits(ranked, strict, 1), _hits(ranked, strict, 3)
            figures = [values.mean() for values in (first, third, first[lowest], strict_first, strict_third)]
            report.row(shown, order, *(f"{100 * value:.2f}" for value in figures))
            if order == "as shipped":
                for name, value, count in (
                    ("recall@1", figures[0], len(first)),
                    ("recall@3", figures[1], len(first)),
                    ("recall@1 lowest overlap", figures[2], int(lowest.sum())),
                ):
                    report.figure(Figure(f"{name}, {shown}", float(value), standard_error(float(value), count)))
    error = 100 * standard_error(0.98, len(questions))
    report.line(f"{len(questions)} questions; standard error at 98 %: {error:.2f}, of the quarter {2 * error:.2f}")
    return report


def _lowest_overlap(candidates: Sequence[Sequence[Candidate]], rights: Sequence[set[str]]) -> NDArray[np.bool_]:
    """Return the quarter of the questions whose words occur least in their own paragraph."""
    overlap = np.array(
        [
            max((item.coverage for item in items if item.hit.chunk.text in right), default=0.0)
            for items, right in zip(candidates, rights, strict=True)
        ]
    )
    return overlap <= np.quantile(overlap, 0.25)


def _hits(ranked: Sequence[Sequence[Candidate]], rights: Sequence[set[str]], depth: int) -> NDArray[np.float64]:
    return np.array(
        [
            float(any(item.hit.chunk.text in right for item in items[:depth]))
            for items, right in zip(ranked, rights, strict=True)
        ]
    )


def _ordered(candidates: Sequence[Candidate], score: Callable[[Candidate], float] | None) -> list[Candidate]:
    if score is not None:
        return sorted(candidates, key=score, reverse=True)
    dense = {id(item): rank for rank, item in enumerate(sorted(candidates, key=_cosine, reverse=True))}
    words = {id(item): rank for rank, item in enumerate(sorted(candidates, key=_bm25, reverse=True))}
    return sorted(candidates, key=lambda item: -1 / (_RRF + dense[id(item)]) - 1 / (_RRF + words[id(item)]))


def _cosine(candidate: Candidate) -> float:
    return -1.0 if candidate.hit.cosine is None else candidate.hit.cosine


def _bm25(candidate: Candidate) -> float:
    return candidate.hit.bm25 or 0.0


def _rank(candidate: Candidate) -> float:
    return candidate.fused if candidate.rerank_score is None else 10.0 + candidate.rerank_score
