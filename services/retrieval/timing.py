"""Timing of the stages of one answer."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage and its total time in seconds over all rounds."""

    stage: str
    seconds: float


class StageTimes:
    """The stage times of one answer, collected while it is made. Stages may overlap."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Generator[None]:
        """Add the time of the block to `stage`, even if the block raises."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - start

    @property
    def taken(self) -> tuple[StageTime, ...]:
        """The times measured so far, in the order in which the stages first ended."""
        return tuple(StageTime(stage, seconds) for stage, seconds in self._seconds.items())
