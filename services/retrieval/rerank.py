"""Reranking: scoring of the best candidates against the question, the stage before the gate."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from services.embeddings.models import CosineScale
from services.reranking import RerankService
from services.retrieval.features import READ, SEARCHED, Evidence, Features, best_candidate, combined, describe
from services.retrieval.models import Candidate, Strictness

COEFFICIENTS = Path(__file__).parent / "reranker.npz"

# How far a candidate's logit lies below the best candidate's, per unit of fused score: fitted listwise on CMRC (85 to
# 120).
_SLOPE = 100.0
# The same per unit of the order by reader and search, so that those passages pass with the best one that may as well
# hold the answer.
_READ_SLOPE = 0.5
# A feature far outside of the training data counts as one at its edge.
FARTHEST = 6.0
# A person who writes a rare code means exactly that code, even if the rest does not look like a question. Such a
# message is answered when the bot is asked, but not unasked. In the labelled messages this lets through 1 of 1,155
# more.
_NAMED = 0.6
# No document answers =1+1 or ？！, and the models were not trained on anything like them. A number may be an id.
_SAYS_SOMETHING = re.compile(r"[^\W\d_]|\d{4}")
# Without vectors the score is based on shrunk coverage alone: best F1 on CMRC and DRCD at 0.21 and about 900 chunks. In
# a tiny collection no word is rare, so the same coverage weighs less.
_COVERAGE_TINY, _COVERAGE_LARGE, _COVERAGE_UNIT = 0.10, 0.21, 0.03
# Fused scores of the universal sentence encoder: the best thresholds measured at 10 and 1,000 chunks.
_FUSED_TINY, _FUSED_LARGE, _FUSED_UNIT = 0.44, 0.53, 0.03


class Reranker(Protocol):
    """Interface of a reranker, which scores how well each candidate answers the question, from 0 to 1.

    `thresholds` are the lowest scores that pass the gate unless a setting overrides them, and `companion` is the lowest
    one of a further passage beside one that passes; None if it is the same. `name` is shown in the status.
    """

    @property
    def name(self) -> str:
        """The name of the reranker."""
        ...

    @property
    def thresholds(self) -> Mapping[Strictness, float]:
        """The lowest score that passes the gate, by strictness."""
        ...

    @property
    def companion(self) -> float | None:
        """The lowest score of a further passage, or None."""
        ...

    async def scores(self, evidence: Evidence, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score for each of `candidates`, which are among the recalled ones.

        Raise `RerankError` if the scores cannot be computed.
        """
        ...


class ServiceReranker:
    """A reranker that uses a rerank service, which compares texts."""

    thresholds: Mapping[Strictness, float] = {
        Strictness.WRITTEN: 0.5,
        Strictness.ASKED: 0.5,
        Strictness.UNASKED: 0.75,
    }
    companion = None

    def __init__(self, service: RerankService) -> None:
        self._service = service
        self.name = service.name

    async def scores(self, evidence: Evidence, candidates: Sequence[Candidate]) -> list[float]:
        """Return the scores of the service. Raise `RerankError` if it fails."""
        return await self._service.scores(evidence.text, [_passage(candidate) for candidate in candidates])


def _passage(candidate: Candidate) -> str:
    """Return the text of a chunk for the service, preceded by its context.

    A passage alone may not say what it is about; its place in the document does.
    """
    chunk = candidate.hit.chunk
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


@dataclass(frozen=True, slots=True)
class Networks:
    """Small networks with one hidden layer over n standardised inputs, whose outputs are averaged.

    Each is (input (n, h), its bias (h,), output (h,), its bias ()).
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    layers: tuple[tuple[NDArray[np.float64], ...], ...]

    def logit(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds that the collection answers the message, for inputs of shape (m, n)."""
        standard = np.clip((inputs - self.mean) / self.scale, -FARTHEST, FARTHEST)
        outputs = [
            np.tanh(standard @ hidden + bias) @ output + out_bias for hidden, bias, output, out_bias in self.layers
        ]
        return np.mean(outputs, axis=0)


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The trained parameters of the embedded reranker.

    `landmarks` (m, 384) and `landmark_weights` (m,) define the message kind: whether a message's vector is more similar
    to those of questions or to those of chatter, by a Gaussian kernel of width `kernel`. `searched` takes the features
    of the search and that kind; `read` takes the log-odds of the former, the features of the reader and that kind.
    `provenance` records the training data, the program and the result.
    """

    kernel: float
    landmarks: NDArray[np.float32]
    landmark_weights: NDArray[np.float32]
    background: NDArray[np.float32]
    searched: Networks
    read: Networks
    provenance: Mapping[str, Any]

    def kind(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the message kind of unit vectors of shape (n, 384), shape (n,). Higher is more like a question."""
        kernel = np.exp(-self.kernel * (1.0 - vectors @ self.landmarks.T))
        return np.asarray(kernel @ self.landmark_weights, np.float64)

    def logit(self, features: Features, kind: float) -> float:
        """Return the log-odds that the collection answers a message of this kind."""
        searched = float(self.searched.logit(np.append(features.searched, kind)[None])[0])
        if features.read is None:
            return searched
        return float(self.read.logit(np.array([[searched, *features.read, kind]]))[0])


