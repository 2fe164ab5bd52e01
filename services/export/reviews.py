"""The section of an export that tells what people decided."""

from collections.abc import AsyncIterator
from datetime import datetime

from services.export.models import ExportedReview, ExportedRow
from services.records.reviews import ReviewRecords
from services.records.tables import ReviewState

# Few enough rows that turning them into text does not stop the event loop.
_PAGE = 100


class ReviewExport:
    """The reviews of all groups, without those of recalled questions."""

    def __init__(self, records: ReviewRecords) -> None:
        self._records = records

    async def reviews(self, since: datetime) -> AsyncIterator[ExportedRow]:
        """Yield the reviews that were opened since a moment."""
        last = 0
        while page := await self._records.page(last, since, _PAGE):
            last = page[-1].id
            for review in page:
                request = review.request
                if review.state is ReviewState.WITHDRAWN:
                    continue
                yield ExportedReview(
                    group_id=str(request.group_id),
                    number=review.number,
                    user_id=str(request.asker_id),
                    question=request.question,
                    draft=request.draft,
                    reason=request.reason,
                    confidence_score=request.confidence,
                    state=review.state,
                    decision=review.decision,
                    answer=review.answer,
                    decided_by=None if review.decided_by is None else str(review.decided_by),
                    opened_at=review.opened_at,
                    decided_at=review.decided_at,
                )
