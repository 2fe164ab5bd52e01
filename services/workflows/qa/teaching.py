"""What becomes of an answer that a person approved: the group's own answer to that question."""

import logging

from services.faq.answers import without_approval
from services.faq.models import Approver, FaqOrigin, Refused
from services.faq.service import FaqService
from services.records.reviews import Review, ReviewReason
from services.reviews.answers import reviewed_answer
from services.workflows.qa.rewriting import points_back

log = logging.getLogger(__name__)

_ORIGINS = {
    ReviewReason.CORRECTION: FaqOrigin.CORRECTION,
    ReviewReason.SUGGESTED: FaqOrigin.SUGGESTION,
}


class Teaching:
    """Keeps what was approved, so that the same question is not asked of the admins again."""

    def __init__(self, faq: FaqService) -> None:
        self._faq = faq

    async def learn(self, review: Review) -> None:
        """Write the approved answer of a review as an entry, unless the question says too little or is too long."""
        request = review.request
        # 那周五呢 asks something else each time, and nobody will write a picture or a quoted message again.
        if points_back(request.question) or "\n" in request.question:
            return
        # An admin of one group does not decide what the bot says in others that share the files.
        if request.collection != request.chat:
            return
        answer = reviewed_answer(review)
        written = await self._faq.add(
            request.collection,
            request.question,
            without_approval(answer.text),
            Approver(review.decided_by or 0, review.decided_by_name),
            _ORIGINS.get(request.reason, FaqOrigin.REVIEW),
            answer.sources,
        )
        if isinstance(written, Refused):
            log.info("review %s of %s taught nothing: %s", review.number, request.chat, written.reason)
