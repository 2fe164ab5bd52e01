"""Test knowledge bases from a file to an answer's passages: real files, the real parser, records on disk."""

import asyncio
import gc
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from services.database import Database, open_database, sqlite_url
from services.errors import DocumentRejected, ServiceError, StorageError
from services.index.models import IndexedChunk
from services.knowledge.builder import IndexBuilder
from services.knowledge.catalogue import Catalogue
from services.knowledge.models import DocumentType, IncomingFile, IngestResult, IngestStatus
from services.knowledge.parsing import ParseLimits
from services.knowledge.service import KnowledgeService, clean_name
from services.knowledge.storage import FileStore
from services.records.documents import DocumentRecords
from services.records.tables import DocumentRecord, now
from services.settings import KnowledgeSettings
from tests.fakes.embeddings import BigramEmbeddings, bigram_model
from tests.fakes.index import MemoryIndex
from tests.samples import hidden
from tests.services.retrieval.library import Library

GROUP, OTHER = "group_1", "group_2"
TRAVEL = "差旅报销要在出差结束后七天内提交，附上发票原件。\n住宿标准为每晚三百五十元，超出部分自理。\n"
CANTEEN = "食堂周一到周五供应午餐，周末休息。\n"


class GatedEmbeddings(BigramEmbeddings):
    """Embeddings that wait until `gate` is set, so that a test can inspect a running build.

    `closes_after` closes the gate after that many further batches.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = 0
        self.closes_after = 0
        self.batches: list[list[str]] = []

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed the texts once the gate is open."""
        self.waiting += 1
        await self.gate.wait()
        self.waiting -= 1
        self.batches.append(texts)
        self.closes_after -= 1
        if self.closes_after == 0:
            self.gate.clear()
        return await super().aembed_documents(texts)


@dataclass
class World:
    """A data directory and an index that outlive the services that use them."""

    directory: Path
    database: Database
    index: MemoryIndex = field(default_factory=MemoryIndex)
    embeddings: GatedEmbeddings = field(default_factory=GatedEmbeddings)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def records(self) -> DocumentRecords:
        """The records on disk."""
        return DocumentRecords(self.database)

    async def open(
        self,
        fingerprint: str = "bigram",
        *,
        chunk_chars: int = 100,
        reserve_bytes: int | None = None,
        embedded_within_s: tuple[float, float] = (60.0, 60.0),
        **changed: int,
    ) -> KnowledgeService:
        """Start the service, as the bot does."""
        builder = IndexBuilder(self.index, bigram_model(fingerprint, self.embeddings), ParseLimits(), chunk_chars, 0)
        store = FileStore(self.directory, reserve_bytes=reserve_bytes)
        settings = KnowledgeSettings.model_validate({"max_file_mb": 1, **changed})
        knowledge = KnowledgeService(
            self.records,
            store,
            self.index,
            builder,
            settings,
            retry_after_s=(0.02,),
            embedded_within_s=embedded_within_s,
        )
        await knowledge.resume()
        self.stack.push_async_callback(knowledge.close)
        return knowledge

    async def ingest(
        self, knowledge: KnowledgeService, name: str, content: str | bytes, collection: str = GROUP
    ) -> IngestResult:
        """Ingest one file like an upload."""
        path = knowledge.new_incoming()
        await asyncio.to_thread(path.write_bytes, content.encode() if isinstance(content, str) else content)
        group_id = int(collection.removeprefix("group_"))
        result = await knowledge.ingest(IncomingFile(collection, path, name, group_id, 10001, now()))
        assert not path.exists()
        return result

    async def found(self, question: str, collection: str = GROUP, fingerprint: str = "bigram") -> list[str]:
        """Return the passages for an answer, with their documents and versions."""
        library = Library(self.database, index=self.index)
        retriever = library.retriever_with(model=bigram_model(fingerprint, self.embeddings))
        references = await retriever.search(collection, question, 20)
        return [f"{reference.name} v{reference.version}: {reference.text}" for reference in references]

    async def inspected(self) -> None:
        """Wait until the service has compared the index with the records after its start."""
        await until(lambda: not any("_inspect_all" in repr(task) for task in asyncio.all_tasks()))

    def set_aside(self) -> list[Path]:
        """Return the files that had no record at a start."""
        return sorted((self.directory / "set-aside").glob("*/*"))

    def originals(self) -> list[Path]:
        """Return the stored original files."""
        return sorted((self.directory / "files").iterdir())


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    opened = World(tmp_path, database)
    yield opened
    opened.embeddings.gate.set()
    await opened.stack.aclose()
    await database.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.005)


async def idle(knowledge: KnowledgeService) -> None:
    """Wait until all builds are finished and all replaced builds are removed."""
    await until(lambda: knowledge.building_count == 0)
    await knowledge.purge()


async def assert_whole(world: World, knowledge: KnowledgeService, collection: str = GROUP) -> None:
    """Check that records, index and disk agree."""
    await idle(knowledge)
    status = await knowledge.status(collection)
    assert status.chunks == status.indexed_chunks == status.indexed_vectors
    rows = await world.records.page(collection, 0, 100)
    for row in rows:
        # Together these are all chunks of the collection, see the counts above.
        assert len(await world.index.chunk_ids(collection, "", row.build_id)) == row.chunk_count
    assert await world.records.retired() == []
    assert {path.name for path in world.originals()} == await world.records.stored_names()
    assert list((world.directory / "incoming").iterdir()) == []


