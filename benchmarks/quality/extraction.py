"""Benchmark of quoted sentences, the answer without a language model: do they contain the answer?"""

import numpy as np

from benchmarks.quality.cases import Case, hits, read_cases
from benchmarks.quality.datasets import Paragraph
from benchmarks.quality.report import Figure, Report
from benchmarks.quality.scores import standard_error
from benchmarks.quality.train_extraction import held_out, read_training_cases
from benchmarks.quality.vectors import Vectors
from services.grounding.excerpt import PASSAGES
from services.grounding.sentence_model import FEATURES, Floats, load_sentence_model


async def run(vectors: Vectors, paragraphs: list[Paragraph]) -> Report:
    """Compare the shipped model, models that have not seen the paragraph, and simpler orders."""
    report = Report(f"Extraction: sentences of the {PASSAGES} best passages")
    report.row("documents", "chosen by", "holds the answer", "with neighbours", "holds its words anywhere")
    cases = {titled: read_cases(vectors, paragraphs, titled=titled) for titled in (True, False)}
    model = load_sentence_model()

    def shipped(case: Case) -> Floats:
        return model.scores(case.features)

    unseen = held_out(read_training_cases(vectors, paragraphs), seed=11)
    for titled, found in cases.items():
        shown = "named by title" if titled else "names say nothing"
        for name, score in (
            ("first sentence", _first),
            ("coverage", _coverage),
            ("coverage, before, rank", _formula),
            ("model, held out", unseen),
            ("model as shipped", shipped),
        ):
            result = hits(found, score)
            rates = [float(flags.mean()) for flags in (result.sentence, result.shown, result.literal)]
            report.row(shown, name, *(f"{100 * rate:.2f}" for rate in rates))
            if name.startswith("model"):
                for figure, rate in (("sentence", rates[0]), ("with neighbours", rates[1])):
                    error = standard_error(rate, len(found))
                    report.figure(Figure(f"{figure}, {name}, {shown}", rate, error))
    report.line(
        f"{len(cases[True])} questions; standard error at 80 %: {100 * standard_error(0.8, len(cases[True])):.2f}"
    )
    report.line(f"shipped model: held out in its training {model.provenance['held_out']}")
    return report


def _first(case: Case) -> Floats:
    return -np.arange(len(case.gold), dtype=np.float64)


def _coverage(case: Case) -> Floats:
    return case.features[:, FEATURES.index("coverage")]


def _formula(case: Case) -> Floats:
    names = ("coverage", "coverage_before", "second_passage", "later_passage")
    return case.features[:, [FEATURES.index(name) for name in names]] @ np.array([1, 0.15, -0.07, -0.13])
