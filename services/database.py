"""The database of records: one async engine, migrated when it is opened.

It is the only file that knows which SQL database is used.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, event
from sqlalchemy.exc import DatabaseError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from services.errors import DataDirectoryError, RecordsError

_MIGRATIONS = Path(__file__).parent / "migrations"
# Results of reads that are kept for each table, a few for each active group.
_MAX_KEPT = 512
Result = TypeVar("Result")


class Database:
    """Transactions on the records.

    Reads run in parallel. Writes wait for each other: SQLite has one writer, and waiting here avoids "database is
    locked". A transaction belongs to one task and must be short, without network or model calls inside.

    Only this process writes to the database, so what was read from a table can be kept until the table changes: see
    `kept`. Every write to such a table names it in `writing`.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._sessions = async_sessionmaker(engine, expire_on_commit=False)
        self._writing = asyncio.Lock()
        self._kept: dict[str, dict[Hashable, Any]] = {}

    async def kept(self, table: str, key: Hashable, read: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of `read`, which depends on `table` and `key` only, and keep it until the table changes.

        The result is shared by all callers: it must not be changed.
        """
        # A change replaces this dictionary, so a result that was read before the change is never returned after it.
        kept = self._kept.setdefault(table, {})
        if key not in kept:
            result = await read()
            if len(kept) >= _MAX_KEPT:
                kept.clear()
            kept[key] = result
        return kept[key]

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncSession]:
        """Yield a session whose changes are discarded. Raise `RecordsError` if the database fails."""
        try:
            async with self._sessions() as session:
                yield session
        except IntegrityError:
            # A broken constraint is our own mistake, which no free space fixes.
            raise
        except SQLAlchemyError as error:
            raise _failure(error) from error

    @asynccontextmanager
    async def writing(self, table: str = "") -> AsyncGenerator[AsyncSession]:
        """Yield a session that is committed when the block ends, and rolled back when it raises.

        `table` is the table that changes, if results of it are kept. Raise `RecordsError` if the database fails: the
        disk is full, or the file cannot be written.
        """
        try:
            async with self._writing, self._sessions() as session, session.begin():
                yield session
        except IntegrityError:
            # A broken constraint is our own mistake, which no free space fixes.
            raise
        except SQLAlchemyError as error:
            raise _failure(error) from error
        finally:
            # Also after a failure: a cancelled commit may have taken place.
            self._kept.pop(table, None)

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file for `open_database`."""
    return f"sqlite+aiosqlite:///{path}"


async def open_database(url: str) -> Database:
    """Open the database at `url` and bring its schema up to date.

    Raise `DataDirectoryError` if it cannot be opened, written or migrated.
    """
    engine = create_async_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_migrate)
    except DatabaseError as error:
        await engine.dispose()
        raise DataDirectoryError("数据库打不开，请检查 DATA_DIR 的权限和剩余空间。", str(error)) from error
    except CommandError as error:
        await engine.dispose()
        raise DataDirectoryError("DATA_DIR 里的数据库是更新的版本写的，请用那个版本启动。", str(error)) from error
    return Database(engine)


def _failure(error: SQLAlchemyError) -> RecordsError:
    return RecordsError("机器人的数据库读写不了，可能是磁盘满了，请联系管理员，稍后再试。", str(error))


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # FULL: acknowledged data survives a power cut too, at about 1 ms a commit.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA busy_timeout=10000")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # The driver would begin only at the first write; a migration killed half-way must leave nothing behind.
    connection.exec_driver_sql("BEGIN")


def _migrate(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
