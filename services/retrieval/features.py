"""Features of the embedded reranker: facts about a question, a collection and the best candidate.

No feature is specific to a group: the size of the collection is a feature itself, so that one rule works from three
chunks to a hundred thousand.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.index.models import Vector
from services.index.tokens import normalise
from services.reading.models import Reading
from services.retrieval.conflicts import (
    CONFLICTS,
    AskedQuestion,
    collection_facts,
    conflicts,
    contradicts,
    read_question,
)
from services.retrieval.fuse import QuestionWords
from services.retrieval.models import Candidate
from services.retrieval.wording import content_runs
from services.text.sentences import rough_sentences

# What one search tells, without a call of a model.
SEARCHED = (
    "cosine",
    "cosine_3",
    "cosine_10",
    "margin",
    "coverage",
    "coverage_shrunk",
    "coverage_best",
    "coverage_all",
    "length",
    "shrinkage",
    "rarity",
    "terms",
    "exact",
    "phrase",
    "content",
    "content_characters",
    "content_sentence",
    "title",
    "same_document",
    "topic",
    "cohesion",
    "background",
    "chunks",
    *CONFLICTS,
)
_SETTING = ("chunks", "topic", "length")
# What a reader adds, for the candidates that it has read.
READ = (
    "read",
    "read_most",
    "read_second",
    "read_mean",
    "read_first",
    "read_token",
    "read_token_share",
    "read_rank",
    "read_behind",
    "read_coverage",
    *CONFLICTS,
    # The reader errs differently in a large technical collection and in a group's few files.
    *_SETTING,
)
# How much the order by search counts beside the reader's log-odds, per unit of fused score. Fitted listwise on the
# development groups: 100 to 200 differ by less than their noise.
_FUSED_WEIGHT = 150.0
_MAX_PHRASE_CHARS = 120


@dataclass(frozen=True, slots=True)
class Evidence:
    """The results of one recall.

    `recalled` holds all candidates by fused score, best first, at least one; a part of them may have been read.
    `vector` is the question's unit vector, or None if it could not be embedded. `topic` is its cosine to the mean of
    the collection's vectors, and `cohesion` is the length of that mean; both are None if there are no vectors. `asked`
    is what the question says about the thing that it asks for; by default it is read from the text.
    """

    text: str
    words: QuestionWords
    recalled: Sequence[Candidate]
    vector: Vector | None
    topic: float | None
    cohesion: float | None
    asked: AskedQuestion | None = None


def relevant(asked: AskedQuestion, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that are not certainly about something else, or all if there are no others.

    What is certainly about something else is refused later; it must not count as the best candidate.
    """
    return [item for item in candidates if not contradicts(asked, item)] or list(candidates)


def combined(candidate: Candidate) -> float:
    """Return the score by which candidates that were read are ordered."""
    return (candidate.reading.answers if candidate.reading else -math.inf) + _FUSED_WEIGHT * candidate.fused


def best_candidate(evidence: Evidence) -> Candidate:
    """Return the best candidate: of those that were read if there are any, or else the first."""
    read = [item for item in evidence.recalled if item.reading is not None]
    return max(read, key=combined) if read else evidence.recalled[0]


@dataclass(frozen=True, slots=True)
class Features:
    """The features of a question and its best candidate.

    `searched` are in the order of `SEARCHED`, and `read` in the order of `READ`, None if nothing was read.
    """

    searched: NDArray[np.float64]
    read: NDArray[np.float64] | None


def describe(evidence: Evidence, background: NDArray[np.float32]) -> Features:
    """Return the features of a question and its best candidate.

    `background` is the mean vector of passages about all kinds of subjects: a question that is near it is near any
    passage.
    """
    first, best = evidence.recalled[0], best_candidate(evidence)
    signs = _conflicts(evidence, first)
    values = _searched(evidence, first, background) | signs
    searched = np.array([values[name] for name in SEARCHED])
    if best.reading is None:
        return Features(searched, None)
    of_best = signs if best is first else _conflicts(evidence, best)
    values = _read(evidence, best, best.reading) | of_best | {name: values[name] for name in _SETTING}
    return Features(searched, np.array([values[name] for name in READ]))


