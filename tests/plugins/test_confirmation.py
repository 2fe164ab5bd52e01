"""What cannot be undone is done once, by who was asked, in time."""

import pytest

from plugins._confirmation import WAIT_S, Confirmations
from services.session import Session

ME = Session(777, 10002)


class Clock:
    """Time that moves when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def _act() -> str:
    return "已删除。"


async def test_only_the_asked_person_in_the_same_place() -> None:
    confirmations = Confirmations()
    question = confirmations.ask(ME, "要删除「甲」", _act)
    assert question == f"要删除「甲」，不能恢复。{WAIT_S} 秒内回复「确认」就执行，回复「取消」就算了。"
    assert confirmations.is_waiting(ME)
    assert not confirmations.is_waiting(Session(777, 10003))
    assert not confirmations.is_waiting(Session(778, 10002))
    assert not confirmations.is_waiting(Session(None, 10002))
    assert await confirmations.take(ME)() == "已删除。"
    assert not confirmations.is_waiting(ME)
    with pytest.raises(KeyError):
        confirmations.take(ME)


def test_a_question_expires_and_the_last_one_counts() -> None:
    clock = Clock()
    confirmations = Confirmations(clock)
    confirmations.ask(ME, "要删除「甲」", _act)

    async def other() -> str:
        return "已清空。"

    confirmations.ask(ME, "要清空", other)
    clock.now += WAIT_S - 1
    assert confirmations.is_waiting(ME)
    assert confirmations.take(ME) is other
    confirmations.ask(ME, "要清空", other)
    clock.now += WAIT_S + 1
    assert not confirmations.is_waiting(ME)
