"""Schedule builds, parses, embedding batches and downloads fairly among chats.

Chats alternate, so a chat that sends a hundred files delays another chat by at most one job. Within a chat the
smallest job starts first. Some places are reserved for small jobs, and no chat may hold all places.
"""

import asyncio
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

# A job that this many later jobs of its own chat have overtaken starts before them, whatever its size.
_MAX_OVERTAKEN = 16


@dataclass(frozen=True, slots=True)
class Places:
    """How many jobs may run at once: in total, per chat, large ones, and large ones per chat.

    A job is large when its size is more than `small`, in the caller's unit of size.
    """

    total: int
    of_chat: int
    large: int
    large_of_chat: int
    small: int


@dataclass(eq=False, slots=True)
class Job:
    """A waiting or running job. `overtaken` counts the later jobs of its chat that started before it."""

    chat: Hashable
    size: int
    overtaken: int = 0


class Schedule:
    """The order of the jobs. It is independent of time and tasks: its caller asks which job may start."""

    def __init__(self, places: Places) -> None:
        self._places = places
        # In the order of service: the first chat with a job that may start is next.
        self._waiting: dict[Hashable, list[Job]] = {}
        self._running: set[Job] = set()

    def ask(self, chat: Hashable, size: int) -> Job:
        """Queue a job."""
        job = Job(chat, size)
        self._waiting.setdefault(chat, []).append(job)
        return job

    def start_next(self) -> Job | None:
        """Start the next job and return it; None when no waiting job may start now."""
        if len(self._running) >= self._places.total:
            return None
        for jobs in self._waiting.values():
            startable = [job for job in jobs if self._has_place(job)]
            if startable:
                break
        else:
            return None
        # Of equal jobs, min() returns the first in the list, which is the oldest.
        job = min(startable, key=lambda job: (job.overtaken < _MAX_OVERTAKEN, job.size))
        for other in jobs:
            if other is job:
                break
            other.overtaken += 1
        jobs.remove(job)
        del self._waiting[job.chat]
        if jobs:
            self._waiting[job.chat] = jobs
        self._running.add(job)
        return job

    def end(self, job: Job) -> None:
        """Free the place of a running job, or remove a waiting job from the queue."""
        if job in self._running:
            self._running.remove(job)
            # Move its chat to the end: it has just been served, even if it queued its next job before all others.
            if (jobs := self._waiting.pop(job.chat, None)) is not None:
                self._waiting[job.chat] = jobs
            return
        jobs = self._waiting[job.chat]
        jobs.remove(job)
        if not jobs:
            del self._waiting[job.chat]

    def _has_place(self, job: Job) -> bool:
        of_chat = [running for running in self._running if running.chat == job.chat]
        if len(of_chat) >= self._places.of_chat:
            return False
        if not self._is_large(job):
            return True
        large = sum(self._is_large(running) for running in self._running)
        large_of_chat = sum(self._is_large(running) for running in of_chat)
        return large < self._places.large and large_of_chat < self._places.large_of_chat

    def _is_large(self, job: Job) -> bool:
        return job.size > self._places.small


class JobGate:
    """Lets tasks wait for the places that a `Schedule` assigns."""

    def __init__(self, places: Places) -> None:
        self._schedule = Schedule(places)
        self._started: dict[Job, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def place(self, chat: Hashable, size: int) -> AsyncGenerator[None]:
        """Wait for a place and hold it while the block runs."""
        job = self._schedule.ask(chat, size)
        started = self._started[job] = asyncio.get_running_loop().create_future()
        self._start()
        try:
            await started
            yield
        finally:
            del self._started[job]
            self._schedule.end(job)
            self._start()

    def _start(self) -> None:
        while (job := self._schedule.start_next()) is not None:
            # The future of a cancelled task is already done; the task returns its place as soon as it runs.
            if not self._started[job].done():
                self._started[job].set_result(None)
