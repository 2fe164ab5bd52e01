"""The database: migrated to exactly the tables of the code, committed or rolled back, safe for many writers."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, MetaData, Table, create_engine, func, select, text
from sqlalchemy.exc import IntegrityError

from services.database import Database, open_database, sqlite_url
from services.errors import DataDirectoryError
from services.records.stored_values import StoredMessage, UploadSource
from services.records.tables import Base, CollectionRecord, DocumentRecord, HistoryRecord, UploadRecord, now

SOURCE = UploadSource(file_id="/id", busid=102, url="", via=None)
MIGRATIONS = Path(__file__).parents[2] / "services" / "migrations"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


async def names(database: Database) -> set[str]:
    """Return the contents of the table that these tests write."""
    async with database.reading() as session:
        return set(await session.scalars(select(CollectionRecord.name)))


def collection(name: str) -> CollectionRecord:
    return CollectionRecord(name=name, next_number=1)


async def test_migrations_make_exactly_the_tables_of_the_code(database: Database, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'app.sqlite3'}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        migrated = _statements(connection)
    engine.dispose()
    # Alembic does not compare AUTOINCREMENT, which prevents the reuse of ids.
    created = create_engine("sqlite://")
    with created.connect() as connection:
        Base.metadata.create_all(connection)
        assert _autoincrement(_statements(connection)) == _autoincrement(migrated)
    created.dispose()


def _statements(connection: Connection) -> dict[str, str]:
    rows = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"))
    return {name: sql for name, sql in rows if name not in ("alembic_version", "sqlite_sequence")}


def _autoincrement(statements: dict[str, str]) -> set[str]:
    return {name for name, sql in statements.items() if "AUTOINCREMENT" in sql}


async def test_opening_again_keeps_everything(database: Database, tmp_path: Path) -> None:
    async with database.writing() as session:
        session.add(collection("group_1"))
    await database.close()
    again = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    assert await names(again) == {"group_1"}
    await again.close()


async def test_a_block_that_ends_is_committed_and_one_that_raises_is_not(database: Database) -> None:
    async with database.writing() as session:
        session.add(collection("kept"))
    with pytest.raises(RuntimeError, match="on the way"):
        async with database.writing() as session:
            session.add(collection("lost"))
            await session.flush()
            raise RuntimeError("on the way")
    assert await names(database) == {"kept"}


async def test_a_cancelled_block_is_rolled_back_and_lets_the_next_one_in(database: Database) -> None:
    inside = asyncio.Event()

    async def wait() -> None:
        async with database.writing() as session:
            session.add(collection("lost"))
            await session.flush()
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(5), database.writing() as session:
        session.add(collection("kept"))
    assert await names(database) == {"kept"}


async def test_what_is_changed_while_reading_is_thrown_away(database: Database) -> None:
    async with database.reading() as session:
        session.add(collection("lost"))
        await session.flush()
    assert await names(database) == set()


async def test_a_reader_sees_nothing_of_an_open_transaction(database: Database) -> None:
    async with database.writing() as session:
        session.add(collection("later"))
        await session.flush()
        assert await names(database) == set()
    assert await names(database) == {"later"}


async def test_many_writers_lose_nothing(database: Database) -> None:
    async with database.writing() as session:
        session.add(collection("counter"))

    async def count_up() -> None:
        async with database.writing() as session:
            row = await session.get_one(CollectionRecord, "counter")
            seen = row.next_number
            await asyncio.sleep(0)
            row.next_number = seen + 1

    await asyncio.gather(*(count_up() for _ in range(40)), *(names(database) for _ in range(40)))
    async with database.reading() as session:
        assert await session.scalar(select(CollectionRecord.next_number)) == 41


async def test_documents_of_an_older_release_keep_their_fingerprints(tmp_path: Path) -> None:
    path = tmp_path / "app.sqlite3"
    row: dict[str, Any] = dict.fromkeys(("version", "size", "uploader_id", "revision", "chunk_count"), 1)
    row |= dict.fromkeys(("name", "file_type", "stored_name", "build_id", "target_build_id"), "x")
    row |= {"collection": "group_1", "state": "ready", "uploaded_at": now()}
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
        connection.execute(text("INSERT INTO collections VALUES ('group_1', 3)"))
        documents = Table("documents", MetaData(), autoload_with=connection)
        for number, fingerprint in ((1, "e5-small"), (2, "")):
            values = row | {"number": number, "content_hash": str(number), "space": fingerprint}
            connection.execute(documents.insert().values(values))
    engine.dispose()
    for _ in range(2):
        opened = await open_database(sqlite_url(path))
        async with opened.reading() as session:
            found = (await session.scalars(select(DocumentRecord).order_by(DocumentRecord.number))).all()
        assert [(document.id, document.embedding_fingerprint) for document in found] == [(1, "e5-small"), (2, "")]
        assert {document.collection for document in found} == {"group_1"}
        await opened.close()


async def test_documents_of_an_older_release_have_no_profile_and_keep_their_time(tmp_path: Path) -> None:
    path = tmp_path / "app.sqlite3"
    row: dict[str, Any] = dict.fromkeys(("number", "version", "size", "uploader_id", "revision", "chunk_count"), 1)
    row |= dict.fromkeys(("name", "content_hash", "file_type", "stored_name", "build_id", "target_build_id"), "x")
    row |= {"collection": "group_1", "state": "ready", "embedding_fingerprint": "e5", "in_group_files": False}
    uploaded = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0010")
        connection.execute(text("INSERT INTO collections VALUES ('group_1', 2)"))
        documents = Table("documents", MetaData(), autoload_with=connection)
        connection.execute(documents.insert().values(row | {"uploaded_at": uploaded}))
    engine.dispose()
    opened = await open_database(sqlite_url(path))
    async with opened.reading() as session:
        (document,) = (await session.scalars(select(DocumentRecord))).all()
    assert (document.profile, document.chosen_type, document.chosen_tags, document.edited_at) == (None,) * 4
    assert document.first_uploaded_at == document.uploaded_at == uploaded
    await opened.close()


async def test_foreign_keys_are_kept(database: Database) -> None:
    row: dict[str, Any] = dict.fromkeys(("number", "version", "size", "uploader_id", "revision", "chunk_count"), 1)
    row |= dict.fromkeys(("name", "content_hash", "file_type", "stored_name", "build_id", "target_build_id"), "x")
    with pytest.raises(IntegrityError):
        async with database.writing() as session:
            session.add(
                DocumentRecord(collection="nobody", state="ready", embedding_fingerprint="", uploaded_at=now(), **row)
            )


async def test_ids_of_a_history_never_come_back(database: Database) -> None:
    """A summary names the messages that it replaces by id; a reused id would name a newer message."""

    async def add() -> int:
        async with database.writing() as session:
            record = HistoryRecord(session_id="group_1", position=0, message=StoredMessage(type="human", text=""))
            session.add(record)
            await session.flush()
            return record.id

    first = await add()
    async with database.writing() as session:
        await session.delete(await session.get_one(HistoryRecord, first))
    assert await add() > first


async def test_times_come_back_as_they_were_with_their_zone(database: Database) -> None:
    moment = now()
    async with database.writing() as session:
        session.add(UploadRecord(self_id="1", user_id=1, name="x", size=1, source=SOURCE, received_at=moment))
    async with database.reading() as session:
        (row,) = (await session.scalars(select(UploadRecord))).all()
        assert row.received_at == moment
        assert row.received_at.utcoffset() is not None
        assert row.source == SOURCE


async def test_synchronous_full_and_write_ahead_log(database: Database) -> None:
    async with database.reading() as session:
        assert (await session.execute(text("PRAGMA journal_mode"))).scalar() == "wal"
        assert (await session.execute(text("PRAGMA synchronous"))).scalar() == 2


async def test_a_database_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="DATA_DIR"):
        await open_database(sqlite_url(tmp_path / "missing" / "app.sqlite3"))


async def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "app.sqlite3"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(DataDirectoryError):
        await open_database(sqlite_url(path))


async def test_a_database_of_a_newer_release_is_left_alone(database: Database, tmp_path: Path) -> None:
    async with database.writing() as session:
        await session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DataDirectoryError, match="更新的版本"):
        await open_database(sqlite_url(tmp_path / "app.sqlite3"))


async def test_a_migration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "app.sqlite3"
    blocking = sqlite3.connect(path)
    # The last table of the migration already exists: everything before it must be undone.
    blocking.execute("CREATE TABLE history (x)")
    blocking.commit()
    with pytest.raises(DataDirectoryError):
        await open_database(sqlite_url(path))
    assert [row[0] for row in blocking.execute("SELECT name FROM sqlite_master")] == ["history"]
    blocking.execute("DROP TABLE history")
    blocking.close()
    opened = await open_database(sqlite_url(path))
    async with opened.reading() as session:
        assert await session.scalar(select(func.count()).select_from(DocumentRecord)) == 0
    await opened.close()


async def test_a_kept_result_is_read_again_after_a_change_of_its_table(tmp_path: Path) -> None:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    reads: list[int] = []

    async def read() -> int:
        reads.append(len(reads))
        return reads[-1]

    async def kept() -> int:
        return await database.kept("documents", "key", read)

    assert [await kept(), await kept()] == [0, 0]
    assert await database.kept("documents", "other key", read) == 1
    async with database.writing("turns"):
        pass
    async with database.writing():
        pass
    assert await kept() == 0
    async with database.writing("documents"):
        pass
    assert [await kept(), await kept()] == [2, 2]
    with pytest.raises(ValueError, match="half-way"):
        async with database.writing("documents"):
            raise ValueError("half-way")
    assert await kept() == 3
    await database.close()


async def test_what_was_read_during_a_change_is_not_kept(tmp_path: Path) -> None:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))

    async def read_old() -> str:
        async with database.writing("documents"):
            pass
        return "old"

    async def read_new() -> str:
        return "new"

    assert await database.kept("documents", "key", read_old) == "old"
    assert await database.kept("documents", "key", read_new) == "new"
    await database.close()
