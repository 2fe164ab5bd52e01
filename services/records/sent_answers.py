"""Which messages in QQ are the answers of which turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select

from services.database import Database
from services.records.tables import SentAnswerRecord, TurnRecord, now

# Nobody replies to an older answer.
KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """A message that is the answer of a turn, or a part of it. `chat` is `Session.chat`."""

    self_id: str
    chat: str
    message_id: int
    turn_id: int
    sent_at: datetime


class SentAnswerRecords:
    """Queries on sent answers. Every query names the chat."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, self_id: str, chat: str, message_ids: Sequence[int], turn_id: int) -> None:
        """Write down the messages that the answer of a turn was sent as.

        A message id that the client uses again names the new message. Rows of any chat that are older than `KEPT` are
        deleted.
        """
        moment = now()
        async with self._database.writing() as session:
            await session.execute(delete(SentAnswerRecord).where(SentAnswerRecord.sent_at < moment - KEPT))
            for message_id in message_ids:
                await session.merge(
                    SentAnswerRecord(self_id=self_id, chat=chat, message_id=message_id, turn_id=turn_id, sent_at=moment)
                )

    async def find(self, self_id: str, chat: str, message_id: int) -> SentAnswer | None:
        """Return the sent answer that a message of `chat` is, or None if it is none."""
        async with self._database.reading() as session:
            row = await session.get(SentAnswerRecord, (self_id, chat, message_id))
        return None if row is None else _sent(row)

    async def last_to(self, session_id: str, user_id: int) -> SentAnswer | None:
        """Return the last message that answered a question of this member in this session."""
        chosen = (
            select(SentAnswerRecord)
            .join(TurnRecord, SentAnswerRecord.turn_id == TurnRecord.id)
            .where(TurnRecord.session_id == session_id, TurnRecord.user_id == user_id)
            .order_by(SentAnswerRecord.turn_id.desc(), SentAnswerRecord.sent_at.desc())
            .limit(1)
        )
        async with self._database.reading() as session:
            row = (await session.scalars(chosen)).one_or_none()
        return None if row is None else _sent(row)

    async def of_turn(self, turn_id: int) -> SentAnswer | None:
        """Return the first message that the answer of a turn was sent as."""
        chosen = select(SentAnswerRecord).where(SentAnswerRecord.turn_id == turn_id)
        async with self._database.reading() as session:
            row = await session.scalar(chosen.order_by(SentAnswerRecord.sent_at).limit(1))
        return None if row is None else _sent(row)


def _sent(row: SentAnswerRecord) -> SentAnswer:
    return SentAnswer(row.self_id, row.chat, row.message_id, row.turn_id, row.sent_at)
