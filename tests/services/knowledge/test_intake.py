"""Tests of the intake: a file is written down before it is fetched, and its outcome is told once, whatever stops."""

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from services.access import Access
from services.database import Database, open_database, sqlite_url
from services.errors import DownloadFailed, RecordsError
from services.knowledge.builder import IndexBuilder
from services.knowledge.intake import Arrival, Connection, Intake
from services.knowledge.models import IngestResult, IngestStatus
from services.knowledge.parsing import ParseLimits
from services.knowledge.service import KnowledgeService
from services.knowledge.storage import FileStore
from services.records.documents import DocumentRecords
from services.records.stored_values import UploadSource
from services.records.tables import UploadRecord
from services.records.uploads import UploadRecords
from services.roles import Role
from services.session import KnowledgeScope, Session
from services.settings import KnowledgeSettings
from services.tracing.current import request_number
from tests.fakes.embeddings import BigramEmbeddings, bigram_model
from tests.fakes.index import MemoryIndex

ACCOUNT, GROUP = "3889000001", Session(777, 10002)
RULES = "差旅报销要在出差结束后七天内提交。\n".encode()


class NobodyChose:
    """Private chats that ask their own files."""

    async def knowledge_group(self, session_id: str) -> int | None:
        return None


class FailingUploads(UploadRecords):
    """A list that cannot be written or read as often as said."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.failures = {"add": 0, "waiting": 0, "finish": 0}

    def _fail(self, name: str) -> None:
        if self.failures[name]:
            self.failures[name] -= 1
            raise RecordsError("机器人的数据库读写不了，请联系管理员。")

    async def add(
        self, self_id: str, group_id: int | None, user_id: int, name: str, size: int, source: UploadSource
    ) -> UploadRecord:
        self._fail("add")
        return await super().add(self_id, group_id, user_id, name, size, source)

    async def waiting(self, self_id: str) -> list[UploadRecord]:
        self._fail("waiting")
        return await super().waiting(self_id)

    async def finish(self, upload_id: int) -> None:
        self._fail("finish")
        await super().finish(upload_id)


class Account:
    """A connected account. Downloads wait while `gate` is closed, and end with `failure` if there is one."""

    def __init__(self, messenger: "Chats") -> None:
        self._messenger = messenger
        self.gate = asyncio.Event()
        self.gate.set()
        self.failure: Exception | None = None

    async def members(self, group_id: int, user_id: int, *, fresh: bool = False) -> Role | None:
        return self._messenger.roles.get((group_id, user_id))

    async def fetch(self, arrival: Arrival, target: Path, *, max_bytes: int, min_bytes_per_s: int) -> None:
        assert max_bytes == 1 << 20
        assert min_bytes_per_s == 20_000
        self._messenger.fetched.append((arrival.name, await self._messenger.listed()))
        await self.gate.wait()
        if (gate := self._messenger.gates.get(arrival.source.file_id)) is not None:
            await gate.wait()
        content = self._messenger.contents[arrival.source.file_id]
        if self.failure is not None:
            await asyncio.to_thread(target.write_bytes, content[: len(content) // 2])
            raise self.failure
        await asyncio.to_thread(target.write_bytes, content)


@dataclass
class Chats:
    """A messenger that keeps what is told. `delivers` tells whether messages arrive."""

    uploads: UploadRecords
    contents: dict[str, bytes] = field(default_factory=lambda: {"id": RULES})
    roles: dict[tuple[int, int], Role] = field(default_factory=dict[tuple[int, int], Role])
    told: list[IngestResult] = field(default_factory=list[IngestResult])
    # The name of each fetched file, and the names on the list at that moment.
    fetched: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    # Downloads that wait, by the id of the source.
    gates: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    announced: list[bool] = field(default_factory=list[bool])
    account: Account | None = None
    number: str = ACCOUNT
    delivers: bool = True

    def __post_init__(self) -> None:
        self.account = Account(self)

    async def listed(self) -> list[str]:
        """Return the names of the files on the list."""
        return [upload.name for upload in await UploadRecords.waiting(self.uploads, ACCOUNT)]

    def connection(self, account: str) -> Connection | None:
        return self.account if account == self.number else None

    @contextmanager
    def reading(self, arrival: Arrival, *, is_announced: bool) -> Generator[None]:
        self.announced.append(is_announced)
        yield

    async def tell(self, arrival: Arrival, result: IngestResult) -> bool:
        self.told.append(result)
        return self.delivers

    @property
    def statuses(self) -> list[IngestStatus]:
        """The outcomes that were told."""
        return [result.status for result in self.told]


@dataclass
class World:
    """A data directory that outlives the services that use it."""

    directory: Path
    database: Database
    stack: AsyncExitStack
    index: MemoryIndex = field(default_factory=MemoryIndex)
    embeddings: BigramEmbeddings = field(default_factory=BigramEmbeddings)

    def __post_init__(self) -> None:
        self.uploads = FailingUploads(self.database)
        self.chats = Chats(self.uploads)

    async def open(self, **settings: Any) -> Intake:
        """Start the services, as the bot does."""
        given = KnowledgeSettings.model_validate({"max_file_mb": 1, **settings})
        builder = IndexBuilder(self.index, bigram_model("bigram", self.embeddings), ParseLimits(), 100, 0)
        records = DocumentRecords(self.database)
        knowledge = KnowledgeService(records, FileStore(self.directory), self.index, builder, given)
        await knowledge.resume()
        self.stack.push_async_callback(knowledge.close)
        access = Access(NobodyChose(), given, {10001})
        return Intake(knowledge, self.uploads, access, KnowledgeScope.GROUP, retry_after_s=(0.01, 0.01))

    async def documents(self) -> list[str]:
        """Return the names of the documents of the group."""
        return [document.name for document in await DocumentRecords(self.database).page("group_777", 0, 100)]

    def incoming(self) -> list[Path]:
        """Return what is left of downloads."""
        return list((self.directory / "incoming").iterdir())


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    async with AsyncExitStack() as stack:
        yield World(tmp_path, database, stack)
    await database.close()


def arrival(name: str = "报销.txt", *, session: Session = GROUP, size: int = len(RULES), key: str = "id") -> Arrival:
    return Arrival(ACCOUNT, session, name, size, UploadSource(file_id=key, busid=0, url="", via=None))


async def until_fetching(chats: Chats) -> None:
    async with asyncio.timeout(10):
        while not chats.fetched:  # noqa: ASYNC110 - a fake announces nothing
            await asyncio.sleep(0.005)


async def test_a_file_is_on_the_list_while_it_is_fetched_and_told_once(world: World) -> None:
    intake, chats = await world.open(), world.chats
    await intake.receive(arrival(), chats)
    assert chats.fetched == [("报销.txt", ["报销.txt"])]
    assert chats.statuses == [IngestStatus.INDEXED]
    assert await chats.listed() == []
    assert await world.documents() == ["报销.txt"]
    assert world.incoming() == []
    await intake.receive(arrival("同样.txt"), chats)
    assert chats.statuses == [IngestStatus.INDEXED, IngestStatus.DUPLICATE]


async def test_what_is_refused_is_neither_fetched_nor_written_down(world: World) -> None:
    intake, chats = await world.open(upload_role="admin"), world.chats
    chats.roles[777, 10009] = Role.ADMIN
    await intake.receive(arrival(), chats)
    await intake.receive(arrival("程序.exe", session=Session(777, 10009)), chats)
    await intake.receive(arrival("大.txt", session=Session(777, 10009), size=2 << 20), chats)
    assert chats.statuses == [IngestStatus.REJECTED] * 3
    for result, words in zip(chats.told, ("群管理员", "不支持 .exe", "超过 1 MB"), strict=True):
        assert words in result.reason
    assert not chats.fetched
    assert await chats.listed() == []


async def test_an_outcome_that_was_not_sent_is_told_after_a_restart(world: World) -> None:
    intake, chats = await world.open(), world.chats
    chats.delivers = False
    await intake.receive(arrival(), chats)
    assert await chats.listed() == ["报销.txt"]
    chats.delivers = True
    await (await world.open()).resume(ACCOUNT, chats)
    assert chats.statuses == [IngestStatus.INDEXED] * 2
    assert len(chats.fetched) == 1, "its document is known, so it is not fetched again"
    assert await chats.listed() == []
    await (await world.open()).resume(ACCOUNT, chats)
    assert len(chats.told) == 2


async def test_a_killed_download_goes_on_after_a_restart(world: World) -> None:
    intake, chats = await world.open(), world.chats
    assert chats.account is not None
    chats.account.gate.clear()
    receiving = asyncio.create_task(intake.receive(arrival(), chats))
    await until_fetching(chats)
    receiving.cancel()
    await asyncio.gather(receiving, return_exceptions=True)
    assert (chats.told, await chats.listed()) == ([], ["报销.txt"])
    chats.account.gate.set()
    again = await world.open()
    # Two accounts' reconnects, or one that flaps, must not take the file twice.
    await asyncio.gather(again.resume(ACCOUNT, chats), again.resume(ACCOUNT, chats))
    assert chats.statuses == [IngestStatus.INDEXED]
    assert await world.documents() == ["报销.txt"]
    assert await chats.listed() == []


async def test_a_file_waits_for_its_account(world: World) -> None:
    intake, chats = await world.open(), world.chats
    lost = chats.account
    assert lost is not None
    lost.gate.clear()
    lost.failure = DownloadFailed("文件下载失败，可能是网络中断，请稍后重新发一次。")
    receiving = asyncio.create_task(intake.receive(arrival(), chats))
    await until_fetching(chats)
    chats.account = None
    lost.gate.set()
    await receiving
    assert (chats.told, await chats.listed()) == ([], ["报销.txt"])
    chats.account = Account(chats)
    await intake.resume(ACCOUNT, chats)
    assert chats.statuses == [IngestStatus.INDEXED]


async def test_a_reconnected_account_fetches_at_once(world: World) -> None:
    intake, chats = await world.open(), world.chats
    lost = chats.account
    assert lost is not None
    lost.gate.clear()
    lost.failure = DownloadFailed("文件下载失败，可能是网络中断，请稍后重新发一次。")
    receiving = asyncio.create_task(intake.receive(arrival(), chats))
    await until_fetching(chats)
    chats.account = Account(chats)
    lost.gate.set()
    await receiving
    assert chats.statuses == [IngestStatus.INDEXED]
    assert len(chats.fetched) == 2


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_the_version_that_was_sent_last_is_the_newest(world: World, is_restarted: bool) -> None:
    intake, chats = await world.open(), world.chats
    chats.gates["id"] = asyncio.Event()
    chats.contents["corrected"] = "差旅报销要在出差结束后九天内提交。\n".encode()
    first = asyncio.create_task(intake.receive(arrival(), chats))
    await until_fetching(chats)
    if is_restarted:
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        chats.fetched.clear()
        intake = await world.open()
        first = asyncio.create_task(intake.resume(ACCOUNT, chats))
        await until_fetching(chats)
    second = asyncio.create_task(intake.receive(arrival(key="corrected"), chats))
    chats.contents["other"] = "食堂周一到周五供应午餐。\n".encode()
    await intake.receive(arrival("食堂.txt", key="other"), chats)
    assert not second.done(), "its bytes are here, but those of the former version are not"
    chats.gates["id"].set()
    await asyncio.gather(first, second)
    assert await chats.listed() == []
    entries = await DocumentRecords(world.database).page("group_777", 0, 100)
    assert {(document.name, document.version) for document in entries} == {("报销.txt", 2), ("食堂.txt", 1)}
    (newest,) = [document for document in entries if document.version == 2]
    assert (world.directory / "files" / newest.stored_name).read_bytes() == chats.contents["corrected"]


async def test_a_former_version_that_fails_holds_up_no_later_one(world: World) -> None:
    intake, chats = await world.open(), world.chats
    lost = chats.account
    assert lost is not None
    lost.gate.clear()
    lost.failure = DownloadFailed("文件链接已失效，请重新发一次文件。")
    chats.contents["corrected"] = "差旅报销要在出差结束后九天内提交。\n".encode()
    first = asyncio.create_task(intake.receive(arrival(), chats))
    await until_fetching(chats)
    chats.account = None
    lost.gate.set()
    await first
    chats.account = Account(chats)
    async with asyncio.timeout(20):
        await intake.receive(arrival(key="corrected"), chats)
    assert chats.statuses == [IngestStatus.INDEXED]


async def test_a_download_that_fails_while_connected_is_the_senders_to_repeat(world: World) -> None:
    intake, chats = await world.open(), world.chats
    assert chats.account is not None
    chats.account.failure = DownloadFailed("文件链接已失效，请重新发一次文件。")
    await intake.receive(arrival(), chats)
    assert [(result.status, result.reason) for result in chats.told] == [
        (IngestStatus.REJECTED, "文件链接已失效，请重新发一次文件。（QZ-F03）")
    ]
    assert len(chats.fetched) == 1
    assert await chats.listed() == []
    assert world.incoming() == []


async def test_our_own_failures_are_told_once_and_tried_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    intake, chats = await world.open(), world.chats
    world.uploads.failures["add"] = 2
    await intake.receive(arrival(), chats)
    assert chats.statuses == [IngestStatus.DEFERRED, IngestStatus.INDEXED]
    assert "数据库读写不了" in chats.told[0].reason
    assert "重启的话要重新发" in chats.told[0].reason
    number = request_number()
    assert f"编号 {number}）" in chats.told[0].reason
    assert f"failure {number}: " in caplog.text
    assert chats.announced == [False, True, True]

    chats.told.clear()
    world.uploads.failures["add"] = 9
    await intake.receive(arrival("另一个.txt"), chats)
    assert chats.statuses == [IngestStatus.DEFERRED, IngestStatus.REJECTED]
    assert "试了多次都没成功" in chats.told[1].reason


async def test_a_list_that_cannot_be_used_for_a_moment_loses_and_doubles_nothing(world: World) -> None:
    intake, chats = await world.open(), world.chats
    world.uploads.failures["finish"] = 2
    await intake.receive(arrival(), chats)
    assert await chats.listed() == []
    chats.delivers = False
    chats.contents["other"] = "食堂周一到周五供应午餐。\n".encode()
    await intake.receive(arrival("食堂.txt", key="other"), chats)
    chats.delivers = True
    world.uploads.failures["waiting"] = 2
    await intake.resume(ACCOUNT, chats)
    assert [result.name for result in chats.told] == ["报销.txt", "食堂.txt", "食堂.txt"]
    assert chats.statuses == [IngestStatus.INDEXED] * 3
    # An account that went away again is not worth waiting for.
    chats.account, world.uploads.failures["waiting"] = None, 1
    await intake.resume(ACCOUNT, chats)
    assert world.uploads.failures["waiting"] == 0


async def test_a_version_that_was_replaced_before_its_receipt_is_not_fetched_again(world: World) -> None:
    intake, chats = await world.open(), world.chats
    chats.contents["corrected"] = "差旅报销要在出差结束后九天内提交。\n".encode()
    chats.delivers = False
    await intake.receive(arrival(), chats)
    chats.delivers = True
    await intake.receive(arrival(key="corrected"), chats)
    chats.fetched.clear()
    # As after a restart: the receipt of the first version was never sent.
    await (await world.open()).resume(ACCOUNT, chats)
    assert (chats.statuses[-1], chats.fetched) == (IngestStatus.REPLACED, [])
    entries = await DocumentRecords(world.database).page("group_777", 0, 100)
    assert [(document.name, document.version) for document in entries] == [("报销.txt", 2)]
    assert await chats.listed() == []
