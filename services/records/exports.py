"""Everything that was said and rated, in pages, for an export."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from services.database import Database
from services.records.tables import DialogueRecord, FeedbackRecord, ModelCallRecord, TurnRecord


@dataclass(frozen=True, slots=True)
class ExportedTurn:
    """A turn of the log, the UUID of its dialogue, and the tokens that models wrote for it."""

    turn: TurnRecord
    dialogue: str
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class ExportedRating:
    """A rating, and the UUID of the dialogue that it belongs to."""

    rating: FeedbackRecord
    dialogue: str


class ExportRecords:
    """Queries that page through all rows in the order of their ids. A recalled question is left out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def turns(self, after: int, since: datetime, limit: int) -> Sequence[ExportedTurn]:
        """Return at most `limit` turns after the id `after` that were asked since a moment."""
        row = TurnRecord
        tokens = (
            select(func.coalesce(func.sum(ModelCallRecord.completion_tokens), 0))
            .where(ModelCallRecord.turn_id == row.id)
            .scalar_subquery()
        )
        chosen = (
            select(row, DialogueRecord.uuid, tokens)
            .join(DialogueRecord, DialogueRecord.id == row.dialogue_id)
            .where(row.id > after, row.asked_at >= since, row.question != "")
            .order_by(row.id)
            .limit(limit)
        )
        async with self._database.reading() as session:
            return [ExportedTurn(turn, uuid, count or 0) for turn, uuid, count in await session.execute(chosen)]

    async def ratings(self, after: int, since: datetime, limit: int) -> Sequence[ExportedRating]:
        """Return at most `limit` ratings after the id `after` that were given since a moment."""
        row = FeedbackRecord
        chosen = (
            select(row, DialogueRecord.uuid)
            .join(TurnRecord, TurnRecord.id == row.turn_id)
            .join(DialogueRecord, DialogueRecord.id == TurnRecord.dialogue_id)
            .where(row.id > after, row.submitted_at >= since)
            .order_by(row.id)
            .limit(limit)
        )
        async with self._database.reading() as session:
            return [ExportedRating(rating, uuid) for rating, uuid in await session.execute(chosen)]
