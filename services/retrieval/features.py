"""Features of the embedded reranker: cheap facts about a question, a collection and the best candidate.

Every feature is computed from the results of one search, without a model call. No feature is specific to a group: the
size of the collection is a feature itself, so that one rule works from three chunks to a hundred thousand.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.index.models import Vector
from services.index.tokens import normalise
from services.retrieval.fuse import QuestionWords
from services.retrieval.models import Candidate
from services.retrieval.wording import content_runs
from services.text.sentences import rough_sentences

# In the order of the output of `describe`; the trained coefficients name them in the same order.
FEATURES = (
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
)
_MAX_PHRASE_CHARS = 120


@dataclass(frozen=True, slots=True)
class Evidence:
    """The results of one recall.

    `recalled` holds all candidates by fused score, best first, at least one. `vector` is the question's unit vector, or
    None if it could not be embedded. `topic` is its cosine to the mean of the collection's vectors, and `cohesion` is
    the length of that mean; both are None if there are no vectors.
    """

    text: str
    words: QuestionWords
    recalled: Sequence[Candidate]
    vector: Vector | None
    topic: float | None
    cohesion: float | None


def describe(evidence: Evidence, background: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the features of a question and its best candidate, shape (23,), in the order of `FEATURES`.

    `background` is the mean vector of passages about all kinds of subjects: a question that is near it is near any
    passage.
    """
    words, best = evidence.words, evidence.recalled[0]
    cosines = sorted((item.hit.cosine for item in evidence.recalled if item.hit.cosine is not None), reverse=True)
    cosines = cosines or [0.0]
    chunk = best.hit.chunk
    question = normalise(evidence.text)[:_MAX_PHRASE_CHARS]
    title = normalise(chunk.context)
    text = f"{title}\n{normalise(chunk.text)}"
    everything = sum(words.all_weights.values()) or 1.0
    runs = content_runs(question)
    content = [run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1))]
    values = {
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
    return np.array([values[name] for name in FEATURES])


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
