"""The section of an export that holds the approved answers."""

from collections.abc import AsyncIterator
from datetime import datetime

from services.export.models import ExportedFaq, ExportedRow
from services.records.faq import FaqRecords
from services.records.tables import FaqState

# Few enough rows that turning them into text does not stop the event loop.
_PAGE = 100


class FaqExport:
    """The approved answers of all knowledge bases, with their earlier versions."""

    def __init__(self, records: FaqRecords) -> None:
        self._records = records

    async def entries(self, since: datetime) -> AsyncIterator[ExportedRow]:
        """Yield the versions that were approved since a moment."""
        last = 0
        while page := await self._records.versions(last, since, _PAGE):
            last = page[-1].id
            for row in page:
                yield ExportedFaq(
                    collection=row.collection,
                    number=row.number,
                    version=row.version,
                    question=row.question,
                    answer=row.answer,
                    references=tuple(source.place for source in row.sources.sources) if row.sources else (),
                    origin=row.origin,
                    approved_by=str(row.approver_id),
                    approved_at=row.approved_at,
                    is_current=row.state == FaqState.CURRENT,
                )
