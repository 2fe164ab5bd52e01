"""Test scheduling: every chat's job starts in bounded time, small jobs go first, and no chat ever holds all places."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.knowledge.scheduling import Job, JobGate, Places, Schedule

PLACES = Places(total=6, of_chat=4, large=3, large_of_chat=2, small=100)
SIZES = st.integers(0, 300)
CHATS = st.integers(0, 4)
# Each step is a job that a chat queues, or the end of one of the running jobs.
STEPS = st.lists(st.tuples(CHATS, SIZES) | st.integers(0, 20), max_size=150)


def counts(running: list[Job], places: Places) -> tuple[int, int, int, int]:
    """Return the numbers that `Places` limits."""
    large = [job for job in running if job.size > places.small]
    return (
        len(running),
        max(Counter(job.chat for job in running).values(), default=0),
        len(large),
        max(Counter(job.chat for job in large).values(), default=0),
    )


def start_all(schedule: Schedule, running: list[Job]) -> list[Job]:
    started: list[Job] = []
    while (job := schedule.start_next()) is not None:
        started.append(job)
        running.append(job)
    return started


@given(STEPS)
def test_the_bounds_hold_and_everything_starts(steps: list[tuple[int, int] | int]) -> None:
    schedule = Schedule(PLACES)
    running: list[Job] = []
    asked: list[Job] = []
    done: list[Job] = []
    for step in steps:
        if isinstance(step, tuple):
            asked.append(schedule.ask(*step))
        elif running:
            job = running.pop(step % len(running))
            schedule.end(job)
            done.append(job)
        start_all(schedule, running)
        total, of_chat, large, large_of_chat = counts(running, PLACES)
        assert total <= PLACES.total
        assert of_chat <= PLACES.of_chat
        assert large <= PLACES.large
        assert large_of_chat <= PLACES.large_of_chat
    while running:
        job = running.pop(0)
        schedule.end(job)
        done.append(job)
        start_all(schedule, running)
    assert sorted(map(id, done)) == sorted(map(id, asked))


@given(st.lists(st.tuples(CHATS, SIZES), min_size=1, max_size=60), SIZES)
def test_a_chat_waits_for_one_job_of_every_other_chat(flood: list[tuple[int, int]], size: int) -> None:
    """With one place, as for embedding batches, each other chat goes first at most once, however many jobs it has."""
    schedule = Schedule(Places(1, 1, 1, 1, 100))
    running: list[Job] = []
    for each in flood:
        schedule.ask(*each)
        start_all(schedule, running)
    mine = schedule.ask("mine", size)
    (first,) = running
    before = 0
    while mine not in running:
        (job,) = running
        running.clear()
        schedule.end(job)
        # A chat gains nothing by queueing its next job at once.
        schedule.ask(job.chat, job.size)
        (started,) = start_all(schedule, running)
        before += started is not mine
    assert before <= len({chat for chat, _ in flood} - {first.chat})


@given(st.lists(st.tuples(CHATS, st.integers(101, 300)), max_size=40), st.integers(0, 100))
def test_a_small_job_never_waits_behind_large_ones(large: list[tuple[int, int]], size: int) -> None:
    schedule = Schedule(PLACES)
    running: list[Job] = []
    for chat, each in large:
        schedule.ask(chat, each)
        start_all(schedule, running)
    small = schedule.ask(0, size)
    assert start_all(schedule, running) == [small]


@given(st.lists(SIZES, min_size=2, max_size=20))
def test_within_a_chat_the_smallest_starts_first(sizes: list[int]) -> None:
    schedule = Schedule(Places(1, 1, 1, 1, 100))
    for size in sizes:
        schedule.ask("chat", size)
    started: list[int] = []
    while (job := schedule.start_next()) is not None:
        started.append(job.size)
        schedule.end(job)
    if len(sizes) <= 16:
        assert started == sorted(sizes)
    assert started[0] == min(sizes)


def test_small_jobs_without_end_do_not_keep_a_large_one_of_their_chat_waiting() -> None:
    schedule = Schedule(Places(1, 1, 1, 1, 100))
    large = schedule.ask("chat", 300)
    for number in range(100):
        schedule.ask("chat", 1)
        job = schedule.start_next()
        assert job is not None
        schedule.end(job)
        if job is large:
            assert number == 16
            return
    raise AssertionError("it never started")


@settings(max_examples=50)
@given(st.lists(st.tuples(CHATS, SIZES, st.booleans()), max_size=30))
async def test_cancelled_tasks_lose_no_place(jobs: list[tuple[int, int, bool]]) -> None:
    gate = JobGate(PLACES)
    finished: list[int] = []

    async def work(number: int, chat: int, size: int) -> None:
        async with gate.place(chat, size):
            await asyncio.sleep(0)
            finished.append(number)

    tasks = [asyncio.create_task(work(number, chat, size)) for number, (chat, size, _) in enumerate(jobs)]
    await asyncio.sleep(0)
    for task, (_, _, cancelled) in zip(tasks, jobs, strict=True):
        if cancelled:
            task.cancel()
    async with asyncio.timeout(5):
        await asyncio.gather(*tasks, return_exceptions=True)
        # All places are free again.
        async with asyncio.TaskGroup() as group:
            for number in range(6):
                group.create_task(work(1000 + number, number, 0))
    kept = {number for number, (_, _, cancelled) in enumerate(jobs) if not cancelled}
    assert kept <= set(finished)


async def test_a_failing_block_frees_its_place() -> None:
    gate = JobGate(Places(1, 1, 1, 1, 0))
    with pytest.raises(RuntimeError, match="broken"):
        async with gate.place("chat", 1):
            raise RuntimeError("broken")
    async with asyncio.timeout(1), gate.place("chat", 1):
        pass
