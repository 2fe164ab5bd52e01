"""Model that tells which sentence contains the answer: a small network over features of the words alone.

`benchmarks.quality.train_extraction` fits it on a reading set. It maximises the softmax probability, among the
sentences of the question's passages, of those that contain an answer. The coefficients carry their provenance. No
feature depends on a subject or a kind of document.
"""

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.grounding.passage import table_heads
from services.index.tokens import index_terms_of_normal, normalise
from services.retrieval.wording import content_runs
from services.text.numerals import COUNTING_SIGNS

COEFFICIENTS = Path(__file__).parent / "sentence_model.npz"

FEATURES = (
    "coverage",  # share of the question's terms, by their rarity in the collection
    "told_apart",  # share of its content terms, by their rarity among these sentences: what distinguishes them
    "coverage_before",
    "coverage_after",
    "coverage_with_before",  # of this sentence and the one before it together
    "coverage_of_passage",
    "below_best_coverage",
    "below_best_told_apart",
    "second_passage",
    "later_passage",
    "length",
    "left_of_asked",  # pairs of characters left of the question word that also occur in the sentence
    "right_of_asked",
    "asked_word",  # 职务 in 什么职务
    "asked_unit",  # a number with 米 for 多少米
)

# A pasted log is no longer a question; the features of its first characters are sufficient.
_MAX_QUESTION_CHARS = 200
_SIDE = 6
_CONTENT = re.compile(r"[\u3400-\u9fffa-z0-9]")
_PAIR = re.compile(r"(?=([\u3400-\u9fffa-z0-9]{2}))")
_ASKED = re.compile(
    r"[什啥]么?时候|什么|啥|哪里|哪儿|哪[些个一位年种]?|多少|几|为什么|为何|如何|怎么样?|怎样|咋|何|谁|多[大高长远久]"
)
_KINDS = "个种类部家所条座项场位支只本首款"
_ASKED_WORD = re.compile(rf"(?:什么|哪一?[{_KINDS}届]?|几[{_KINDS}]|多少[{_KINDS}])的?(?P<word>[\u4e00-\u9fff]{{1,4}})")
_ASKED_UNIT = re.compile(r"(?:多少|几)(?P<unit>[\u4e00-\u9fffa-z])")
_NUMBER = rf"(?:\d[\d,.]*|[{COUNTING_SIGNS}]+)"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """A network with one hidden layer and a linear part over the standardised features of n sentences.

    Shapes, for f features and h units: `mean`, `scale`, `direct` (f,), `hidden` (f, h), `bias`, `output` (h,).
    """

    mean: Floats
    scale: Floats
    hidden: Floats
    bias: Floats
    output: Floats
    direct: Floats
    provenance: Mapping[str, Any]

    def scores(self, features: Floats) -> Floats:
        """Return the unnormalised log-probability that each sentence is the answer, from features (n, f) to (n,)."""
        inputs = standardised(features, self.mean, self.scale)
        return np.maximum(inputs @ self.hidden + self.bias, 0.0) @ self.output + inputs @ self.direct


