"""Scoring the best candidates against the question: the stage before the gate."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from services.embeddings.models import CosineScale
from services.reranking import RerankService
from services.retrieval.features import FEATURES, Evidence, describe
from services.retrieval.models import Candidate, Strictness

COEFFICIENTS = Path(__file__).parent / "reranker.npz"

# A candidate's logit below the best one's, for each unit of fused score: fitted listwise on CMRC (85 to 120).
_SLOPE = 100.0
# Who writes a rare code means exactly it, however little the rest looks like a question: answered when asked, but not
# unasked. In the labelled messages this lets through 1 of 1,155 more.
_NAMED = 0.6
# No document answers =1+1 or ？！, which are like nothing that the models were trained on; a number may be an id.
_SAYS_SOMETHING = re.compile(r"[^\W\d_]|\d{4}")
# Without vectors there is shrunk coverage alone: best F1 on CMRC and DRCD at 0.21 and about 900 chunks. In a tiny
# collection no word is rare and the same coverage weighs less.
_COVERAGE_TINY, _COVERAGE_LARGE, _COVERAGE_UNIT = 0.10, 0.21, 0.03
# The universal sentence encoder's fused scores, best thresholds measured at 10 and 1,000 chunks.
_FUSED_TINY, _FUSED_LARGE, _FUSED_UNIT = 0.44, 0.53, 0.03


class Reranker(Protocol):
    """Says how well each candidate answers the question, from 0 to 1.

    `thresholds` are the lowest scores that pass the gate when no setting says otherwise; `name` is for the status.
    """

    @property
    def name(self) -> str:
        """What scores."""
        ...

    @property
    def thresholds(self) -> Mapping[Strictness, float]:
        """Where the gate cuts."""
        ...

    async def scores(self, evidence: Evidence, candidates: Sequence[Candidate]) -> list[float]:
        """One score for each of `candidates`, which are among the recalled ones. Raises `RerankError`."""
        ...


class ServiceReranker:
    """A rerank service: it judges text against text."""

    thresholds: Mapping[Strictness, float] = {Strictness.ASKED: 0.5, Strictness.UNASKED: 0.75}

    def __init__(self, service: RerankService) -> None:
        self._service = service
        self.name = service.name

    async def scores(self, evidence: Evidence, candidates: Sequence[Candidate]) -> list[float]:
        """The service's scores. Raises `RerankError`."""
        return await self._service.scores(evidence.text, [_passage(candidate) for candidate in candidates])


def _passage(candidate: Candidate) -> str:
    """What a service reads of a chunk: its place in the document tells what a bare passage is about."""
    chunk = candidate.hit.chunk
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The trained numbers of the embedded reranker.

    `landmarks` (m, 384) and `landmark_weights` (m,) make the message kind: how much a message's vector is like those
    of questions rather than of chatter, by a Gaussian kernel of width `kernel`. `networks` are small networks of one
    hidden layer over the standardised features and that kind: input (24, h), its bias (h,), output (h,), its bias ().
    `provenance` says from what, by what and with what result they were trained.
    """

    kernel: float
    landmarks: NDArray[np.float32]
    landmark_weights: NDArray[np.float32]
    background: NDArray[np.float32]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    networks: tuple[tuple[NDArray[np.float64], ...], ...]
    provenance: Mapping[str, Any]

    def kind(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """The message kind of unit vectors of shape (n, 384): higher is more like a question, shape (n,)."""
        kernel = np.exp(-self.kernel * (1.0 - vectors @ self.landmarks.T))
        return np.asarray(kernel @ self.landmark_weights, np.float64)

    def logit(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log-odds that the collection answers the message, of features and kind, shape (n, 24)."""
        inputs = (features - self.mean) / self.scale
        outputs = [
            np.tanh(inputs @ hidden + bias) @ output + out_bias for hidden, bias, output, out_bias in self.networks
        ]
        return np.mean(outputs, axis=0)


def load_coefficients(path: Path = COEFFICIENTS) -> Coefficients:
    """Read what `benchmarks.quality.train_reranker` wrote. Raises ValueError when it is for other features."""
    with np.load(path, allow_pickle=False) as file:
        provenance = json.loads(str(file["provenance"]))
        if tuple(provenance["features"]) != FEATURES:
            raise ValueError(f"{path.name} was trained on other features: {provenance['features']}")
        scale = file["landmark_scale"]
        return Coefficients(
            kernel=float(file["kernel"]),
            landmarks=file["landmarks"].astype(np.float32) * scale[:, None],
            landmark_weights=file["landmark_weights"],
            background=file["background"],
            mean=file["mean"],
            scale=file["scale"],
            networks=tuple(
                tuple(file[f"network_{number}_{part}"] for part in range(4))
                for number in range(int(provenance["networks"]))
            ),
            provenance=provenance,
        )


class EmbeddedReranker:
    """The default: a calibrated model over cheap features, without a download.

    For e5 the score of the best candidate is the probability that the collection answers the message, by the trained
    networks; another's is lower by as much as its fused score. For other embeddings, and when a question could not be
    embedded, it is a logistic function of the measured threshold.
    """

    name = "自带"
    # Asked: best F1 on messages held out of training. Unasked: one wrong answer in ten or fewer there.
    thresholds: Mapping[Strictness, float] = {Strictness.ASKED: 0.5, Strictness.UNASKED: 0.8}

    def __init__(self, scale: CosineScale, coefficients: Coefficients) -> None:
        self._scale = scale
        self._coefficients = coefficients

    async def scores(self, evidence: Evidence, candidates: Sequence[Candidate]) -> list[float]:
        """Scores by arithmetic, well under a millisecond."""
        if not _SAYS_SOMETHING.search(evidence.text):
            return [0.0] * len(candidates)
        if evidence.vector is None or evidence.topic is None or self._scale is CosineScale.UNKNOWN:
            lowest = _between(_COVERAGE_TINY, _COVERAGE_LARGE, evidence.words.chunk_count)
            return [
                _logistic((item.coverage * evidence.words.shrinkage - lowest) / _COVERAGE_UNIT) for item in candidates
            ]
        if self._scale is CosineScale.UNIVERSAL_SENTENCE_ENCODER:
            lowest = _between(_FUSED_TINY, _FUSED_LARGE, evidence.words.chunk_count)
            return [_logistic((item.fused - lowest) / _FUSED_UNIT) for item in candidates]
        logit = self.logit(evidence)
        best = evidence.recalled[0].fused
        scores = [_logistic(logit - _SLOPE * (best - item.fused)) for item in candidates]
        return [
            max(score, _NAMED) if evidence.words.names(item.hit.matched) else score
            for score, item in zip(scores, candidates, strict=True)
        ]

    def logit(self, evidence: Evidence) -> float:
        """The log-odds that the collection answers the message. Only for e5 and with a question vector."""
        features = describe(evidence, self._coefficients.background)
        vector = np.asarray(evidence.vector, np.float32)[None]
        return float(self._coefficients.logit(np.append(features, self._coefficients.kind(vector))[None])[0])


def _between(tiny: float, large: float, chunk_count: int) -> float:
    """Rising with the logarithm of the collection's size, from 10 chunks to 1,000: the best of many scores higher."""
    decades = min(2.0, max(0.0, math.log10(max(1, chunk_count) / 10)))
    return tiny + (large - tiny) * decades / 2


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, value))))
