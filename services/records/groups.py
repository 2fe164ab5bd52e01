"""The preferences of groups, the unasked answers in them, and feedback on the gate."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select, update

from services.database import Database
from services.records.tables import GateFeedbackRecord, GroupRecord, UnaskedAnswerRecord, now

# Nothing needs them for longer: after this time the same question may be answered again.
ANSWERS_KEPT = timedelta(days=1)
FEEDBACK_KEPT = 200


@dataclass(frozen=True, slots=True)
class GroupPreferences:
    """A group's choice: whether the bot answers unasked (`auto`), and until when it pauses (`quiet_until`, UTC)."""

    group_id: int
    auto: bool = False
    quiet_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class UnaskedAnswer:
    """A question that was taken up unasked. `id` is 0 until it is written to the database.

    `text` is the question in the form that the rules compare; the reference is chunks `first_ordinal` to `last_ordinal`
    of `build_id`. `fruitless` means that there was nothing worth saying, `objected` that somebody did not want the
    answer, `welcomed` that somebody did.
    """

    group_id: int
    message_id: int
    collection: str
    text: str
    build_id: str
    first_ordinal: int
    last_ordinal: int
    rerank_score: float
    answered_at: datetime
    fruitless: bool = False
    objected: bool = False
    welcomed: bool = False
    id: int = 0


@dataclass(frozen=True, slots=True)
class GateFeedback:
    """An opinion on an answer that passed the gate with `rerank_score`; `source` is how it was given."""

    rerank_score: float
    helpful: bool
    created_at: datetime
    source: str


class GroupRecords:
    """Queries on groups. A group without a row has the defaults."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def preferences(self, group_id: int) -> GroupPreferences:
        """Return the preferences of one group."""
        async with self._database.reading() as session:
            row = await session.get(GroupRecord, group_id)
        return GroupPreferences(group_id) if row is None else _preferences(row)

    async def switched_on(self) -> list[GroupPreferences]:
        """Return the groups in which the bot answers unasked."""
        async with self._database.reading() as session:
            found = await session.scalars(select(GroupRecord).where(GroupRecord.auto).order_by(GroupRecord.group_id))
            return [_preferences(row) for row in found]

    async def store(self, preferences: GroupPreferences) -> None:
        """Store the preferences of a group."""
        async with self._database.writing() as session:
            await session.merge(
                GroupRecord(group_id=preferences.group_id, auto=preferences.auto, quiet_until=preferences.quiet_until)
            )

    async def answers(self, group_id: int, since: datetime) -> list[UnaskedAnswer]:
        """Return what was taken up unasked in a group after `since`, oldest first."""
        row = UnaskedAnswerRecord
        chosen = select(row).where(row.group_id == group_id, row.answered_at > since).order_by(row.answered_at, row.id)
        async with self._database.reading() as session:
            return [_answer(found) for found in await session.scalars(chosen)]

    async def add_answer(self, answer: UnaskedAnswer) -> int:
        """Write down that a question is taken up, and return its id.

        Rows of any group that are older than `ANSWERS_KEPT` are deleted.
        """
        async with self._database.writing() as session:
            await session.execute(
                delete(UnaskedAnswerRecord).where(UnaskedAnswerRecord.answered_at <= answer.answered_at - ANSWERS_KEPT)
            )
            values = {name: getattr(answer, name) for name in _ANSWER_COLUMNS}
            added = await session.execute(insert(UnaskedAnswerRecord).values(values).returning(UnaskedAnswerRecord.id))
            return added.scalar_one()

    async def change_answer(self, answer: UnaskedAnswer) -> None:
        """Write down the outcome: when it was sent, that it was fruitless, or what somebody thought of it."""
        async with self._database.writing() as session:
            await session.execute(
                update(UnaskedAnswerRecord)
                .where(UnaskedAnswerRecord.id == answer.id)
                .values(
                    answered_at=answer.answered_at,
                    fruitless=answer.fruitless,
                    objected=answer.objected,
                    welcomed=answer.welcomed,
                )
            )

    async def withdraw_answer(self, answer_id: int) -> None:
        """Delete the row of a question that was not answered after all."""
        async with self._database.writing() as session:
            await session.execute(delete(UnaskedAnswerRecord).where(UnaskedAnswerRecord.id == answer_id))


class GateFeedbackRecords:
    """Opinions on answers for each knowledge base; the newest 200 are kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, collection: str, rerank_score: float, *, helpful: bool, source: str) -> None:
        """Write down one opinion. `source` is how it was given, at most 16 characters."""
        row = GateFeedbackRecord
        newest = select(row.id).where(row.collection == collection).order_by(row.id.desc()).limit(FEEDBACK_KEPT)
        async with self._database.writing(row.__tablename__) as session:
            await session.execute(
                insert(row).values(
                    collection=collection, rerank_score=rerank_score, helpful=helpful, created_at=now(), source=source
                )
            )
            await session.execute(delete(row).where(row.collection == collection, row.id.not_in(newest)))

    async def replace(self, collection: str, source: str, opinions: Sequence[tuple[float, bool]]) -> None:
        """Put opinions (rerank score, helpful) in the place of all others of one `source`."""
        row = GateFeedbackRecord
        async with self._database.writing(row.__tablename__) as session:
            await session.execute(delete(row).where(row.collection == collection, row.source == source))
            session.add_all(
                row(collection=collection, rerank_score=score, helpful=helpful, created_at=now(), source=source)
                for score, helpful in opinions
            )

    async def all(self, collection: str) -> list[GateFeedback]:
        """Return the opinions on one knowledge base, newest first, at most 200."""
        return await self._database.kept(GateFeedbackRecord.__tablename__, collection, lambda: self._all(collection))

    async def _all(self, collection: str) -> list[GateFeedback]:
        row = GateFeedbackRecord
        chosen = select(row).where(row.collection == collection).order_by(row.id.desc()).limit(FEEDBACK_KEPT)
        async with self._database.reading() as session:
            return [
                GateFeedback(found.rerank_score, found.helpful, found.created_at, found.source)
                for found in await session.scalars(chosen)
            ]


_ANSWER_COLUMNS = (
    "group_id",
    "message_id",
    "collection",
    "text",
    "build_id",
    "first_ordinal",
    "last_ordinal",
    "rerank_score",
    "answered_at",
    "fruitless",
    "objected",
    "welcomed",
)


def _preferences(row: GroupRecord) -> GroupPreferences:
    return GroupPreferences(row.group_id, row.auto, row.quiet_until)


def _answer(row: UnaskedAnswerRecord) -> UnaskedAnswer:
    return UnaskedAnswer(id=row.id, **{name: getattr(row, name) for name in _ANSWER_COLUMNS})