async def test_a_file_becomes_findable(world: World) -> None:
    knowledge = await world.open()
    result = await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    assert (result.status, result.name, result.number, result.version) == (IngestStatus.INDEXED, "差旅制度.txt", 1, 1)
    assert result.chunks >= 1
    assert result.seconds > 0
    assert any("三百五十元" in passage for passage in await world.found("住宿标准"))
    status = await knowledge.status(GROUP)
    assert (status.documents, status.chunks, status.size) == (1, result.chunks, len(TRAVEL.encode()))
    assert (status.progress, status.stale, status.embedding) == ((), 0, "测试向量")
    entry = await knowledge.document(GROUP, 1)
    assert entry is not None
    assert entry.ready
    assert (await knowledge.documents(GROUP, 1, 10))[1] == 1
    assert world.originals()[0].read_bytes() == TRAVEL.encode()
    await assert_whole(world, knowledge)


async def test_the_outcome_says_that_hidden_text_was_left_out(world: World, tmp_path: Path) -> None:
    knowledge = await world.open()
    content = hidden.DOCX_HIDDEN["white"](tmp_path / "a.docx", "canary").read_bytes()
    result = await world.ingest(knowledge, "制度.docx", content)
    assert result.status is IngestStatus.INDEXED
    assert result.hidden_text
    assert await world.found("canary") == []
    assert not (await world.ingest(knowledge, "通知.txt", "五一放假五天。")).hidden_text


async def test_the_same_content_is_a_duplicate(world: World) -> None:
    knowledge = await world.open()
    first = await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    embedded = world.embeddings.embedded
    again = await world.ingest(knowledge, "换个名字.txt", TRAVEL)
    assert (again.status, again.name, again.number) == (IngestStatus.DUPLICATE, "差旅制度.txt", first.number)
    assert world.embeddings.embedded == embedded
    await assert_whole(world, knowledge)


async def test_the_same_content_twice_at_once_is_built_once(world: World) -> None:
    knowledge = await world.open()
    results = await asyncio.gather(*(world.ingest(knowledge, f"{n}.txt", TRAVEL) for n in range(4)))
    statuses = sorted(result.status for result in results)
    assert statuses.count(IngestStatus.INDEXED) == 1
    assert statuses.count(IngestStatus.DUPLICATE) == 3
    await assert_whole(world, knowledge)


async def test_an_update_replaces_and_the_old_text_is_never_found_again(world: World) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    world.embeddings.gate.clear()
    updating = asyncio.create_task(world.ingest(knowledge, "差旅制度.txt", TRAVEL.replace("三百五十", "四百")))
    await until(lambda: world.embeddings.waiting == 1)
    # The new version is found by its words before it has vectors, and the old one never again.
    passages = await world.found("住宿标准 三百五十元")
    assert passages
    assert all("v2" in passage and "三百五十" not in passage for passage in passages)
    assert [progress.name for progress in (await knowledge.status(GROUP)).progress] == ["差旅制度.txt"]
    world.embeddings.gate.set()
    result = await updating
    assert (result.status, result.number, result.version) == (IngestStatus.UPDATED, 1, 2)
    passages = await world.found("住宿标准 三百五十元")
    assert any("四百元" in passage for passage in passages)
    assert all("v2" in passage and "三百五十" not in passage for passage in passages)
    await assert_whole(world, knowledge)


async def test_a_version_that_is_replaced_while_it_is_embedded_leaves_nothing(world: World) -> None:
    knowledge = await world.open(embedded_within_s=(0.05, 0.05))
    world.embeddings.closes_after = 2
    assert (await world.ingest(knowledge, "长文.txt", long_text(1, 90))).vectors_left
    await until(lambda: world.embeddings.waiting == 1)
    updating = asyncio.create_task(world.ingest(knowledge, "长文.txt", TRAVEL))
    async with asyncio.timeout(10):
        while [row.version for row in await world.records.page(GROUP, 0, 9)] != [2] or await world.records.retired():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    world.embeddings.gate.set()
    assert (await updating).version == 2
    await assert_whole(world, knowledge)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("程序.exe", b"MZ", "不支持 .exe 文件"),
        ("没有扩展名", b"x", "没有扩展名"),
        ("空.txt", b"", "空"),
        ("空白.txt", b" \n\n ", "没有读到文字"),
        ("假的.pdf", b"this is no pdf", "不是 pdf 格式"),
        ("大.txt", b"x" * ((1 << 20) + 1), "超过 1 MB"),
    ],
)
async def test_what_cannot_be_taken_in_leaves_nothing(world: World, name: str, content: bytes, words: str) -> None:
    knowledge = await world.open()
    result = await world.ingest(knowledge, name, content)
    assert (result.status, result.name) == (IngestStatus.REJECTED, name)
    assert words in result.reason
    assert await knowledge.documents(GROUP, 1, 10) == ([], 0)
    assert await world.index.collections() == set()
    assert world.originals() == []
    await assert_whole(world, knowledge)
    # A repaired file may be sent again.
    assert (await world.ingest(knowledge, "好的.txt", TRAVEL)).status is IngestStatus.INDEXED


async def test_an_update_that_cannot_be_read_leaves_the_old_version(world: World) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    assert (await world.ingest(knowledge, "差旅制度.txt", b" \n ")).status is IngestStatus.REJECTED
    assert await world.found("住宿标准")
    await assert_whole(world, knowledge)


