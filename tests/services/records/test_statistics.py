"""Tests of the statistics of a chat: what counts as what, and that no other chat is counted."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from services.database import Database, open_database, sqlite_url
from services.records.conversations import AnswerDetails, ConversationRecords, Source
from services.records.feedback import FeedbackRecords, Rating
from services.records.statistics import DocumentCount, StatisticsRecords, TurnCounts
from services.records.tables import (
    AnswerKind,
    CollectionRecord,
    DocumentRecord,
    DocumentState,
    ModelFeature,
    Resolution,
    TurnRecord,
    now,
)
from services.records.usage import ModelCallEntry, ModelUsage, UsageRecords
from services.statistics.service import StatisticsService

CHAT, COLLECTION = "group_1", "group_1"
ASKER, OTHER = 2, 3
WEEK = timedelta(days=7)
FIRST, SECOND = "d1-b1", "d2-b1"


@dataclass
class Log:
    """A log of turns that a test fills."""

    database: Database

    @property
    def statistics(self) -> StatisticsRecords:
        return StatisticsRecords(self.database)

    async def ask(
        self,
        outcome: AnswerKind = AnswerKind.WRITTEN,
        question: str = "问",
        *,
        session_id: str = "group_1_2",
        cites: str = "",
        category: str = "",
    ) -> int:
        """Answer a question, and return the id of the turn."""
        records = ConversationRecords(self.database)
        turn_id = await records.begin(session_id, int(session_id.rpartition("_")[2]), question)
        sources = (Source(1, "x", 1, cites, 0, 0),) if cites else ()
        details = AnswerDetails(outcome=outcome, category=category)
        if outcome is AnswerKind.FAILED:
            await records.fail(turn_id, (), details)
        else:
            await records.complete(turn_id, "答", [], sources, details)
        return turn_id

    async def rate(self, turn_id: int, user_id: int, resolution: Resolution) -> None:
        """Rate an answer."""
        await FeedbackRecords(self.database).put(turn_id, user_id, Rating(3, resolution))

    async def counts(self, chat: str = CHAT) -> TurnCounts:
        """Return the counts of the last week."""
        return await self.statistics.turns(chat, now() - WEEK)


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    async with database.writing() as session:
        session.add(CollectionRecord(name=COLLECTION, next_number=4))
        await session.flush()
        for number, build_id in ((1, FIRST), (2, SECOND), (3, "d3-b1")):
            session.add(
                DocumentRecord(
                    collection=COLLECTION,
                    number=number,
                    name=f"文件{number}",
                    version=1,
                    content_hash=str(number),
                    size=1,
                    file_type="txt",
                    stored_name=str(number),
                    group_id=1,
                    uploader_id=1,
                    uploaded_at=now(),
                    state=DocumentState.READY,
                    build_id=build_id,
                )
            )
    yield Log(database)
    await database.close()


async def test_every_question_has_one_outcome(log: Log) -> None:
    for outcome in AnswerKind:
        await log.ask(outcome)
    records = ConversationRecords(log.database)
    waiting = await records.begin("group_1_2", ASKER, "等")
    await records.wait(waiting, "qa", "c1")
    await records.begin("group_1_2", ASKER, "秘密")
    await records.withdraw("group_1_2", ASKER, "秘密")
    counts = await log.counts()
    assert counts == TurnCounts(questions=8, answered=3, clarified=1, refused=1, reviewed=1, waiting=1, failed=1)


async def test_other_chats_and_older_questions_are_not_counted(log: Log) -> None:
    old = await log.ask(cites=FIRST)
    async with log.database.writing() as session:
        await session.execute(update(TurnRecord).where(TurnRecord.id == old).values(asked_at=now() - 2 * WEEK))
    for session_id in ("group_12_2", "group_11_2", "private_1", "group_2_1"):
        await log.ask(session_id=session_id, cites=FIRST)
    assert await log.counts() == TurnCounts()
    assert await log.statistics.most_cited(CHAT, COLLECTION, now() - WEEK, 5) == []
    await log.ask(session_id="group_1_2")
    await log.ask(session_id="group_1_3")
    async with log.database.writing() as session:
        # A memory that the whole group shares.
        await session.execute(update(TurnRecord).where(TurnRecord.session_id == "group_1_3").values(session_id=CHAT))
    assert (await log.counts()).questions == 2
    assert (await log.counts("private_1")).questions == 1


async def test_the_asker_decides_whether_it_is_resolved(log: Log) -> None:
    confirmed, denied, partly, praised, disputed = [await log.ask(cites=FIRST) for _ in range(5)]
    await log.rate(confirmed, OTHER, Resolution.UNRESOLVED)
    await log.rate(confirmed, ASKER, Resolution.RESOLVED)
    await log.rate(denied, OTHER, Resolution.RESOLVED)
    await log.rate(denied, ASKER, Resolution.UNRESOLVED)
    await log.rate(partly, ASKER, Resolution.PARTIALLY_RESOLVED)
    await log.rate(praised, OTHER, Resolution.RESOLVED)
    await log.rate(disputed, OTHER, Resolution.RESOLVED)
    await log.rate(disputed, 4, Resolution.UNRESOLVED)
    counts = await log.counts()
    assert (counts.confirmed, counts.denied, counts.assumed) == (2, 3, 0)


async def test_resolved_is_assumed_only_without_a_sign_to_the_contrary(log: Log) -> None:
    await log.ask(cites=FIRST)
    assert (await log.counts()).assumed == 1
    # Without a source there is nothing that could have solved it.
    await log.ask()
    assert (await log.counts()).assumed == 1
    # Another document is another matter; somebody else's question is, too.
    await log.ask(cites=SECOND)
    await log.ask(cites=FIRST, session_id="group_1_3")
    assert (await log.counts()).assumed == 3
    # The same document again: the first answer was not enough.
    again = await log.ask(cites=FIRST)
    assert (await log.counts()).assumed == 3
    await log.rate(again, ASKER, Resolution.PARTIALLY_RESOLVED)
    assert (await log.counts()).assumed == 2
    await log.ask(AnswerKind.NOTHING_FOUND, "不对，我问的是夏天", session_id="group_1_3")
    assert (await log.counts()).assumed == 1


async def test_documents_by_their_citations(log: Log) -> None:
    for cited in (FIRST, SECOND, SECOND):
        await log.ask(cites=cited)
    await log.ask(cites="gone-b1")
    since = now() - WEEK
    assert await log.statistics.most_cited(CHAT, COLLECTION, since, 5) == [
        DocumentCount(2, "文件2", 2),
        DocumentCount(1, "文件1", 1),
    ]
    assert len(await log.statistics.most_cited(CHAT, COLLECTION, since, 1)) == 1
    assert await log.statistics.never_cited(CHAT, COLLECTION, since, 5) == (1, [DocumentCount(3, "文件3", 0)])
    assert await log.statistics.never_cited("group_2", COLLECTION, since, 2) == (
        3,
        [DocumentCount(1, "文件1", 0), DocumentCount(2, "文件2", 0)],
    )


async def test_usage_by_feature(log: Log) -> None:
    usage = UsageRecords(log.database)
    for chat, feature, cost in (
        (CHAT, ModelFeature.ANSWER, 7),
        (CHAT, ModelFeature.ANSWER, None),
        (CHAT, ModelFeature.SUMMARY, 5),
        ("group_2", ModelFeature.ANSWER, 9),
    ):
        entry = ModelCallEntry(chat, None, "", "m", 10, 1, estimated=False, cost=cost, called_at=now(), feature=feature)
        await usage.add_model_call(entry)
    assert await log.statistics.usage(CHAT, now() - WEEK) == {
        ModelFeature.ANSWER: ModelUsage(2, 22, 7, 1),
        ModelFeature.SUMMARY: ModelUsage(1, 11, 5, 0),
    }


async def test_a_report_names_what_is_not_resolved(log: Log) -> None:
    service = StatisticsService(log.statistics)
    empty = await service.report(CHAT, COLLECTION, 7)
    assert (empty.turns.questions, empty.median_s, empty.p95_s, empty.topics) == (0, None, None, [])
    for question in ("宿舍几点熄灯", "宿舍几点熄灯呢", "食堂在哪"):
        await log.ask(AnswerKind.NOTHING_FOUND, question)
    await log.ask(AnswerKind.FAILED, "坏了吗")
    await log.ask(question="答得好", cites=FIRST, category="technical")
    wrong = await log.ask(question="答错了吗", cites=FIRST)
    await log.rate(wrong, ASKER, Resolution.UNRESOLVED)
    report = await service.report(CHAT, COLLECTION, 7)
    assert [(topic.question, topic.count) for topic in report.topics] == [
        ("宿舍几点熄灯呢", 2),
        ("答错了吗", 1),
        ("坏了吗", 1),
        ("食堂在哪", 1),
    ]
    assert report.categories == [("technical", 1)]
    assert report.median_s is not None
    assert report.p95_s is not None
    assert 0 <= report.median_s <= report.p95_s < 5
