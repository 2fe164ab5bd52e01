"""The table of traces: what of it goes with documents and memory, and what when there is too much."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from services.database import Database, open_database, sqlite_url
from services.records.conversations import ConversationRecords
from services.records.tables import DocumentRecord, TraceDocumentRecord, TraceRecord, now
from services.records.traces import TraceRecords
from services.tracing.storage import StoredTrace
from tests.services.retrieval.library import Library

CHAT, SESSION, COLLECTION = "group_1", "group_1_2", "group_1"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


def trace(
    text: str = "原话", *, days: float = 0, turn_id: int | None = None, builds: tuple[str, ...] = (), record: str = "{}"
) -> StoredTrace:
    started = now() - timedelta(days=days)
    return StoredTrace("abcdef00", CHAT, SESSION, turn_id, None, started, record, text, frozenset(builds))


async def texts(database: Database) -> list[str | None]:
    """Return the texts of all records, oldest first."""
    async with database.reading() as session:
        return list(await session.scalars(select(TraceRecord.texts).order_by(TraceRecord.id)))


async def published(library: Library, name: str) -> DocumentRecord:
    document = await library.add(COLLECTION, name, [f"{name}的正文"])
    async with library.database.reading() as session:
        found = await session.get(DocumentRecord, document.id)
        assert found is not None
        return found


async def test_texts_go_with_the_documents_that_they_repeat(database: Database) -> None:
    records, library = TraceRecords(database), Library(database)
    one, two = await published(library, "甲.txt"), await published(library, "乙.txt")
    both = (one.build_id, two.build_id)
    await records.add([trace("甲", builds=both[:1]), trace("乙", builds=both[1:]), trace("甲乙", builds=both), trace()])
    await library.records.discard([one])
    assert await texts(database) == [None, "乙", None, "原话"]
    await library.records.clear(COLLECTION, 10)
    assert await texts(database) == [None, None, None, "原话"]


async def test_texts_go_with_the_version_that_they_repeat(database: Database) -> None:
    records, library = TraceRecords(database), Library(database)
    old = await published(library, "甲.txt")
    await records.add([trace("旧", builds=(old.build_id,))])
    await library.add(COLLECTION, "甲.txt", ["新的正文"])
    assert await texts(database) == [None]


async def test_texts_still_go_with_a_document_that_was_rebuilt(database: Database) -> None:
    records, library = TraceRecords(database), Library(database)
    document = await published(library, "甲.txt")
    await records.add([trace("甲", builds=(document.build_id,))])
    await library.records.set_target(document.id, "rebuilt")
    await library.records.publish(COLLECTION, document.id, "rebuilt", library.model.fingerprint, 1)
    assert await texts(database) == ["甲"]
    await library.records.discard([document])
    assert await texts(database) == [None]


async def test_texts_of_a_document_that_is_gone_already_are_not_stored(database: Database) -> None:
    records, library = TraceRecords(database), Library(database)
    document = await published(library, "甲.txt")
    await library.records.discard([document])
    await records.add([trace("甲", builds=(document.build_id,)), trace("乙")])
    assert await texts(database) == [None, "乙"]


async def test_texts_of_turns_that_are_forgotten_already_are_not_stored(database: Database) -> None:
    records, conversations = TraceRecords(database), ConversationRecords(database)
    before = await conversations.begin(SESSION, 2, "问")
    await conversations.forget(SESSION)
    after = await conversations.begin(SESSION, 2, "问")
    await records.add([trace("前", turn_id=before), trace("后", turn_id=after)])
    assert await texts(database) == [None, "后"]


async def test_old_records_are_deleted_with_what_belongs_to_them(database: Database) -> None:
    records, library = TraceRecords(database), Library(database)
    document = await published(library, "甲.txt")
    await records.add([trace("旧", days=15, builds=(document.build_id,)), trace("新", days=13)])
    assert await records.prune(now() - timedelta(days=14), 10**6) == 1
    assert await texts(database) == ["新"]
    assert await records.prune(now() - timedelta(days=14), 10**6) == 0
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(TraceDocumentRecord)) == 0


async def test_the_oldest_records_above_the_size_are_deleted_some_at_a_time(database: Database) -> None:
    records = TraceRecords(database)
    await records.add([trace(str(number), record="x" * 100) for number in range(1200)])
    deleted: list[int] = []
    while number := await records.prune(now() - timedelta(days=14), 10 * 104):
        deleted.append(number)
    assert deleted == [500, 500, 190]
    assert await texts(database) == [str(number) for number in range(1190, 1200)]
