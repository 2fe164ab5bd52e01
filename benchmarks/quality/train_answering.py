"""Train the choice of the quoted part: `python -m benchmarks.quality.train_answering --help`.

The model is a sum over the features of `services.grounding.part_features`. Its loss is minus the logarithm of the
softmax probability of the parts that contain an answer, among all parts of the approved passages. Cases are the
questions of groups with their own files, and our own questions about documents that were held out of the reader's
training. Every figure printed is for groups and documents that were left out.
"""

import argparse
import asyncio
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.datasets import Paragraph, passages_of, read_member_questions
from benchmarks.quality.groups import Outcome, contains, read_groups, run
from benchmarks.quality.pool import AskedQuestion, Pool, cleaned
from benchmarks.quality.readings import Readings, is_held_out
from benchmarks.quality.vectors import Vectors
from services.grounding.answering import COEFFICIENTS, can_answer
from services.grounding.excerpt import PASSAGES
from services.grounding.part_features import PART_FEATURES, describe_parts
from services.grounding.passage import parts_of
from services.retrieval.features import combined
from services.retrieval.models import Candidate, Reference

Floats = NDArray[np.float64]

_FOLDS, _STEPS, _RATE, _DECAY = 6, 400, 0.05, 0.03
# An own question is asked of one passage more often than a real one, so it weighs less.
_OWN_WEIGHT = 0.3
# Reading the passages of a question takes a quarter of a second.
_MOST_OWN_QUESTIONS = 3
# Such features can only speak for a part, or only against it, whatever a few cases say.
_FOR = ("words", "token", "passage", "lead_coverage", "row_below_best", "agrees", "covers", "extreme")
_AGAINST = ("rank", "heading", "announces", "points", "type_missing", "disagrees", "other_token")


@dataclass(frozen=True, slots=True)
class Case:
    """The parts that a question may be answered from: features, which of them answer, the fold, the weight."""

    features: Floats
    gold: NDArray[np.bool_]
    fold: int
    weight: float


def group_cases(outcomes: Sequence[Outcome]) -> Iterator[Case]:
    """Yield the cases of groups. Groups with the same files are in the same fold."""
    for outcome in outcomes:
        question, retrieval = outcome.question, outcome.retrieval
        if question.answers and retrieval.references:
            case = _case(
                question.text,
                retrieval.references[:PASSAGES],
                retrieval.term_weights,
                retrieval.candidates,
                (question.answers, question.wrong),
            )
            yield Case(*case, _fold(question.group.removesuffix("_2")), 1.0)


def own_cases(paragraphs: Sequence[Paragraph], vectors: Vectors, readings: Readings) -> Iterator[Case]:
    """Yield the cases of our own questions, asked of the collection of all our own passages."""
    passages = passages_of(list(paragraphs), titled=True)
    pool = Pool(passages, vectors.passages([passage.embedded for passage in passages]))
    everything = pool.members(range(len(passages)))
    for paragraph in paragraphs:
        name = paragraph.paragraph_id.split("#")[0]
        if not is_held_out(name):
            continue
        asked = paragraph.questions[:_MOST_OWN_QUESTIONS]
        texts = cleaned([question.text for question in asked])
        for text, question, vector in zip(texts, asked, vectors.questions(texts), strict=True):
            evidence = pool.evidence(everything, AskedQuestion(text, vector))
            if evidence is None:
                continue
            recalled = readings.attach(text, evidence.recalled)
            best = sorted((item for item in recalled if item.reading), key=combined, reverse=True)[:PASSAGES]
            references = [_reference(number, item) for number, item in enumerate(best, 1)]
            case = _case(text, references, evidence.words.weights, recalled, (question.answers, ()))
            yield Case(*case, _fold(name), _OWN_WEIGHT)


