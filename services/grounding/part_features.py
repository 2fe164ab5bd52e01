"""Features of the parts of passages, from which `answering` tells which part answers the question."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from services.grounding.extremes import extreme_rows
from services.grounding.passage import Part, Role, parts_of
from services.grounding.sentence_model import FEATURES, describe_sentences, load_sentence_model
from services.index.tokens import index_terms_of_normal, normalise
from services.reading.models import Reading
from services.retrieval.answer_types import missing
from services.retrieval.conflicts import AskedQuestion, agreement, read_question
from services.retrieval.features import combined
from services.retrieval.models import Candidate, Reference
from services.retrieval.speech import written
from services.text.amounts import Amount, amounts, ranges

Floats = NDArray[np.float64]

PART_FEATURES = (
    "words",  # the score of the sentence model
    "token",  # logarithm of the share of the part's best token in all tokens that were read
    "passage",  # the score by which the passages were ordered
    "unread",
    "rank",
    "lead_coverage",  # share of the question's terms in the part and in the line that announces it
    "row_below_best",  # for rows: coverage below that of the best row of the table
    "row",
    "code",
    "item",
    "heading",
    "announces",
    "points",  # 见表 3: the answer is elsewhere
    "length",
    "type_missing",  # the kind of value that is asked for is not in the part
    "agrees",  # names the year, number or member of a contrast that is asked for
    "disagrees",  # names only others
    "covers",  # has a range that contains an amount of the question
    "extreme",  # the row with the largest or smallest value that is asked for
    "other_token",  # names sda0 and not the asked sda1
)
_COVERAGE = FEATURES.index("coverage")
_POINTS = re.compile(
    r"(?:见|参照|参考|按照?|详见|依照|附)\s*(?:附?[表图]|附件|第)|^\s*(?:表|图|table|figure|fig\.)\s*[\d一二三四五六七八九十]"
)
_NAMED_TOKEN = re.compile(r"(?<![a-z0-9])([a-z]{1,8})[-_]?(\d{1,4})(?![a-z0-9.])")
_MOST_LEAD = 12


def describe_parts(
    question: str,
    references: Sequence[Reference],
    passages: Sequence[Sequence[Part]],
    weights: Mapping[str, float],
    candidates: Iterable[Candidate],
) -> Floats:
    """Return the features of all parts in order, shape (n, len(PART_FEATURES)).

    `weights` gives the inverse document frequency of the question's terms; `candidates` carry the readings.
    """
    sentences = describe_sentences(
        question,
        [[part.text for part in passage] for passage in passages],
        [reference.heading for reference in references],
        weights,
    )
    words = load_sentence_model().scores(sentences)
    asked = _Asked(question, weights)
    read = list(candidates)
    rows: list[list[float]] = []
    start = 0
    for rank, (reference, passage) in enumerate(zip(references, passages, strict=True)):
        coverage = sentences[start : start + len(passage), _COVERAGE]
        found = _read_parts(reference, read)
        extremes = extreme_rows(question, passage)
        best_rows: dict[int, float] = {}
        for place, part in enumerate(passage):
            if part.head is not None:
                best_rows[part.head] = max(best_rows.get(part.head, 0.0), float(coverage[place]))
        for place, part in enumerate(passage):
            token, of_passage = found.get(part.text.strip(), (math.nan, math.nan))
            own = normalise(part.text)
            rows.append(
                [
                    float(words[start + place]),
                    token,
                    of_passage,
                    float(math.isnan(token)),
                    math.log1p(rank),
                    asked.coverage(_lead(passage, place) + own),
                    0.0 if part.head is None else float(coverage[place]) - best_rows[part.head],
                    float(part.role is Role.ROW),
                    float(part.role is Role.CODE),
                    float(part.role is Role.ITEM),
                    float(part.role is Role.HEADING),
                    float(part.announces),
                    float(_POINTS.search(own) is not None),
                    math.log1p(len(part.text.strip())),
                    *asked.signs(own),
                    float(place in extremes),
                    asked.other_token(own),
                ]
            )
        start += len(passage)
    features = np.array(rows, np.float64).reshape(-1, len(PART_FEATURES))
    for column in (1, 2):
        # What was not read, such as the chunk after an approved one, counts like the least probable part.
        known = features[~np.isnan(features[:, column]), column]
        features[:, column] = np.nan_to_num(features[:, column], nan=float(known.min()) if len(known) else 0.0)
    return features


def siblings(question: str, passage: Sequence[Part], best: int) -> frozenset[int]:
    """Return the positions of the parts that name only others than the best part and the question do.

    These are other years, articles or members of a contrast, other words with a number, such as sda0 for sda1, and
    ranges that do not contain an amount of the question.
    """
    asked = _Asked(question, {})
    own = asked.names(normalise(passage[best].text))
    if own <= 0:
        return frozenset()
    return frozenset(place for place, part in enumerate(passage) if asked.names(normalise(part.text)) < 0)


class _Asked:
    """What a question says about the part that answers it, read once for all parts."""

    def __init__(self, question: str, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._total = sum(weights.values()) or 1.0
        normal = normalise(written(question))
        self._question: AskedQuestion = read_question(question)
        self._amounts: list[Amount] = amounts(normal)
        self._tokens = frozenset(_NAMED_TOKEN.findall(normal))

    def coverage(self, normal: str) -> float:
        terms = set(index_terms_of_normal(normal))
        return sum(weight for term, weight in self._weights.items() if term in terms) / self._total

    def signs(self, normal: str) -> tuple[float, float, float, float]:
        kind = self._question.kind
        agrees = agreement(self._question, normal)
        return (
            0.0 if kind is None else missing(kind, normal),
            float(agrees > 0),
            float(agrees < 0),
            float(self._covers(normal) > 0),
        )

    def names(self, normal: str) -> int:
        """Return 1 if a text names what the question names, -1 if it names only others, and 0 if nothing."""
        return agreement(self._question, normal) or self._token(normal) or self._covers(normal)

    def _covers(self, normal: str) -> int:
        """Return 1 if a range of a text contains an amount of the question, -1 if its ranges do not, 0 without any."""
        pairs = [
            found.covers(amount)
            for found in (ranges(normal) if self._amounts else ())
            for amount in self._amounts
            if found.is_comparable(amount)
        ]
        return (1 if any(pairs) else -1) if pairs else 0

    def _token(self, normal: str) -> int:
        """Return 1 if a text contains a word with a number of the question, -1 if others of the kind, or 0."""
        found = frozenset(_NAMED_TOKEN.findall(normal)) if self._tokens else frozenset[tuple[str, str]]()
        if found & self._tokens:
            return 1
        kinds = {name for name, _ in self._tokens}
        return -1 if any(name in kinds for name, _ in found) else 0

    def other_token(self, normal: str) -> float:
        return float(self._token(normal) < 0)


def _lead(passage: Sequence[Part], place: int) -> str:
    """Return the normalised line that announces a part's list, or the heading or question above a part."""
    for before in range(place - 1, max(-1, place - 1 - _MOST_LEAD), -1):
        part = passage[before]
        if (part.announces or part.role is Role.HEADING) and part.role is not Role.ROW:
            return normalise(part.text) + "\n"
    return ""


def _read_parts(reference: Reference, candidates: Sequence[Candidate]) -> dict[str, tuple[float, float]]:
    """Return the parts of a reference that were read, with the scores of their best token and of their passage."""
    found: dict[str, tuple[float, float]] = {}
    for candidate in candidates:
        chunk, reading = candidate.hit.chunk, candidate.reading
        is_inside = reference.first_ordinal <= chunk.ordinal <= reference.last_ordinal
        if reading is not None and chunk.build_id == reference.build_id and is_inside:
            passage = combined(candidate)
            for text, score in _scored(reading, parts_of(chunk.text)):
                found[text] = max((score, passage), found.get(text, (-math.inf, -math.inf)))
    return found


def _scored(reading: Reading, parts: Sequence[Part]) -> Iterator[tuple[str, float]]:
    """Yield the parts of a chunk with the logarithm of the share of their best token in all tokens."""
    total = float(np.logaddexp.reduce(reading.scores.astype(np.float64))) if len(reading.scores) else 0.0
    start = 0
    for part in parts:
        best = reading.best_between(start, start + len(part.text))
        start += len(part.text)
        if best is not None:
            yield part.text.strip(), best - total
