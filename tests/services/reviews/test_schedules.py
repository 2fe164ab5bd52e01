"""Random schedules of kills, competing admins and upgrades: each asker is answered exactly once."""

import asyncio
import contextlib
import os
import random
from collections.abc import Awaitable
from pathlib import Path

from services.database import Database, open_database, sqlite_url
from services.grounding.models import Answer, AnswerKind
from services.memory.turns import Turn
from services.records.conversations import ConversationRecords
from services.records.reviews import Review, ReviewRecords
from services.records.tables import ReviewState, TurnState
from services.reviews.models import Approved, Decision, DecisionOutcome, DecisionStatus, Edited, Rejected, Reviewer
from tests.services.reviews.world import CHAT, SELF_ID, Chat, Graph, Killed, Life, Process, started, waiting_review

# Each makes some forty statements. Set REVIEW_SCHEDULES=1000 for a longer test.
SCHEDULES = int(os.environ.get("REVIEW_SCHEDULES", "40"))
ADMINS = (Reviewer(10003, "小李"), Reviewer(10004, "老张"))
# No run of the process takes more steps from a decision to the delivered answer.
MOST_STEPS = 45
# The question is asked, its review is opened and its turn waits.
OPENING_STEPS = 12


async def _quietly(work: Awaitable[DecisionOutcome | None]) -> DecisionOutcome | None:
    """Return the outcome, or None if the process died."""
    try:
        return await work
    except Killed:
        return None


def _running(database: Database, chat: Chat, chance: random.Random, steps: int | None) -> Process:
    life = Life(steps)
    process = started(database, chat, life)
    process.queue.continue_with(Graph(chance, life).resume)
    return process


async def _opened(database: Database, chat: Chat, chance: random.Random) -> Review:
    """Return a review that was opened. The process may have died before the turn waited for it."""
    while True:
        process = started(database, chat, Life(chance.randint(1, OPENING_STEPS) if chance.random() < 0.3 else None))
        last = await _last(database)
        with contextlib.suppress(Killed):
            return await waiting_review(process)
        process.messenger.life.left = 0
        await process.queue.close()
        found = await _last(database)
        if found is not None and found != last:
            return found


async def _last(database: Database) -> Review | None:
    opened = await ReviewRecords(database).opened(CHAT)
    return opened[-1] if opened else None


async def _one(database: Database, chat: Chat, chance: random.Random) -> None:
    opened = await _opened(database, chat, chance)
    decisions: list[Decision] = [Approved(), Edited(f"改过的回答 {chance.random()}"), Rejected("没有依据")]
    outcomes: list[DecisionOutcome] = []
    for _ in range(chance.randint(1, 3)):
        process = _running(database, chat, chance, chance.randint(1, MOST_STEPS))
        chat.is_connected = chance.random() < 0.7
        work: list[Awaitable[DecisionOutcome | None]] = [
            process.queue.decide(CHAT, opened.number, chance.choice(decisions), admin)
            for admin in ADMINS
            if chance.random() < 0.8
        ]
        # A start resumes the turns and, when the account connects, the reviews, while admins are already typing.
        work.append(process.turns.restore())
        if chat.is_connected:
            work.append(process.queue.resume(SELF_ID))
        chance.shuffle(work)
        outcomes += [found for found in await asyncio.gather(*map(_quietly, work)) if found is not None]
        # Tasks that the dead process left behind do nothing any more.
        process.messenger.life.left = 0
        await process.queue.close()

    chat.is_connected = True
    last = _running(database, chat, chance, None)
    await last.turns.restore()
    outcomes.append(await last.queue.decide(CHAT, opened.number, Approved(), ADMINS[0]))
    await last.queue.resume(SELF_ID)
    await last.queue.close()

    review = await last.records.get(opened.id)
    assert review is not None
    assert review.state is ReviewState.ANSWERED
    told = [answer for review_id, answer in chat.answers if review_id == opened.id]
    assert len(told) == 1, told
    assert review.answer in told[0]
    assert told[0].count("（排好版）") <= 1
    assert sum(outcome.status is DecisionStatus.DECIDED for outcome in outcomes) <= 1
    for outcome in outcomes:
        assert outcome.review is not None
        assert outcome.review.decided_by == review.decided_by, "the loser is told who decided"
    turn = await ConversationRecords(database).turn(opened.request.turn_id or 0)
    assert turn is not None
    # A process that died while it asked for the review left a turn that had failed; its asker is answered all the same.
    assert turn.state in (TurnState.ANSWERED, TurnState.FAILED)
    assert turn.state == TurnState.FAILED or turn.answer == told[0]


async def test_a_kill_at_every_step(tmp_path: Path) -> None:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    chat = Chat()

    async def continued(review: Review, turn: Turn) -> Answer:
        return Answer(AnswerKind.WRITTEN, f"{review.answer}（排好版）")

    steps, is_over = 0, False
    try:
        while not is_over:
            steps += 1
            chat.answers.clear()
            opened = await waiting_review(started(database, chat))
            for life in (Life(steps), Life()):
                process = started(database, chat, life)
                process.queue.continue_with(continued)
                if life.left is None:
                    await process.turns.restore()
                outcome = await _quietly(process.queue.decide(CHAT, opened.number, Approved(), ADMINS[0]))
                is_over = outcome is not None and life.left is not None
                if is_over:
                    break
                if life.left is None:
                    await process.queue.resume(SELF_ID)
            assert [text for _, text in chat.answers] == ["七天内可以退。（排好版）"], steps
    finally:
        await database.close()
    assert steps > 20


async def test_each_asker_is_answered_exactly_once(tmp_path: Path) -> None:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    chat, chance = Chat(), random.Random(20261122)
    try:
        for _ in range(SCHEDULES):
            await _one(database, chat, chance)
    finally:
        await database.close()
    assert len(chat.answers) == SCHEDULES
