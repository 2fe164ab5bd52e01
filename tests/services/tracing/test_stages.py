import asyncio
import time

import pytest

from services.tracing.stages import recorded_stages, stage


def test_a_stage_that_runs_twice_has_the_sum_of_its_times():
    with recorded_stages() as stages:
        for _ in range(2):
            with stage("search"):
                time.sleep(0.01)
        with stage("rerank"):
            pass
    assert [time.stage for time in stages.times] == ["search", "rerank"]
    assert stages.times[0].seconds >= 0.02


def test_a_stage_that_raises_is_recorded():
    with recorded_stages() as stages, pytest.raises(ValueError, match="broken"), stage("search"):
        raise ValueError("broken")
    assert [time.stage for time in stages.times] == ["search"]


async def test_tasks_and_threads_record_into_the_request_that_started_them():
    def work() -> None:
        with stage("thread"):
            pass

    async def request(name: str) -> tuple[str, ...]:
        async def part() -> None:
            with stage(name):
                await asyncio.sleep(0.01)

        with recorded_stages() as stages:
            await asyncio.gather(asyncio.create_task(part()), asyncio.to_thread(work))
        return tuple(sorted(time.stage for time in stages.times))

    found = await asyncio.gather(request("one"), request("two"))
    assert found == [("one", "thread"), ("thread", "two")]


def test_a_stage_outside_of_a_request_is_not_recorded():
    with stage("search"):
        pass
    with recorded_stages() as stages:
        pass
    assert stages.times == ()
