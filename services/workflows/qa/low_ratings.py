"""What becomes of an answer that a member found bad: the admins of the group look at it."""

from services.feedback.service import LowRating
from services.memory.dialogues import SentAnswers
from services.records.reviews import ReviewReason
from services.reviews.sent import SentReviews
from services.session import Session, group_of


class LowRatings:
    """Puts badly rated answers into the queue of their group. In a private chat there is nobody to ask."""

    def __init__(self, sent_answers: SentAnswers, reviews: SentReviews) -> None:
        self._sent_answers = sent_answers
        self._reviews = reviews

    async def follow(self, low: LowRating) -> None:
        """Open a review of a badly rated answer, unless it has one or the queue is full. Raise `RecordsError`."""
        sent = await self._sent_answers.of_turn(low.turn_id)
        group_id = None if sent is None else group_of(sent.chat)
        if sent is None or group_id is None:
            return
        await self._reviews.ask(
            low.turn_id,
            Session(group_id, low.user_id),
            ReviewReason.LOW_RATING,
            self_id=sent.self_id,
            answer_id=sent.message_id,
            note=low.rating.comment,
        )
