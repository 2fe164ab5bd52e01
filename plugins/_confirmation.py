"""What cannot be undone waits for the same person to say 确认 in the same place."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from services.session import Session

WAIT_S = 60
YES = frozenset({"确认", "确定"})
NO = frozenset({"取消", "算了"})


@dataclass(frozen=True, slots=True)
class _Pending:
    act: Callable[[], Awaitable[str]]
    expires_at: float


class Confirmations:
    """One pending act for each person in each place; a new one takes the place of the old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pending: dict[Session, _Pending] = {}

    def ask(self, session: Session, what: str, act: Callable[[], Awaitable[str]]) -> str:
        """Remember `act`, which gives the sentence for its outcome; gives the question to send."""
        self._pending = {key: item for key, item in self._pending.items() if item.expires_at > self._clock()}
        self._pending[session] = _Pending(act, self._clock() + WAIT_S)
        return f"{what}，不能恢复。{WAIT_S} 秒内回复「确认」就执行，回复「取消」就算了。"

    def is_waiting(self, session: Session) -> bool:
        """Whether this person has something to confirm here."""
        pending = self._pending.get(session)
        return pending is not None and pending.expires_at > self._clock()

    def take(self, session: Session) -> Callable[[], Awaitable[str]]:
        """The pending act, which is then no longer pending. Raises `KeyError` when there is none."""
        return self._pending.pop(session).act
