"""Usage: questions, unasked answers, and every call of the model."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, select

from services.database import Database
from services.records.tables import ModelCallRecord, ModelFeature, TurnRecord, UnaskedAnswerRecord


@dataclass(frozen=True, slots=True)
class ModelCallEntry:
    """One call of a model: who pays (`Session.chat`), its turn, its tokens, its cost, and what it was for.

    `estimated` means that the service did not report the number of tokens. `cost` is in millionths of a yuan, None if
    the price of the model is unknown.
    """

    chat: str
    turn_id: int | None
    provider: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    cost: int | None
    called_at: datetime
    feature: ModelFeature = ModelFeature.ANSWER


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls, tokens and cost of some calls of models.

    `cost`, in millionths of a yuan, is that of the calls whose price is known; `unpriced_calls` are the others.
    """

    calls: int = 0
    tokens: int = 0
    cost: int = 0
    unpriced_calls: int = 0

    def __add__(self, other: "ModelUsage") -> "ModelUsage":
        return ModelUsage(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.unpriced_calls + other.unpriced_calls,
        )


_SUMS = (
    func.count(),
    func.coalesce(func.sum(ModelCallRecord.prompt_tokens + ModelCallRecord.completion_tokens), 0),
    func.sum(ModelCallRecord.cost),
    func.count() - func.count(ModelCallRecord.cost),
)


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
                    provider=entry.provider,
                    model=entry.model,
                    prompt_tokens=entry.prompt_tokens,
                    completion_tokens=entry.completion_tokens,
                    estimated=entry.estimated,
                    cost=entry.cost,
                    called_at=entry.called_at,
                    feature=entry.feature,
                )
            )

    async def model_usage_since(self, moment: datetime) -> dict[str, ModelUsage]:
        """Return the usage of every group and private chat that called a model since `moment`."""
        row = ModelCallRecord
        chosen = select(row.chat, *_SUMS).where(row.called_at >= moment).group_by(row.chat)
        async with self._database.reading() as session:
            rows = await session.execute(chosen)
        return {chat: ModelUsage(calls, tokens, cost or 0, unpriced) for chat, calls, tokens, cost, unpriced in rows}

    async def model_usage_of_turn(self, turn_id: int) -> ModelUsage:
        """Return the usage of one turn."""
        chosen = select(*_SUMS).where(ModelCallRecord.turn_id == turn_id)
        async with self._database.reading() as session:
            calls, tokens, cost, unpriced = (await session.execute(chosen)).one()
        return ModelUsage(calls, tokens, cost or 0, unpriced)

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
