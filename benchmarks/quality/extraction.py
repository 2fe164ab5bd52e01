"""Benchmark of quoted sentences, the answer without a language model: do they contain the answer?"""

import numpy as np

from benchmarks.quality.cases import Case, hits, read_cases
from benchmarks.quality.datasets import Paragraph, passages_of
from benchmarks.quality.pool import AskedQuestion, Pool, cleaned
from benchmarks.quality.readings import Readings, is_held_out
from benchmarks.quality.report import Figure, Report
from benchmarks.quality.scores import standard_error
from benchmarks.quality.train_extraction import held_out, read_training_cases
from benchmarks.quality.vectors import Vectors
from services.grounding.excerpt import PASSAGES, quotes
from services.grounding.sentence_model import FEATURES, Floats, load_sentence_model
from services.retrieval.features import combined
from services.retrieval.models import Candidate, Reference


async def run(vectors: Vectors, readings: Readings, paragraphs: list[Paragraph]) -> Report:
    """Compare what is quoted with the reader and without it, and the sentence models with simpler orders."""
    report = Report(f"Extraction: from the {PASSAGES} best passages")
    report.row("documents", "chosen by", "holds the answer", "its words anywhere", "characters")
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
            ("words, held out", unseen),
            ("words, as shipped", shipped),
        ):
            result = hits(found, score)
            rates = [float(flags.mean()) for flags in (result.sentence, result.literal)]
            report.row(shown, f"sentence by {name}", *(f"{100 * rate:.2f}" for rate in rates))
            if name.startswith("words"):
                report.figure(Figure(f"sentence by {name}, {shown}", rates[0], standard_error(rates[0], len(found))))
        for name, reader in (("words", None), ("the reader, held out", readings)):
            quoted = _quoted(vectors, reader, paragraphs, titled=titled)
            rate = float(np.mean([is_right for is_right, _ in quoted]))
            length = float(np.mean([length for _, length in quoted]))
            report.row(shown, f"quotation by {name}", f"{100 * rate:.2f}", "", f"{length:.0f}")
            report.figure(Figure(f"quotation by {name}, {shown}", rate, standard_error(rate, len(quoted))))
    report.line("held out: questions about documents that the reader was not trained on, one in five")
    return report


def _quoted(
    vectors: Vectors, readings: Readings | None, paragraphs: list[Paragraph], *, titled: bool
) -> list[tuple[bool, int]]:
    """Return for each held-out question whether the quotations contain its answer, and their length."""
    passages = passages_of(paragraphs, titled=titled)
    pool = Pool(passages, vectors.passages([passage.embedded for passage in passages]))
    everything = pool.members(range(len(passages)))
    questions = [question for item in paragraphs if is_held_out(item.title) for question in item.questions]
    texts = cleaned([question.text for question in questions])
    found: list[tuple[bool, int]] = []
    for question, text, vector in zip(questions, texts, vectors.questions(texts), strict=True):
        evidence = pool.evidence(everything, AskedQuestion(text, vector))
        if evidence is None:
            continue
        recalled = evidence.recalled if readings is None else readings.attach(text, evidence.recalled)
        read = [item for item in recalled if item.reading is not None]
        best = sorted(read, key=combined, reverse=True) if read else list(recalled)
        references = [_reference(number, item) for number, item in enumerate(best[:PASSAGES], start=1)]
        shown = "\n".join(quote.text for quote in quotes(text, references, evidence.words.weights, best))
        found.append((any(answer in shown for answer in question.answers), len(shown)))
    return found


def _reference(number: int, candidate: Candidate) -> Reference:
    chunk = candidate.hit.chunk
    return Reference(
        number, number, chunk.build_id, 1, None, "", chunk.text, 1.0, chunk.build_id, chunk.ordinal, chunk.ordinal
    )


def _first(case: Case) -> Floats:
    return -np.arange(len(case.gold), dtype=np.float64)


def _coverage(case: Case) -> Floats:
    return case.features[:, FEATURES.index("coverage")]
