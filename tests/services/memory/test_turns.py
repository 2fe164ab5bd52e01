"""Tests of turns that wait for a person: they survive restarts, continue once, and do not block their session."""

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.database import Database, open_database, sqlite_url
from services.errors import HistoryError
from services.memory.order import SessionOrder
from services.memory.turns import Turns, WaitingTurn
from services.records.conversations import AnswerDetails, ConversationRecords, details_of
from services.records.tables import AnswerKind, TurnState

SESSION = "group_1_2"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


def started(database: Database) -> Turns:
    """Return the turns as after a start of the bot."""
    return Turns(ConversationRecords(database), SessionOrder())


async def history(database: Database) -> list[str]:
    """Return the working history."""
    return [record.message.text for record in await ConversationRecords(database).history(SESSION)]


async def states(database: Database) -> list[tuple[str, str]]:
    """Return the questions of the log with their states."""
    return [(turn.question, turn.state) for turn in await ConversationRecords(database).recent(SESSION, 50)]


async def waiting_turn(turns: Turns, question: str = "能退款吗", checkpoint: str = "c1") -> int:
    """Let a turn wait and return its id."""
    async with turns.begin(SESSION, 2, question) as turn:
        await turn.wait("question", checkpoint)
    assert turn.id is not None
    return turn.id


async def test_a_waiting_turn_is_continued_after_a_restart(database: Database) -> None:
    turn_id = await waiting_turn(started(database))
    again = started(database)
    await again.restore()
    assert await again.waiting(SESSION) == [WaitingTurn(turn_id, SESSION, 2, "能退款吗", "question", "c1")]
    async with again.resume(turn_id) as turn:
        assert turn is not None
        assert (turn.question, turn.checkpoint_id) == ("能退款吗", "c1")
        await turn.complete("可以")
    assert await history(database) == ["能退款吗", "可以"]
    assert await states(database) == [("能退款吗", TurnState.ANSWERED)]
    assert await again.waiting(SESSION) == []


async def test_what_is_known_about_an_answer_is_kept_while_it_waits(database: Database) -> None:
    turns = started(database)
    async with turns.begin(SESSION, 2, "能退款吗") as turn:
        turn.details = replace(turn.details, category="platform", confidence=0.4)
        await turn.wait("question", "c1")
    assert turn.id is not None
    async with turns.resume(turn.id) as resumed:
        assert resumed is not None
        resumed.details = replace(resumed.details, outcome=AnswerKind.REVIEWED)
        await resumed.complete("可以")
    (record,) = await ConversationRecords(database).recent(SESSION, 5)
    assert details_of(record) == AnswerDetails(outcome=AnswerKind.REVIEWED, category="platform", confidence=0.4)


async def test_the_session_goes_on_while_a_turn_waits(database: Database) -> None:
    turns = started(database)
    turn_id = await waiting_turn(turns)
    async with asyncio.timeout(5), turns.begin(SESSION, 2, "几点开门") as turn:
        await turn.complete("八点")
    async with turns.resume(turn_id) as resumed:
        assert resumed is not None
        assert [message.text for message in await resumed.history.aget_messages()] == ["几点开门", "八点"]
        await resumed.complete("可以")
    # An answer stands in the history where it was given.
    assert await history(database) == ["几点开门", "八点", "能退款吗", "可以"]


async def test_only_one_of_many_callers_continues_a_turn(database: Database) -> None:
    turn_id = await waiting_turn(started(database))
    answers: list[str] = []

    async def approve(admin: int) -> None:
        # Another process has another order of its own: the database decides.
        async with started(database).resume(turn_id) as turn:
            if turn is not None:
                await asyncio.sleep(0.01)
                await turn.complete(f"{admin} 同意")
                answers.append(f"{admin} 同意")

    await asyncio.gather(*(approve(admin) for admin in range(8)))
    assert len(answers) == 1
    assert await history(database) == ["能退款吗", *answers]


async def test_a_turn_whose_continuation_fails_waits_again(database: Database) -> None:
    turns = started(database)
    turn_id = await waiting_turn(turns)
    with pytest.raises(RuntimeError):
        async with turns.resume(turn_id) as turn:
            assert turn is not None
            raise RuntimeError
    assert await states(database) == [("能退款吗", TurnState.WAITING)]
    async with turns.resume(turn_id) as turn:
        assert turn is not None
        await turn.wait("question", "c2")
    (waiting,) = await turns.waiting(SESSION)
    assert waiting.checkpoint_id == "c2"


async def test_a_turn_that_was_killed_while_continued_waits_again(database: Database) -> None:
    turn_id = await waiting_turn(started(database))
    records = ConversationRecords(database)
    assert await records.claim(turn_id) is not None
    await records.begin(SESSION, 2, "被打断")
    again = started(database)
    await again.restore()
    assert await states(database) == [("能退款吗", TurnState.WAITING), ("被打断", TurnState.FAILED)]
    async with again.resume(turn_id) as turn:
        assert turn is not None
        await turn.complete("可以")
    assert await history(database) == ["能退款吗", "可以"]


async def test_a_withdrawn_turn_is_not_continued(database: Database) -> None:
    turns = started(database)
    turn_id = await waiting_turn(turns)
    await turns.withdraw(SESSION, 2, "能退款吗")
    async with turns.resume(turn_id) as turn:
        assert turn is None
    async with turns.resume(turn_id + 1) as turn:
        assert turn is None


async def test_a_cleared_session_stays_empty_when_a_turn_ends_later(database: Database) -> None:
    turns = started(database)
    turn_id = await waiting_turn(turns)
    records = ConversationRecords(database)
    await records.forget(SESSION)
    async with turns.resume(turn_id) as turn:
        assert turn is not None
        await turn.complete("可以")
    assert await history(database) == []
    assert await records.recent(SESSION, 5) == []
    ended = await records.turn(turn_id)
    assert ended is not None
    assert (ended.state, ended.answer) == (TurnState.ANSWERED, "可以")


async def test_a_turn_ends_once(database: Database) -> None:
    async with started(database).begin(SESSION, 2, "一") as turn:
        await turn.complete("答一")
        with pytest.raises(HistoryError):
            await turn.complete("又答")
        with pytest.raises(HistoryError):
            await turn.wait("question", "c1")
    assert await history(database) == ["一", "答一"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
async def test_whatever_happens_each_waiting_turn_is_answered_once(seed: int) -> None:
    """Two admins, restarts and failures, in any order."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        database = await open_database(sqlite_url(Path(directory) / "app.sqlite3"))
        turns = started(database)
        ids = [await waiting_turn(turns, f"问{number}") for number in range(3)]
        answered: list[int] = []

        async def approve(turn_id: int) -> None:
            async with turns.resume(turn_id) as turn:
                await asyncio.sleep(0)
                if turn is not None and chance.random() < 0.7:
                    await turn.complete("好")
                    answered.append(turn_id)

        while len(answered) < len(ids):
            chosen = chance.choices(ids, k=4)
            tasks = [asyncio.create_task(approve(turn_id)) for turn_id in chosen]
            if chance.random() < 0.3:
                for task in tasks[: chance.randrange(4)]:
                    await asyncio.sleep(0)
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if chance.random() < 0.5:
                turns = started(database)
                await turns.restore()
            assert len(answered) == len(set(answered))
        assert sorted(answered) == ids
        assert (await history(database)).count("好") == 3
        await database.close()
