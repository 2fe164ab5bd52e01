"""A reranker with the real interface, whose scores the test decides."""

from collections.abc import Mapping, Sequence

from services.errors import RerankError
from services.retrieval.features import Evidence
from services.retrieval.models import Candidate, Strictness


class ScriptedReranker:
    """A reranker that scores a passage by `given`, or else by the share of the question's words that it contains.

    `given` maps texts to scores. Every call raises while `fail` is set.
    """

    name = "scripted"
    thresholds: Mapping[Strictness, float] = {
        Strictness.WRITTEN: 0.2,
        Strictness.ASKED: 0.3,
        Strictness.UNASKED: 0.6,
    }
    companion: float | None = None

    def __init__(self, given: Mapping[str, float] | None = None) -> None:
        self.fail = False
        self.given = dict(given or {})

    async def scores(self, evidence: Evidence, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score for each candidate."""
        if self.fail:
            raise RerankError("重排服务暂时连不上，请稍后再试。")
        asked = len(evidence.words.all_weights) or 1
        return [self.given.get(each.hit.chunk.text, len(each.hit.matched) / asked) for each in candidates]
