"""A chat program and a process around the real queue and the real records, both of which can die at any await."""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncSession

from services.database import Database
from services.grounding.models import Answer, AnswerKind
from services.memory.order import SessionOrder
from services.memory.turns import Turn, Turns
from services.records.conversations import ConversationRecords
from services.records.reviews import Notice, Review, ReviewReason, ReviewRecords, ReviewRequest
from services.reviews.models import Missing, Sending, SendStatus
from services.reviews.notices import Notices
from services.reviews.queue import ReviewQueue

SELF_ID, GROUP, ASKER = "3889000001", 777, 10002
CHAT, SESSION = f"group_{GROUP}", f"group_{GROUP}_{ASKER}"


class Killed(BaseException):
    """The process is dead. Nothing catches it, and every further await raises it again."""


class Life:
    """One run of the process, which dies at its `steps`-th await point, or never."""

    def __init__(self, steps: int | None = None) -> None:
        self.left = steps

    async def step(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                raise Killed
        await asyncio.sleep(0)


class MortalDatabase(Database):
    """A database as one run of the process has it: a kill before the commit loses the transaction."""

    def __init__(self, real: Database, life: Life) -> None:
        self._real = real
        self._life = life

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncSession]:
        await self._life.step()
        async with self._real.reading() as session:
            yield session
        await self._life.step()

    @asynccontextmanager
    async def writing(self, table: str = "") -> AsyncGenerator[AsyncSession]:
        await self._life.step()
        async with self._real.writing(table) as session:
            yield session
            await self._life.step()
        await self._life.step()


@dataclass
class Chat:
    """QQ: what arrived in the group stays there, whatever becomes of the process."""

    answers: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    has_history: bool = True
    is_connected: bool = True
    confirms: bool = True


@dataclass
class Messenger:
    """The connection of one run of the process to QQ."""

    chat: Chat
    life: Life
    announced: list[list[int]] = field(default_factory=list[list[int]])

    def is_connected(self, account: str) -> bool:
        return account == SELF_ID and self.chat.is_connected

    async def answer(self, review: Review, answer: Answer) -> Sending:
        await self.life.step()
        if not self.chat.is_connected:
            return Sending(SendStatus.AWAY)
        self.chat.answers.append((review.id, answer.text))
        message_id = len(self.chat.answers)
        await self.life.step()
        return Sending(SendStatus.SENT, message_id) if self.chat.confirms else Sending(SendStatus.UNCONFIRMED)

    async def find(self, review: Review) -> int | Missing:
        await self.life.step()
        if not self.chat.has_history:
            return Missing.UNKNOWN
        found = [place for place, (review_id, _) in enumerate(self.chat.answers, 1) if review_id == review.id]
        return found[0] if found else Missing.ABSENT

    async def announce(self, reviews: Sequence[Review]) -> Sequence[Notice] | None:
        await self.life.step()
        if not self.chat.is_connected:
            return None
        self.announced.append([review.number for review in reviews])
        return [Notice(100 + len(self.announced))]


@dataclass
class Process:
    """What one run of the process is made of."""

    queue: ReviewQueue
    records: ReviewRecords
    turns: Turns
    messenger: Messenger


def started(database: Database, chat: Chat, life: Life | None = None, *, first_s: float = 60.0) -> Process:
    """Return the queue as after a start of the bot. Notices come after `first_s`."""
    life = life or Life()
    mortal = MortalDatabase(database, life)
    records = ReviewRecords(mortal)
    turns = Turns(ConversationRecords(mortal), SessionOrder())
    messenger = Messenger(chat, life)
    queue = ReviewQueue(records, turns, Notices(records, is_on=True, first_s=first_s, together_s=1.0), recheck_s=0.01)
    queue.attach(messenger)
    return Process(queue, records, turns, messenger)


async def waiting_review(process: Process, question: str = "能退款吗", draft: str = "七天内可以退。") -> Review:
    """Let a turn wait for the review of its draft."""
    async with process.turns.begin(SESSION, ASKER, question) as turn:
        review = await process.queue.open(request(question, draft, turn_id=turn.id))
        await turn.wait("qa", f"thread-{turn.id}")
    return review


def request(
    question: str = "能退款吗",
    draft: str = "七天内可以退。",
    *,
    turn_id: int | None = None,
    group_id: int = GROUP,
    reason: ReviewReason = ReviewReason.LOW_CONFIDENCE,
) -> ReviewRequest:
    return ReviewRequest(
        chat=f"group_{group_id}",
        collection=f"group_{group_id}",
        self_id=SELF_ID,
        group_id=group_id,
        session_id=f"group_{group_id}_{ASKER}",
        asker_id=ASKER,
        question=question,
        draft=draft,
        reason=reason,
        question_id=5,
        turn_id=turn_id,
    )


class Graph:
    """A workflow with a checkpoint. An upgrade may rename its nodes, which loses the state silently or loudly."""

    def __init__(self, chance: random.Random, life: Life) -> None:
        self._chance = chance
        self._life = life

    async def resume(self, review: Review, turn: Turn) -> Answer | None:
        await self._life.step()
        fate = self._chance.choice(("works", "renamed", "lost"))
        if fate == "renamed":
            raise KeyError("review")
        return Answer(AnswerKind.WRITTEN, f"{review.answer}（排好版）") if fate == "works" else None
