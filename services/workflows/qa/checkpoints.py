"""The checkpoints of turns that wait for a person, in a file of their own."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from services.errors import DataDirectoryError

log = logging.getLogger(__name__)

FILE_NAME = "checkpoints.sqlite3"
# Every finished turn leaves one checkpoint of about ten kilobytes until they are pruned together.
_PRUNED_AFTER = 50
_TABLES = ("writes", "checkpoints")


class Checkpoints:
    """The saver of the graph, and the removal of what no turn needs any more.

    LangGraph cannot prune on SQLite: its `aprune` is not implemented there.
    """

    def __init__(self, connection: aiosqlite.Connection, saver: AsyncSqliteSaver) -> None:
        self.saver = saver
        self._connection = connection
        self._finished: list[str] = []
        self._pruning = asyncio.Lock()

    async def finish(self, thread_id: str) -> None:
        """Note that a thread will not be continued. After some of them they are removed together."""
        self._finished.append(thread_id)
        if len(self._finished) >= _PRUNED_AFTER and not self._pruning.locked():
            await self.prune()

    async def prune(self) -> None:
        """Remove the threads that have finished. A failure is logged, because it only costs space."""
        async with self._pruning:
            finished, self._finished = self._finished, []
            try:
                for table in _TABLES:
                    await self._connection.executemany(
                        f"DELETE FROM {table} WHERE thread_id = ?",  # noqa: S608
                        [(thread_id,) for thread_id in finished],
                    )
                await self._connection.commit()
            except sqlite3.Error:
                self._finished += finished
                log.exception("finished checkpoints could not be removed")

    async def keep_only(self, waiting: Collection[str]) -> None:
        """Remove every thread but those that wait, which are all that a former process left for this one."""
        cursor = await self._connection.execute("SELECT DISTINCT thread_id FROM checkpoints")
        self._finished = [thread_id for (thread_id,) in await cursor.fetchall() if thread_id not in waiting]
        await self.prune()

    async def has(self, thread_id: str) -> bool:
        """Return whether the state of a thread is stored."""
        cursor = await self._connection.execute("SELECT 1 FROM checkpoints WHERE thread_id = ?", (thread_id,))
        return await cursor.fetchone() is not None


@asynccontextmanager
async def open_checkpoints(data_dir: Path) -> AsyncGenerator[Checkpoints]:
    """Open the file of checkpoints, and remove the finished ones at the end.

    Raise `DataDirectoryError` if the file cannot be opened.
    """
    path = data_dir / FILE_NAME
    try:
        connection = await aiosqlite.connect(path)
    except sqlite3.Error as error:
        raise DataDirectoryError(f"对话的中间状态存不了，请检查 {path} 能不能读写。", str(error)) from error
    try:
        await connection.execute("PRAGMA synchronous=NORMAL")
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
        checkpoints = Checkpoints(connection, saver)
        yield checkpoints
        await checkpoints.prune()
    except sqlite3.Error as error:
        raise DataDirectoryError(f"对话的中间状态存不了，请检查 {path} 能不能读写。", str(error)) from error
    finally:
        await connection.close()
