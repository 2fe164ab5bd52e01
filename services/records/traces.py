"""The stored records of requests, and the erasure of what they must not keep."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from services.database import Database
from services.records.tables import (
    ConversationRecord,
    DocumentRecord,
    DocumentState,
    TraceDocumentRecord,
    TraceRecord,
)
from services.tracing.storage import StoredTrace

# So many rows are deleted in some milliseconds, for which other writers wait.
_DELETED_AT_ONCE = 500


class TraceRecords:
    """Queries on traces. Every query that returns one names the chat that it belongs to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, traces: Sequence[StoredTrace]) -> None:
        """Store records, without the texts of those whose memory or documents were removed meanwhile."""
        async with self._database.writing() as session:
            for trace in traces:
                documents = await _documents(session, trace.build_ids)
                is_whole = len(documents) == len(trace.build_ids) and not await _is_forgotten(session, trace)
                texts = trace.texts if is_whole else None
                added = await session.execute(
                    insert(TraceRecord)
                    .values(
                        uuid=trace.uuid,
                        chat=trace.chat,
                        session_id=trace.session_id,
                        turn_id=trace.turn_id,
                        message_id=trace.message_id,
                        started_at=trace.started_at,
                        record=trace.record,
                        texts=texts,
                        size=trace.size,
                    )
                    .returning(TraceRecord.id)
                )
                trace_id = added.scalar_one()
                session.add_all(TraceDocumentRecord(trace_id=trace_id, document_id=each) for each in documents)

    async def latest(self, chat: str, limit: int, skipped: int = 0) -> list[StoredTrace]:
        """Return the latest records of one chat, newest first, without the first `skipped` ones."""
        newest = select(TraceRecord).where(TraceRecord.chat == chat).order_by(TraceRecord.id.desc())
        chosen = newest.limit(limit).offset(skipped)
        async with self._database.reading() as session:
            return [_stored(row) for row in await session.scalars(chosen)]

    async def find(self, chat: str, number: str) -> StoredTrace | None:
        """Return the newest record of one chat whose id begins with `number`, or None."""
        chosen = (
            select(TraceRecord)
            .where(TraceRecord.chat == chat, func.substr(TraceRecord.uuid, 1, len(number)) == number)
            .order_by(TraceRecord.id.desc())
            .limit(1)
        )
        async with self._database.reading() as session:
            row = await session.scalar(chosen)
            return None if row is None else _stored(row)

    async def erase_message(self, chat: str, message_id: int) -> None:
        """Erase the texts of the records of one message."""
        async with self._database.writing() as session:
            await _erase(session, TraceRecord.chat == chat, TraceRecord.message_id == message_id)

    async def prune(self, before: datetime, max_bytes: int) -> int:
        """Delete some records from before a moment, or else the oldest ones above a total size; return how many."""
        old = select(TraceRecord.id).where(TraceRecord.started_at < before)
        sizes = select(
            TraceRecord.id, func.sum(TraceRecord.size).over(order_by=TraceRecord.id.desc()).label("total")
        ).subquery()
        too_many = select(sizes.c.id).where(sizes.c.total > max_bytes)
        async with self._database.reading() as session:
            for chosen in (old, too_many):
                if found := list(await session.scalars(chosen.limit(_DELETED_AT_ONCE))):
                    break
            else:
                return 0
        async with self._database.writing() as session:
            await session.execute(delete(TraceRecord).where(TraceRecord.id.in_(found)))
        return len(found)


async def erase_session(session: AsyncSession, session_id: str) -> None:
    """Erase the texts of the records of one session, within the transaction that clears its memory."""
    await _erase(session, TraceRecord.session_id == session_id)


async def erase_documents(session: AsyncSession, document_ids: Collection[int]) -> None:
    """Erase the texts that may repeat documents, within the transaction that removes these."""
    concerned = select(TraceDocumentRecord.trace_id).where(TraceDocumentRecord.document_id.in_(document_ids))
    await _erase(session, TraceRecord.id.in_(concerned))


async def _erase(session: AsyncSession, *which: ColumnElement[bool]) -> None:
    size = func.length(TraceRecord.record)
    await session.execute(
        update(TraceRecord).where(*which, TraceRecord.texts.is_not(None)).values(texts=None, size=size)
    )


async def _documents(session: AsyncSession, build_ids: Collection[str]) -> Sequence[int]:
    """Return the visible documents of these builds."""
    if not build_ids:
        return ()
    chosen = select(DocumentRecord.id).where(
        DocumentRecord.build_id.in_(build_ids), DocumentRecord.state == DocumentState.READY
    )
    return (await session.scalars(chosen)).all()


async def _is_forgotten(session: AsyncSession, trace: StoredTrace) -> bool:
    """Return whether the memory of the session was cleared after this turn."""
    if trace.turn_id is None:
        return False
    forgotten = await session.scalar(
        select(ConversationRecord.forgotten_turn_id).where(ConversationRecord.session_id == trace.session_id)
    )
    return forgotten is not None and trace.turn_id <= forgotten


def _stored(row: TraceRecord) -> StoredTrace:
    return StoredTrace(
        uuid=row.uuid,
        chat=row.chat,
        session_id=row.session_id,
        turn_id=row.turn_id,
        message_id=row.message_id,
        started_at=row.started_at,
        record=row.record,
        texts=row.texts,
    )