def load_coefficients(path: Path = COEFFICIENTS) -> Coefficients:
    """Read a file written by `benchmarks.quality.train_reranker`.

    Raise `ValueError` if it was trained on other features.
    """
    with np.load(path, allow_pickle=False) as file:
        provenance = json.loads(str(file["provenance"]))
        if (names := tuple(provenance["features"])) != (*SEARCHED, *READ):
            raise ValueError(f"{path.name} was trained on other features: {names}")
        scale = file["landmark_scale"]
        return Coefficients(
            kernel=float(file["kernel"]),
            landmarks=file["landmarks"].astype(np.float32) * scale[:, None],
            landmark_weights=file["landmark_weights"],
            background=file["background"],
            searched=_networks(file, "searched", int(provenance["networks"])),
            read=_networks(file, "read", int(provenance["networks"])),
            provenance=provenance,
        )


def _networks(file: Mapping[str, NDArray[Any]], name: str, count: int) -> Networks:
    return Networks(
        file[f"{name}_mean"],
        file[f"{name}_scale"],
        tuple(tuple(file[f"{name}_{number}_{part}"] for part in range(4)) for number in range(count)),
    )


class EmbeddedReranker:
    """The default reranker: a calibrated model over cheap features that needs no download.

    For e5, the score of the best candidate is the probability that the collection answers the message, computed by the
    trained networks. The score of another candidate is lower in proportion to its distance from the best one in the
    order by reader and search, or by search alone if nothing was read. For other embeddings,
    and for a question that could not be embedded, the score is a logistic function of the distance to the measured
    threshold. A candidate without a vector, of a document that is still being embedded, is scored by its words as if
    nothing had vectors; the others are scored without it, unless it contains a code that is asked for.
    """

    name = "自带"
    # ASKED: nine in ten questions of the development groups pass, and a fifth of the near misses.
    # UNASKED: seven in ten, one in twenty, and none of the chatter.
    # WRITTEN: 98 in a hundred questions of the development groups pass, and 0 of 42 messages of chatter.
    thresholds: Mapping[Strictness, float] = {
        Strictness.WRITTEN: 0.3,
        Strictness.ASKED: 0.45,
        Strictness.UNASKED: 0.75,
    }
    # Below it, a passage of the development groups almost never held the answer.
    companion = 0.05

    def __init__(self, scale: CosineScale, coefficients: Coefficients) -> None:
        self._scale = scale
        self._coefficients = coefficients

    async def scores(self, evidence: Evidence, candidates: Sequence[Candidate]) -> list[float]:
        """Return the scores. They are computed by arithmetic, in well under a millisecond."""
        if not _SAYS_SOMETHING.search(evidence.text):
            return [0.0] * len(candidates)
        by_words = [_score_by_words(evidence, item) for item in candidates]
        with_vector = [item for item in evidence.recalled if item.hit.cosine is not None]
        if not with_vector or evidence.vector is None or evidence.topic is None or self._scale is CosineScale.UNKNOWN:
            return by_words
        if self._scale is CosineScale.UNIVERSAL_SENTENCE_ENCODER:
            lowest = _between(_FUSED_TINY, _FUSED_LARGE, evidence.words.chunk_count)
            by_vectors = [_logistic((item.fused - lowest) / _FUSED_UNIT) for item in candidates]
            named = 0.0
        else:
            by_vectors = self._by_networks(evidence, candidates, with_vector)
            named = _NAMED
        scores = [
            by_words[place] if item.hit.cosine is None else by_vectors[place] for place, item in enumerate(candidates)
        ]
        return [
            max(score, named) if evidence.words.names(item.hit.matched) else score
            for score, item in zip(scores, candidates, strict=True)
        ]

    def logit(self, evidence: Evidence) -> float:
        """Return the log-odds that the collection answers the message, for e5 and a question with a vector only."""
        vector = np.asarray(evidence.vector, np.float32)[None]
        kind = float(self._coefficients.kind(vector)[0])
        return self._coefficients.logit(describe(evidence, self._coefficients.background), kind)

    def _by_networks(
        self, evidence: Evidence, candidates: Sequence[Candidate], with_vector: Sequence[Candidate]
    ) -> list[float]:
        if any(item.reading is not None for item in evidence.recalled):
            logit, best = self.logit(evidence), combined(best_candidate(evidence))
            return [_logistic(logit - _READ_SLOPE * (best - combined(item))) for item in candidates]
        logit = self.logit(replace(evidence, recalled=with_vector))
        best = max(item.fused for item in evidence.recalled if _competes(evidence, item))
        return [_logistic(logit - _SLOPE * (best - item.fused)) for item in candidates]


def _competes(evidence: Evidence, item: Candidate) -> bool:
    return item.hit.cosine is not None or evidence.words.exact(item.hit.matched) > 0


def _score_by_words(evidence: Evidence, item: Candidate) -> float:
    lowest = _between(_COVERAGE_TINY, _COVERAGE_LARGE, evidence.words.chunk_count)
    return _logistic((item.coverage * evidence.words.shrinkage - lowest) / _COVERAGE_UNIT)


def _between(tiny: float, large: float, chunk_count: int) -> float:
    """Interpolate by the logarithm of the collection's size, from 10 to 1,000 chunks.

    The best of many chunks has a higher score than the best of few.
    """
    decades = min(2.0, max(0.0, math.log10(max(1, chunk_count) / 10)))
    return tiny + (large - tiny) * decades / 2


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, value))))