def fit(cases: Sequence[Case]) -> Floats:
    """Return the weights of the features."""
    known = [case for case in cases if case.gold.any() and not case.gold.all()]
    scale = np.concatenate([case.features for case in known]).std(axis=0) + 1e-6
    lowest = np.array([0.0 if name in _FOR else -np.inf for name in PART_FEATURES])
    highest = np.array([0.0 if name in _AGAINST else np.inf for name in PART_FEATURES])
    total = sum(case.weight for case in known)
    weights = np.zeros(len(PART_FEATURES))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        gradient = _DECAY * weights
        for case in known:
            inputs = case.features / scale
            likely = _softmax(inputs @ weights)
            answering = likely * case.gold
            gradient = gradient + case.weight / total * inputs.T @ (likely - answering / max(answering.sum(), 1e-12))
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        change = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = np.clip(weights - _RATE * change, lowest, highest)
    return weights / scale


def figures(cases: Sequence[Case], weights: Floats) -> tuple[float, float]:
    """Return the mean loss, and the share of the cases in which the most probable part answers."""
    likely = [(_softmax(case.features @ weights), case.gold) for case in cases if case.gold.any()]
    losses = [-np.log(max(each[gold].sum(), 1e-12)) for each, gold in likely]
    return float(np.mean(losses)), float(np.mean([gold[each.argmax()] for each, gold in likely]))


def _case(
    question: str,
    references: Sequence[Reference],
    weights: Mapping[str, float],
    candidates: Sequence[Candidate],
    labels: tuple[Sequence[str], Sequence[str]],
) -> tuple[Floats, NDArray[np.bool_]]:
    answers, wrong = labels
    passages = [parts_of(reference.text) for reference in references]
    features = describe_parts(question, references, passages, weights, candidates)
    gold = [contains(part.text, answers) and not contains(part.text, wrong) for passage in passages for part in passage]
    possible = can_answer(passages)
    return features[possible], np.array(gold, np.bool_)[possible]


def _reference(number: int, candidate: Candidate) -> Reference:
    chunk = candidate.hit.chunk
    place = chunk.ordinal
    return Reference(number, number, "", 1, None, chunk.context, chunk.text, 0.0, chunk.build_id, place, place)


def _fold(name: str) -> int:
    return zlib.crc32(name.encode()) % _FOLDS


def _softmax(scores: Floats) -> Floats:
    likely = np.exp(scores - scores.max())
    return likely / likely.sum()


def main() -> None:
    """Fit the weights, print figures on what was left out, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", type=Path, help="a folder with one folder for each group")
    parser.add_argument("--cache", type=Path, default=Path("data/benchmark-cache"))
    parser.add_argument("--out", type=Path, default=COEFFICIENTS)
    arguments = parser.parse_args()
    vectors, readings = Vectors(arguments.cache), Readings(arguments.cache)
    outcomes = asyncio.run(run(vectors, readings, read_groups(arguments.groups)))
    cases = [*group_cases(outcomes), *own_cases(read_member_questions(), vectors, readings)]
    left_out: dict[str, list[tuple[float, float, int]]] = {"groups": [], "own": []}
    for fold in range(_FOLDS):
        weights = fit([case for case in cases if case.fold != fold])
        for name, is_group in (("groups", True), ("own", False)):
            part = [
                case for case in cases if case.fold == fold and (case.weight == 1.0) is is_group and case.gold.any()
            ]
            if part:
                left_out[name].append((*figures(part, weights), len(part)))
    held_out = {
        name: {
            "cases": sum(count for *_, count in parts),
            "loss": round(float(np.average([loss for loss, *_ in parts], weights=[n for *_, n in parts])), 3),
            "best part answers": round(
                float(np.average([top for _, top, _ in parts], weights=[n for *_, n in parts])), 3
            ),
        }
        for name, parts in left_out.items()
    }
    weights = fit(cases)
    provenance = {
        "by": "python -m benchmarks.quality.train_answering",
        "trained": datetime.now(UTC).strftime("%Y-%m-%d"),
        "groups": arguments.groups.name,
        "held_out": held_out,
    }
    content = {
        "weights": {name: round(float(weight), 4) for name, weight in zip(PART_FEATURES, weights, strict=True)},
        "provenance": provenance,
    }
    arguments.out.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(content, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
