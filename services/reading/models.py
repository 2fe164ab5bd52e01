"""The types by which the rest of the product uses a reader."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader found in one text.

    `answers` is the log-odds that the text answers the question. `starts` and `ends` are the places of its tokens as
    offsets of characters, and `scores` the log-odds that a token belongs to the answer; all three have the same length.
    """

    answers: float
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    scores: NDArray[np.float32]

    def best_between(self, start: int, end: int) -> float | None:
        """Return the highest score of a token between two offsets, or None if there is none."""
        inside = (self.starts < end) & (self.ends > start)
        return float(self.scores[inside].max()) if inside.any() else None


@dataclass(frozen=True, slots=True)
class Text:
    """A text to read, with what surrounds it in its document: the file and the headings."""

    context: str
    text: str


class Reader(Protocol):
    """Interface of a reader."""

    async def read(self, question: str, texts: Sequence[Text]) -> list[Reading]:
        """Return one reading for each text. Raise `ReadingError` if the model fails."""
        ...
