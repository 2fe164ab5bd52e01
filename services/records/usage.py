"""Usage: questions, unasked answers, and every call of the model."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, select

from services.database import Database
from services.records.tables import ModelCallRecord, TurnRecord, UnaskedAnswerRecord


@dataclass(frozen=True, slots=True)
class ModelCallEntry:
    """One call of a model: who pays (`Session.chat`), its turn and its tokens.

    `estimated` means that the service did not report the number of tokens.
    """

    chat: str
    turn_id: int | None
    model: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    called_at: datetime


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The calls and tokens of one group or private chat."""

    chat: str
    calls: int
    tokens: int


class UsageRecords:
    """Queries on the usage of groups and their members."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_model_call(self, entry: ModelCallEntry) -> None:
        """Write down one call."""
        async with self._database.writing() as session:
            await session.execute(
                insert(ModelCallRecord).values(
                    chat=entry.chat,
                    turn_id=entry.turn_id,
                    model=entry.model,
                    prompt_tokens=entry.prompt_tokens,
                    completion_tokens=entry.completion_tokens,
                    estimated=entry.estimated,
                    called_at=entry.called_at,
                )
            )

    async def model_usage_since(self, moment: datetime) -> list[ModelUsage]:
        """Return the calls and tokens of every group and private chat that called a model since `moment`."""
        row = ModelCallRecord
        tokens = func.sum(row.prompt_tokens + row.completion_tokens)
        chosen = select(row.chat, func.count(), tokens).where(row.called_at >= moment).group_by(row.chat)
        async with self._database.reading() as session:
            return [ModelUsage(chat, calls, total) for chat, calls, total in await session.execute(chosen)]

    async def questions_since(self, moment: datetime) -> list[tuple[str, int, int]]:
        """Return session, member and number of questions of everyone who asked since `moment`."""
        row = TurnRecord
        chosen = (
            select(row.session_id, row.user_id, func.count())
            .where(row.asked_at >= moment)
            .group_by(row.session_id, row.user_id)
        )
        async with self._database.reading() as session:
            return [(session_id, user_id, count) for session_id, user_id, count in await session.execute(chosen)]

    async def unasked_answers_since(self, moment: datetime) -> list[tuple[int, int]]:
        """Return group and number of unasked answers since `moment`."""
        row = UnaskedAnswerRecord
        chosen = select(row.group_id, func.count()).where(row.answered_at >= moment).group_by(row.group_id)
        async with self._database.reading() as session:
            return [(group_id, count) for group_id, count in await session.execute(chosen)]