def standardised(features: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return features as the network expects them, with values far outside the training data clipped to its edge."""
    return np.clip((features - mean) / scale, -5.0, 5.0)


@functools.cache
def load_sentence_model() -> SentenceModel:
    """Return the shipped coefficients, read once.

    Raise `ValueError` if they were trained on other features.
    """
    with np.load(COEFFICIENTS, allow_pickle=False) as file:
        provenance = json.loads(str(file["provenance"]))
        if tuple(provenance["features"]) != FEATURES:
            raise ValueError(f"{COEFFICIENTS.name} was trained on other features: {provenance['features']}")
        parts = (file[name] for name in ("mean", "scale", "hidden", "bias", "output", "direct"))
        return SentenceModel(*parts, provenance=provenance)


def describe_sentences(
    question: str, passages: Sequence[Sequence[str]], headings: Sequence[str], weights: Mapping[str, float]
) -> Floats:
    """Return the features of all sentences of the passages in order of rank, shape (n, len(FEATURES)).

    The heading of a passage counts as a part of each of its sentences. `weights` holds the inverse document frequency
    of the question's terms in the collection.
    """
    asked = _AskedFor.read(normalise(question[:_MAX_QUESTION_CHARS]))
    normal = [[normalise(sentence) for sentence in _with_head(passage)] for passage in passages]
    above = [frozenset(index_terms_of_normal(normalise(heading))) for heading in headings]
    terms = [
        [frozenset(index_terms_of_normal(sentence)) | head for sentence in passage]
        for passage, head in zip(normal, above, strict=True)
    ]
    by_rarity = _Coverage(weights)
    telling = _Coverage(_rarity_here(asked.content, [held for passage in terms for held in passage]))
    rows: list[list[float]] = []
    for rank, (passage, held) in enumerate(zip(normal, terms, strict=True)):
        covered = [by_rarity.of(item) for item in held]
        of_passage = by_rarity.of(frozenset[str]().union(*held))
        for position, sentence in enumerate(passage):
            before = held[position - 1] if position else frozenset[str]()
            rows.append(
                [
                    covered[position],
                    telling.of(held[position]),
                    covered[position - 1] if position else 0.0,
                    covered[position + 1] if position + 1 < len(passage) else 0.0,
                    by_rarity.of(held[position] | before),
                    of_passage,
                    0.0,
                    0.0,
                    float(rank == 1),
                    float(rank > 1),
                    math.log1p(len(_CONTENT.findall(sentence))),
                    _share(asked.left, sentence),
                    _share(asked.right, sentence),
                    float(bool(asked.word) and asked.word in sentence),
                    float(asked.counted is not None and asked.counted.search(sentence) is not None),
                ]
            )
    features = np.array(rows, np.float64).reshape(-1, len(FEATURES))
    if len(features):
        features[:, 6] = features[:, 0] - features[:, 0].max()
        features[:, 7] = features[:, 1] - features[:, 1].max()
    return features


def _with_head(passage: Sequence[str]) -> Sequence[str]:
    """Return the sentences, with each table row preceded by the head of its table.

    A row is complete only together with the head.
    """
    return [
        row if head is None or head == place else passage[head] + row
        for place, (row, head) in enumerate(zip(passage, table_heads(passage), strict=True))
    ]


@dataclass(frozen=True, slots=True)
class _AskedFor:
    """What the wording of a question says about its answer."""

    content: frozenset[str]
    left: tuple[str, ...]
    right: tuple[str, ...]
    word: str
    counted: re.Pattern[str] | None

    @classmethod
    def read(cls, question: str) -> "_AskedFor":
        content = content_runs(question)
        place = _ASKED.search(question)
        left = question[max(0, place.start() - _SIDE) : place.start()] if place else ""
        right = question[place.end() : place.end() + _SIDE] if place else ""
        word, unit = _ASKED_WORD.search(question), _ASKED_UNIT.search(question)
        return cls(
            frozenset(term for run in content for term in index_terms_of_normal(run)),
            tuple(_PAIR.findall(left)),
            tuple(_PAIR.findall(right)),
            word["word"] if word else "",
            re.compile(rf"{_NUMBER}[多余几]?{re.escape(unit['unit'])}") if unit else None,
        )


class _Coverage:
    """The weighted share of a set of terms that a text contains, 0 to 1."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._total = sum(weights.values()) or 1.0

    def of(self, terms: frozenset[str]) -> float:
        return sum(self._weights[term] for term in sorted(terms) if term in self._weights) / self._total


def _rarity_here(content: frozenset[str], sentences: Sequence[frozenset[str]]) -> dict[str, float]:
    counts = Counter(term for terms in sentences for term in terms & content)
    return {term: math.log((len(sentences) + 1) / (count + 0.5)) for term, count in sorted(counts.items())}


def _share(pairs: Sequence[str], sentence: str) -> float:
    return sum(pair in sentence for pair in pairs) / len(pairs) if pairs else 0.0
