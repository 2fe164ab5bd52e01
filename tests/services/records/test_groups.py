"""Records of groups: their preferences, unasked answers, and opinions about them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.database import Database, open_database, sqlite_url
from services.records.groups import (
    ANSWERS_KEPT,
    FEEDBACK_KEPT,
    GateFeedbackRecords,
    GroupPreferences,
    GroupRecords,
    UnaskedAnswer,
)

PRESENT = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


def answer(group_id: int = 777, at: datetime = PRESENT, message_id: int = -5) -> UnaskedAnswer:
    return UnaskedAnswer(group_id, message_id, f"group_{group_id}", "怎么报销", "build", 2, 4, 0.83, at)


async def test_a_group_without_a_row_has_the_defaults(database: Database) -> None:
    records = GroupRecords(database)
    assert await records.preferences(777) == GroupPreferences(777, auto=False, quiet_until=None)
    assert await records.switched_on() == []


async def test_preferences_are_kept_for_each_group(database: Database) -> None:
    records = GroupRecords(database)
    until = PRESENT + timedelta(hours=2)
    # Group numbers can exceed 32 bits.
    for preferences in (
        GroupPreferences(9_000_000_001, auto=True),
        GroupPreferences(777, auto=True, quiet_until=until),
    ):
        await records.store(preferences)
        assert await records.preferences(preferences.group_id) == preferences
    assert [item.group_id for item in await records.switched_on()] == [777, 9_000_000_001]
    await records.store(GroupPreferences(777, auto=False))
    assert await records.preferences(777) == GroupPreferences(777)
    assert [item.group_id for item in await records.switched_on()] == [9_000_000_001]


async def test_answers_come_back_as_they_were_and_only_to_their_group(database: Database) -> None:
    records = GroupRecords(database)
    first = replace(answer(), id=await records.add_answer(answer()))
    later = answer(at=PRESENT + timedelta(minutes=1), message_id=6)
    second = replace(later, id=await records.add_answer(later))
    await records.add_answer(answer(778))
    assert await records.answers(777, PRESENT - timedelta(hours=1)) == [first, second]
    assert await records.answers(777, PRESENT) == [second]


async def test_what_became_of_an_answer(database: Database) -> None:
    records = GroupRecords(database)
    added = replace(answer(), id=await records.add_answer(answer()))
    changed = replace(added, answered_at=PRESENT + timedelta(seconds=30), fruitless=True, objected=True)
    await records.change_answer(changed)
    assert await records.answers(777, PRESENT - timedelta(1)) == [changed]
    await records.withdraw_answer(added.id)
    assert await records.answers(777, PRESENT - timedelta(1)) == []


async def test_answers_do_not_pile_up(database: Database) -> None:
    records = GroupRecords(database)
    for hour in range(100):
        await records.add_answer(answer(group_id=777 + hour % 2, at=PRESENT + timedelta(hours=hour)))
    ages = [PRESENT + timedelta(hours=99) - item.answered_at for item in await records.answers(777, PRESENT)]
    assert len(ages) == 12
    assert max(ages) < ANSWERS_KEPT


async def test_feedback_is_kept_newest_first_for_each_knowledge_base(database: Database) -> None:
    records = GateFeedbackRecords(database)
    await records.add("group_777", 0.9, helpful=False, source="reaction")
    await records.add("group_777", 0.8, helpful=True, source="reply")
    await records.add("group_778", 0.7, helpful=False, source="reply")
    mine = await records.all("group_777")
    assert [(item.rerank_score, item.helpful, item.source) for item in mine] == [
        (0.8, True, "reply"),
        (0.9, False, "reaction"),
    ]
    assert mine[1].created_at <= mine[0].created_at
    assert mine[0].created_at.utcoffset() == timedelta(0)
    assert [item.rerank_score for item in await records.all("group_778")] == [0.7]
    assert await records.all("group_1") == []


async def test_feedback_does_not_pile_up(database: Database) -> None:
    records = GateFeedbackRecords(database)
    await records.add("group_778", 0.5, helpful=True, source="reply")
    for number in range(FEEDBACK_KEPT + 5):
        await records.add("group_777", number / 1000, helpful=False, source="reply")
    scores = [item.rerank_score for item in await records.all("group_777")]
    assert scores == [number / 1000 for number in range(FEEDBACK_KEPT + 4, 4, -1)]
    assert len(await records.all("group_778")) == 1
