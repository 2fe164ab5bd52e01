"""Losses of the index in the real index process are detected, reported, and rebuilt from the originals."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.database import Database, open_database, sqlite_url
from services.errors import SearchIndexError
from services.index.process import IndexProcess
from services.knowledge.builder import IndexBuilder
from services.knowledge.models import IncomingFile, IngestStatus
from services.knowledge.parsing import ParseLimits
from services.knowledge.service import KnowledgeService
from services.knowledge.storage import FileStore
from services.records.documents import DocumentRecords
from services.records.tables import now
from services.retrieval.models import Question, Retrieval, RetrievalStatus
from services.retrieval.retriever import Retriever
from services.settings import KnowledgeSettings
from tests.fakes.embeddings import bigram_model
from tests.services.knowledge.test_service import GatedEmbeddings, until
from tests.services.retrieval.library import Library

GROUP = "group_1"
QUESTION = "住宿标准为每晚多少元"
TEXTS = {
    "差旅制度.txt": "住宿标准为每晚三百五十元，超出部分自理。",
    "食堂.txt": "食堂周一到周五供应午餐，周末休息。",
}


@dataclass
class Running:
    """The services of one run on a directory."""

    database: Database
    index: IndexProcess
    embeddings: GatedEmbeddings
    knowledge: KnowledgeService
    retriever: Retriever

    async def ask(self, question: str = QUESTION) -> Retrieval:
        """Ask one question."""
        return await self.retriever.retrieve(GROUP, Question(question))

    async def mended(self) -> None:
        """Wait until everything is built, and compare the index with the records."""
        await until(lambda: self.knowledge.building_count == 0)
        await self.knowledge.purge()
        status = await self.knowledge.status(GROUP)
        assert status.documents == len(TEXTS)
        assert status.chunks == status.indexed_chunks == status.indexed_vectors
        found = await self.ask()
        assert found.status is RetrievalStatus.USABLE
        assert "三百五十" in found.references[0].text
        assert found.warning == ""


class Directory:
    """A data directory, and the services started on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = AsyncExitStack()

    @property
    def words(self) -> Path:
        """The path of the word index."""
        return self.path / "lexical" / f"{GROUP}.sqlite3"

    async def start(self, *, held: bool = False) -> Running:
        """Start the bot; with `held`, no batch is embedded until the gate is opened."""
        database = await open_database(sqlite_url(self.path / "app.sqlite3"))
        self._stack.push_async_callback(database.close)
        index = IndexProcess(self.path)
        await index.open()
        self._stack.push_async_callback(index.close)
        embeddings = GatedEmbeddings()
        if held:
            embeddings.gate.clear()
        model = bigram_model(embeddings=embeddings)
        builder = IndexBuilder(index, model, ParseLimits(), 100, 0)
        settings = KnowledgeSettings.model_validate({})
        knowledge = KnowledgeService(
            DocumentRecords(database), FileStore(self.path), index, builder, settings, retry_after_s=(0.02,)
        )
        await knowledge.resume()
        self._stack.push_async_callback(knowledge.close)
        retriever = Library(database).retriever_with(index=index, model=model, mend=knowledge.mend)
        return Running(database, index, embeddings, knowledge, retriever)

    async def stop(self) -> None:
        """Stop the running services."""
        await self._stack.aclose()

    async def fill(self) -> None:
        """Ingest the files and stop."""
        running = await self.start()
        for name, text in TEXTS.items():
            path = running.knowledge.new_incoming()
            path.write_text(text, encoding="utf-8")
            result = await running.knowledge.ingest(IncomingFile(GROUP, path, name, 1, 10001, now()))
            assert result.status is IngestStatus.INDEXED
        await running.mended()
        await self.stop()


@pytest.fixture
async def directory(tmp_path: Path) -> AsyncIterator[Directory]:
    opened = Directory(tmp_path)
    await opened.fill()
    yield opened
    await opened.stop()


