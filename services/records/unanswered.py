"""The questions of a group that nothing was found for."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import exists, or_, select

from services.database import Database
from services.records.reviews import Decided
from services.records.tables import AnswerKind, ConversationRecord, ReviewRecord, TurnRecord


@dataclass(frozen=True, slots=True)
class UnansweredQuestion:
    """A question as it was asked."""

    turn_id: int
    user_id: int
    question: str
    asked_at: datetime


class UnansweredRecords:
    """Queries on questions without an answer. Every query names the group."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def latest(self, chat: str, since: datetime, limit: int) -> list[UnansweredQuestion]:
        """Return what a group asked in vain since a moment and nobody has answered by a review, newest first.

        What a conversation forgot is left out.
        """
        turn = TurnRecord
        answered = exists().where(
            ReviewRecord.turn_id == turn.id, ReviewRecord.decision.in_((Decided.APPROVED, Decided.EDITED))
        )
        forgotten = exists().where(
            ConversationRecord.session_id == turn.session_id, ConversationRecord.forgotten_turn_id >= turn.id
        )
        chosen = (
            select(turn.id, turn.user_id, turn.question, turn.asked_at)
            .where(
                # The conversations of members, in a range that an index finds: a colon follows the digits.
                or_(turn.session_id == chat, turn.session_id.between(f"{chat}_0", f"{chat}_:")),
                turn.asked_at >= since,
                turn.outcome == AnswerKind.NOTHING_FOUND,
                turn.question != "",
                ~answered,
                ~forgotten,
            )
            .order_by(turn.id.desc())
            .limit(limit)
        )
        async with self._database.reading() as session:
            return [UnansweredQuestion(*found) for found in await session.execute(chosen)]
