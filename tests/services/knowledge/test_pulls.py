"""Tests of pulls: a group's files are taken in together, each once, and reported once, whatever stops in between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.database import open_database, sqlite_url
from services.errors import DownloadFailed, RecordsError
from services.knowledge.group_files import GroupFile, GroupFileList
from services.knowledge.intake import Intake
from services.knowledge.pulls import PullReport, Pulls
from services.records.documents import DocumentRecords
from services.records.pulls import PullRecords
from services.records.stored_values import UploadSource
from services.session import KnowledgeScope
from tests.services.knowledge.test_intake import ACCOUNT, GROUP, Account, Chats, World

OTHER_ACCOUNT = "3889000002"
MAY = datetime(2026, 5, 1, 8, 0, tzinfo=UTC)


@dataclass
class Group(Chats):
    """A messenger that also keeps the reports of pulls."""

    reports: list[PullReport] = field(default_factory=list[PullReport])
    reported_by: list[str] = field(default_factory=list[str])

    async def report(self, account: str, group_id: int, report: PullReport) -> bool:
        assert group_id == 777
        self.reports.append(report)
        self.reported_by.append(account)
        return self.delivers


class FailingPulls(PullRecords):
    """Pulls whose outcomes or ends cannot be written as often as said."""

    outcome_failures = 0
    finish_failures = 0

    async def set_outcome(self, upload_id: int, outcome: str, reason: str) -> None:
        if self.outcome_failures:
            self.outcome_failures -= 1
            raise RecordsError("机器人的数据库读写不了，请联系管理员。")
        await super().set_outcome(upload_id, outcome, reason)

    async def finish(self, pull_id: int) -> None:
        if self.finish_failures:
            self.finish_failures -= 1
            raise RecordsError("机器人的数据库读写不了，请联系管理员。")
        await super().finish(pull_id)


@dataclass
class Place:
    """A data directory with a group, and the services that use it."""

    world: World
    group: Group
    records: FailingPulls
    intake: Intake
    pulls: Pulls

    async def restart(self) -> None:
        """Stop the services as a stop of the process does, and open new ones."""
        await self.pulls.close()
        await self.open()

    async def open(self) -> None:
        """Open the services."""
        self.intake = await self.world.open()
        self.pulls = _pulls(self.world, self.records, self.intake)

    async def documents(self) -> list[str]:
        """Return the names of the documents."""
        return sorted(await self.world.documents())

    async def reported(self, count: int = 1) -> PullReport:
        """Wait for a number of reports, until nothing more is written, and return the last one."""
        async with asyncio.timeout(20):
            while len(self.group.reports) < count or await self.records.of_group(777) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert len(self.group.reports) == count
        return self.group.reports[-1]

    async def fetching(self, count: int = 1) -> None:
        """Wait until a number of files are or were fetched."""
        async with asyncio.timeout(20):
            while len(self.group.fetched) < count:  # noqa: ASYNC110 - a fake announces nothing
                await asyncio.sleep(0.005)


def _pulls(world: World, records: PullRecords, intake: Intake) -> Pulls:
    knowledge = intake._knowledge  # pyright: ignore[reportPrivateUsage]
    documents = DocumentRecords(world.database)
    return Pulls(records, documents, knowledge, intake, KnowledgeScope.GROUP, retry_after_s=(0.01, 0.01))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    async with AsyncExitStack() as stack:
        world = World(tmp_path, database, stack)
        records, intake = FailingPulls(database), await world.open()
        place = Place(world, Group(world.uploads), records, intake, _pulls(world, records, intake))
        yield place
        await place.pulls.close()
    await database.close()


def files(place: Place, count: int) -> list[GroupFile]:
    """Return files of different contents, the newest first, by another member than the admin."""
    for number in range(count):
        place.group.contents[f"key{number}"] = f"第{number}号规定：办公室每天{number + 8}点开门。\n".encode()
    return [
        GroupFile(
            f"规定{number}.txt",
            "",
            len(place.group.contents[f"key{number}"]),
            MAY - timedelta(days=number),
            10002,
            UploadSource(file_id=f"key{number}", busid=102, url="", via=777),
        )
        for number in range(count)
    ]


async def test_chosen_files_are_taken_in_and_reported_once(place: Place) -> None:
    given = files(place, 5)
    assert await place.pulls.start(ACCOUNT, GROUP, given, 3, place.group)
    assert await place.reported() == PullReport(5, 3, 0, (), is_stopped=False)
    assert await place.documents() == [f"规定{number}.txt" for number in range(5)]
    assert place.group.told == [], "single outcomes are not told"
    (row,) = [row for row in await DocumentRecords(place.world.database).listed("group_777") if row.name == "规定4.txt"]
    assert (row.uploader_id, row.uploaded_at) == (10002, MAY - timedelta(days=4)), "as the group's list has them"
    # Now all of them are known without a download.
    comparison = await place.pulls.compare(777, GroupFileList(tuple(given)))
    assert not any(listed.is_wanted for listed in comparison.files)
    assert len(place.group.fetched) == 5


async def test_the_same_content_and_failures_are_counted(place: Place) -> None:
    first, second, third = files(place, 3)
    place.group.contents["key1"] = place.group.contents["key0"]
    place.group.contents["key2"] = b""
    await place.pulls.start(ACCOUNT, GROUP, [first, second, third], 0, place.group)
    report = await place.reported()
    assert (report.indexed, report.present) == (1, 1)
    assert report.failures == (("规定2.txt", "这个文件是空的，请检查后重新发送。"),)


async def test_few_files_are_fetched_at_a_time(place: Place) -> None:
    account = place.group.account
    assert account is not None
    account.gate.clear()
    await place.pulls.start(ACCOUNT, GROUP, files(place, 6), 0, place.group)
    await place.fetching(2)
    await asyncio.sleep(0.1)
    assert len(place.group.fetched) == 2
    progress = await place.pulls.progress(777)
    assert progress is not None
    assert (progress.done, progress.total) == (0, 6)
    account.gate.set()
    assert (await place.reported()).indexed == 6
    assert await place.pulls.progress(777) is None


async def test_two_admins_do_not_take_files_twice(place: Place) -> None:
    given = files(place, 3)
    started = await asyncio.gather(
        *(place.pulls.start(ACCOUNT, GROUP, given, 0, place.group) for _ in range(2)),
    )
    assert sorted(started) == [False, True]
    assert (await place.reported()).indexed == 3
    assert len(place.group.fetched) == 3


async def test_a_restart_in_the_middle_loses_and_doubles_nothing(place: Place) -> None:
    account = place.group.account
    assert account is not None
    place.group.gates["key1"] = asyncio.Event()
    await place.pulls.start(ACCOUNT, GROUP, files(place, 4), 0, place.group)
    # The oldest are taken in first: 3 and 2 are there, 0 is or will be, and 1 waits.
    await place.fetching(4)
    await place.restart()
    assert place.group.reports == []
    # The files of a pull are not those of a stopped upload, which would be told one by one.
    await place.intake.resume(ACCOUNT, place.group)
    assert place.group.told == []
    place.group.gates["key1"].set()
    fetched = len(place.group.fetched)
    await asyncio.gather(*(place.pulls.resume(ACCOUNT, place.group) for _ in range(2)))
    assert await place.reported() == PullReport(4, 0, 0, (), is_stopped=False)
    assert await place.documents() == [f"规定{number}.txt" for number in range(4)]
    assert len(place.group.fetched) - fetched <= 2, "what was there is not fetched again"
    await place.restart()
    await place.pulls.resume(ACCOUNT, place.group)
    assert len(place.group.reports) == 1


async def test_a_report_that_was_not_sent_is_sent_after_a_reconnect(place: Place) -> None:
    place.group.delivers = False
    await place.pulls.start(ACCOUNT, GROUP, files(place, 2), 0, place.group)
    await place.fetching(2)
    async with asyncio.timeout(20):
        while not place.group.reports:  # noqa: ASYNC110 - a fake announces nothing
            await asyncio.sleep(0.01)
    await place.restart()
    place.group.delivers = True
    await place.pulls.resume(ACCOUNT, place.group)
    assert await place.reported(2) == PullReport(2, 0, 0, (), is_stopped=False)
    assert len(place.group.fetched) == 2


async def test_a_pull_waits_for_its_account(place: Place) -> None:
    lost = place.group.account
    assert lost is not None
    lost.gate.clear()
    lost.failure = DownloadFailed("文件下载失败，可能是网络中断，请稍后重新发一次。")
    await place.pulls.start(ACCOUNT, GROUP, files(place, 3), 0, place.group)
    await place.fetching(2)
    place.group.account = None
    lost.gate.set()
    await asyncio.sleep(0.1)
    assert place.group.reports == []
    place.group.account = Account(place.group)
    await place.pulls.resume(ACCOUNT, place.group)
    assert await place.reported() == PullReport(3, 0, 0, (), is_stopped=False)


async def test_a_stopped_pull_reports_what_it_has(place: Place) -> None:
    place.group.gates["key2"] = asyncio.Event()
    await place.pulls.start(ACCOUNT, GROUP, files(place, 4), 0, place.group)
    # The two oldest begin; the third is fetched when the first of them is there, and waits.
    await place.fetching(3)
    place.group.gates["key1"] = place.group.gates["key0"] = asyncio.Event()
    assert await place.pulls.stop(ACCOUNT, 777, place.group)
    report = await place.reported()
    assert report.is_stopped
    assert report.left >= 1
    assert report.indexed + report.left == 4
    assert len(await place.documents()) == report.indexed
    assert not await place.pulls.stop(ACCOUNT, 777, place.group)


async def test_another_account_continues_the_pull_of_one_that_is_away(place: Place) -> None:
    lost = place.group.account
    assert lost is not None
    lost.gate.clear()
    lost.failure = DownloadFailed("文件下载失败，可能是网络中断，请稍后重新发一次。")
    await place.pulls.start(ACCOUNT, GROUP, files(place, 1), 0, place.group)
    await place.fetching()
    place.group.account = None
    lost.gate.set()
    async with asyncio.timeout(10):
        while place.pulls._runs:  # pyright: ignore[reportPrivateUsage]  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    place.group.account, place.group.number = Account(place.group), OTHER_ACCOUNT
    assert not await place.pulls.start(OTHER_ACCOUNT, GROUP, [], 0, place.group)
    assert (await place.reported()).indexed == 1
    assert place.group.reported_by == [OTHER_ACCOUNT]


async def test_a_failing_database_costs_neither_a_file_nor_a_second_report(place: Place) -> None:
    place.records.outcome_failures, place.records.finish_failures = 2, 2
    await place.pulls.start(ACCOUNT, GROUP, files(place, 3), 0, place.group)
    assert (await place.reported()).indexed == 3


async def test_documents_are_remembered_as_files_of_the_group(place: Place) -> None:
    given = files(place, 1)
    await place.pulls.start(ACCOUNT, GROUP, given, 0, place.group)
    await place.reported()
    comparison = await place.pulls.compare(777, GroupFileList((), folders=1))
    assert [row.name for row in comparison.gone] == ["规定0.txt"]
    assert await place.documents() == ["规定0.txt"], "it is never removed by itself"
    # A document from before this was recorded is one of the group's as soon as the group lists it.
    documents = DocumentRecords(place.world.database)
    async with place.world.database.writing("documents") as session:
        for row in await documents.listed("group_777"):
            row.in_group_files = False
            await session.merge(row)
    assert (await place.pulls.compare(777, GroupFileList((), folders=1))).gone == ()
    await place.pulls.compare(777, GroupFileList(tuple(given)))
    assert len((await place.pulls.compare(777, GroupFileList((), folders=1))).gone) == 1


async def test_files_without_time_or_uploader_count_as_the_admins(place: Place) -> None:
    (given,) = files(place, 1)
    nameless = GroupFile(given.name, "", given.size, None, None, given.source)
    await place.pulls.start(ACCOUNT, GROUP, [nameless], 0, place.group)
    await place.reported()
    (row,) = await DocumentRecords(place.world.database).listed("group_777")
    assert row.uploader_id == GROUP.user_id
    assert datetime.now(UTC) - row.uploaded_at < timedelta(minutes=1)
