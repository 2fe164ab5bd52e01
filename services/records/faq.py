"""The approved answers to questions, with all their versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, update
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
    """Queries on approved answers. Every method but `versions` reads or changes one collection only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self, collection: str) -> Sequence[StoredFaq]:
        """Return all entries by number. The result is kept until an entry of any collection changes."""
        return await self._database.kept(_TABLE, collection, lambda: self._current(collection))

    async def _current(self, collection: str) -> Sequence[StoredFaq]:
        async with self._database.reading() as session:
            return await _entries(session, collection)

    async def versions(self, last_id: int, since: datetime, limit: int) -> list[FaqRecord]:
        """Return the versions of all collections that were approved since a moment, by id, from behind `last_id` on.

        Deleted entries have none.
        """
        async with self._database.reading() as session:
            found = await session.scalars(
                select(FaqRecord)
                .where(FaqRecord.id > last_id, FaqRecord.approved_at >= since, FaqRecord.state != FaqState.DELETED)
                .order_by(FaqRecord.id)
                .limit(limit)
            )
            return list(found)

    async def write(self, collection: str, new: Sequence[NewFaq], most: int) -> list[Written] | None:
        """Write entries in one transaction. If an entry has the same normal question, it gets a new version.

        No two of the new ones may have the same normal question. Return None, and write nothing, if the collection
        would have more than `most` entries.
        """
        async with self._database.writing(_TABLE) as session:
            by_normal = {entry.normal: entry for entry in await _entries(session, collection)}
            if len(by_normal.keys() | {each.normal for each in new}) > most:
                return None
            last = await self._last_number(session, collection)
            written: list[Written] = []
            for each in new:
                before = by_normal.get(each.normal)
                last += before is None
                written.append(_next(each, last, before))
            await _store(session, collection, written)
            return written

    async def change(self, collection: str, number: int, new: NewFaq) -> Written | None:
        """Write a new version of an entry. Return None if there is no entry of this number."""
        async with self._database.writing(_TABLE) as session:
            found = await _entries(session, collection, number)
            if not found:
                return None
            written = _next(new, number, found[0])
            await _store(session, collection, [written])
            return written

    async def delete(self, collection: str, number: int) -> StoredFaq | None:
        """Delete an entry with all its versions, and return it. Its number is kept so that it is not given again."""
        async with self._database.writing(_TABLE) as session:
            found = await _entries(session, collection, number)
            if not found:
                return None
            versions = (FaqRecord.collection == collection, FaqRecord.number == number)
            await session.execute(delete(FaqRecord).where(*versions, FaqRecord.state != FaqState.CURRENT))
            await session.execute(
                update(FaqRecord)
                .where(*versions)
                .values(
                    state=FaqState.DELETED,
                    question="",
                    normal="",
                    answer="",
                    sources=None,
                    basis=None,
                    approver_name="",
                    vector=None,
                    fingerprint="",
                )
            )
            return found[0]

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


async def _entries(session: AsyncSession, collection: str, number: int | None = None) -> tuple[StoredFaq, ...]:
    """Return the entries of a collection, or the one of a number, by number."""
    chosen = select(*_COLUMNS).where(FaqRecord.collection == collection, FaqRecord.state == FaqState.CURRENT)
    if number is not None:
        chosen = chosen.where(FaqRecord.number == number)
    # Columns instead of objects: a thousand objects would stop the event loop for 50 ms.
    return tuple(_stored(row) for row in await session.execute(chosen.order_by(FaqRecord.number)))


def _stored(row: Sequence[Any]) -> StoredFaq:
    values = dict(zip(_NAMES, row, strict=True))
    sources: StoredSources | None = values["sources"]
    basis: StoredBasis | None = values["basis"]
    values |= {"sources": sources.sources if sources else (), "basis": basis.documents if basis else ()}
    return StoredFaq(**values)


def _next(new: NewFaq, number: int, before: StoredFaq | None) -> Written:
    """Return what is to be stored: the first version of an entry, or the one after `before`."""
    entry = StoredFaq(
        number=before.number if before else number,
        version=before.version + 1 if before else 1,
        question=new.question,
        normal=new.normal,
        answer=new.answer,
        sources=new.sources,
        basis=new.basis,
        origin=new.origin,
        approver_id=new.approver_id,
        approver_name=new.approver_name,
        approved_at=now(),
        # Equal questions have equal vectors.
        vector=before.vector if before else None,
        fingerprint=before.fingerprint if before else "",
    )
    return Written(entry, before)


async def _store(session: AsyncSession, collection: str, written: Sequence[Written]) -> None:
    replaced = [each.replaced.number for each in written if each.replaced]
    if replaced:
        await session.execute(
            update(FaqRecord)
            .where(
                FaqRecord.collection == collection,
                FaqRecord.state == FaqState.CURRENT,
                FaqRecord.number.in_(replaced),
            )
            .values(state=FaqState.REPLACED)
        )
    rows = [
        {name: getattr(each.entry, name) for name in _NAMES}
        | {
            "collection": collection,
            "state": FaqState.CURRENT,
            "sources": StoredSources(sources=each.entry.sources) if each.entry.sources else None,
            "basis": StoredBasis(documents=each.entry.basis) if each.entry.basis else None,
        }
        for each in written
    ]
    if rows:
        await session.execute(insert(FaqRecord), rows)


_NAMES = tuple(field.name for field in fields(StoredFaq))
_COLUMNS = [getattr(FaqRecord, name) for name in _NAMES]
