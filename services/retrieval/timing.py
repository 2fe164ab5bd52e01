"""How long the stages of one answer took."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage and its time in seconds, all its rounds together."""

    stage: str
    seconds: float


class StageTimes:
    """The times of one answer, as they come in. Stages may overlap."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Generator[None]:
        """Add the time of the block to `stage`, also when the block fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - start

    @property
    def taken(self) -> tuple[StageTime, ...]:
        """What was measured so far, in the order in which the stages first ended."""
        return tuple(StageTime(stage, seconds) for stage, seconds in self._seconds.items())
