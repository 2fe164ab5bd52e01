"""Records of documents: what is visible, in which version, and what waits to be removed."""

import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from services.database import open_database, sqlite_url
from services.records.documents import CollectionTotals, DocumentRecords, NewDocument, NoRoom, Registration
from services.records.stored_values import UploadSource
from services.records.tables import DocumentRecord, DocumentState, now
from services.records.uploads import UploadRecords

GROUP, OTHER = "group_1", "group_2"
FINGERPRINT = "e5"
_number = itertools.count()


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[DocumentRecords]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield DocumentRecords(database)
    await database.close()


SOURCE = UploadSource(file_id="x", busid=102, url="", via=None)


@pytest.fixture
async def uploads(tmp_path: Path) -> AsyncIterator[UploadRecords]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield UploadRecords(database)
    await database.close()


def new_document(name: str = "制度.txt", content: str = "", collection: str = GROUP, **values: Any) -> NewDocument:
    """Return a new file; without `content` it differs from all others."""
    unique = next(_number)
    return NewDocument(
        collection=collection,
        name=name,
        file_type="txt",
        size=100,
        content_hash=content or f"content{unique}",
        stored_name=f"stored{unique}.txt",
        group_id=1,
        uploader_id=10001,
        uploaded_at=now(),
        **values,
    )


async def register(
    records: DocumentRecords,
    name: str = "制度.txt",
    content: str = "",
    collection: str = GROUP,
    *,
    max_total_bytes: int = 0,
    **values: Any,
) -> Registration:
    """Register a file."""
    registration = await records.register(new_document(name, content, collection, **values), max_total_bytes)
    assert isinstance(registration, Registration)
    return registration


async def publish(records: DocumentRecords, document: DocumentRecord, build: str, chunks: int = 3) -> bool:
    """Build a document and return whether it became visible."""
    assert await records.set_target(document.id, build)
    return await records.publish(document.collection, document.id, build, FINGERPRINT, chunks) is not None


async def visible(records: DocumentRecords, *builds: str, collection: str = GROUP) -> dict[str, int]:
    """Return those of the builds that may be shown, with their versions."""
    return {build: document.version for build, document in (await records.visible(collection, builds)).items()}


async def retired(records: DocumentRecords) -> set[tuple[str, str]]:
    return {(row.build_id, row.stored_name) for row in await records.retired()}


async def test_a_new_file_waits_and_is_then_visible(records: DocumentRecords) -> None:
    first = await register(records)
    assert first.created
    document = first.document
    assert (document.number, document.version, document.state) == (1, 1, DocumentState.PENDING)
    assert await records.set_target(document.id, "build")
    assert await visible(records, "build", "") == {}
    assert await records.hidden_builds(GROUP) == {"build"}
    assert [row.id for row in await records.unfinished()] == [document.id]
    published = await records.publish(GROUP, document.id, "build", FINGERPRINT, 3)
    assert published is not None
    assert (published.state, published.chunk_count, published.embedding_fingerprint) == (
        DocumentState.READY,
        3,
        FINGERPRINT,
    )
    assert await visible(records, "build", "another") == {"build": 1}
    assert await records.hidden_builds(GROUP) == set()
    assert await records.unfinished() == []
    assert await records.retired() == []


async def test_the_same_content_is_taken_once_for_each_collection(records: DocumentRecords) -> None:
    first = await register(records, content="same")
    again = await register(records, name="另一个名字.txt", content="same")
    elsewhere = await register(records, content="same", collection=OTHER)
    assert (again.created, again.document.id) == (False, first.document.id)
    assert elsewhere.created
    assert elsewhere.document.number == 1


async def test_a_new_version_replaces_the_old_one_when_it_is_published(records: DocumentRecords) -> None:
    first = (await register(records)).document
    await publish(records, first, "old")
    second = (await register(records)).document
    assert (second.number, second.version) == (first.number, 2)
    assert await records.set_target(second.id, "new")
    assert await visible(records, "old", "new") == {"old": 1}
    assert await records.publish(GROUP, second.id, "new", FINGERPRINT, 5) is not None
    assert await visible(records, "old", "new") == {"new": 2}
    assert await retired(records) == {("old", first.stored_name)}
    assert await records.hidden_builds(GROUP) == {"old"}
    assert await records.get(first.id) is None


