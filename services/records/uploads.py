"""Files that arrived and whose outcome has not been reported: the work list of a restart."""

from sqlalchemy import delete, select

from services.database import Database
from services.records.stored_values import UploadSource
from services.records.tables import UploadRecord, now


class UploadRecords:
    """One row for each file, from its notice until its outcome has been sent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, self_id: str, group_id: int | None, user_id: int, name: str, size: int, source: UploadSource
    ) -> UploadRecord:
        """Write down that a file arrived. `source` is what is needed to fetch it again."""
        async with self._database.writing() as session:
            upload = UploadRecord(
                self_id=self_id,
                group_id=group_id,
                user_id=user_id,
                name=name,
                size=size,
                source=source,
                document_id=None,
                received_at=now(),
            )
            session.add(upload)
        return upload

    async def get(self, upload_id: int) -> UploadRecord | None:
        """Return the row of one file, or None if its outcome has been reported."""
        async with self._database.reading() as session:
            return await session.get(UploadRecord, upload_id)

    async def waiting(self, self_id: str) -> list[UploadRecord]:
        """Return the files that came through this account and are not finished, oldest first.

        Those of a pull are left out: `PullRecords.files` has them.
        """
        async with self._database.reading() as session:
            found = await session.scalars(
                select(UploadRecord)
                .where(UploadRecord.self_id == self_id, UploadRecord.pull_id.is_(None))
                .order_by(UploadRecord.id)
            )
            return list(found)

    async def finish(self, upload_id: int) -> None:
        """Delete the row of a file whose outcome has been reported."""
        async with self._database.writing() as session:
            await session.execute(delete(UploadRecord).where(UploadRecord.id == upload_id))
