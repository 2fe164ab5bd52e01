"""Recalled messages, and the work on their answers, which ends with the recall."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cachetools import TTLCache

from qq.chat import Chat

_KEPT_S = 3600.0
_MOST_KEPT = 1000

Result = TypeVar("Result")
_Key = tuple[str, int, int, int]


class Recalls:
    """Remembers recalled messages for an hour, at most a thousand of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._recalled: TTLCache[_Key, None] = TTLCache(_MOST_KEPT, _KEPT_S, timer=clock)
        self._running: dict[_Key, set[asyncio.Timeout]] = {}

    def add(self, chat: Chat, message_id: int) -> None:
        """Record that a message of `chat` was recalled, and cancel the work on its answer."""
        key = _key(chat, message_id)
        self._recalled[key] = None
        for scope in self._running.pop(key, ()):
            scope.reschedule(asyncio.get_running_loop().time())

    def includes(self, chat: Chat, message_id: int) -> bool:
        """Return whether a message of `chat` was recalled."""
        return _key(chat, message_id) in self._recalled

    async def unless_recalled(self, chat: Chat, message_id: int, work: Awaitable[Result]) -> Result | None:
        """Await `work` on the answer to a message. If the message is recalled, cancel `work` and return None."""
        key = _key(chat, message_id)
        scope = asyncio.timeout(0 if key in self._recalled else None)
        self._running.setdefault(key, set()).add(scope)
        try:
            async with scope:
                return await work
        except TimeoutError:
            if not scope.expired():
                raise
            return None
        finally:
            running = self._running.get(key, set())
            running.discard(scope)
            if not running:
                self._running.pop(key, None)


def _key(chat: Chat, message_id: int) -> _Key:
    # The notice of a recall in a temporary chat does not name the group through which the chat was opened.
    group_id = chat.group_id if chat.is_group else None
    return chat.self_id, group_id or 0, chat.user_id or 0, message_id