async def test_an_older_version_that_comes_late_never_shows(records: DocumentRecords) -> None:
    first = (await register(records)).document
    second = (await register(records)).document
    assert await publish(records, second, "new")
    assert not await publish(records, first, "old")
    assert await visible(records, "old", "new") == {"new": 2}
    assert await retired(records) == {("old", first.stored_name)}
    assert [row.version for row in await records.by_number(GROUP, 1)] == [2]


async def test_a_build_of_a_deleted_document_is_only_retired(records: DocumentRecords) -> None:
    document = (await register(records)).document
    await records.set_target(document.id, "build")
    await records.discard([document])
    assert await records.publish(GROUP, document.id, "build", FINGERPRINT, 3) is None
    assert not await records.set_target(document.id, "build2")
    assert await visible(records, "build") == {}
    assert {("build", ""), ("", document.stored_name)} <= await retired(records)
    assert await records.hidden_builds(GROUP) == {"build"}


async def test_an_abandoned_build_is_retired(records: DocumentRecords) -> None:
    document = (await register(records)).document
    await records.set_target(document.id, "first")
    await records.set_target(document.id, "first")
    assert await records.retired() == []
    await records.set_target(document.id, "second")
    assert await retired(records) == {("first", "")}
    assert await records.hidden_builds(GROUP) == {"first", "second"}


async def test_a_rebuild_keeps_the_visible_build_until_it_is_done(records: DocumentRecords) -> None:
    ready, pending = (await register(records, "a.txt")).document, (await register(records, "b.txt")).document
    await publish(records, ready, "old")
    asked = await records.ask_rebuild(GROUP)
    assert [(row.id, row.revision) for row in asked] == [(ready.id, 1)]
    # A process that stops now resumes it.
    assert {row.id for row in await records.unfinished()} == {ready.id, pending.id}
    await records.set_target(ready.id, "new")
    assert await visible(records, "old", "new") == {"old": 1}
    assert "new" in await records.hidden_builds(GROUP)
    assert await records.publish(GROUP, ready.id, "new", "use", 4) is not None
    assert await visible(records, "old", "new") == {"new": 1}
    assert ("old", "") in await retired(records)
    assert ready.stored_name in await records.stored_names()


async def test_a_rebuild_under_way_is_not_begun_again(records: DocumentRecords) -> None:
    document = (await register(records)).document
    other = (await register(records, "b.txt")).document
    await publish(records, document, "old")
    await publish(records, other, "other")
    assert [row.revision for row in await records.ask_rebuild(GROUP, {document.id})] == [1]
    await records.set_target(document.id, "attempt")
    assert [row.id for row in await records.ask_rebuild(GROUP)] == [other.id]
    assert ("attempt", "") not in await retired(records)
    assert await visible(records, "old", "attempt", "other") == {"old": 1, "other": 1}


async def test_a_limit_on_bytes_counts_only_the_difference_of_a_new_version(records: DocumentRecords) -> None:
    """Every file of these tests has 100 bytes."""
    first = (await register(records, "a.txt", max_total_bytes=250)).document
    await publish(records, first, "one")
    assert (await register(records, "b.txt", max_total_bytes=250)).created
    assert await records.register(new_document("c.txt"), 250) == NoRoom(200)
    assert await records.size_beside(GROUP, "a.txt") == 100
    newer = (await register(records, "a.txt", max_total_bytes=250)).document
    assert newer.version == 2
    # Versions that are not visible yet count: many of them could otherwise fill the disk.
    assert await records.register(new_document("a.txt"), 250) == NoRoom(200)
    assert await records.register(new_document("c.txt", collection=OTHER), 250)


async def test_builds_that_no_document_knows_are_retired(records: DocumentRecords) -> None:
    document = (await register(records)).document
    await publish(records, document, "visible")
    await records.set_target(document.id, "under way")
    assert await records.retire_unknown(GROUP, {"visible", "under way", "stray"}) == 1
    assert await retired(records) == {("stray", "")}
    assert await records.retire_unknown(GROUP, {"stray"}) == 0


async def test_clear_and_discard_touch_what_they_were_asked_for(records: DocumentRecords) -> None:
    one, two = (await register(records, "a.txt")).document, (await register(records, "b.txt")).document
    theirs = (await register(records, "a.txt", collection=OTHER)).document
    for document, build in ((one, "one"), (two, "two"), (theirs, "theirs")):
        await publish(records, document, build)
    await records.discard([one])
    assert await visible(records, "one", "two") == {"two": 1}
    assert await retired(records) == {("one", one.stored_name)}
    assert [row.id for row in await records.clear(GROUP, 0)] == [two.id]
    assert await visible(records, "two") == {"two": 1}, "more than were announced: none is touched"
    assert [row.id for row in await records.clear(GROUP, 1)] == [two.id]
    assert await visible(records, "one", "two") == {}
    assert await visible(records, "theirs", collection=OTHER) == {"theirs": 1}
    assert await records.clear(GROUP, 10) == []


