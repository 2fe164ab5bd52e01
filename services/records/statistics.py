"""What was asked and answered in one chat over some days, counted by the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, aliased
from sqlalchemy.sql.selectable import Subquery

from services.database import Database
from services.records.tables import (
    AnswerKind,
    CitationRecord,
    DocumentRecord,
    DocumentState,
    FeedbackRecord,
    ModelCallRecord,
    ModelFeature,
    Resolution,
    TurnRecord,
    TurnState,
)
from services.records.usage import ModelUsage

# The times of so many answers are enough for a percentile, and so many unresolved questions for their topics.
_TIMES = 500
_QUESTIONS = 200
_ANSWERS = (AnswerKind.WRITTEN, AnswerKind.EXCERPT, AnswerKind.GENERAL)
# How people say that an answer was wrong, at the beginning of their next message.
_OBJECTIONS = ("不对", "错了", "答非所问", "没用", "不是这个", "不是问这个")


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """Numbers of questions by what became of them; the outcomes add up to `questions`.

    `confirmed` and `denied` are answers whose asker, or else everybody who rated them, says that they solved the
    problem, or that they did not or only partly. `assumed` are answers with sources that nobody rated and after which
    the asker neither asked about the same document again in the same dialogue nor objected.
    """

    questions: int = 0
    answered: int = 0
    clarified: int = 0
    refused: int = 0
    reviewed: int = 0
    waiting: int = 0
    failed: int = 0
    confirmed: int = 0
    denied: int = 0
    assumed: int = 0


@dataclass(frozen=True, slots=True)
class DocumentCount:
    """A document of a knowledge base, and how many answers cite it."""

    number: int
    name: str
    count: int


class StatisticsRecords:
    """Counts of one chat (`Session.chat`) since a moment. No query reads another chat."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def turns(self, chat: str, since: datetime) -> TurnCounts:
        """Return the numbers of questions by what became of them."""
        row, verdict = TurnRecord, _verdicts()
        is_answered = row.state == TurnState.ANSWERED
        # Answers of releases that recorded no outcome.
        unknown = and_(is_answered, row.outcome.is_(None))
        rated = verdict.c.turn_id.is_not(None)
        has_sources = and_(is_answered, row.sources.is_not(None))
        columns = (
            or_(and_(is_answered, row.outcome.in_(_ANSWERS)), unknown),
            and_(is_answered, row.outcome == AnswerKind.CLARIFIED),
            and_(is_answered, row.outcome == AnswerKind.NOTHING_FOUND),
            and_(is_answered, row.outcome == AnswerKind.REVIEWED),
            row.state.in_((TurnState.WAITING, TurnState.PENDING)),
            or_(row.state == TurnState.FAILED, and_(is_answered, row.outcome == AnswerKind.FAILED)),
            and_(rated, verdict.c.is_resolved == 1),
            and_(rated, verdict.c.is_resolved == 0),
            and_(has_sources, verdict.c.turn_id.is_(None), ~_asked_again()),
        )
        chosen = (
            select(func.count(), *(func.count(case((column, 1))) for column in columns))
            .select_from(row)
            .outerjoin(verdict, verdict.c.turn_id == row.id)
            .where(*_asked(chat, since))
        )
        async with self._database.reading() as session:
            return TurnCounts(*(await session.execute(chosen)).one())

    async def categories(self, chat: str, since: datetime) -> list[tuple[str, int]]:
        """Return the categories of the questions with their numbers, most frequent first."""
        row, count = TurnRecord, func.count()
        chosen = select(row.category, count).where(*_asked(chat, since), row.category != "").group_by(row.category)
        async with self._database.reading() as session:
            return [(name, number) for name, number in await session.execute(chosen.order_by(count.desc()))]

    async def seconds(self, chat: str, since: datetime) -> list[float]:
        """Return how long the latest 500 answers took, in ascending order."""
        row = TurnRecord
        chosen = (
            select(row.asked_at, row.ended_at)
            .where(*_asked(chat, since), row.state == TurnState.ANSWERED, row.checkpoint_id.is_(None))
            .order_by(row.id.desc())
            .limit(_TIMES)
        )
        async with self._database.reading() as session:
            found = [(asked_at, ended_at) for asked_at, ended_at in await session.execute(chosen)]
        return sorted((ended_at - asked_at).total_seconds() for asked_at, ended_at in found if ended_at is not None)

    async def unresolved(self, chat: str, since: datetime) -> list[str]:
        """Return the latest 200 questions that were not answered, or whose answer did not solve the problem."""
        row, verdict = TurnRecord, _verdicts()
        chosen = (
            select(row.question)
            .outerjoin(verdict, verdict.c.turn_id == row.id)
            .where(
                *_asked(chat, since),
                or_(
                    row.state == TurnState.FAILED,
                    row.outcome.in_((AnswerKind.NOTHING_FOUND, AnswerKind.FAILED)),
                    verdict.c.is_resolved == 0,
                ),
            )
            .order_by(row.id.desc())
            .limit(_QUESTIONS)
        )
        async with self._database.reading() as session:
            return list(await session.scalars(chosen))

    async def most_cited(self, chat: str, collection: str, since: datetime, limit: int) -> list[DocumentCount]:
        """Return the documents that the answers cite most. Those that are gone are left out."""
        cited = _cited(chat, collection, since).group_by(CitationRecord.document_number).subquery()
        chosen = (
            select(DocumentRecord.number, func.max(DocumentRecord.name), cited.c.count)
            .join(cited, cited.c.document_number == DocumentRecord.number)
            .where(*_visible(collection))
            .group_by(DocumentRecord.number, cited.c.count)
            .order_by(cited.c.count.desc(), DocumentRecord.number)
            .limit(limit)
        )
        async with self._database.reading() as session:
            return [DocumentCount(number, name, count) for number, name, count in await session.execute(chosen)]

    async def never_cited(
        self, chat: str, collection: str, since: datetime, limit: int
    ) -> tuple[int, Sequence[DocumentCount]]:
        """Return the number of documents that no answer cites, and the oldest `limit` of them."""
        cited = _cited(chat, collection, since).group_by(CitationRecord.document_number).subquery()
        missing = (
            *_visible(collection),
            DocumentRecord.number.not_in(select(cited.c.document_number)),
        )
        total = select(func.count(DocumentRecord.number.distinct())).where(*missing)
        chosen = (
            select(DocumentRecord.number, func.max(DocumentRecord.name))
            .where(*missing)
            .group_by(DocumentRecord.number)
            .order_by(DocumentRecord.number)
            .limit(limit)
        )
        async with self._database.reading() as session:
            count = await session.scalar(total) or 0
            return count, [DocumentCount(number, name, 0) for number, name in await session.execute(chosen)]

    async def usage(self, chat: str, since: datetime) -> Mapping[ModelFeature | None, ModelUsage]:
        """Return what the models used, by what they were called for; None stands for calls of older releases."""
        row = ModelCallRecord
        chosen = (
            select(
                row.feature,
                func.count(),
                func.coalesce(func.sum(row.prompt_tokens + row.completion_tokens), 0),
                func.coalesce(func.sum(row.cost), 0),
                func.count() - func.count(row.cost),
            )
            .where(row.chat == chat, row.called_at >= since)
            .group_by(row.feature)
        )
        async with self._database.reading() as session:
            return {
                ModelFeature(feature) if feature else None: ModelUsage(calls, tokens, cost or 0, unpriced)
                for feature, calls, tokens, cost, unpriced in await session.execute(chosen)
            }


