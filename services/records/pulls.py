"""The pulls: files of a group that are taken in together, and their outcomes until they are reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select, update

from services.database import Database
from services.records.stored_values import UploadSource
from services.records.tables import PullRecord, UploadRecord, now


@dataclass(frozen=True, slots=True)
class PulledFile:
    """A file to take in. `size` is in bytes, and `uploaded_at` is when its uploader put it into the group."""

    name: str
    size: int
    uploader_id: int
    uploaded_at: datetime
    source: UploadSource


class PullRecords:
    """One row for each pull, and one upload for each of its files, until the pull is reported."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, self_id: str, group_id: int, files: Sequence[PulledFile], present: int) -> PullRecord | None:
        """Write down a pull with its files, in their order. Return None if the group already has a pull."""
        async with self._database.writing() as session:
            if await session.scalar(select(PullRecord.id).where(PullRecord.group_id == group_id)) is not None:
                return None
            pull = PullRecord(self_id=self_id, group_id=group_id, present=present, stopped=False, started_at=now())
            session.add(pull)
            await session.flush()
            for file in files:
                session.add(
                    UploadRecord(
                        self_id=self_id,
                        group_id=group_id,
                        user_id=file.uploader_id,
                        name=file.name,
                        size=file.size,
                        source=file.source,
                        document_id=None,
                        received_at=file.uploaded_at,
                        pull_id=pull.id,
                        outcome=None,
                        reason="",
                    )
                )
                # The order of the ids is the order in which versions of one name are taken in.
                await session.flush()
        return pull

    async def of_group(self, group_id: int) -> PullRecord | None:
        """Return the pull of a group, or None if it has none."""
        async with self._database.reading() as session:
            return await session.scalar(select(PullRecord).where(PullRecord.group_id == group_id))

    async def of_account(self, self_id: str) -> list[PullRecord]:
        """Return the pulls that go through an account, oldest first."""
        async with self._database.reading() as session:
            found = select(PullRecord).where(PullRecord.self_id == self_id).order_by(PullRecord.id)
            return list(await session.scalars(found))

    async def get(self, pull_id: int) -> PullRecord | None:
        """Return a pull, or None if it has been reported."""
        async with self._database.reading() as session:
            return await session.get(PullRecord, pull_id)

    async def files(self, pull_id: int) -> list[UploadRecord]:
        """Return the files of a pull, those with an outcome included, in their order."""
        async with self._database.reading() as session:
            found = select(UploadRecord).where(UploadRecord.pull_id == pull_id).order_by(UploadRecord.id)
            return list(await session.scalars(found))

    async def file(self, upload_id: int) -> UploadRecord | None:
        """Return one file, or None if its pull has been reported."""
        async with self._database.reading() as session:
            return await session.get(UploadRecord, upload_id)

    async def set_outcome(self, upload_id: int, outcome: str, reason: str) -> None:
        """Record the outcome of one file."""
        async with self._database.writing() as session:
            await session.execute(
                update(UploadRecord).where(UploadRecord.id == upload_id).values(outcome=outcome, reason=reason)
            )

    async def stop(self, pull_id: int) -> None:
        """Record that no more files of a pull are to be taken in."""
        async with self._database.writing() as session:
            await session.execute(update(PullRecord).where(PullRecord.id == pull_id).values(stopped=True))

    async def hand_over(self, pull_id: int, self_id: str) -> None:
        """Let another account of the bot continue a pull."""
        async with self._database.writing() as session:
            await session.execute(update(PullRecord).where(PullRecord.id == pull_id).values(self_id=self_id))
            await session.execute(update(UploadRecord).where(UploadRecord.pull_id == pull_id).values(self_id=self_id))

    async def finish(self, pull_id: int) -> None:
        """Delete a pull that has been reported, with its files."""
        async with self._database.writing() as session:
            await session.execute(delete(UploadRecord).where(UploadRecord.pull_id == pull_id))
            await session.execute(delete(PullRecord).where(PullRecord.id == pull_id))