def _conflicts(evidence: Evidence, candidate: Candidate) -> dict[str, float]:
    asked = evidence.asked or read_question(evidence.text)
    found = conflicts(asked, candidate, collection_facts(evidence.words, evidence.recalled))
    return dict(zip(CONFLICTS, found.values(), strict=True))


def _searched(evidence: Evidence, best: Candidate, background: NDArray[np.float32]) -> dict[str, float]:
    words = evidence.words
    cosines = sorted((item.hit.cosine for item in evidence.recalled if item.hit.cosine is not None), reverse=True)
    cosines = cosines or [0.0]
    chunk = best.hit.chunk
    question = normalise(evidence.text)[:_MAX_PHRASE_CHARS]
    title = normalise(chunk.context)
    text = f"{title}\n{normalise(chunk.text)}"
    everything = sum(words.all_weights.values()) or 1.0
    runs = content_runs(question)
    content = [run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1))]
    return {
        "cosine": cosines[-1] if best.hit.cosine is None else best.hit.cosine,
        "cosine_3": _mean(cosines[:3]),
        "cosine_10": _mean(cosines[:10]),
        "margin": cosines[0] - cosines[:5][-1],
        "coverage": best.coverage,
        "coverage_shrunk": best.coverage * words.shrinkage,
        "coverage_best": max(item.coverage for item in evidence.recalled),
        "coverage_all": sum(words.all_weights.get(term, 0.0) for term in best.hit.matched) / everything,
        "length": math.log1p(len(question)),
        "shrinkage": words.shrinkage,
        "rarity": math.log1p(words.rarity),
        "terms": math.log1p(len(words.weights)),
        "exact": max(words.exact(item.hit.matched) for item in evidence.recalled),
        "phrase": _longest_common(question, text) / max(1, len(question)),
        "content": _share(content, text),
        "content_characters": _share([character for run in runs for character in run], text),
        "content_sentence": max((_share(content, sentence) for sentence in rough_sentences(text)), default=0.0),
        "title": words.coverage(term for term in words.weights if term in title),
        "same_document": _mean([float(item.hit.chunk.build_id == chunk.build_id) for item in evidence.recalled[:5]]),
        "topic": evidence.topic or 0.0,
        "cohesion": evidence.cohesion or 0.0,
        "background": float(np.asarray(evidence.vector, np.float32) @ background) if evidence.vector else 0.0,
        "chunks": math.log(max(1, words.chunk_count)),
    }


def _read(evidence: Evidence, best: Candidate, reading: Reading) -> dict[str, float]:
    read = [item for item in evidence.recalled if item.reading is not None]
    in_order = [item.reading.answers for item in read if item.reading is not None]
    answers = sorted(in_order, reverse=True)
    tokens = reading.scores.astype(np.float64)
    return {
        "read": reading.answers,
        "read_most": answers[0],
        "read_second": answers[1] if len(answers) > 1 else answers[0] - 5.0,
        "read_mean": _mean(answers[:3]),
        "read_first": in_order[0],
        "read_token": float(tokens.max()) if len(tokens) else -10.0,
        "read_token_share": _peak_share(tokens),
        "read_rank": math.log1p(read.index(best)),
        "read_behind": read[0].fused - best.fused,
        "read_coverage": best.coverage,
    }


def _peak_share(tokens: NDArray[np.float64]) -> float:
    """Return the share of the odds of all tokens that is within ten tokens of the best one."""
    if not len(tokens):
        return 0.0
    likely = np.exp(tokens - tokens.max())
    place = int(tokens.argmax())
    return float(likely[max(0, place - 10) : place + 11].sum() / likely.sum())


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _share(parts: Sequence[str], text: str) -> float:
    return _mean([float(part in text) for part in parts]) if parts else 0.0


def _longest_common(question: str, text: str) -> int:
    """Return the length of the longest substring of `question` that occurs in `text`."""
    longest = 0
    for start in range(len(question)):
        while start + longest < len(question) and question[start : start + longest + 1] in text:
            longest += 1
    return longest
