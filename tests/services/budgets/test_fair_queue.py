"""The queue for the questions of a chat: limited, in order for each member, and members alternate."""

import asyncio

from services.budgets.fair_queue import FairQueue
from services.session import Session


class Answering:
    """Questions whose beginning and end the test controls."""

    def __init__(self, at_once: int) -> None:
        self.queue = FairQueue(at_once)
        self.begun: list[str] = []
        self.finished: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, name: str, session: Session) -> None:
        """Submit a question; it is answered when `finish` is called."""
        self.finished[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._answer(name, session))
        await asyncio.sleep(0)

    async def _answer(self, name: str, session: Session) -> None:
        async with self.queue.place(session):
            self.begun.append(name)
            await self.finished[name].wait()

    async def finish(self, name: str) -> None:
        """End the answer to a question that has begun."""
        self.finished[name].set()
        await self.tasks[name]
        await asyncio.sleep(0)

    async def cancel(self, name: str) -> None:
        """Cancel a question."""
        self.tasks[name].cancel()
        await asyncio.gather(self.tasks[name], return_exceptions=True)
        await asyncio.sleep(0)


async def test_members_alternate() -> None:
    answering = Answering(1)
    for name in ("甲1", "甲2", "甲3", "乙1", "乙2", "丙1"):
        await answering.ask(name, Session(777, ord(name[0])))
    order = ["甲1", "乙1", "丙1", "甲2", "乙2", "甲3"]
    for done, name in enumerate(order, start=1):
        assert answering.begun == order[:done]
        await answering.finish(name)


async def test_a_chat_has_a_bounded_number_of_places_and_a_member_one() -> None:
    answering = Answering(2)
    for name in ("甲1", "甲2", "乙1", "丙1"):
        await answering.ask(name, Session(777, ord(name[0])))
    assert answering.begun == ["甲1", "乙1"]
    await answering.finish("乙1")
    assert answering.begun == ["甲1", "乙1", "丙1"]
    await answering.finish("甲1")
    assert answering.begun == ["甲1", "乙1", "丙1", "甲2"]
    await answering.finish("丙1")
    await answering.finish("甲2")


async def test_chats_do_not_wait_for_each_other() -> None:
    answering = Answering(1)
    for name, session in (("群", Session(777, 1)), ("别的群", Session(778, 1)), ("私聊", Session(None, 1))):
        await answering.ask(name, session)
    assert answering.begun == ["群", "别的群", "私聊"]
    for name in answering.begun:
        await answering.finish(name)


async def test_a_cancelled_question_hands_its_place_on() -> None:
    answering = Answering(1)
    for name in ("甲1", "乙1", "乙2", "丙1"):
        await answering.ask(name, Session(777, ord(name[0])))
    await answering.cancel("乙1")
    await answering.cancel("甲1")
    assert answering.begun == ["甲1", "乙2"]
    # Cancelled at the moment when the place was granted.
    answering.finished["乙2"].set()
    await asyncio.wait([answering.tasks["乙2"]])
    answering.tasks["丙1"].cancel()
    await asyncio.gather(answering.tasks["丙1"], return_exceptions=True)
    await answering.ask("丁1", Session(777, 4))
    assert answering.begun[-1] == "丁1"
    await answering.finish("丁1")


async def test_all_waiting_cancelled_at_once() -> None:
    answering = Answering(1)
    for name in ("甲1", "乙1", "丙1"):
        await answering.ask(name, Session(777, ord(name[0])))
    # This is what the bot does when it stops.
    for task in answering.tasks.values():
        task.cancel()
    outcomes = await asyncio.gather(*answering.tasks.values(), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 3
    await answering.ask("丁1", Session(777, 4))
    assert answering.begun == ["甲1", "丁1"]
    await answering.finish("丁1")


async def test_a_flood_does_not_delay_another_member() -> None:
    queue = FairQueue(1)
    served: list[int] = []

    async def ask(member: int) -> None:
        async with queue.place(Session(777, member)):
            await asyncio.sleep(0)
            served.append(member)

    async with asyncio.TaskGroup() as group:
        for _ in range(1000):
            group.create_task(ask(1))
        await asyncio.sleep(0)
        group.create_task(ask(2))
        group.create_task(ask(2))
    assert len(served) == 1002
    assert served[:5].count(2) == 2
