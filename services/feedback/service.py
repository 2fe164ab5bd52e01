"""Rate answers: once for each member and answer, changeable, with consequences for the gate and the review queue."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from services.errors import RecordsError, ServiceError
from services.feedback.replay import SOURCE, gate_opinions
from services.records.feedback import FeedbackRecords, Rating
from services.records.groups import GateFeedbackRecords
from services.records.tables import FeedbackSource

log = logging.getLogger(__name__)

LOW_SCORE = 2


@dataclass(frozen=True, slots=True)
class LowRating:
    """A rating of 1 or 2 that a member gave to the answer of a turn."""

    turn_id: int
    user_id: int
    rating: Rating


LowRatingListener = Callable[[LowRating], Awaitable[None]]


class FeedbackService:
    """The ratings of all answers.

    `threshold` is the lowest score of a passage that answers, before any opinion. `on_low_rating` is called once when a
    rating becomes low; whatever it raises as a `ServiceError` is only logged, because the rating is already stored.
    """

    def __init__(
        self,
        records: FeedbackRecords,
        gate: GateFeedbackRecords,
        threshold: float,
        on_low_rating: LowRatingListener | None = None,
    ) -> None:
        self._records = records
        self._gate = gate
        self._threshold = threshold
        self._on_low_rating = on_low_rating

    async def rate(self, turn_id: int, user_id: int, rating: Rating) -> Rating | None:
        """Store the rating of a member in place of their earlier one, and return that, if any.

        The caller has verified that the member belongs to the chat of the turn. Raise `RecordsError`.
        """
        stored = await self._records.put(turn_id, user_id, rating)
        if stored is None:
            return None
        was_low = stored.previous is not None and stored.previous.score <= LOW_SCORE
        if rating.score <= LOW_SCORE and not was_low and self._on_low_rating is not None:
            try:
                await self._on_low_rating(LowRating(turn_id, user_id, rating))
            except ServiceError:
                log.exception("the low rating of turn %s had no consequence", turn_id)
        await self._move_gate(stored.collection)
        return stored.previous

    async def rating(self, turn_id: int, user_id: int) -> Rating | None:
        """Return the rating of a member, or None."""
        return await self._records.find(turn_id, user_id)

    async def withdraw(self, turn_id: int, user_id: int, source: FeedbackSource | None = None) -> bool:
        """Delete the rating of a member, if it was given by `source`; None means any way. Return whether it existed."""
        collection = await self._records.withdraw(turn_id, user_id, source)
        if collection is None:
            return False
        await self._move_gate(collection)
        return True

    async def _move_gate(self, collection: str) -> None:
        if not collection:
            return
        try:
            ratings = await self._records.rated_passages(collection)
            known = await self._gate.all(collection)
            others = [item for item in known if item.source != SOURCE]
            # The replay computes up to ten calibrations.
            opinions = await asyncio.to_thread(gate_opinions, self._threshold, others, ratings)
            if opinions or len(others) < len(known):
                await self._gate.replace(collection, SOURCE, opinions)
        except RecordsError:
            log.exception("the gate of %s could not follow its ratings", collection)
