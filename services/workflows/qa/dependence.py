"""Whether a question depends on what was said before it: a linear model over the way it is put.

`benchmarks.quality.train_dependence` fits it on follow-up questions and on questions that stand alone. Only the most
frequent characters count as letters, mainly pronouns, particles and question words; every other character is content.
So the model sees 她是谁啊 and 〇〇是谁啊, but hardly what the question is about.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from services.index.tokens import normalise

COEFFICIENTS = Path(__file__).parent / "dependence.npz"

_MARKS = re.compile(r"[\W_]+")
_LATIN, _NUMBER = re.compile(r"[a-z]+"), re.compile(r"\d+")
_CONTENT, _WORD, _FIGURE = "〇", "A", "9"
_CONTENT_RUN = re.compile(rf"[{_CONTENT}{_WORD}{_FIGURE}]+")
_LONG_RUN = re.compile(rf"{_CONTENT}{{3,}}")
_GRAM = 4
_LENGTHS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
_AMOUNTS = (1, 2, 3, 4, 5, 6, 8, 10)
_RUNS = (1, 2, 3)
# 黄宇是谁, 你说的是哪个, 什么优势: what is said next answers that.
_ASKS_BACK = re.compile(r"(?:[吗么嘛呢谁啥][啊呀哦]?|什么.{0,2}|哪.{0,3}|多少|怎么.{0,2})$")


@dataclass(frozen=True, slots=True)
class Dependence:
    """The model: the characters that count as letters, and the weight of each feature in log-odds."""

    letters: frozenset[str]
    weights: Mapping[str, float]
    bias: float
    provenance: Mapping[str, Any]

    def depends(self, question: str, answer: str) -> bool:
        """Return whether a question means little without what was said before. `answer` is what was said last."""
        return self.score(question, answer) > 0

    def score(self, question: str, answer: str) -> float:
        """Return the log-odds that a question depends on what was said before."""
        return self.bias + sum(self.weights.get(name, 0.0) for name in features(question, answer, self.letters))


def features(question: str, answer: str, letters: frozenset[str]) -> frozenset[str]:
    """Return the features of a question after an answer.

    >>> sorted(name for name in features("她漂亮吗", "", frozenset("她吗")) if len(name) == 4)
    ['^她〇〇', '〇〇吗$', '她〇〇吗']
    """
    return frozenset(_features(question, answer, letters))


def plain(text: str) -> str:
    """Return a text in the form in which the model counts its characters: normalised, without marks and spaces."""
    return _MARKS.sub("", normalise(text))


def asks_back(answer: str) -> bool:
    """Return whether an answer ends in a question, to which the next message is the answer.

    >>> asks_back("你说的是哪个校区？"), asks_back("二十元。")
    (True, False)
    """
    return _ASKS_BACK.search(plain(answer)) is not None


def _features(question: str, answer: str, letters: frozenset[str]) -> Iterator[str]:
    text = plain(question)
    shape = _NUMBER.sub(_FIGURE, _LATIN.sub(_WORD, text))
    shape = "".join(character if character in letters or character in "A9" else _CONTENT for character in shape)
    runs = [len(run) for run in _CONTENT_RUN.findall(shape)]
    shape = f"^{_LONG_RUN.sub(_CONTENT * 3, shape)}$"
    for size in range(1, _GRAM + 1):
        yield from (shape[start : start + size] for start in range(len(shape) - size + 1))
    yield from (f"length<={most}" for most in _LENGTHS if len(text) <= most)
    yield from (f"content>={least}" for least in _AMOUNTS if sum(runs) >= least)
    yield from (f"run>={least}" for least in _AMOUNTS if max(runs, default=0) >= least)
    yield from (f"runs>={least}" for least in _RUNS if len(runs) >= least)
    if asks_back(answer):
        yield "asked back"


@functools.cache
def load_dependence(path: Path = COEFFICIENTS) -> Dependence:
    """Return the model that is shipped."""
    with np.load(path, allow_pickle=False) as file:
        return Dependence(
            letters=frozenset(str(file["letters"])),
            weights=dict(zip(file["names"].tolist(), file["weights"].tolist(), strict=True)),
            bias=float(file["bias"]),
            provenance=json.loads(str(file["provenance"])),
        )
