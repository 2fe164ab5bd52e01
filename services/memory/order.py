"""The order of the turns of each session."""

import asyncio
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class SessionOrder:
    """Lets the turns of one session run one after the other, in the order of arrival."""

    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    @asynccontextmanager
    async def place(self, session_id: str) -> AsyncGenerator[None]:
        """Wait until everything that came before in this session is done, and hold the place while the block runs."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            yield
