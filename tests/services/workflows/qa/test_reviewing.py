"""An uncertain answer waits for a person: through the real graph, its checkpoint, the queue and the records."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.database import open_database, sqlite_url
from services.faq.models import FaqOrigin
from services.grounding.models import AnswerKind
from services.memory.order import SessionOrder
from services.memory.turns import Turns
from services.records.conversations import ConversationRecords
from services.records.reviews import ReviewRecords
from services.records.tables import TurnState
from services.reviews.answers import WAITING
from services.reviews.models import Approved, Edited, Rejected, Reviewer
from services.reviews.notices import Notices
from services.reviews.queue import ReviewQueue
from services.session import KnowledgeCollection
from services.workflows.qa.checkpoints import Checkpoints, open_checkpoints
from services.workflows.qa.service import QuestionAnswering, QuestionPlace, Reviewing
from services.workflows.qa.teaching import Teaching
from tests.services.reviews.world import ASKER, CHAT, GROUP, SELF_ID, SESSION, Chat, Life, Messenger
from tests.services.workflows.qa.world import PASSAGE, QUESTION, World, open_world

ADMIN = Reviewer(10003, "小李")
PLACE = QuestionPlace(SELF_ID, GROUP, ASKER, 5)
COLLECTION = KnowledgeCollection(CHAT)


@dataclass
class Bot:
    """One run of the bot: what a restart builds again over the same files."""

    answering: QuestionAnswering
    queue: ReviewQueue
    checkpoints: Checkpoints
    conversations: ConversationRecords
    world: World

    async def turn_state(self) -> tuple[TurnState, AnswerKind | None]:
        (turn,) = await self.conversations.recent(SESSION, 5)
        return turn.state, turn.outcome


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        await opened.library.add(CHAT, "差旅制度.pdf", [PASSAGE], page=3)
        yield opened


async def start(stack: AsyncExitStack, directory: Path, world: World, chat: Chat, below: float = 0.99) -> Bot:
    """Start the bot over the files of `directory`."""
    database = await open_database(sqlite_url(directory / "app.sqlite3"))
    stack.push_async_callback(database.close)
    conversations, records, order = ConversationRecords(database), ReviewRecords(database), SessionOrder()
    turns = Turns(conversations, order)
    await turns.restore()
    checkpoints = await stack.enter_async_context(open_checkpoints(directory))
    await checkpoints.keep_only(await turns.checkpoints())
    queue = ReviewQueue(records, turns, Notices(records, is_on=False), recheck_s=0.01)
    stack.push_async_callback(queue.close)
    queue.attach(Messenger(chat, Life()))
    answering = world.answering(with_model=False, reviewing=Reviewing(queue, checkpoints, below, shows_draft=False))
    queue.continue_with(answering.resume)
    queue.teach(Teaching(world.faq).learn)
    return Bot(answering, queue, checkpoints, conversations, world)


async def test_a_sure_answer_does_not_wait(tmp_path: Path, world: World) -> None:
    async with AsyncExitStack() as stack:
        bot = await start(stack, tmp_path, world, Chat(), below=0.01)
        answer = await bot.answering.ask(SESSION, ASKER, COLLECTION, QUESTION, place=PLACE)
        assert PASSAGE in answer.text
        assert await bot.turn_state() == (TurnState.ANSWERED, AnswerKind.EXCERPT)


@pytest.mark.parametrize("lost", [False, True])
async def test_the_asker_is_answered_after_a_restart(tmp_path: Path, world: World, *, lost: bool) -> None:
    chat = Chat()
    async with AsyncExitStack() as stack:
        bot = await start(stack, tmp_path, world, chat)
        answer = await bot.answering.ask(SESSION, ASKER, COLLECTION, QUESTION, place=PLACE)
        assert (answer.kind, answer.text) == (AnswerKind.CLARIFIED, WAITING)
        assert (await bot.turn_state())[0] == TurnState.WAITING
        # The session goes on meanwhile.
        assert (await bot.answering.ask(SESSION, ASKER, COLLECTION, QUESTION)).kind is AnswerKind.EXCERPT
    if lost:
        # As after an upgrade that renamed the node.
        (tmp_path / "checkpoints.sqlite3").unlink()
    async with AsyncExitStack() as stack:
        bot = await start(stack, tmp_path, world, chat)
        outcome = await bot.queue.decide(CHAT, 1, Approved(), ADMIN)
        assert outcome.review is not None
        assert chat.answers == [(outcome.review.id, outcome.review.request.draft)]
        first, _ = await bot.conversations.recent(SESSION, 5)
        assert (first.state, first.outcome) == (TurnState.ANSWERED, AnswerKind.REVIEWED)
        # Deciding again changes nothing.
        await bot.queue.decide(CHAT, 1, Edited("别的"), ADMIN)
        assert len(chat.answers) == 1
    async with AsyncExitStack() as stack:
        bot = await start(stack, tmp_path, world, chat)
        entry = (await bot.world.faq.entries(CHAT))[0]
        assert (entry.question, entry.origin, entry.approver.name) == (QUESTION.text, FaqOrigin.REVIEW, "小李")
        answer = await bot.answering.ask(SESSION, ASKER, COLLECTION, QUESTION, place=PLACE)
        assert "由 小李（10003） 审核" in answer.text


async def test_an_edited_and_a_rejected_answer(tmp_path: Path, world: World) -> None:
    chat = Chat()
    async with AsyncExitStack() as stack:
        bot = await start(stack, tmp_path, world, chat)
        for number, decision in enumerate((Rejected("过时了"), Edited("现在是四百元。")), start=1):
            await bot.answering.ask(SESSION, ASKER, COLLECTION, QUESTION, place=PLACE)
            await bot.queue.decide(CHAT, number, decision, ADMIN)
        assert [text for _, text in chat.answers] == [
            "管理员看过了，这个问题现在没有可靠的答案。原因：过时了",
            "现在是四百元。",
        ]
        answer = await bot.answering.ask(SESSION, ASKER, COLLECTION, QUESTION)
        assert answer.text.startswith("现在是四百元。")


async def test_finished_checkpoints_do_not_stay(tmp_path: Path, world: World) -> None:
    async with AsyncExitStack() as stack:
        bot = await start(stack, tmp_path, world, Chat(), below=0.01)
        for _ in range(60):
            await bot.answering.ask(SESSION, ASKER, COLLECTION, QUESTION, place=PLACE)
        cursor = await bot.checkpoints.saver.conn.execute("SELECT count(DISTINCT thread_id) FROM checkpoints")
        assert (await cursor.fetchone() or (99,))[0] <= 10