async def test_deleting_while_building(world: World) -> None:
    knowledge = await world.open()
    world.embeddings.gate.clear()
    building = asyncio.create_task(world.ingest(knowledge, "差旅制度.txt", TRAVEL))
    await until(lambda: world.embeddings.waiting == 1)
    entry = await knowledge.delete(GROUP, 1)
    assert entry is not None
    assert not entry.embedded
    # The gate is still closed: the work is stopped, and not only discarded when it is finished.
    async with asyncio.timeout(5):
        assert (await building).status is IngestStatus.REMOVED
    assert await world.found("住宿标准") == []
    assert await knowledge.document(GROUP, 1) is None
    await assert_whole(world, knowledge)


async def test_deleting_and_clearing(world: World) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    await world.ingest(knowledge, "食堂.txt", CANTEEN)
    assert await knowledge.delete(GROUP, 7) is None
    entry = await knowledge.delete(GROUP, 1)
    assert entry is not None
    assert entry.name == "差旅制度.txt"
    assert await world.found("住宿标准") == []
    assert await world.found("食堂")
    await assert_whole(world, knowledge)
    assert await knowledge.clear(GROUP, at_most=0) == 1
    assert await world.found("食堂")
    assert await knowledge.clear(GROUP, at_most=1) == 1
    assert await world.found("食堂") == []
    await idle(knowledge)
    assert world.originals() == []
    # Numbers are never reused, so that 「删除 1」 cannot delete another file.
    assert (await world.ingest(knowledge, "差旅制度.txt", TRAVEL)).number == 3
    await assert_whole(world, knowledge)


async def test_a_document_is_read_piece_by_piece(world: World) -> None:
    knowledge = await world.open()
    sections = [f"# 第{number}章\n\n" + f"第{number}章规定了第{number}号仓库怎样管理。" * 12 for number in range(300)]
    result = await world.ingest(knowledge, "手册.md", "\n\n".join(sections))
    assert result.chunks > 500
    view = await Catalogue(world.records, world.index).view(GROUP, result.number)
    assert view is not None
    assert view.entry.name == "手册.md"
    assert [place.heading for place in view.outline.places] == [(f"第{number}章",) for number in range(300)]
    assert not view.is_cut
    # The outline leads to the chunk that begins the chapter.
    place = view.outline.places[-1].ordinal
    (first, *_) = await knowledge.passages(GROUP, result.number, place, 50)
    assert (first.ordinal, first.heading) == (place, ("第299章",))
    assert "第299号仓库" in first.text
    assert len(await knowledge.passages(GROUP, result.number, 0, 50)) == 50
    assert await knowledge.passages(GROUP, result.number, result.chunks, 50) == []
    # Another knowledge base does not have it.
    assert await Catalogue(world.records, world.index).view(OTHER, result.number) is None
    assert await knowledge.passages(OTHER, result.number, 0, 50) == []
    assert await knowledge.collections() == [GROUP]


async def test_the_view_of_a_document_may_be_of_its_beginning(world: World) -> None:
    knowledge = await world.open()
    text = "\n\n".join(f"# 第{number}条\n\n" + f"第{number}条说明了第{number}件事。" * 6 for number in range(30))
    result = await world.ingest(knowledge, "条例.md", text)
    view = await Catalogue(world.records, world.index).view(GROUP, result.number, most_chunks=7)
    assert view is not None
    assert (len(view.chunks), view.is_cut) == (7, True)
    assert view.outline.places[-1].ordinal <= 6


async def test_without_an_embedding_service_a_file_is_found_by_its_words(world: World) -> None:
    knowledge = await world.open(embedded_within_s=(60.0, 60.0))
    world.embeddings.fail = True
    result = await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    assert (result.status, result.vectors_left, result.seconds_left) == (IngestStatus.INDEXED, result.chunks, None)
    assert result.reason == "向量服务暂时连不上。（QZ-R01）"
    assert await world.found("住宿标准")
    assert not (await knowledge.documents(GROUP, 1, 10))[0][0].embedded
    assert (await world.ingest(knowledge, "又一次.txt", TRAVEL)).status is IngestStatus.DUPLICATE
    world.embeddings.fail = False
    await idle(knowledge)
    final = await knowledge.outcome(result.document_id)
    assert final is not None
    assert (final.status, final.vectors_left, final.reason) == (IngestStatus.INDEXED, 0, "")
    assert (await knowledge.documents(GROUP, 1, 10))[0][0].embedded
    await assert_whole(world, knowledge)


async def test_a_large_file_is_found_by_its_words_first(world: World) -> None:
    knowledge = await world.open(embedded_within_s=(0.05, 0.05))
    world.embeddings.closes_after = 2
    result = await world.ingest(knowledge, "长文.txt", long_text(1, 90))
    assert (result.status, result.vectors_left) == (IngestStatus.INDEXED, result.chunks - 32)
    assert result.seconds_left is not None
    assert 0 < result.seconds_left < 60
    assert await world.found("报销住宿")
    status = await knowledge.status(GROUP)
    assert (status.documents, status.chunks, status.stale) == (1, result.chunks, 0)
    # It can be found, so nobody is told to wait until it is read.
    assert knowledge.reading(GROUP) == 0
    assert [(progress.done, progress.total) for progress in status.progress] == [(32, result.chunks)]
    (entry,), _ = await knowledge.documents(GROUP, 1, 10)
    assert (entry.ready, entry.embedded) == (True, False)
    # Nothing is lost, so nothing is mended.
    assert await knowledge.mend(GROUP) is None
    world.embeddings.gate.set()
    await assert_whole(world, knowledge)
    (entry,), _ = await knowledge.documents(GROUP, 1, 10)
    assert (entry.ready, entry.embedded) == (True, True)


