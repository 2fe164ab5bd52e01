"""Confirmation of irreversible acts: the same person has to reply 确认 in the same chat."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cachetools import TTLCache

from services.roles import Rights
from services.session import Session

WAIT_S = 60
_MOST_QUESTIONS = 10_000
YES = frozenset({"确认", "确定"})
NO = frozenset({"取消", "算了"})


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An irreversible act that has to be confirmed first.

    `what` says what it will do. `act` does it and returns the sentence about its outcome, or another act to confirm.
    """

    what: str
    act: Callable[[], Awaitable["str | Confirmation"]]


@dataclass(frozen=True, slots=True)
class Pending:
    """A pending act. `rights` are those that the person needs when they confirm it."""

    rights: Rights
    act: Callable[[], Awaitable[str | Confirmation]]


@dataclass(frozen=True, slots=True)
class _Closed:
    """A question that was answered with the word `answer`. It counts as long as a new question would."""

    answer: str


class Confirmations:
    """The pending acts, at most one for each person in each chat. A new one replaces the old one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._questions: TTLCache[Session, Pending | _Closed] = TTLCache(_MOST_QUESTIONS, WAIT_S, timer=clock)

    def ask(self, session: Session, rights: Rights, confirmation: Confirmation) -> str:
        """Store the act of a person who has these rights, and return the question to send."""
        self._questions[session] = Pending(rights, confirmation.act)
        return f"{confirmation.what}，不能恢复。{WAIT_S} 秒内回复「确认」就执行，回复「取消」就算了。"

    def concerns(self, session: Session) -> bool:
        """Return whether 确认 or 取消 from this person in this chat answers an open or a just answered question."""
        return session in self._questions

    def answer(self, session: Session, word: str) -> Pending | str:
        """Close this person's question with `word` and return the pending act.

        If it was already answered, return the sentence to send instead, which is empty if the answer is the same again.
        """
        question = self._questions.get(session)
        if isinstance(question, Pending):
            self._questions[session] = _Closed(word)
            return question
        if not isinstance(question, _Closed) or (question.answer in YES) == (word in YES):
            return ""
        return "刚才已经确认过了，来不及取消。" if question.answer in YES else "刚才已经取消了，要做就把命令再发一次。"
