"""Tests that a recall ends the work on the answer to the message, and nothing else."""

import asyncio

import pytest

from qq.chat import Chat
from qq.recalls import Recalls

GROUP = Chat("1", 777)


async def test_running_work_is_cancelled() -> None:
    recalls = Recalls()
    ended: list[str] = []

    async def work() -> str:
        try:
            await asyncio.sleep(5)
        finally:
            ended.append("work")
        return "回答"

    task = asyncio.create_task(recalls.unless_recalled(GROUP, 5, work()))
    await asyncio.sleep(0)
    recalls.add(GROUP, 6)
    recalls.add(Chat("1", 778), 5)
    await asyncio.sleep(0.01)
    assert not task.done()
    recalls.add(GROUP, 5)
    recalls.add(GROUP, 5)
    assert await task is None
    assert ended == ["work"]


async def test_a_message_recalled_before_is_not_worked_on() -> None:
    recalls = Recalls()
    recalls.add(GROUP, 5)
    assert await recalls.unless_recalled(GROUP, 5, asyncio.sleep(5, "回答")) is None
    assert await recalls.unless_recalled(GROUP, 6, asyncio.sleep(0, "回答")) == "回答"


async def test_a_timeout_of_the_work_itself_is_a_failure() -> None:
    async def work() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await Recalls().unless_recalled(GROUP, 5, work())


def test_a_temporary_chat_is_known_without_its_group() -> None:
    recalls = Recalls()
    recalls.add(Chat("1", None, 10002), 5)
    assert recalls.includes(Chat("1", 777, 10002), 5)
    assert not recalls.includes(GROUP, 5)


def test_recalls_are_forgotten() -> None:
    now = [0.0]
    recalls = Recalls(lambda: now[0])
    for number in range(2000):
        recalls.add(GROUP, number)
    assert sum(recalls.includes(GROUP, number) for number in range(2000)) == 1000
    now[0] = 4000.0
    assert not recalls.includes(GROUP, 1999)
