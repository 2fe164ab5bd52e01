"""Tests of ratings: once for each member and answer, changeable, and what they change."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from services.database import Database, open_database, sqlite_url
from services.errors import RecordsError
from services.feedback.replay import FEWEST, SOURCE
from services.feedback.service import FeedbackService, LowRating
from services.records.conversations import AnswerDetails, ConversationRecords
from services.records.feedback import FeedbackRecords, Rating
from services.records.groups import GateFeedbackRecords
from services.records.stored_values import RetrievedPassage
from services.records.tables import CollectionRecord, DocumentRecord, DocumentState, FeedbackSource, Resolution, now

COLLECTION, BUILD, ASKER, OTHER = "group_1", "d1-b1", 2, 3
GOOD = Rating(5, Resolution.RESOLVED, "清楚")
BAD = Rating(1, Resolution.UNRESOLVED)
LIKED = Rating(5, Resolution.RESOLVED, source=FeedbackSource.REACTION)


@dataclass
class World:
    """The service, and whom it told about low ratings."""

    database: Database
    low: list[LowRating] = field(default_factory=list[LowRating])
    failure: RecordsError | None = None

    @property
    def service(self) -> FeedbackService:
        return FeedbackService(self.records, self.gate, 0.5, self._note)

    @property
    def records(self) -> FeedbackRecords:
        return FeedbackRecords(self.database)

    @property
    def gate(self) -> GateFeedbackRecords:
        return GateFeedbackRecords(self.database)

    async def turn(self, score: float | None = 0.9) -> int:
        """Answer a question from a passage with this score."""
        records = ConversationRecords(self.database)
        turn_id = await records.begin("group_1_2", ASKER, "问")
        passages = () if score is None else (RetrievedPassage(BUILD, 0, 0, score),)
        await records.complete(turn_id, "答", [], (), AnswerDetails(retrieved=passages))
        return turn_id

    async def _note(self, low: LowRating) -> None:
        self.low.append(low)
        if self.failure is not None:
            raise self.failure


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    async with database.writing() as session:
        session.add(CollectionRecord(name=COLLECTION, next_number=2))
        await session.flush()
        session.add(
            DocumentRecord(
                collection=COLLECTION,
                number=1,
                name="a",
                version=1,
                content_hash="h",
                size=1,
                file_type="txt",
                stored_name="s",
                group_id=1,
                uploader_id=1,
                uploaded_at=now(),
                state=DocumentState.READY,
                build_id=BUILD,
            )
        )
    yield World(database)
    await database.close()


async def test_a_rating_replaces_the_earlier_one_of_the_same_member(world: World) -> None:
    turn_id = await world.turn()
    assert await world.service.rate(turn_id, ASKER, GOOD) is None
    assert await world.service.rate(turn_id, OTHER, BAD) is None
    assert await world.service.rate(turn_id, ASKER, LIKED) == GOOD
    # An emoji says nothing about the comment.
    found = await world.records.find(turn_id, ASKER)
    assert found == Rating(5, Resolution.RESOLVED, "清楚", FeedbackSource.REACTION)
    assert await world.records.find(turn_id, OTHER) == BAD


async def test_a_rating_is_withdrawn_by_its_member_only(world: World) -> None:
    turn_id = await world.turn()
    await world.service.rate(turn_id, ASKER, GOOD)
    assert not await world.service.withdraw(turn_id, OTHER)
    # An emoji that is taken back does not withdraw a rating in words.
    assert not await world.service.withdraw(turn_id, ASKER, FeedbackSource.REACTION)
    assert await world.service.withdraw(turn_id, ASKER)
    assert not await world.service.withdraw(turn_id, ASKER)
    assert await world.records.find(turn_id, ASKER) is None


async def test_a_turn_that_does_not_exist_is_not_rated(world: World) -> None:
    assert await world.service.rate(99, ASKER, BAD) is None
    assert world.low == []


async def test_a_low_rating_is_told_once(world: World) -> None:
    turn_id = await world.turn(score=None)
    await world.service.rate(turn_id, ASKER, GOOD)
    await world.service.rate(turn_id, ASKER, BAD)
    await world.service.rate(turn_id, ASKER, Rating(2, Resolution.UNRESOLVED))
    assert world.low == [LowRating(turn_id, ASKER, BAD)]
    await world.service.rate(turn_id, ASKER, GOOD)
    await world.service.rate(turn_id, ASKER, BAD)
    assert len(world.low) == 2


async def test_a_failing_listener_does_not_lose_the_rating(world: World) -> None:
    world.failure = RecordsError("机器人的数据库读写不了。")
    turn_id = await world.turn()
    await world.service.rate(turn_id, ASKER, BAD)
    assert await world.records.find(turn_id, ASKER) == BAD


async def test_ratings_move_the_gate_when_the_replay_shows_a_gain(world: World) -> None:
    turns = [await world.turn(0.55) for _ in range(FEWEST)]
    await world.gate.add(COLLECTION, 0.9, helpful=True, source="reaction")
    for turn_id in turns[:-1]:
        await world.service.rate(turn_id, ASKER, BAD)
    assert [item.source for item in await world.gate.all(COLLECTION)] == ["reaction"]
    await world.service.rate(turns[-1], ASKER, BAD)
    found = await world.gate.all(COLLECTION)
    assert sorted(item.source for item in found) == [*[SOURCE] * FEWEST, "reaction"]
    assert {item.rerank_score for item in found if item.source == SOURCE} == {0.55}
    # Without the last rating there are too few again.
    await world.service.withdraw(turns[-1], ASKER)
    assert [item.source for item in await world.gate.all(COLLECTION)] == ["reaction"]


async def test_the_asker_decides_before_others(world: World) -> None:
    asked, judged, named = await world.turn(0.6), await world.turn(0.7), await world.turn(1.0)
    # A document that was asked for by name passed no gate.
    await world.service.rate(named, ASKER, BAD)
    await world.service.rate(asked, OTHER, BAD)
    await world.service.rate(asked, ASKER, GOOD)
    await world.service.rate(judged, OTHER, GOOD)
    await world.service.rate(judged, 4, BAD)
    ratings = await world.records.rated_passages(COLLECTION)
    assert {(item.passage_score, item.score) for item in ratings} == {(0.6, 5), (0.7, 1)}