async def test_vectors_of_an_unfinished_file_do_not_hide_a_loss(world: World) -> None:
    knowledge = await world.open(embedded_within_s=(0.05, 0.05))
    await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    await idle(knowledge)
    world.embeddings.closes_after = 2
    await world.ingest(knowledge, "长文.txt", long_text(1, 90))
    (travel, _) = await world.records.page(GROUP, 0, 2)
    chunks = await world.index.chunks(GROUP, travel.build_id)
    await world.index.delete_build(GROUP, travel.build_id)
    await world.index.add_words(GROUP, chunks)
    gap = await knowledge.mend(GROUP)
    assert gap is not None
    assert gap.notice == "1 个文件的向量索引丢了，正在用原文件重建，好之前只按字词查找。"
    world.embeddings.gate.set()
    await assert_whole(world, knowledge)


async def test_a_file_whose_words_are_lost_while_it_is_embedded_is_read_again(world: World) -> None:
    knowledge = await world.open(embedded_within_s=(0.05, 0.05))
    world.embeddings.closes_after = 2
    await world.ingest(knowledge, "长文.txt", long_text(1, 200))
    (document,) = await world.records.page(GROUP, 0, 2)
    await world.index.delete_build(GROUP, document.build_id)
    world.embeddings.gate.set()
    await assert_whole(world, knowledge)
    assert await world.found("报销住宿")


async def test_an_index_that_fails_only_defers(world: World) -> None:
    knowledge = await world.open()
    world.index.fail = True
    result = await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    assert result.status is IngestStatus.DEFERRED
    assert result.reason
    assert (await world.ingest(knowledge, "又一次.txt", TRAVEL)).status is IngestStatus.IN_PROGRESS
    world.index.fail = False
    final = await knowledge.outcome(result.document_id)
    assert final is not None
    assert (final.status, final.document_id) == (IngestStatus.INDEXED, result.document_id)
    again = await knowledge.outcome(result.document_id)
    assert again is not None
    assert (again.status, again.chunks) == (IngestStatus.INDEXED, final.chunks)
    assert await world.found("住宿标准")
    await assert_whole(world, knowledge)


async def test_the_outcome_of_what_is_gone(world: World) -> None:
    knowledge = await world.open()
    assert await knowledge.outcome(77) is None


async def test_a_cancelled_wait_leaves_the_build_running(world: World) -> None:
    knowledge = await world.open()
    world.embeddings.gate.clear()
    before = asyncio.all_tasks()
    waiting = asyncio.create_task(world.ingest(knowledge, "差旅制度.txt", TRAVEL))
    await until(lambda: world.embeddings.waiting == 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: not any("purge" in repr(task) for task in asyncio.all_tasks()))
    # The task that was started for waiting is gone.
    assert [task.get_name() for task in asyncio.all_tasks() - before] == ["build-1"]
    world.embeddings.gate.set()
    await idle(knowledge)
    assert await world.found("住宿标准")


def long_text(seed: int, chunks: int = 60) -> str:
    """Return about so many different chunks of text."""
    words = random.Random(seed)
    return "\n".join(
        f"{line}. " + "".join(words.choices("报销住宿标准发票差旅部门", k=80)) + "。" for line in range(chunks)
    )


async def test_a_stopped_build_goes_on_where_it_was(world: World) -> None:
    first = await world.open()
    text = long_text(1)
    world.embeddings.closes_after = 2
    interrupted = asyncio.create_task(world.ingest(first, "长文.txt", text))
    await until(lambda: world.embeddings.waiting == 1)
    stored = (await world.index.count(GROUP, "bigram")).dense
    assert stored > 0
    await first.close()
    # The wait ends with the process, without a report that the file was deleted.
    with pytest.raises(asyncio.CancelledError):
        await interrupted
    assert await world.found("报销住宿")
    # The words are stored, so the original is not read again.
    (original,) = world.originals()
    kept = await asyncio.to_thread(original.read_bytes)
    await asyncio.to_thread(original.write_bytes, b"")
    world.embeddings.gate.set()
    embedded = world.embeddings.embedded
    second = await world.open()
    await idle(second)
    await asyncio.to_thread(original.write_bytes, kept)
    total = (await second.status(GROUP)).chunks
    assert world.embeddings.embedded - embedded <= total - stored
    assert (await second.documents(GROUP, 1, 10))[0][0].ready
    assert await world.found("报销住宿")
    await assert_whole(world, second)


