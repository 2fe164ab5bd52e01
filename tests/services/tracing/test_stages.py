import asyncio
import time

import pytest

from services.tracing.current import recording
from services.tracing.models import ModelContext, RequestTrace
from services.tracing.stages import stage


def new_record() -> ModelContext:
    return ModelContext(trace=RequestTrace(kind="question"))


def test_a_stage_that_runs_twice_has_the_sum_of_its_times() -> None:
    with recording(new_record()) as record:
        for _ in range(2):
            with stage("search"):
                time.sleep(0.01)
        with stage("rerank"):
            pass
    assert [time.stage for time in record.trace.stages] == ["search", "rerank"]
    assert record.trace.stages[0].milliseconds >= 20


def test_a_stage_that_raises_is_recorded() -> None:
    with recording(new_record()) as record, pytest.raises(ValueError, match="broken"), stage("search"):
        raise ValueError("broken")
    assert [time.stage for time in record.trace.stages] == ["search"]


async def test_tasks_and_threads_record_into_the_request_that_started_them() -> None:
    def work() -> None:
        with stage("thread"):
            pass

    async def request(name: str) -> tuple[str, ...]:
        async def part() -> None:
            with stage(name):
                await asyncio.sleep(0.01)

        with recording(new_record()) as record:
            await asyncio.gather(asyncio.create_task(part()), asyncio.to_thread(work))
        return tuple(sorted(time.stage for time in record.trace.stages))

    found = await asyncio.gather(request("one"), request("two"))
    assert found == [("one", "thread"), ("thread", "two")]


def test_a_stage_outside_of_a_request_is_not_recorded() -> None:
    with stage("search"):
        pass
    with recording(new_record()) as record:
        pass
    assert record.trace.stages == []
