"""The stages of the current request, timed where they happen.

The stages are collected in a context variable, so that tasks and threads that a request starts record into the same
request, and no function has to pass a recorder on.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage and its total time in seconds over all rounds."""

    stage: str
    seconds: float


class Stages:
    """The stages of one request, collected while it is processed. Stages may overlap."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, stage: str, seconds: float) -> None:
        """Add time to a stage."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    @property
    def times(self) -> tuple[StageTime, ...]:
        """The times measured so far, in the order in which the stages first ended."""
        return tuple(StageTime(stage, seconds) for stage, seconds in self._seconds.items())


_current: ContextVar[Stages | None] = ContextVar("stages", default=None)


@contextmanager
def recorded_stages() -> Generator[Stages]:
    """Collect the stages of the block, including those of the tasks and threads that it starts."""
    stages = Stages()
    token = _current.set(stages)
    try:
        yield stages
    finally:
        _current.reset(token)


@contextmanager
def stage(name: str) -> Generator[None]:
    """Add the time of the block to the stage `name` of the current request, even if the block raises.

    Do nothing outside of a request.
    """
    stages = _current.get()
    start = time.perf_counter()
    try:
        yield
    finally:
        if stages is not None:
            stages.add(name, time.perf_counter() - start)