async def test_originals_without_a_record_are_set_aside_at_the_start(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    (world.directory / "files" / "orphan.txt").write_text("x", encoding="utf-8")
    (world.directory / "incoming" / "half").write_text("x", encoding="utf-8")
    await knowledge.close()
    again = await world.open()
    assert [path.read_text(encoding="utf-8") for path in world.set_aside()] == ["x"]
    assert "1 个原文件不在记录里，已移到" in caplog.text
    assert "没有删除" in caplog.text
    await assert_whole(world, again)


async def test_lost_records_cost_no_original_and_come_back(world: World, caplog: pytest.LogCaptureFixture) -> None:
    first = await world.open()
    await world.ingest(first, "差旅制度.txt", TRAVEL)
    (original,) = world.originals()
    await first.close()
    records, world.database = world.database, await open_database(sqlite_url(world.directory / "new.sqlite3"))
    second = await world.open()
    await idle(second)
    assert [path.read_bytes() for path in world.set_aside()] == [TRAVEL.encode()]
    assert "多半是 app.sqlite3 丢了" in caplog.text
    # The chunks of a knowledge base without records are left alone.
    assert (await world.index.count(GROUP, "bigram")).lexical > 0
    await second.close()
    await world.database.close()
    world.database = records
    third = await world.open()
    assert world.originals() == [original]
    assert world.set_aside() == []
    assert await world.found("住宿标准")
    await assert_whole(world, third)


async def test_chunks_that_no_document_knows_are_removed_from_a_known_knowledge_base(world: World) -> None:
    """Such chunks remain after older records were restored; they are hidden but would displace others in searches."""
    first = await world.open()
    await world.ingest(first, "差旅制度.txt", TRAVEL)
    await first.close()
    stray = IndexedChunk("stray-000000", "stray", 0, "住宿标准")
    await world.index.add_words(GROUP, [stray])
    await world.index.add_vectors(GROUP, "bigram", [stray], [world.embeddings.embed_query("住宿标准")])
    second = await world.open()
    await world.inspected()
    await assert_whole(world, second)
    assert "stray" not in await world.index.builds(GROUP)


class SlowRemoval(MemoryIndex):
    """An index that removes a build only while `gate` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def delete_build(self, collection: str, build_id: str) -> None:
        """Wait for the gate, then remove the build."""
        await self.gate.wait()
        await super().delete_build(collection, build_id)


@pytest.mark.parametrize("clears", [False, True])
async def test_a_deleted_document_is_gone_while_its_vectors_are_still_removed(world: World, *, clears: bool) -> None:
    world.index = index = SlowRemoval()
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    async with asyncio.timeout(2):
        assert await knowledge.clear(GROUP, 1) == 1 if clears else await knowledge.delete(GROUP, 1)
    assert await world.found("住宿标准") == []
    assert await knowledge.document(GROUP, 1) is None
    # The process ends in between, and nothing of the document comes back.
    await knowledge.close()
    assert (await index.count(GROUP, "bigram")).dense > 0
    restarted = await world.open()
    assert await world.found("住宿标准") == []
    assert (await restarted.status(GROUP)).documents == 0
    index.gate.set()
    await assert_whole(world, restarted)
    assert world.originals() == []


async def test_removal_that_failed_is_done_at_the_next_start(world: World) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    await idle(knowledge)
    world.index.fail = True
    assert await knowledge.delete(GROUP, 1) is not None
    await until(lambda: not any("_remove" in repr(task) for task in asyncio.all_tasks()))
    world.index.fail = False
    # The document is hidden at once, even while it is still in the index.
    assert (await world.index.count(GROUP, "")).lexical > 0
    assert await world.found("住宿标准") == []
    await knowledge.close()
    await assert_whole(world, await world.open())


async def test_rebuilding_keeps_answers_all_the_way(world: World) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    await world.ingest(knowledge, "食堂.txt", CANTEEN)
    before = await world.found("住宿标准")
    world.embeddings.gate.clear()
    assert await knowledge.reindex(GROUP) == 2
    await until(lambda: world.embeddings.waiting == 1)
    assert await world.found("住宿标准") == before
    # Another request in the meantime restarts nothing.
    assert await knowledge.reindex(GROUP) == 2
    assert await world.found("住宿标准") == before
    world.embeddings.gate.set()
    await idle(knowledge)
    assert await world.found("住宿标准") == before
    assert [row.revision for row in await world.records.page(GROUP, 0, 9)] == [1, 1]
    await assert_whole(world, knowledge)


async def test_rebuilding_twice_at_once_builds_every_document_once(world: World) -> None:
    knowledge = await world.open()
    chunks = (await world.ingest(knowledge, "长文.txt", long_text(3))).chunks
    embedded = world.embeddings.embedded
    world.embeddings.closes_after = 2
    assert await asyncio.gather(*(knowledge.reindex(GROUP) for _ in range(3))) == [1, 1, 1]
    await until(lambda: world.embeddings.waiting == 1)
    # Request it once more while it is running.
    assert await knowledge.reindex(GROUP) == 1
    world.embeddings.gate.set()
    await idle(knowledge)
    assert world.embeddings.embedded - embedded == chunks
    await assert_whole(world, knowledge)


async def test_whoever_waits_for_a_rebuild_waits_for_its_end(world: World) -> None:
    knowledge = await world.open()
    document = (await world.ingest(knowledge, "差旅制度.txt", TRAVEL)).document_id
    world.embeddings.gate.clear()
    await knowledge.reindex(GROUP)
    await until(lambda: world.embeddings.waiting == 1)
    waiting = asyncio.create_task(knowledge.outcome(document))
    await asyncio.sleep(0.05)
    await knowledge.reindex(GROUP)
    await asyncio.sleep(0.05)
    assert not waiting.done()
    world.embeddings.gate.set()
    result = await waiting
    assert result is not None
    assert result.status is IngestStatus.INDEXED


async def test_another_embedding_model(world: World) -> None:
    first = await world.open("old")
    await world.ingest(first, "差旅制度.txt", TRAVEL)
    await first.close()
    second = await world.open("new")
    status = await second.status(GROUP)
    assert (status.stale, status.indexed_vectors) == (1, 0)
    # Without vectors of the new model, the document is still found by its words.
    assert await world.found("住宿标准", fingerprint="new")
    world.embeddings.gate.clear()
    assert await second.reindex(GROUP) == 1
    while not world.embeddings.waiting:
        assert await world.found("住宿标准", fingerprint="new")
    assert await world.found("住宿标准", fingerprint="new")
    world.embeddings.gate.set()
    await idle(second)
    await until(lambda: not [task for task in asyncio.all_tasks() if "_drop_unused" in repr(task)])
    assert (await second.status(GROUP)).stale == 0
    assert await world.index.embedding_fingerprints(GROUP) == {"new"}
    assert await world.found("住宿标准", fingerprint="new")
    await assert_whole(world, second)


async def test_a_rebuild_with_other_chunk_settings(world: World) -> None:
    first = await world.open(chunk_chars=100)
    await world.ingest(first, "长文.txt", long_text(2))
    small = (await first.status(GROUP)).chunks
    await first.close()
    second = await world.open(chunk_chars=500)
    await second.reindex(GROUP)
    await idle(second)
    assert (await second.status(GROUP)).chunks < small
    await assert_whole(world, second)


async def test_a_stopped_rebuild_goes_on_at_the_next_start(world: World) -> None:
    first = await world.open()
    await world.ingest(first, "差旅制度.txt", TRAVEL)
    world.embeddings.gate.clear()
    await first.reindex(GROUP)
    await until(lambda: world.embeddings.waiting == 1)
    await first.close()
    assert await world.found("住宿标准")
    world.embeddings.gate.set()
    await assert_whole(world, await world.open())


async def test_two_collections_know_nothing_of_each_other(world: World) -> None:
    knowledge = await world.open()
    mine = await world.ingest(knowledge, "口令.txt", "金丝雀口令是苹果，请大家记住。")
    theirs = await world.ingest(knowledge, "口令.txt", "金丝雀口令是香蕉，请大家记住。", OTHER)
    same = await world.ingest(knowledge, "共有.txt", TRAVEL)
    also = await world.ingest(knowledge, "共有.txt", TRAVEL, OTHER)
    assert {result.status for result in (mine, theirs, same, also)} == {IngestStatus.INDEXED}
    assert [result.number for result in (mine, theirs, same, also)] == [1, 1, 2, 2]
    assert not any("香蕉" in passage for passage in await world.found("金丝雀口令是香蕉"))
    assert not any("苹果" in passage for passage in await world.found("金丝雀口令是苹果", OTHER))
    await knowledge.delete(GROUP, 2)
    await knowledge.reindex(OTHER)
    await idle(knowledge)
    assert await world.found("住宿标准") == []
    assert await world.found("住宿标准", OTHER)
    assert await knowledge.clear(GROUP, 10) == 1
    assert (await knowledge.status(OTHER)).documents == 2
    await assert_whole_everywhere(world, knowledge)


async def assert_whole_everywhere(world: World, knowledge: KnowledgeService) -> None:
    """Call `assert_whole` for both collections."""
    for collection in (GROUP, OTHER):
        await assert_whole(world, knowledge, collection)


async def test_text_by_hand_and_whole_folders(world: World, tmp_path: Path) -> None:
    knowledge = await world.open()
    typed = await knowledge.add_text(GROUP, "值班/安排.md", "周五晚上由张三值班，电话另附。", 1, 10001)
    assert (typed.status, typed.name) == (IngestStatus.INDEXED, "安排.md.txt")
    assert any("张三" in passage for passage in await world.found("周五晚上值班"))
    folder = tmp_path / "import"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.txt").write_text(TRAVEL, encoding="utf-8")
    (folder / "inner" / "b.txt").write_text(CANTEEN, encoding="utf-8")
    (folder / "c.exe").write_bytes(b"MZ")
    results = [result async for result in knowledge.load_directory(GROUP, folder, 1, 10001)]
    assert [(result.name, result.status) for result in results] == [
        ("a.txt", IngestStatus.INDEXED),
        ("c.exe", IngestStatus.REJECTED),
        ("b.txt", IngestStatus.INDEXED),
    ]
    assert (folder / "a.txt").read_text(encoding="utf-8") == TRAVEL
    await assert_whole(world, knowledge)


async def test_a_file_that_is_not_there(world: World) -> None:
    knowledge = await world.open()
    with pytest.raises(ServiceError, match="没能存下来"):
        await knowledge.ingest(IncomingFile(GROUP, knowledge.new_incoming(), "x.txt", 1, 2, now()))
    assert await knowledge.documents(GROUP, 1, 10) == ([], 0)


async def test_a_failing_index_is_said_in_the_status(world: World) -> None:
    knowledge = await world.open()
    result = await world.ingest(knowledge, "差旅制度.txt", TRAVEL)
    await idle(knowledge)
    world.index.fail = True
    status = await knowledge.status(GROUP)
    assert (status.chunks, status.indexed_chunks, status.indexed_vectors) == (result.chunks, None, None)


async def test_lists_are_cut_into_pages(world: World) -> None:
    knowledge = await world.open()
    await asyncio.gather(*(world.ingest(knowledge, f"{n}.txt", f"第{n}份文件的内容。") for n in range(5)))
    pages = [await knowledge.documents(GROUP, page, 2) for page in (1, 2, 3, 4)]
    assert [total for _, total in pages] == [5, 5, 5, 5]
    assert [[entry.number for entry in entries] for entries, _ in pages] == [[1, 2], [3, 4], [5], []]


async def test_a_small_file_of_another_group_waits_for_a_batch_or_two(world: World) -> None:
    knowledge = await world.open()
    world.embeddings.gate.clear()
    flood = [asyncio.create_task(world.ingest(knowledge, f"{n}.txt", long_text(n))) for n in range(6)]
    await until(lambda: world.embeddings.waiting == 1)
    small = asyncio.create_task(world.ingest(knowledge, "一句话.txt", CANTEEN, OTHER))
    # Wait until the file is read, while the others are being built, and waits for the model itself.
    await until(lambda: any(progress.total for progress in knowledge.progress(OTHER)))
    before = len(world.embeddings.batches)
    world.embeddings.gate.set()
    assert (await small).status is IngestStatus.INDEXED
    (place,) = [n for n, texts in enumerate(world.embeddings.batches) if "食堂" in texts[0]]
    assert place - before <= 1, "one batch of the flooding group, which was under way already"
    assert not all(task.done() for task in flood)
    assert {(await task).status for task in flood} == {IngestStatus.INDEXED}


async def test_a_large_file_leaves_the_event_loop_free(world: World) -> None:
    """Measure processor time of this thread, which does not depend on the load of the machine."""
    knowledge = await world.open(max_file_mb=8)
    world.embeddings.gate.clear()
    text = "".join(
        f"第{line}条：仪器编号 QZ-{line:05d} 由第 {line} 组保管，使用前要登记，归还时检查。\n" for line in range(40_000)
    )
    # As at the start of the bot, so that garbage collection does not traverse the objects of the test runner.
    gc.collect()
    gc.freeze()
    try:
        task = asyncio.create_task(world.ingest(knowledge, "大.txt", text))
        longest, previous = 0.0, time.thread_time()
        while not world.embeddings.waiting:
            await asyncio.sleep(0)
            present = time.thread_time()
            longest, previous = max(longest, present - previous), present
    finally:
        gc.unfreeze()
    assert knowledge.progress(GROUP)[0].total > 10_000
    assert longest < 0.05
    assert not task.done()


async def test_limits_of_a_knowledge_base_are_told_before_the_download_and_kept(world: World) -> None:
    knowledge = await world.open(max_total_mb=1)
    kilobytes = 300 << 10
    for number in range(3):
        result = await world.ingest(knowledge, f"{number}.txt", f"第{number}份。" + " \n" * (kilobytes // 2))
        assert result.status is IngestStatus.INDEXED
    too_much = f"第四份。{' ' * kilobytes}"
    with pytest.raises(
        DocumentRejected, match=r"合计最多 1 MB，已有 0\.9 MB，放不下这个 0\.3 MB .*/kb list.*/kb delete"
    ):
        async with knowledge.receiving(GROUP, "四.txt", kilobytes, 1, 10001):
            pass
    refused = await world.ingest(knowledge, "四.txt", too_much)
    assert (refused.status, "合计最多 1 MB" in refused.reason) == (IngestStatus.REJECTED, True)
    # A new version replaces the old one, and another knowledge base has its own limit.
    async with knowledge.receiving(GROUP, "0.txt", kilobytes, 1, 10001):
        pass
    assert (await world.ingest(knowledge, "0.txt", too_much)).status is IngestStatus.UPDATED
    assert (await world.ingest(knowledge, "四.txt", too_much, OTHER)).status is IngestStatus.INDEXED
    await assert_whole_everywhere(world, knowledge)


async def test_a_limit_of_chunks_holds_for_builds_side_by_side(world: World) -> None:
    knowledge = await world.open()
    size = (await world.ingest(knowledge, "长文.txt", long_text(0))).chunks
    await knowledge.close()
    knowledge = await world.open(max_chunks=size * 2 + 5)
    results = await asyncio.gather(*(world.ingest(knowledge, f"{n}.txt", long_text(n)) for n in range(1, 5)))
    assert sorted(result.status for result in results) == ["indexed", *["rejected"] * 3]
    (reason, *_) = [result.reason for result in results if result.reason]
    assert f"最多 {size * 2 + 5} 块，已有" in reason
    assert "/kb list" in reason
    assert "/kb delete" in reason
    # Only the difference of a new version counts, and a rebuild is always admitted.
    assert (await world.ingest(knowledge, "长文.txt", long_text(9))).status is IngestStatus.UPDATED
    await knowledge.close()
    knowledge = await world.open(max_chunks=1)
    await knowledge.reindex(GROUP)
    await idle(knowledge)
    assert (await knowledge.status(GROUP)).documents == 2
    await assert_whole(world, knowledge)


async def test_a_file_that_would_fill_the_disk_is_not_fetched(world: World) -> None:
    knowledge = await world.open(reserve_bytes=1 << 60)
    with pytest.raises(StorageError, match=r"磁盘只剩 \d+ MB，放不下这个文件，请管理员清理磁盘后再发。"):
        async with knowledge.receiving(GROUP, "a.txt", 100, 1, 10001):
            pass
    with pytest.raises(StorageError, match="磁盘只剩"):
        await knowledge.add_text(GROUP, "值班", "周五", 1, 10001)
    assert list((world.directory / "incoming").iterdir()) == []


async def test_slow_downloads_of_one_chat_leave_places_for_another(world: World) -> None:
    knowledge = await world.open()
    inside: list[int] = []
    hold = asyncio.Event()

    async def download(group: int, size: int) -> None:
        async with knowledge.receiving(f"group_{group}", "a.txt", size, group, 10001):
            inside.append(group)
            await hold.wait()

    tasks = [asyncio.create_task(download(1, 5 << 20)) for _ in range(8)]
    await until(lambda: len(inside) == 2)
    tasks.append(asyncio.create_task(download(2, 100)))
    await until(lambda: 2 in inside)
    assert inside == [1, 1, 2]
    hold.set()
    await asyncio.gather(*tasks)
    assert inside.count(1) == 8


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("报告 2024.pdf", "报告 2024.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\a\\表.xlsx", "表.xlsx"),
        ("多行\n名\t字\x00.txt", "多行 名 字.txt"),
        (f"课表{hidden.tagged('ignore')}\u3164.txt", "课表.txt"),
        ("\u202etxt.exe", "txt.exe"),
        ("cafe\u0301.md", "caf\u00e9.md"),
        ("", "未命名"),
        ("目录/", "未命名"),
        ("x" * 300 + ".docx", "x" * 115 + ".docx"),
        ("\ud800坏.txt", "坏.txt"),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert clean_name(name) == expected


TYPES = st.sampled_from(["pdf", "txt", "md", "docx", "xlsx", "html", "markdown"])
STEMS = st.text(max_size=300) | st.text("a/\\ .\n\u202e\u200bé中", max_size=200)


@given(STEMS, TYPES)
def test_a_name_is_one_short_line_without_folders_and_keeps_its_type(stem: str, file_type: str) -> None:
    name = clean_name(f"{stem}中.{file_type}")
    assert 1 <= len(name) <= 120
    assert name.splitlines() == [name]
    assert not set(name) & set("/\\")
    assert name == name.strip()
    assert name.isprintable()
    assert name.endswith(f".{file_type}")
    assert clean_name(name) == name


@given(st.text(max_size=300))
def test_any_name_can_be_shown(name: str) -> None:
    cleaned = clean_name(name)
    assert 1 <= len(cleaned) <= 120
    assert len(cleaned.splitlines()) == 1
    assert clean_name(cleaned) == cleaned


# -- profiles ---------------------------------------------------------------------------------------------------------


async def test_a_file_gets_its_profile_and_its_chunks_theirs(world: World) -> None:
    knowledge = await world.open()
    await world.ingest(
        knowledge, "差旅常见问题.md", f"# 报销\n\n{TRAVEL}\n\n# 代码\n\n```\npip install a\ndocker run a\n```\n"
    )
    (document,) = await world.records.ready(GROUP)
    assert document.profile is not None
    assert (document.profile.document_type, document.profile.source_type) == ("faq", "official_docs")
    first, *_, last = await world.index.chunks(GROUP, document.build_id)
    assert (first.metadata["boundary"], first.metadata["quality"]) == ("section", 0.7)
    assert str(first.metadata["tags"]).split("\n")[0] == "报销"
    assert (last.metadata["boundary"], last.metadata["categories"]) == ("code_block", "technical")
    assert document.first_uploaded_at == document.uploaded_at


async def test_a_profile_is_neither_embedded_nor_found(world: World) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅.txt", TRAVEL)
    before = await world.found("新生入学")
    assert await knowledge.choose_tags(GROUP, 1, ["新生", "入学"])
    assert await knowledge.choose_type(GROUP, 1, DocumentType.TUTORIAL)
    await knowledge.reindex(GROUP)
    await until(lambda: not knowledge.progress(GROUP))
    assert await world.found("新生入学") == before == []
    assert {text for batch in world.embeddings.batches for text in batch} == {f"差旅\n{TRAVEL.strip()}"}


async def test_what_an_admin_chose_outlives_rebuilds_and_versions_of_one_group_only(world: World) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "差旅.txt", TRAVEL)
    await world.ingest(knowledge, "差旅.txt", TRAVEL, OTHER)
    uploaded = (await world.records.ready(GROUP))[0].uploaded_at
    assert await knowledge.choose_tags(GROUP, 1, ["报\u202e销", "报销", "差旅" * 60])
    assert await knowledge.choose_type(GROUP, 1, DocumentType.API_DOC)
    await knowledge.reindex(GROUP)
    await until(lambda: not knowledge.progress(GROUP))
    await world.ingest(knowledge, "差旅.txt", TRAVEL + CANTEEN)
    catalogue = Catalogue(world.records, world.index)
    view = await catalogue.view(GROUP, 1)
    assert view is not None
    assert (view.entry.version, view.profile.document_type) == (2, DocumentType.API_DOC)
    assert view.profile.tags == ("报销", ("差旅" * 60)[:100])
    (document,) = await world.records.ready(GROUP)
    assert (document.first_uploaded_at, document.edited_at is not None) == (uploaded, True)
    # The numbers of two groups are the same, and their documents have nothing to do with each other.
    other = await catalogue.view(OTHER, 1)
    assert other is not None
    assert (other.profile.document_type, "报销" in other.profile.tags) == (DocumentType.GUIDE, False)
    assert await knowledge.choose_type(GROUP, 1, None)
    assert await knowledge.choose_tags(GROUP, 1, None)
    view = await catalogue.view(GROUP, 1)
    assert view is not None
    assert (view.profile.document_type, view.profile.tags) == (DocumentType.GUIDE, ("差旅",))
    assert not await knowledge.choose_type(GROUP, 9, None)


async def test_a_document_of_an_earlier_release_is_profiled_when_it_is_shown_and_stored_by_a_rebuild(
    world: World,
) -> None:
    knowledge = await world.open()
    await world.ingest(knowledge, "安装教程.txt", TRAVEL)
    async with world.database.writing("documents") as session:
        await session.execute(update(DocumentRecord).values(profile=None))
    view = await Catalogue(world.records, world.index).view(GROUP, 1)
    assert view is not None
    assert view.profile.document_type is DocumentType.TUTORIAL
    await knowledge.reindex(GROUP)
    await until(lambda: not knowledge.progress(GROUP))
    (document,) = await world.records.ready(GROUP)
    assert document.profile is not None
    assert document.profile.document_type == "tutorial"
