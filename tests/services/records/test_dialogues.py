"""Tests of dialogues: how one begins, goes on, and ends by a wish, a farewell or a silence."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text, update

from services.database import Database, open_database, sqlite_url
from services.memory.dialogues import Dialogues, is_farewell
from services.memory.order import SessionOrder
from services.memory.turns import Turns
from services.records.conversations import ConversationRecords
from services.records.dialogues import DialogueRecords
from services.records.stored_values import StoredMessage
from services.records.tables import DialogueRecord, DialogueStatus, now
from services.records.usage import ModelCallEntry, UsageRecords

SESSION, OTHER = "group_1_2", "group_1_3"
SILENCE = timedelta(hours=2)
MIGRATIONS = Path(__file__).parents[3] / "services" / "migrations"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


@pytest.fixture
def records(database: Database) -> ConversationRecords:
    return ConversationRecords(database, SILENCE)


@pytest.fixture
def dialogues(database: Database) -> Dialogues:
    return Dialogues(DialogueRecords(database), SILENCE)


async def say(records: ConversationRecords, question: str = "问", session_id: str = SESSION) -> int:
    """Ask, get an answer, and return the id of the turn."""
    async with Turns(records, SessionOrder()).begin(session_id, 2, question) as turn:
        await turn.complete("答")
    assert turn.id is not None
    return turn.id


async def pass_time(database: Database, time: timedelta) -> None:
    """Let everything that was said be older."""
    async with database.writing() as session:
        await session.execute(update(DialogueRecord).values(updated_at=now() - time))


async def last(dialogues: Dialogues, session_id: str = SESSION) -> tuple[DialogueStatus, int]:
    found = await dialogues.last(session_id)
    assert found is not None
    return found.status, found.turns


async def test_a_dialogue_is_continued_until_its_speaker_ends_it(
    records: ConversationRecords, dialogues: Dialogues
) -> None:
    assert await dialogues.last(SESSION) is None
    assert not await dialogues.end(SESSION)
    await say(records)
    await say(records)
    await say(records, session_id=OTHER)
    assert await last(dialogues) == (DialogueStatus.ACTIVE, 2)
    assert await dialogues.end(SESSION)
    assert await last(dialogues) == (DialogueStatus.COMPLETED, 2)
    assert await last(dialogues, OTHER) == (DialogueStatus.ACTIVE, 1)
    assert not await dialogues.end(SESSION)
    await say(records)
    assert await last(dialogues) == (DialogueStatus.ACTIVE, 1)


async def test_a_silence_ends_a_dialogue(
    records: ConversationRecords, dialogues: Dialogues, database: Database
) -> None:
    await say(records)
    await pass_time(database, SILENCE - timedelta(minutes=1))
    await say(records)
    assert await last(dialogues) == (DialogueStatus.ACTIVE, 2)
    await pass_time(database, SILENCE + timedelta(minutes=1))
    # Nobody speaks: a read decides.
    assert await last(dialogues) == (DialogueStatus.ABANDONED, 2)
    await say(records)
    await pass_time(database, SILENCE + timedelta(minutes=1))
    # The next question decides.
    await say(records)
    assert await last(dialogues) == (DialogueStatus.ACTIVE, 1)
    async with database.reading() as session:
        statuses = (await session.execute(text("SELECT status FROM dialogues ORDER BY id"))).scalars().all()
    assert statuses == ["abandoned", "abandoned", "active"]


@pytest.mark.parametrize(
    "farewell", ["再见", "拜拜！", "谢谢你，再见啦", "👋", "👋🏻", "👋👋", "bye", "Goodbye.", "好的，拜拜"]
)
async def test_a_farewell_completes_the_dialogue(
    farewell: str, records: ConversationRecords, dialogues: Dialogues
) -> None:
    await say(records)
    await say(records, farewell)
    assert await last(dialogues) == (DialogueStatus.COMPLETED, 2)


@pytest.mark.parametrize(
    "remark", ["再见面要带什么", "拜拜是什么意思", "晚安", "谢谢", "我先走了", "88", "下次再见？", ""]
)
def test_other_remarks_end_nothing(remark: str) -> None:
    assert not is_farewell(remark)


async def test_a_wave_at_the_beginning_is_a_greeting(records: ConversationRecords, dialogues: Dialogues) -> None:
    await say(records, "👋")
    assert await last(dialogues) == (DialogueStatus.ACTIVE, 1)


async def test_a_dialogue_knows_its_tokens_and_summary(
    records: ConversationRecords, dialogues: Dialogues, database: Database
) -> None:
    turn_id = await say(records)
    usage = UsageRecords(database)
    for tokens in (100, 20):
        await usage.add_model_call(
            ModelCallEntry("group_1", turn_id, "", "m", tokens, 3, estimated=False, cost=None, called_at=now())
        )
    await usage.add_model_call(
        ModelCallEntry("group_1", None, "", "m", 1000, 3, estimated=False, cost=None, called_at=now())
    )
    history = await records.history(SESSION)
    assert await records.replace(SESSION, history, StoredMessage(type="system", text="摘要"))
    found = await dialogues.last(SESSION)
    assert found is not None
    assert (found.tokens, found.summary) == (126, "摘要")
    await records.forget(SESSION)
    found = await dialogues.last(SESSION)
    assert found is not None
    assert found.summary == ""


async def test_turns_of_an_older_release_get_a_dialogue(tmp_path: Path) -> None:
    path = tmp_path / "app.sqlite3"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0010")
        for session_id, user_id in (("group_1_2", 2), ("group_1_2", 2), ("private_3", 3)):
            connection.execute(
                text(
                    "INSERT INTO turns (session_id, user_id, question, answer, state, asked_at)"
                    " VALUES (:session_id, :user_id, '问', '答', 'answered', '2026-11-01 10:00:00.000000')"
                ),
                {"session_id": session_id, "user_id": user_id},
            )
    engine.dispose()
    opened = await open_database(sqlite_url(path))
    dialogues = Dialogues(DialogueRecords(opened), SILENCE)
    assert await last(dialogues) == (DialogueStatus.ABANDONED, 2)
    assert await last(dialogues, "private_3") == (DialogueStatus.ABANDONED, 1)
    await opened.close()