def of_chat(column: InstrumentedAttribute[str], chat: str) -> ColumnElement[bool]:
    """Return the condition that a session belongs to a chat: it is the chat itself, or one member's in it.

    A range, which an index serves: "`" is the character after "_".
    """
    return or_(column == chat, and_(column > f"{chat}_", column < f"{chat}`"))


def _asked(chat: str, since: datetime) -> tuple[ColumnElement[bool], ...]:
    # A recalled question has no text.
    return of_chat(TurnRecord.session_id, chat), TurnRecord.asked_at >= since, TurnRecord.question != ""


def _visible(collection: str) -> tuple[ColumnElement[bool], ...]:
    return DocumentRecord.collection == collection, DocumentRecord.state == DocumentState.READY


def _cited(chat: str, collection: str, since: datetime) -> Select[int, int]:
    return (
        select(CitationRecord.document_number, func.count().label("count"))
        .join(TurnRecord, CitationRecord.turn_id == TurnRecord.id)
        .where(CitationRecord.collection == collection, *_asked(chat, since))
    )


def _verdicts() -> Subquery:
    """Return for each rated turn whether it is resolved: as its asker says, or else as all who rated it say."""
    by_asker = FeedbackRecord.user_id == TurnRecord.user_id
    is_resolved = FeedbackRecord.resolution == Resolution.RESOLVED
    asker = func.max(case((by_asker, case((is_resolved, 1), else_=0))))
    others = func.min(case((is_resolved, 1), else_=0))
    return (
        select(FeedbackRecord.turn_id, func.coalesce(asker, others).label("is_resolved"))
        .join(TurnRecord, FeedbackRecord.turn_id == TurnRecord.id)
        .group_by(FeedbackRecord.turn_id)
        .subquery()
    )


def _asked_again() -> ColumnElement[bool]:
    """Return the condition that the asker of a turn later asked about one of its documents again, or objected."""
    later, before, after = aliased(TurnRecord), aliased(CitationRecord), aliased(CitationRecord)
    same_document = (
        exists()
        .where(
            before.turn_id == TurnRecord.id,
            after.turn_id == later.id,
            after.collection == before.collection,
            after.document_number == before.document_number,
        )
        .correlate(TurnRecord, later)
    )
    objects = or_(*(later.question.startswith(words, autoescape=True) for words in _OBJECTIONS))
    return (
        exists()
        .where(
            later.dialogue_id == TurnRecord.dialogue_id,
            later.user_id == TurnRecord.user_id,
            later.id > TurnRecord.id,
            or_(same_document, objects),
        )
        .correlate(TurnRecord)
    )
