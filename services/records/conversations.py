"""The log of turns, the working history, and the state of each session."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from services.database import Database
from services.records.citations import add_citations
from services.records.dialogues import (
    complete_dialogue,
    continued_dialogue,
    forget_summaries,
    summarise_dialogue,
    touch_dialogue,
)
from services.records.stored_values import (
    RetrievedPassage,
    Source,
    StoredMessage,
    StoredPassages,
    StoredSources,
    StoredToolCalls,
)
from services.records.tables import (
    AnswerKind,
    ContentType,
    ConversationRecord,
    HistoryRecord,
    TurnRecord,
    TurnState,
    now,
)
from services.records.traces import erase_session


@dataclass(frozen=True, slots=True)
class ConversationTotals:
    """Counts of one session: turns in the log that it remembers, failed ones among them, messages in the history."""

    turns: int
    failed: int
    history: int


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A message of the working history in its place. Its id is never reused."""

    id: int
    position: int
    message: StoredMessage


@dataclass(frozen=True, slots=True)
class AnswerDetails:
    """What is known about a question and its answer beside their texts.

    `outcome` is None until it is decided. `category` and `sub_category` are names of at most 32 characters, or empty.
    `confidence` is 0 to 1. `retrieved` are the passages that were approved, best first.
    """

    outcome: AnswerKind | None = None
    category: str = ""
    sub_category: str = ""
    confidence: float | None = None
    retrieved: tuple[RetrievedPassage, ...] = ()
    tool_calls: tuple[str, ...] = ()
    content_type: ContentType = ContentType.TEXT


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a session wants of its answers: code or none, and at most so many passages, None for the setting."""

    include_code: bool = True
    max_results: int | None = None


UNKNOWN_DETAILS = AnswerDetails()
_SILENCE = timedelta(hours=2)


class ConversationRecords:
    """Queries on conversations. A turn's texts are written once and never edited.

    A dialogue ends when nothing was said for longer than `silence`.
    """

    def __init__(self, database: Database, silence: timedelta = _SILENCE) -> None:
        self._database = database
        self._silence = silence

    async def begin(self, session_id: str, user_id: int, question: str) -> int:
        """Write down a question before it is answered, and return the id of the turn.

        It belongs to the present dialogue of the session, or begins a new one.
        """
        async with self._database.writing() as session:
            dialogue_id = await continued_dialogue(session, session_id, user_id, self._silence)
            added = await session.execute(
                insert(TurnRecord)
                .values(
                    dialogue_id=dialogue_id,
                    session_id=session_id,
                    user_id=user_id,
                    question=question,
                    answer="",
                    state=TurnState.PENDING,
                    asked_at=now(),
                )
                .returning(TurnRecord.id)
            )
            return added.scalar_one()

    async def complete(
        self,
        turn_id: int,
        answer: str,
        messages: Sequence[StoredMessage],
        sources: Sequence[Source] = (),
        details: AnswerDetails = UNKNOWN_DETAILS,
        *,
        is_farewell: bool = False,
    ) -> None:
        """Write down the answer and append the turn's messages to the working history, in one transaction.

        The history of a session that was cleared after the question was asked stays empty. A farewell completes its
        dialogue, unless it is the first thing that was said in it: 👋 is also a greeting.
        """
        async with self._database.writing() as session:
            ended = await session.execute(
                update(TurnRecord)
                .where(TurnRecord.id == turn_id)
                .values(
                    answer=answer,
                    state=TurnState.ANSWERED,
                    ended_at=now(),
                    sources=_stored(sources),
                    **_columns(details),
                )
                .returning(TurnRecord.session_id, TurnRecord.dialogue_id)
            )
            session_id, dialogue_id = ended.one()
            await add_citations(session, turn_id, sources)
            await touch_dialogue(session, dialogue_id)
            if is_farewell:
                here = TurnRecord.dialogue_id == dialogue_id
                if await session.scalar(select(func.min(TurnRecord.id)).where(here)) != turn_id:
                    await complete_dialogue(session, session_id)
            if turn_id <= (await session.scalar(select(_forgotten(session_id))) or 0):
                return
            last = select(func.max(HistoryRecord.position)).where(HistoryRecord.session_id == session_id)
            for message in messages:
                await session.execute(
                    insert(HistoryRecord).values(
                        session_id=session_id,
                        position=func.coalesce(last.scalar_subquery(), -1) + 1,
                        message=message,
                    )
                )

    async def wait(
        self, turn_id: int, workflow: str, checkpoint_id: str, details: AnswerDetails = UNKNOWN_DETAILS
    ) -> None:
        """Mark a turn as waiting for a person, at a checkpoint of a workflow."""
        async with self._database.writing() as session:
            await session.execute(
                update(TurnRecord)
                .where(TurnRecord.id == turn_id)
                .values(state=TurnState.WAITING, workflow=workflow, checkpoint_id=checkpoint_id, **_columns(details))
            )

    async def turn(self, turn_id: int) -> TurnRecord | None:
        """Return a turn of the log."""
        async with self._database.reading() as session:
            return await session.get(TurnRecord, turn_id)

    async def claim(self, turn_id: int) -> TurnRecord | None:
        """Take a waiting turn in order to continue it. Return None if it does not wait, also for the second caller."""
        async with self._database.writing() as session:
            found = await session.scalars(
                update(TurnRecord)
                .where(TurnRecord.id == turn_id, TurnRecord.state == TurnState.WAITING)
                .values(state=TurnState.PENDING)
                .returning(TurnRecord)
            )
            return found.one_or_none()

    async def wait_again(self, turn_id: int) -> None:
        """Let a claimed turn wait again at its last checkpoint."""
        async with self._database.writing() as session:
            await session.execute(
                update(TurnRecord)
                .where(TurnRecord.id == turn_id, TurnRecord.state == TurnState.PENDING)
                .values(state=TurnState.WAITING)
            )

    async def waiting(self, session_id: str) -> list[TurnRecord]:
        """Return the waiting turns of a session, oldest first."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(TurnRecord)
                .where(TurnRecord.session_id == session_id, TurnRecord.state == TurnState.WAITING)
                .order_by(TurnRecord.id)
            )
            return list(found)

    async def checkpoints(self) -> list[str]:
        """Return the checkpoints of all waiting turns."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(TurnRecord.checkpoint_id).where(
                    TurnRecord.state == TurnState.WAITING, TurnRecord.checkpoint_id.is_not(None)
                )
            )
            return [checkpoint_id for checkpoint_id in found if checkpoint_id is not None]

    async def fail(
        self, turn_id: int, sources: Sequence[Source] = (), details: AnswerDetails = UNKNOWN_DETAILS
    ) -> None:
        """Mark a question as failed in the log; it never was in the working history.

        `sources` are those of the excerpt that was shown instead of an answer.
        """
        async with self._database.writing() as session:
            await session.execute(
                update(TurnRecord)
                .where(TurnRecord.id == turn_id, TurnRecord.state == TurnState.PENDING)
                .values(state=TurnState.FAILED, ended_at=now(), sources=_stored(sources), **_columns(details))
            )

    async def withdraw(self, session_id: str, user_id: int, question: str) -> None:
        """Erase the text of a member's last question if it was not answered; the turn itself still counts."""
        mine = (TurnRecord.session_id == session_id, TurnRecord.user_id == user_id, TurnRecord.question == question)
        last = select(func.max(TurnRecord.id)).where(*mine).scalar_subquery()
        async with self._database.writing() as session:
            await session.execute(
                update(TurnRecord)
                .where(TurnRecord.id == last, TurnRecord.state != TurnState.ANSWERED)
                .values(question="", state=TurnState.FAILED, ended_at=now())
            )

    async def end_interrupted(self) -> int:
        """Mark the turns that a killed process left open as failed, and return their number.

        Those that had waited for a person before wait again instead.
        """
        is_open = TurnRecord.state == TurnState.PENDING
        async with self._database.writing() as session:
            await session.execute(
                update(TurnRecord).where(is_open, TurnRecord.checkpoint_id.is_not(None)).values(state=TurnState.WAITING)
            )
            ended = await session.scalars(
                update(TurnRecord)
                .where(is_open)
                .values(state=TurnState.FAILED, ended_at=now())
                .returning(TurnRecord.id)
            )
            return len(ended.all())

    async def history(self, session_id: str) -> list[HistoryEntry]:
        """Return the working history, oldest first, without messages that are damaged."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(HistoryRecord).where(HistoryRecord.session_id == session_id).order_by(HistoryRecord.position)
            )
            return [HistoryEntry(row.id, row.position, row.message) for row in found if row.message is not None]

    async def standing(self, session_id: str) -> tuple[int, int]:
        """Return the number of messages in the working history, and of those added after the last summary."""
        entries = await self.history(session_id)
        last_summary = max((entry.id for entry in entries if entry.message.type == "system"), default=0)
        return len(entries), sum(entry.id > last_summary for entry in entries)

    async def longer_than(self, messages: int) -> list[str]:
        """Return the sessions whose working history has more than `messages` messages."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(HistoryRecord.session_id).group_by(HistoryRecord.session_id).having(func.count() > messages)
            )
            return list(found)

    async def replace(self, session_id: str, replaced: Sequence[HistoryEntry], summary: StoredMessage) -> bool:
        """Put one summary in the place of `replaced`.

        Return False, and change nothing, if any of the replaced messages no longer exists.
        """
        async with self._database.writing() as session:
            ids = [record.id for record in replaced]
            present = await session.scalar(
                select(func.count()).select_from(HistoryRecord).where(HistoryRecord.id.in_(ids))
            )
            if present != len(ids):
                return False
            await session.execute(delete(HistoryRecord).where(HistoryRecord.id.in_(ids)))
            session.add(HistoryRecord(session_id=session_id, position=replaced[0].position, message=summary))
            await summarise_dialogue(session, session_id, summary.text)
            return True

    async def forget(self, session_id: str) -> int:
        """Empty the working history, hide the turns logged so far, and return the number of messages removed."""
        async with self._database.writing() as session:
            conversation = await _conversation(session, session_id)
            last = await session.scalar(select(func.max(TurnRecord.id)).where(TurnRecord.session_id == session_id))
            conversation.forgotten_turn_id = last or 0
            gone = await session.execute(
                select(func.count()).select_from(HistoryRecord).where(HistoryRecord.session_id == session_id)
            )
            await session.execute(delete(HistoryRecord).where(HistoryRecord.session_id == session_id))
            await erase_session(session, session_id)
            await forget_summaries(session, session_id)
            return gone.scalar_one()

    async def recent(self, session_id: str, limit: int) -> list[TurnRecord]:
        """Return the last turns of the log that are not forgotten, oldest first."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(TurnRecord)
                .where(
                    TurnRecord.session_id == session_id,
                    TurnRecord.id > _forgotten(session_id),
                    # Recalled before it was answered.
                    TurnRecord.question != "",
                )
                .order_by(TurnRecord.id.desc())
                .limit(limit)
            )
            return list(found)[::-1]

    async def sources(self, session_id: str) -> list[Source]:
        """Return the sources of the last reply that cited any, unless it is forgotten."""
        async with self._database.reading() as session:
            found = await session.scalar(
                select(TurnRecord.sources)
                .where(
                    TurnRecord.session_id == session_id,
                    TurnRecord.id > _forgotten(session_id),
                    TurnRecord.sources.is_not(None),
                )
                .order_by(TurnRecord.id.desc())
                .limit(1)
            )
            return list(found.sources) if found is not None else []

    async def totals(self, session_id: str) -> ConversationTotals:
        """Return the counts, leaving out what is forgotten."""
        async with self._database.reading() as session:
            turns, failed = (
                await session.execute(
                    select(func.count(), func.count().filter(TurnRecord.state == TurnState.FAILED)).where(
                        TurnRecord.session_id == session_id, TurnRecord.id > _forgotten(session_id)
                    )
                )
            ).one()
        history, _ = await self.standing(session_id)
        return ConversationTotals(turns, failed, history)

    async def knowledge_group(self, session_id: str) -> int | None:
        """Return the group whose files a private chat asks, or None for its own files."""
        async with self._database.reading() as session:
            return await session.scalar(
                select(ConversationRecord.knowledge_group_id).where(ConversationRecord.session_id == session_id)
            )

    async def use_knowledge_group(self, session_id: str, group_id: int | None) -> None:
        """Set the group whose files a private chat asks."""
        async with self._database.writing() as session:
            (await _conversation(session, session_id)).knowledge_group_id = group_id

    async def preferences(self, session_id: str) -> Preferences:
        """Return the preferences of a session."""
        async with self._database.reading() as session:
            row = await session.get(ConversationRecord, session_id)
        return Preferences() if row is None else Preferences(row.include_code, row.max_results)

    async def set_preferences(self, session_id: str, preferences: Preferences) -> None:
        """Store the preferences of a session. `max_results` is 1 to 10, or None."""
        async with self._database.writing() as session:
            row = await _conversation(session, session_id)
            row.include_code, row.max_results = preferences.include_code, preferences.max_results


def details_of(row: TurnRecord) -> AnswerDetails:
    """Return the details that a turn of the log has."""
    return AnswerDetails(
        outcome=AnswerKind(row.outcome) if row.outcome else None,
        category=row.category,
        sub_category=row.sub_category,
        confidence=row.confidence,
        retrieved=row.retrieved.passages if row.retrieved else (),
        tool_calls=row.tool_calls.names if row.tool_calls else (),
        content_type=ContentType(row.content_type),
    )


def _columns(details: AnswerDetails) -> dict[str, Any]:
    return {
        "outcome": details.outcome,
        "category": details.category,
        "sub_category": details.sub_category,
        "confidence": details.confidence,
        "retrieved": StoredPassages(passages=details.retrieved) if details.retrieved else None,
        "tool_calls": StoredToolCalls(names=details.tool_calls) if details.tool_calls else None,
        "content_type": details.content_type,
    }


def _stored(sources: Sequence[Source]) -> StoredSources | None:
    return StoredSources(sources=tuple(sources)) if sources else None


def _forgotten(session_id: str) -> Any:
    return func.coalesce(
        select(ConversationRecord.forgotten_turn_id)
        .where(ConversationRecord.session_id == session_id)
        .scalar_subquery(),
        0,
    )


async def _conversation(session: AsyncSession, session_id: str) -> ConversationRecord:
    conversation = await session.get(ConversationRecord, session_id)
    if conversation is None:
        conversation = ConversationRecord(
            session_id=session_id,
            forgotten_turn_id=0,
            knowledge_group_id=None,
            include_code=True,
            max_results=None,
        )
        session.add(conversation)
        await session.flush()
    return conversation
