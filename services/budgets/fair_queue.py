"""A queue for the questions of one chat: a limited number at a time, and members alternate."""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from services.session import Session


@dataclass(slots=True)
class _Waiting:
    number: int
    granted: asyncio.Future[None]


@dataclass(slots=True)
class _Line:
    """One chat: the members being answered, those who wait, and the number of the last place that each of them got."""

    running: set[int] = field(default_factory=set[int])
    waiting: dict[int, deque[_Waiting]] = field(default_factory=dict[int, deque[_Waiting]])
    begun: dict[int, int] = field(default_factory=dict[int, int])


class FairQueue:
    """Grants places in each chat to at most `at_once` members at a time, and to each member one at a time.

    The next place goes to the waiting member whose last question began longest ago, so that many questions of one
    member do not delay those of everybody else. A member's own questions keep their order. Chats do not wait for each
    other.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._lines: dict[str, _Line] = {}
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def place(self, session: Session) -> AsyncGenerator[None]:
        """Wait for a place, hold it while the block runs, and hand it on."""
        chat, member = session.chat, session.user_id
        line = self._lines.setdefault(chat, _Line())
        waiting = _Waiting(next(self._numbers), asyncio.get_running_loop().create_future())
        line.waiting.setdefault(member, deque()).append(waiting)
        self._grant(line)
        try:
            await waiting.granted
            yield
        finally:
            if waiting in line.waiting.get(member, ()):
                self._leave(line, member, waiting)
            elif not waiting.granted.cancelled():
                line.running.discard(member)
            if member not in line.waiting:
                line.begun.pop(member, None)
            self._grant(line)
            if not line.running and not line.waiting:
                self._lines.pop(chat, None)

    def _grant(self, line: _Line) -> None:
        while len(line.running) < self._at_once:
            idle = [member for member in line.waiting if member not in line.running]
            if not idle:
                return
            member = min(idle, key=lambda each: (line.begun.get(each, 0), line.waiting[each][0].number))
            chosen = line.waiting[member][0]
            self._leave(line, member, chosen)
            # The cancelled task has not yet left the line itself.
            if chosen.granted.cancelled():
                continue
            line.running.add(member)
            line.begun[member] = next(self._numbers)
            chosen.granted.set_result(None)

    def _leave(self, line: _Line, member: int, waiting: _Waiting) -> None:
        mine = line.waiting[member]
        mine.remove(waiting)
        if not mine:
            del line.waiting[member]
