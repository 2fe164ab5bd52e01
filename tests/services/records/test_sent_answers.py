"""Tests of the messages that answers were sent as."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text, update

from services.database import Database, open_database, sqlite_url
from services.memory.dialogues import SentAnswers
from services.records.conversations import ConversationRecords
from services.records.sent_answers import KEPT, SentAnswerRecords
from services.records.tables import SentAnswerRecord, now

CHAT, OTHER = "group_1", "group_2"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


@pytest.fixture
def sent(database: Database) -> SentAnswers:
    return SentAnswers(SentAnswerRecords(database))


async def turn(database: Database, user_id: int = 2) -> int:
    return await ConversationRecords(database).begin("group_1_2", user_id, "问")


async def test_each_part_of_an_answer_is_found_in_its_chat_only(sent: SentAnswers, database: Database) -> None:
    turn_id = await turn(database)
    await sent.note("7", CHAT, (11, -12), turn_id)
    for message_id in (11, -12):
        found = await sent.find("7", CHAT, message_id)
        assert found is not None
        assert (found.turn_id, found.message_id) == (turn_id, message_id)
    assert await sent.find("7", OTHER, 11) is None
    assert await sent.find("8", CHAT, 11) is None
    assert await sent.find("7", CHAT, 13) is None


async def test_an_id_that_the_client_uses_again_names_the_new_message(sent: SentAnswers, database: Database) -> None:
    first, second = await turn(database), await turn(database)
    await sent.note("7", CHAT, (11,), first)
    await sent.note("7", CHAT, (11,), second)
    found = await sent.find("7", CHAT, 11)
    assert found is not None
    assert found.turn_id == second


async def test_the_last_answer_of_a_member(sent: SentAnswers, database: Database) -> None:
    mine, theirs = await turn(database), await turn(database, user_id=3)
    assert await sent.last_to("group_1_2", 2) is None
    await sent.note("7", CHAT, (11,), mine)
    await sent.note("7", CHAT, (12,), theirs)
    for user_id, turn_id in ((2, mine), (3, theirs)):
        found = await sent.last_to("group_1_2", user_id)
        assert found is not None
        assert found.turn_id == turn_id
    assert await sent.last_to("group_1_4", 2) is None


async def test_an_answer_without_turn_or_message_is_not_noted(sent: SentAnswers, database: Database) -> None:
    await sent.note("7", CHAT, (11,), None)
    await sent.note("7", CHAT, (), await turn(database))
    assert await sent.find("7", CHAT, 11) is None


async def test_old_rows_go_with_the_next_answer(sent: SentAnswers, database: Database) -> None:
    turn_id = await turn(database)
    await sent.note("7", CHAT, (11,), turn_id)
    async with database.writing() as session:
        await session.execute(update(SentAnswerRecord).values(sent_at=now() - KEPT))
    await sent.note("7", CHAT, (12,), turn_id)
    assert await sent.find("7", CHAT, 11) is None
    assert await sent.find("7", CHAT, 12) is not None


async def test_an_answer_that_cannot_be_noted_is_still_sent(
    sent: SentAnswers, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    turn_id = await turn(database)
    async with database.writing() as session:
        await session.execute(text("DROP TABLE sent_answers"))
    await sent.note("7", CHAT, (11,), turn_id)
    assert f"the messages of turn {turn_id} could not be written down" in caplog.text
