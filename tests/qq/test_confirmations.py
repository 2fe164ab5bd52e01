"""Tests that an irreversible act is performed once, only for the person who was asked, and only in time."""

from qq.confirmations import WAIT_S, Confirmation, Confirmations, Pending
from services.roles import Rights, Role
from services.session import Session

ME = Session(777, 10002)
RIGHTS = Rights(group=Role.ADMIN)


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def _act() -> str:
    return "已删除。"


async def _other() -> str:
    return "已清空。"


def _act_of(answer: Pending | str) -> object:
    return answer.act if isinstance(answer, Pending) else answer


async def test_only_the_asked_person_in_the_same_place() -> None:
    confirmations = Confirmations()
    question = confirmations.ask(ME, RIGHTS, Confirmation("要删除「甲」", _act))
    assert question == f"要删除「甲」，不能恢复。{WAIT_S} 秒内回复「确认」就执行，回复「取消」就算了。"
    assert confirmations.concerns(ME)
    assert not confirmations.concerns(Session(777, 10003))
    assert not confirmations.concerns(Session(778, 10002))
    assert not confirmations.concerns(Session(None, 10002))
    pending = confirmations.answer(ME, "确认")
    assert isinstance(pending, Pending)
    assert pending.rights is RIGHTS
    assert await pending.act() == "已删除。"


def test_an_answer_counts_once() -> None:
    clock = Clock()
    confirmations = Confirmations(clock)
    confirmations.ask(ME, RIGHTS, Confirmation("要清空", _act))
    answers = [confirmations.answer(ME, "确认") for _ in range(10)]
    assert [_act_of(answer) for answer in answers] == [_act, *[""] * 9]
    # Late words still belong to the confirmation, and are not questions for the model.
    assert confirmations.concerns(ME)
    assert confirmations.answer(ME, "取消") == "刚才已经确认过了，来不及取消。"
    clock.now += WAIT_S + 1
    assert not confirmations.concerns(ME)

    confirmations.ask(ME, RIGHTS, Confirmation("要清空", _act))
    assert _act_of(confirmations.answer(ME, "算了")) is _act
    assert confirmations.answer(ME, "取消") == ""
    assert confirmations.answer(ME, "确定") == "刚才已经取消了，要做就把命令再发一次。"
    # A new question is open again.
    confirmations.ask(ME, RIGHTS, Confirmation("要清空", _other))
    assert _act_of(confirmations.answer(ME, "确认")) is _other


def test_a_question_expires_and_the_last_one_counts() -> None:
    clock = Clock()
    confirmations = Confirmations(clock)
    confirmations.ask(ME, RIGHTS, Confirmation("要删除「甲」", _act))
    confirmations.ask(ME, RIGHTS, Confirmation("要清空", _other))
    clock.now += WAIT_S - 1
    assert confirmations.concerns(ME)
    assert _act_of(confirmations.answer(ME, "确认")) is _other
    confirmations.ask(ME, RIGHTS, Confirmation("要清空", _other))
    clock.now += WAIT_S + 1
    assert not confirmations.concerns(ME)
    assert confirmations.answer(ME, "确认") == ""
