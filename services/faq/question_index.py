"""The approved questions of one collection in memory, and how near a question must be to one of them.

Distances are measured in a unit of the collection's own: the distance (1 - cosine) that two of its questions have on
average. In this unit the thresholds hold for embedding models of different scales, and they are stricter where all
questions resemble each other.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.faq.wording import Wording

Vector = NDArray[np.float32]

# Measured on LCQMC with 200 entries, see benchmarks/quality/faq.py: 0.6 to 0.7 % of its near misses are closer than the
# first and not told apart by words; less than 1 % of its paraphrases are further away than the second.
DIRECT_DISTANCE = 0.034
ASK_DISTANCE = 0.44
# Below half of the distance to the nearest entry with another answer, a question is surely nearer to this one.
_SHARE_OF_GAP = 0.5
# The weight of the general distance, in pairs of questions: a collection of eight has as many of its own.
_PRIOR_PAIRS = 28
_NEAREST = 8
# Keeps the unit above nought.
_MOST_ALIKE = 0.9999

# Everyday questions that have nothing to do with each other: how distant are two of them for this embedding model?
UNRELATED = (
    "宿舍晚上几点熄灯",
    "差旅费怎么报销",
    "打印机连不上网怎么办",
    "期末考试什么时候开始",
    "会议室在哪里预订",
    "这个接口返回 500 是什么原因",
    "年假一共有几天",
    "快递放在哪个门口",
    "怎么申请退款",
    "停车一个月多少钱",
    "Python 环境怎么安装",
    "食堂周末开不开",
)


@dataclass(frozen=True, slots=True)
class ApprovedQuestion:
    """A question that has an approved answer.

    Questions with the same `answer_key` have the same answer. `vector` is a unit vector, or None while it is being
    made.
    """

    number: int
    wording: Wording
    answer_key: str
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class Nearest:
    """What a question means: `direct` is the number of the entry that answers it, if one surely does.

    Otherwise `candidates` are the numbers of the entries that it may mean, nearest first, one for each answer.
    """

    direct: int | None = None
    candidates: tuple[int, ...] = ()


class QuestionIndex:
    """The approved questions of one collection. It is never changed."""

    def __init__(self, questions: Sequence[ApprovedQuestion], unrelated_cosine: float) -> None:
        """Calibrate the thresholds, which takes some milliseconds for a thousand questions.

        `unrelated_cosine` is what two unrelated questions have on average (see `UNRELATED`).
        """
        self._by_normal = {question.wording.normal: question for question in questions}
        self._by_sense: dict[Hashable, ApprovedQuestion | None] = {}
        for question in questions:
            other = self._by_sense.setdefault(question.wording.sense, question)
            if other is not None and other.answer_key != question.answer_key:
                # Particles tell them apart, so nothing is sure.
                self._by_sense[question.wording.sense] = None
        embedded = [question for question in questions if question.vector is not None]
        self._embedded = embedded
        self._vectors = np.stack([question.vector for question in embedded if question.vector is not None] or [_NONE])
        vectors, answers = self._vectors[: len(embedded)], _answer_ids(embedded)
        self._unit = 1.0 - _unrelated_cosine(vectors, answers, unrelated_cosine)
        self._gaps = _gaps(vectors, answers)

    @property
    def compares_vectors(self) -> bool:
        """Whether any question has a vector to compare."""
        return bool(self._embedded)

    def same(self, asked: Wording) -> int | None:
        """Return the number of the entry whose question is the same after normalising."""
        found = self._by_normal.get(asked.normal)
        return None if found is None else found.number

    def nearest(self, asked: Wording, vector: Vector | None) -> Nearest:
        """Return what a question means. Without a vector, only its wording decides."""
        if (surely := self._by_words(asked)) is not None:
            return Nearest(surely)
        if vector is None or not self._embedded:
            return Nearest()
        distances = (1.0 - self._vectors @ vector) / self._unit
        order = [int(place) for place in np.argsort(distances) if distances[place] <= ASK_DISTANCE]
        if order and self._is_surely(asked, order[0], float(distances[order[0]])):
            return Nearest(self._embedded[order[0]].number)
        kept: dict[str, int] = {}
        for place in order:
            kept.setdefault(self._embedded[place].answer_key, self._embedded[place].number)
        return Nearest(candidates=tuple(kept.values())[:_NEAREST])

    def _by_words(self, asked: Wording) -> int | None:
        if (same := self.same(asked)) is not None:
            return same
        reworded = self._by_sense.get(asked.sense)
        return None if reworded is None or asked.contradicts(reworded.wording) else reworded.number

    def _is_surely(self, asked: Wording, place: int, distance: float) -> bool:
        limit = min(DIRECT_DISTANCE, _SHARE_OF_GAP * float(self._gaps[place]) / self._unit)
        return distance < limit and not asked.contradicts(self._embedded[place].wording)


_NONE = np.zeros(1, np.float32)


def average_cosine(vectors: Vector) -> float:
    """Return the mean cosine of all pairs of at least two unit vectors."""
    count = len(vectors)
    total = vectors.sum(axis=0, dtype=np.float64)
    return float((total @ total - count) / (count * (count - 1)))


def _answer_ids(questions: Sequence[ApprovedQuestion]) -> NDArray[np.intp]:
    """Return for each question the number of its answer, from 0; the same answers have the same number."""
    ids = {key: place for place, key in enumerate(dict.fromkeys(question.answer_key for question in questions))}
    return np.array([ids[question.answer_key] for question in questions], np.intp)


def _unrelated_cosine(vectors: Vector, answers: NDArray[np.intp], general: float) -> float:
    """Return the mean cosine of questions with different answers; that of a few questions counts in part only."""
    sums = np.zeros((int(answers.max(initial=-1)) + 1, vectors.shape[1]))
    np.add.at(sums, answers, vectors)
    total, sizes = sums.sum(axis=0), np.bincount(answers)
    pairs = (len(answers) ** 2 - float(sizes @ sizes)) / 2
    cosines = (float(total @ total) - float((sums * sums).sum())) / 2
    return min((cosines + general * _PRIOR_PAIRS) / (pairs + _PRIOR_PAIRS), _MOST_ALIKE)


def _gaps(vectors: Vector, answers: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return for each question the distance to the nearest one with another answer."""
    cosines = np.where(answers[:, None] == answers[None, :], -1.0, vectors @ vectors.T)
    return (1.0 - cosines.max(axis=1, initial=-1.0)).astype(np.float32)
