"""The probability of each part of the best passages that it answers the question."""

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.grounding.part_features import PART_FEATURES, Floats, describe_parts
from services.grounding.passage import Part, Role
from services.index.tokens import normalise
from services.retrieval.models import Candidate, Reference
from services.text.tables import cells

# In log-odds. A row about another thing may still be shown if there is nothing else.
_LONGER_NAME = 3.0
_NAME_CHARS, _LONGEST_NAME = 2, 20
# The cells on the right hold values, and 空腹 is no name though it is a cell.
_NAMING_CELLS = 3
_BETWEEN_NAMES = re.compile(r"[、,，;；/()（）]|或|和|及")
COEFFICIENTS = Path(__file__).parent / "answering.json"


@functools.cache
def load_weights() -> Floats:
    """Return the weight of each feature, in log-odds for a unit of it; `benchmarks.quality.train_answering` fits them.

    Raise `ValueError` if they were fitted on other features.
    """
    weights = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))["weights"]
    if tuple(weights) != PART_FEATURES:
        raise ValueError(f"{COEFFICIENTS.name} was fitted on other features: {list(weights)}")
    return np.array(list(weights.values()), np.float64)


def answering(
    question: str,
    references: Sequence[Reference],
    passages: Sequence[Sequence[Part]],
    weights: Mapping[str, float],
    candidates: Iterable[Candidate],
) -> Floats:
    """Return for all parts of the passages, in order, the probability that they answer; the sum is 1."""
    features = describe_parts(question, references, passages, weights, candidates)
    scores = features @ load_weights()
    scores[_has_longer_name(question, passages)] -= _LONGER_NAME
    scores[~can_answer(passages)] = -np.inf
    likely = np.exp(scores - scores.max()) if np.isfinite(scores).any() else np.ones(len(scores))
    return likely / likely.sum()


def _has_longer_name(question: str, passages: Sequence[Sequence[Part]]) -> NDArray[np.bool_]:
    """Return for all parts whether they are rows about a thing with a longer name than the one that is asked for.

    Asked for 外科学, the row of 外科学 answers, and not that of 外科学总论 in the same table.
    """
    asked = "".join(normalise(question).split())
    rows: list[tuple[str, frozenset[str]]] = []
    for passage in passages:
        for part in passage:
            is_row = part.role is Role.ROW and part.head is not None
            head = passage[part.head].text if is_row and part.head is not None else ""
            rows.append((head, _names(part.text) if is_row else frozenset()))
    # The chunks of one table have the same head.
    named = {(head, name) for head, names in rows for name in names if name in asked}
    return np.array([_is_longer(names, {name for table, name in named if table == head}) for head, names in rows], bool)


def _is_longer(names: frozenset[str], asked: set[str]) -> bool:
    return asked.isdisjoint(names) and any(one in other for one in asked for other in names)


def _names(row: str) -> frozenset[str]:
    """Return what the first cells of a row name; a cell may name several things."""
    short = [cell for cell in cells(normalise(row))[:_NAMING_CELLS] if len(cell) <= _LONGEST_NAME]
    names = ("".join(name.split()) for cell in short for name in _BETWEEN_NAMES.split(cell))
    return frozenset(name for name in names if _NAME_CHARS <= len(name) <= _LONGEST_NAME and not name.isdigit())


def can_answer(passages: Sequence[Sequence[Part]]) -> NDArray[np.bool_]:
    """Return for all parts whether they can be an answer. The head of a table that has rows cannot."""
    return np.array(
        [
            part.role is not Role.TABLE_HEAD or all(other.head != place for other in passage)
            for passage in passages
            for place, part in enumerate(passage)
        ],
        np.bool_,
    )