async def test_a_number_is_never_given_twice(records: DocumentRecords) -> None:
    numbers: list[int] = []
    for name in ("a.txt", "b.txt"):
        document = (await register(records, name)).document
        numbers.append(document.number)
        await publish(records, document, name)
    await records.clear(GROUP, 10)
    numbers.append((await register(records, "b.txt")).document.number)
    await records.discard(await records.by_number(GROUP, numbers[-1]))
    numbers.append((await register(records, "c.txt")).document.number)
    assert numbers == [1, 2, 3, 4]


async def test_ids_of_documents_never_come_back(records: DocumentRecords) -> None:
    first = (await register(records)).document
    await records.discard([first])
    assert (await register(records)).document.id > first.id


async def test_only_ready_documents_of_the_asked_collection_are_visible(records: DocumentRecords) -> None:
    pending = (await register(records, "a.txt")).document
    await records.set_target(pending.id, "pending")
    ready = (await register(records, "b.txt")).document
    await publish(records, ready, "ready")
    theirs = (await register(records, "c.txt", collection=OTHER)).document
    await publish(records, theirs, "theirs")
    everything = ["pending", "ready", "theirs", "", "unknown"]
    assert await visible(records, *everything) == {"ready": 1}
    assert await visible(records, *everything, collection=OTHER) == {"theirs": 1}
    assert await visible(records, *everything, collection="group_3") == {}
    assert await visible(records) == {}
    assert await records.hidden_builds(OTHER) == set()


async def test_totals_count_what_is_visible(records: DocumentRecords) -> None:
    for name, build in (("a.txt", "a"), ("b.txt", "b")):
        await publish(records, (await register(records, name)).document, build, chunks=4)
    await register(records, "c.txt")
    await register(records, "a.txt", collection=OTHER)
    assert await records.totals(GROUP, FINGERPRINT) == CollectionTotals(
        documents=2, chunks=8, size=200, pending=1, stale=0
    )
    assert (await records.totals(GROUP, "another")).stale == 2
    assert await records.totals("group_3", FINGERPRINT) == CollectionTotals(0, 0, 0, 0, 0)


async def test_pages_are_in_order_of_number(records: DocumentRecords) -> None:
    for name in ("c.txt", "a.txt", "b.txt", "a.txt"):
        await register(records, name)
    rows = await records.page(GROUP, 0, 10)
    assert [(row.name, row.number, row.version) for row in rows] == [
        ("c.txt", 1, 1),
        ("a.txt", 2, 1),
        ("a.txt", 2, 2),
        ("b.txt", 3, 1),
    ]
    assert [row.id for row in await records.page(GROUP, 1, 2)] == [row.id for row in rows[1:3]]
    assert [row.version for row in await records.by_number(GROUP, 2)] == [2, 1]


async def test_originals_are_kept_until_their_removal_is_done(records: DocumentRecords) -> None:
    document = (await register(records)).document
    await publish(records, document, "build")
    await records.discard([document])
    assert await records.stored_names() == {document.stored_name}
    for row in await records.retired():
        await records.forget_retired(row.id)
    assert await records.stored_names() == set()
    assert await records.hidden_builds(GROUP) == set()


async def test_an_upload_knows_its_document(records: DocumentRecords, uploads: UploadRecords) -> None:
    first = await uploads.add("2001", 1, 10001, "a.txt", 5, SOURCE)
    again = await uploads.add("2001", 1, 10002, "b.txt", 5, SOURCE)
    await uploads.add("2002", 1, 10002, "c.txt", 5, SOURCE)
    document = (await register(records, content="same", upload_id=first.id)).document
    duplicate = await register(records, content="same", upload_id=again.id)
    assert not duplicate.created
    waiting = await uploads.waiting("2001")
    assert [(row.id, row.document_id) for row in waiting] == [(first.id, document.id), (again.id, document.id)]
    assert waiting[0].source == SOURCE
    await uploads.finish(first.id)
    assert [row.id for row in await uploads.waiting("2001")] == [again.id]
    assert len(await uploads.waiting("2002")) == 1