def _missing(words: Path) -> None:
    for path in words.parent.glob(f"{words.name}*"):
        path.unlink()


def _empty(words: Path) -> None:
    _missing(words)
    words.touch()


def _no_database(words: Path) -> None:
    _missing(words)
    words.write_bytes(b"this is no database " * 1000)


def _malformed(words: Path) -> None:
    """Overwrite whole pages of the file, but not the first one."""
    with closing(sqlite3.connect(words)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = words.read_bytes()
    words.write_bytes(content[:4096] + os.urandom(len(content) - 4096))


@pytest.mark.parametrize("harm", [_missing, _empty, _no_database, _malformed])
async def test_lost_words_are_told_and_built_again(directory: Directory, harm: Callable[[Path], None]) -> None:
    harm(directory.words)
    running = await directory.start(held=True)
    with pytest.raises(SearchIndexError) as told:
        await running.ask()
    assert told.value.user_message == "资料的字词索引丢了，正在用原文件重建，好了再问，进度看 /kb status。"
    # Asking again does not start another rebuild, and the words answer before the vectors are there.
    assert running.knowledge.building_count == len(TEXTS)
    async with asyncio.timeout(30):
        while not (await _searched(running)).references:  # noqa: ASYNC110 - the index announces nothing
            await asyncio.sleep(0.05)
    assert running.knowledge.building_count == len(TEXTS)
    running.embeddings.gate.set()
    await running.mended()
    assert len(running.embeddings.batches) == len(TEXTS)
    damaged = list(directory.words.parent.glob("*.damaged-*"))
    assert bool(damaged) == (harm in (_no_database, _malformed)), "what was damaged is kept"


async def _searched(running: Running) -> Retrieval:
    try:
        return await running.ask()
    except SearchIndexError:
        return Retrieval(RetrievalStatus.NO_RECALL)


async def test_without_a_question_the_start_finds_it(directory: Directory) -> None:
    _missing(directory.words)
    running = await directory.start()
    await until(lambda: len(running.embeddings.batches) == len(TEXTS))
    await running.mended()


@pytest.mark.parametrize("damaged", [False, True])
async def test_lost_vectors_are_told_and_built_again(directory: Directory, *, damaged: bool) -> None:
    if damaged:
        (directory.path / "chroma" / "chroma.sqlite3").write_bytes(b"this is no database " * 1000)
    else:
        shutil.rmtree(directory.path / "chroma")
    running = await directory.start(held=True)
    found = await running.ask()
    assert found.warning == "2 个文件的向量索引丢了，正在用原文件重建，好之前只按字词查找。"
    assert any("三百五十" in item.hit.chunk.text for item in found.candidates)
    running.embeddings.gate.set()
    await running.mended()
    assert bool(list(directory.path.glob("chroma.damaged-*"))) == damaged


async def test_words_of_one_document_leave_the_others_searchable(directory: Directory) -> None:
    running = await directory.start()
    (canteen,) = await DocumentRecords(running.database).by_number(GROUP, 2)
    await until(lambda: not any("_inspect_all" in repr(task) for task in asyncio.all_tasks()))
    await running.index.delete_build(GROUP, canteen.build_id)
    running.embeddings.gate.clear()
    found = await running.ask()
    assert found.warning == "1 个文件的字词索引丢了，正在用原文件重建，好之前查不到这些文件。"
    assert found.references
    running.embeddings.gate.set()
    await running.mended()


async def test_an_original_that_is_lost_too_is_said_and_not_tried_for_ever(directory: Directory) -> None:
    _missing(directory.words)
    for path in (directory.path / "files").iterdir():
        path.unlink()
    running = await directory.start()
    await until(lambda: not any("_inspect_all" in repr(task) for task in asyncio.all_tasks()))
    await until(lambda: running.knowledge.building_count == 0)
    for _ in range(2):
        with pytest.raises(SearchIndexError, match="有 2 个文件的索引丢了，原文件也读不出来"):
            await running.ask()
        assert running.knowledge.building_count == 0
