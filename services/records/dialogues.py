"""Dialogues: the spells of conversation of each session."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from sqlalchemy import Row, Select, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from services.database import Database
from services.records.tables import (
    DialogueRecord,
    DialogueStatus,
    FeedbackRecord,
    ModelCallRecord,
    Resolution,
    TurnRecord,
    now,
)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One spell of conversation of a session, with the number of its turns and the tokens that they used.

    `user_id` is who began it. `summary` is what was summarised of the working history meanwhile, or empty. `score` is
    the mean rating of its answers, 1 to 5, and `resolved` whether all ratings say so; both are None without any rating.
    """

    id: int
    uuid: str
    session_id: str
    user_id: int
    status: DialogueStatus
    started_at: datetime
    updated_at: datetime
    turns: int
    tokens: int
    summary: str
    score: float | None
    resolved: bool | None


class DialogueRecords:
    """Queries on dialogues."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def last(self, session_id: str) -> Dialogue | None:
        """Return the last dialogue of a session, whether or not it has ended."""
        newest = DialogueRecord.id.desc()
        chosen = _with_totals().where(DialogueRecord.session_id == session_id).order_by(newest).limit(1)
        async with self._database.reading() as session:
            found = (await session.execute(chosen)).one_or_none()
        return None if found is None else _dialogue(found)

    async def page(self, after: int, since: datetime, limit: int) -> list[Dialogue]:
        """Return at most `limit` dialogues of all sessions after the id `after` that went on since a moment."""
        chosen = (
            _with_totals()
            .where(DialogueRecord.id > after, DialogueRecord.updated_at >= since)
            .order_by(DialogueRecord.id)
            .limit(limit)
        )
        async with self._database.reading() as session:
            return [_dialogue(found) for found in await session.execute(chosen)]

    async def end(self, session_id: str) -> bool:
        """Complete the active dialogue of a session. Return False if there is none."""
        async with self._database.writing() as session:
            return await complete_dialogue(session, session_id)

    async def abandon(self, before: datetime) -> int:
        """End the active dialogues in which nothing was said since `before`, and return their number."""
        silent = (DialogueRecord.status == DialogueStatus.ACTIVE, DialogueRecord.updated_at < before)
        async with self._database.writing() as session:
            ended = await session.scalars(
                update(DialogueRecord)
                .where(*silent)
                .values(status=DialogueStatus.ABANDONED)
                .returning(DialogueRecord.id)
            )
            return len(ended.all())


async def continued_dialogue(session: AsyncSession, session_id: str, user_id: int, silence: timedelta) -> int:
    """Return the dialogue that a new turn belongs to, within the transaction that begins the turn.

    The active one is continued, unless nothing was said for longer than `silence`; then it is abandoned.
    """
    moment = now()
    active = await _active(session, session_id)
    if active is not None and moment - active.updated_at <= silence:
        active.updated_at = moment
        return active.id
    if active is not None:
        active.status = DialogueStatus.ABANDONED
    added = await session.execute(
        insert(DialogueRecord)
        .values(
            uuid=str(uuid4()),
            session_id=session_id,
            user_id=user_id,
            status=DialogueStatus.ACTIVE,
            started_at=moment,
            updated_at=moment,
        )
        .returning(DialogueRecord.id)
    )
    return added.scalar_one()


async def touch_dialogue(session: AsyncSession, dialogue_id: int | None) -> None:
    """Record that something was said in a dialogue, within the transaction that ends a turn."""
    await session.execute(
        update(DialogueRecord)
        .where(DialogueRecord.id == dialogue_id, DialogueRecord.status == DialogueStatus.ACTIVE)
        .values(updated_at=now())
    )


async def complete_dialogue(session: AsyncSession, session_id: str) -> bool:
    """Complete the active dialogue of a session, within a transaction. Return False if there is none."""
    active = await _active(session, session_id)
    if active is None:
        return False
    active.status, active.updated_at = DialogueStatus.COMPLETED, now()
    return True


async def summarise_dialogue(session: AsyncSession, session_id: str, summary: str) -> None:
    """Store a summary with the active dialogue, within the transaction that adds it to the working history."""
    active = await _active(session, session_id)
    if active is not None:
        active.summary = summary


async def forget_summaries(session: AsyncSession, session_id: str) -> None:
    """Erase the summaries of all dialogues of a session, within the transaction that clears its memory."""
    await session.execute(update(DialogueRecord).where(DialogueRecord.session_id == session_id).values(summary=None))


async def _active(session: AsyncSession, session_id: str) -> DialogueRecord | None:
    chosen = select(DialogueRecord).where(
        DialogueRecord.session_id == session_id, DialogueRecord.status == DialogueStatus.ACTIVE
    )
    return (await session.scalars(chosen.order_by(DialogueRecord.id.desc()).limit(1))).one_or_none()


def _with_totals() -> Select[DialogueRecord, int, int, float | None, int, int]:
    """Return the selection of dialogues with the numbers that are computed from their turns."""
    here = TurnRecord.dialogue_id == DialogueRecord.id
    turns = select(func.count()).where(here).scalar_subquery()
    tokens = (
        select(func.coalesce(func.sum(ModelCallRecord.prompt_tokens + ModelCallRecord.completion_tokens), 0))
        .join(TurnRecord, ModelCallRecord.turn_id == TurnRecord.id)
        .where(here)
        .scalar_subquery()
    )
    ratings = (
        select(func.count())
        .select_from(FeedbackRecord)
        .join(TurnRecord, FeedbackRecord.turn_id == TurnRecord.id)
        .where(here)
    )
    score = (
        select(func.avg(FeedbackRecord.score))
        .join(TurnRecord, FeedbackRecord.turn_id == TurnRecord.id)
        .where(here)
        .scalar_subquery()
    )
    resolved = ratings.where(FeedbackRecord.resolution == Resolution.RESOLVED).scalar_subquery()
    return select(DialogueRecord, turns, tokens, score, ratings.scalar_subquery(), resolved)


def _dialogue(found: Row[DialogueRecord, int, int, float | None, int, int]) -> Dialogue:
    row, turns, tokens, score, ratings, resolved = found
    return Dialogue(
        id=row.id,
        uuid=row.uuid,
        session_id=row.session_id,
        user_id=row.user_id,
        status=DialogueStatus(row.status),
        started_at=row.started_at,
        updated_at=row.updated_at,
        turns=turns,
        tokens=tokens,
        summary=row.summary or "",
        score=None if score is None else float(score),
        resolved=resolved == ratings if ratings else None,
    )
