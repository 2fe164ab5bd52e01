"""What cannot be undone waits for the same person to say 确认 in the same place."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from services.roles import Action
from services.session import Session

WAIT_S = 60
YES = frozenset({"确认", "确定"})
NO = frozenset({"取消", "算了"})


@dataclass(frozen=True, slots=True)
class Pending:
    """An act that waits. `action` is the right that is needed for it when it is confirmed."""

    action: Action
    act: Callable[[], Awaitable[str]]
    expires_at: float


@dataclass(frozen=True, slots=True)
class _Closed:
    """A question that was answered. `answer` is the word; it counts until the question would have expired."""

    answer: str
    expires_at: float


class Confirmations:
    """One pending act for each person in each place; a new one takes the place of the old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._questions: dict[Session, Pending | _Closed] = {}

    def ask(self, session: Session, action: Action, what: str, act: Callable[[], Awaitable[str]]) -> str:
        """Remember `act`, which gives the sentence for its outcome; gives the question to send."""
        now = self._clock()
        self._questions = {key: item for key, item in self._questions.items() if item.expires_at > now}
        self._questions[session] = Pending(action, act, now + WAIT_S)
        return f"{what}，不能恢复。{WAIT_S} 秒内回复「确认」就执行，回复「取消」就算了。"

    def concerns(self, session: Session) -> bool:
        """Return whether a 确认 or 取消 of this person here answers a question, open or just answered."""
        question = self._questions.get(session)
        return question is not None and question.expires_at > self._clock()

    def answer(self, session: Session, word: str) -> Pending | str:
        """Close this person's question with `word` and return what was pending.

        When it was answered already, return the sentence to send instead; it is empty for the same answer once more.
        """
        question = self._questions.get(session)
        if isinstance(question, Pending) and question.expires_at > self._clock():
            self._questions[session] = _Closed(word, question.expires_at)
            return question
        if not isinstance(question, _Closed) or (question.answer in YES) == (word in YES):
            return ""
        return "刚才已经确认过了，来不及取消。" if question.answer in YES else "刚才已经取消了，要做就把命令再发一次。"
