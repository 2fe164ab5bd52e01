"""Questions with approved answers: how often a look-up answers wrongly, directly or by asking back.

    python -m benchmarks.quality.faq --pairs lcqmc_dev.jsonl.gz

Pairs are {"a", "b", "same"}. A draw makes approved entries of the first questions of some pairs and asks the second
ones. Three quarters of the pairs were used to develop the rules and thresholds; the others are reported apart.
"""

import argparse
import gzip
import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.report import Report
from benchmarks.quality.vectors import Vectors
from services.faq.question_index import UNRELATED, ApprovedQuestion, QuestionIndex, average_cosine
from services.faq.wording import Wording, read_wording, searched

# One half was read to write the rules of wordings, another one served to choose the thresholds.
_SEEDS = (0, 20261122)
_SIZES = (20, 50, 200, 1000)
_DRAWS = 60
_SHOWN_CHOICES = 3
_UNRELATED_ASKED = 200


@dataclass(frozen=True, slots=True)
class Pair:
    """Two questions, and whether they ask the same."""

    first: str
    second: str
    same: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the set: its wording, its vector, and the group of questions that ask the same."""

    wording: Wording
    vector: NDArray[np.float32]
    group: int


class QuestionVectors(Protocol):
    """A model of embeddings."""

    def questions(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit vectors of questions."""
        ...


def read_pairs(path: Path) -> list[Pair]:
    """Read pairs of questions from gzipped JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Pair(row["a"], row["b"], row["same"]) for row in rows]


def measure(pairs: Sequence[Pair], asked: dict[str, Asked], unrelated: float, size: int, seed: int) -> dict[str, float]:
    """Return the shares of one draw: `size` pairs become entries, and the others' questions are unrelated ones."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(pairs))
    drawn = [pairs[place] for place in order[:size]]
    groups = {asked[pair.first].group for pair in drawn}
    entries = {asked[pair.first].wording.normal: asked[pair.first] for pair in drawn}
    known = list(entries.values())
    index = QuestionIndex(
        [ApprovedQuestion(number, entry.wording, str(entry.group), entry.vector) for number, entry in enumerate(known)],
        unrelated,
    )
    counts = Counter[str]()
    for pair in drawn:
        question = asked[pair.second]
        found = index.nearest(question.wording, question.vector)
        shown = [known[number].group for number in found.candidates[:_SHOWN_CHOICES]]
        direct = None if found.direct is None else known[found.direct].group
        kind = "same" if pair.same else "near"
        counts[kind] += 1
        counts[f"{kind} direct right"] += direct == question.group
        counts[f"{kind} direct wrong"] += direct is not None and direct != question.group
        counts[f"{kind} asked"] += direct is None and bool(shown)
        counts[f"{kind} found"] += question.group in (shown if direct is None else [direct])
    others = [pairs[place] for place in order[size:]]
    strangers = [asked[pair.second] for pair in others if asked[pair.second].group not in groups][:_UNRELATED_ASKED]
    for question in strangers:
        found = index.nearest(question.wording, question.vector)
        counts["other"] += 1
        counts["other direct wrong"] += found.direct is not None
        counts["other asked"] += found.direct is None and bool(found.candidates)
    return {name: _share(counts[name], counts[name.split()[0]]) for name in _COLUMNS}


_COLUMNS = {
    "near direct wrong": "near misses answered wrongly",
    "near asked": "near misses asked back",
    "other direct wrong": "others answered wrongly",
    "other asked": "others asked back",
    "same direct right": "paraphrases answered",
    "same direct wrong": "paraphrases answered wrongly",
    "same found": "paraphrases hit@3",
}


def run(vectors: QuestionVectors, pairs: Sequence[Pair]) -> Report:
    """Measure the pairs that were used for development, and the others, in draws of several sizes."""
    report = Report("Approved answers (LCQMC)")
    asked = ask_all(vectors, pairs)
    unrelated = average_cosine(vectors.questions(UNRELATED))
    used = np.logical_or(*(np.random.default_rng(seed).permutation(len(pairs)) < len(pairs) // 2 for seed in _SEEDS))
    report.row("pairs", "entries", *_COLUMNS.values())
    for part_name, chosen in (("used", used), ("unseen", ~used)):
        part = [pair for pair, is_in in zip(pairs, chosen, strict=True) if is_in]
        for size in _SIZES:
            draws = [measure(part, asked, unrelated, size, seed) for seed in range(_DRAWS)]
            report.row(part_name, str(size), *(_spread(draw[name] for draw in draws) for name in _COLUMNS))
    report.line(
        f"mean ± standard deviation of {_DRAWS} draws; two unrelated questions have a cosine of {unrelated:.3f}"
    )
    return report


def ask_all(vectors: QuestionVectors, pairs: Sequence[Pair]) -> dict[str, Asked]:
    """Return every question of the pairs."""
    texts = sorted({text for pair in pairs for text in (pair.first, pair.second)})
    groups = _groups(pairs)
    found = vectors.questions([searched(text) for text in texts])
    return {text: Asked(read_wording(text), vector, groups[text]) for text, vector in zip(texts, found, strict=True)}


def _groups(pairs: Sequence[Pair]) -> dict[str, int]:
    """Return the number of the group of each question; questions that ask the same are in one group."""
    leaders: dict[str, str] = {}

    def leader(text: str) -> str:
        while (above := leaders.setdefault(text, text)) != text:
            text = above
        return text

    for pair in pairs:
        first, second = leader(pair.first), leader(pair.second)
        if pair.same:
            leaders[first] = second
    numbers: dict[str, int] = {}
    return {text: numbers.setdefault(leader(text), len(numbers)) for text in list(leaders)}


def _share(count: int, of: int) -> float:
    return count / of if of else math.nan


def _spread(values: Iterable[float]) -> str:
    found = list(values)
    return f"{statistics.mean(found):.4f} ± {statistics.stdev(found):.4f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.faq", description="Approved answers.")
    parser.add_argument("--pairs", type=Path, required=True, help="pairs of questions, gzipped JSON lines")
    parser.add_argument("--cache", type=Path, default=Path("data/benchmark-cache"), help="keeps vectors between runs")
    arguments = parser.parse_args()
    print(run(Vectors(arguments.cache), read_pairs(arguments.pairs)).text())


if __name__ == "__main__":
    main()
