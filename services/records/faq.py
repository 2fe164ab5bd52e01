"""The approved answers to questions, with all their versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from services.database import Database
from services.records.stored_values import BasisDocument, Source, StoredBasis, StoredSources
from services.records.tables import FaqRecord, FaqState, now

# What a collection has is asked for by every question.
_TABLE = FaqRecord.__tablename__


@dataclass(frozen=True, slots=True)
class StoredFaq:
    """The current version of an entry. `approved_at` is in UTC; `vector` is as in the table."""

    number: int
    version: int
    question: str
    normal: str
    answer: str
    sources: tuple[Source, ...]
    basis: tuple[BasisDocument, ...]
    origin: str
    approver_id: int
    approver_name: str
    approved_at: datetime
    vector: bytes | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class NewFaq:
    """A version to be written. `basis` has no documents if the answer rests on none."""

    question: str
    normal: str
    answer: str
    sources: tuple[Source, ...]
    basis: tuple[BasisDocument, ...]
    origin: str
    approver_id: int
    approver_name: str


@dataclass(frozen=True, slots=True)
class Written:
    """An entry that was written, and the version that it replaced, if any."""

    entry: StoredFaq
    replaced: StoredFaq | None


class FaqRecords:
    """Queries on approved answers. Every method reads or changes one collection only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self, collection: str) -> Sequence[StoredFaq]:
        """Return all entries by number. The result is kept until an entry of any collection changes."""
        return await self._database.kept(_TABLE, collection, lambda: self._current(collection))

    async def _current(self, collection: str) -> Sequence[StoredFaq]:
        chosen = (
            select(FaqRecord)
            .where(FaqRecord.collection == collection, FaqRecord.state == FaqState.CURRENT)
            .order_by(FaqRecord.number)
        )
        async with self._database.reading() as session:
            return tuple(_stored(row) for row in await session.scalars(chosen))

    async def write(self, collection: str, new: Sequence[NewFaq], most: int) -> list[Written] | None:
        """Write entries in one transaction. If an entry has the same normal question, it gets a new version.

        Return None, and write nothing, if the collection would have more than `most` entries.
        """
        async with self._database.writing(_TABLE) as session:
            rows = await session.scalars(_currents(collection))
            by_normal = {row.normal: row for row in rows}
            if len(by_normal.keys() | {each.normal for each in new}) > most:
                return None
            last = await self._last_number(session, collection)
            written: list[Written] = []
            for each in new:
                before = by_normal.get(each.normal)
                last += before is None
                by_normal[each.normal], done = _written(session, collection, each, last, before)
                written.append(done)
            return written

    async def change(self, collection: str, number: int, new: NewFaq) -> Written | None:
        """Write a new version of an entry. Return None if there is no entry of this number."""
        async with self._database.writing(_TABLE) as session:
            before = await session.scalar(_currents(collection).where(FaqRecord.number == number))
            if before is None:
                return None
            return _written(session, collection, new, number, before)[1]

    async def delete(self, collection: str, number: int) -> StoredFaq | None:
        """Delete an entry with all its versions, and return it. Its number is kept so that it is not given again."""
        async with self._database.writing(_TABLE) as session:
            row = await session.scalar(_currents(collection).where(FaqRecord.number == number))
            if row is None:
                return None
            deleted = _stored(row)
            await session.execute(
                delete(FaqRecord).where(
                    FaqRecord.collection == collection, FaqRecord.number == number, FaqRecord.id != row.id
                )
            )
            row.state, row.question, row.normal, row.answer = FaqState.DELETED, "", "", ""
            row.sources = row.basis = row.vector = None
            row.approver_name = row.fingerprint = ""
            return deleted

    async def store_vectors(self, collection: str, vectors: Mapping[str, bytes], fingerprint: str) -> None:
        """Store the vectors of questions, by their normal forms."""
        async with self._database.writing(_TABLE) as session:
            for normal, vector in vectors.items():
                await session.execute(
                    update(FaqRecord)
                    .where(
                        FaqRecord.collection == collection,
                        FaqRecord.state == FaqState.CURRENT,
                        FaqRecord.normal == normal,
                    )
                    .values(vector=vector, fingerprint=fingerprint)
                )

    @staticmethod
    async def _last_number(session: AsyncSession, collection: str) -> int:
        highest = select(func.max(FaqRecord.number)).where(FaqRecord.collection == collection)
        return await session.scalar(highest) or 0


def _currents(collection: str) -> Select[FaqRecord]:
    return select(FaqRecord).where(FaqRecord.collection == collection, FaqRecord.state == FaqState.CURRENT)


def _written(
    session: AsyncSession, collection: str, new: NewFaq, number: int, before: FaqRecord | None
) -> tuple[FaqRecord, Written]:
    """Add a version to the session, in place of `before`, whose number it takes."""
    row = FaqRecord(
        collection=collection,
        number=before.number if before else number,
        version=before.version + 1 if before else 1,
        state=FaqState.CURRENT,
        question=new.question,
        normal=new.normal,
        answer=new.answer,
        sources=StoredSources(sources=new.sources) if new.sources else None,
        basis=StoredBasis(documents=new.basis) if new.basis else None,
        origin=new.origin,
        approver_id=new.approver_id,
        approver_name=new.approver_name,
        approved_at=now(),
        # Equal questions have equal vectors.
        vector=before.vector if before else None,
        fingerprint=before.fingerprint if before else "",
    )
    replaced = _stored(before) if before else None
    if before is not None:
        before.state = FaqState.REPLACED
    session.add(row)
    return row, Written(_stored(row), replaced)


def _stored(row: FaqRecord) -> StoredFaq:
    return StoredFaq(
        number=row.number,
        version=row.version,
        question=row.question,
        normal=row.normal,
        answer=row.answer,
        sources=row.sources.sources if row.sources else (),
        basis=row.basis.documents if row.basis else (),
        origin=row.origin,
        approver_id=row.approver_id,
        approver_name=row.approver_name,
        approved_at=row.approved_at,
        vector=row.vector,
        fingerprint=row.fingerprint,
    )
