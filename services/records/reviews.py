"""The reviews: questions that people decide on, and how far each answer has come on its way to the asker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, func, insert, select, update
from sqlalchemy.sql.dml import ReturningInsert

from services.database import Database
from services.records.stored_values import Source, StoredSources
from services.records.tables import ReviewNoticeRecord, ReviewRecord, ReviewState, now

# Not every review that has been decided has reached its asker.
ON_ITS_WAY = (ReviewState.DECIDED, ReviewState.SENDING, ReviewState.UNCONFIRMED)


class ReviewReason(StrEnum):
    """Why a person has to decide.

    SUGGESTED: a member answered a question that the bot could not answer. Nobody waits for the decision.
    """

    LOW_CONFIDENCE = "low_confidence"
    REQUESTED = "requested"
    LOW_RATING = "low_rating"
    CORRECTION = "correction"
    SUGGESTED = "suggested"


class Decided(StrEnum):
    """What was decided: the draft goes out as it is, another text does, or none."""

    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What has to be reviewed, and whom to answer then.

    `chat` is the group as `Session.chat` and `collection` the knowledge base that was asked. `question_id` and
    `answer_id` are QQ messages: the question, and the answer that is in doubt, if one was sent. The numbers 〔n〕 of
    `draft` are those of `sources`; `passages` are what it was written from. `confidence` is 0 to 1, or None if unknown.
    `note` is what the person `requested_by` said about it.
    """

    chat: str
    collection: str
    self_id: str
    group_id: int
    session_id: str
    asker_id: int
    question: str
    draft: str
    reason: ReviewReason
    question_id: int | None = None
    answer_id: int | None = None
    turn_id: int | None = None
    sources: tuple[Source, ...] = ()
    passages: tuple[Source, ...] = ()
    confidence: float | None = None
    note: str = ""
    requested_by: int | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """A review as it is stored. Of `request` only the sources change, with the text. See `ReviewRecord`."""

    id: int
    number: int
    request: ReviewRequest
    state: ReviewState
    opened_at: datetime
    announced: bool = False
    assignee_id: int | None = None
    decision: Decided | None = None
    answer: str = ""
    decided_by: int | None = None
    decided_by_name: str = ""
    decided_at: datetime | None = None
    continued: bool = False
    learnt: bool = False
    attempts: int = 0
    sent_at: datetime | None = None
    sent_id: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody has decided yet."""
        return self.state is ReviewState.OPEN


@dataclass(frozen=True, slots=True)
class Notice:
    """A message that told admins about a review: in the group, or in private to `user_id`."""

    message_id: int
    user_id: int | None = None


class ReviewRecords:
    """Queries on reviews. Whatever two people must not both do is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, request: ReviewRequest) -> tuple[Review, bool]:
        """Write down what has to be reviewed, and return it, and whether it is new.

        A turn has one review: the first one is returned if there is one, whatever its state is.
        """
        async with self._database.writing() as session:
            if request.turn_id is not None:
                of_turn = select(ReviewRecord).where(ReviewRecord.turn_id == request.turn_id)
                found = await session.scalar(of_turn.order_by(ReviewRecord.id.desc()).limit(1))
                if found is not None:
                    return _review(found), False
            added = await session.scalars(_insertion(request, {}))
            return _review(added.one()), True

    async def add_decided(
        self, request: ReviewRequest, decision: Decided, answer: str, decided_by: int, name: str
    ) -> Review:
        """Write down a review together with its decision."""
        decided = _decided(decision, answer, decided_by, name)
        async with self._database.writing() as session:
            return _review((await session.scalars(_insertion(request, decided))).one())

    async def decide(self, review_id: int, decision: Decided, answer: str, decided_by: int, name: str) -> Review | None:
        """Decide an open review. Return None if it is not open any more, also for the second of two callers."""
        return await self._change(
            _is(review_id), ReviewRecord.state == ReviewState.OPEN, **_decided(decision, answer, decided_by, name)
        )

    async def find(self, chat: str, number: int) -> Review | None:
        """Return a review of a group by its number."""
        return await self._one(ReviewRecord.chat == chat, ReviewRecord.number == number)

    async def get(self, review_id: int) -> Review | None:
        """Return a review."""
        return await self._one(_is(review_id))

    async def of_turn(self, turn_id: int) -> Review | None:
        """Return the latest review of a turn."""
        return await self._one(ReviewRecord.turn_id == turn_id)

    async def opened(self, chat: str, limit: int | None = None, skipped: int = 0) -> list[Review]:
        """Return the open reviews of a group, oldest first, without the first `skipped` ones."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(ReviewRecord).where(*_open_in(chat)).order_by(ReviewRecord.id).limit(limit).offset(skipped)
            )
            return [_review(row) for row in found]

    async def suggested(self, chat: str) -> list[Review]:
        """Return the latest 200 suggestions of a group, whatever became of them."""
        mine = (ReviewRecord.chat == chat, ReviewRecord.reason == ReviewReason.SUGGESTED)
        async with self._database.reading() as session:
            found = await session.scalars(select(ReviewRecord).where(*mine).order_by(ReviewRecord.id.desc()).limit(200))
            return [_review(row) for row in found]

    async def page(self, after: int, since: datetime, limit: int) -> list[Review]:
        """Return at most `limit` reviews of all groups after the id `after` that were opened since a moment."""
        chosen = select(ReviewRecord).where(ReviewRecord.id > after, ReviewRecord.opened_at >= since)
        async with self._database.reading() as session:
            return [_review(row) for row in await session.scalars(chosen.order_by(ReviewRecord.id).limit(limit))]

    async def count_open(self, chat: str, requested_by: int | None = None) -> int:
        """Return how many reviews of a group are open, or how many of them one person asked for."""
        chosen = select(func.count()).select_from(ReviewRecord).where(*_open_in(chat))
        if requested_by is not None:
            chosen = chosen.where(ReviewRecord.requested_by == requested_by)
        async with self._database.reading() as session:
            return await session.scalar(chosen) or 0

    async def assign(self, review_id: int, assignee_id: int) -> Review | None:
        """Give an open review to a person. Return None if it is not open any more."""
        return await self._change(_is(review_id), ReviewRecord.state == ReviewState.OPEN, assignee_id=assignee_id)

    async def withdraw(self, chat: str, question_id: int) -> None:
        """Close the open reviews of a recalled question, and erase what they say."""
        async with self._database.writing() as session:
            await session.execute(
                update(ReviewRecord)
                .where(*_open_in(chat), ReviewRecord.question_id == question_id)
                .values(state=ReviewState.WITHDRAWN, question="", draft="", note="", sources=None, passages=None)
            )

    # -- the way to the asker -----------------------------------------------------------------------------------------

    async def on_their_way(self, self_id: str) -> list[int]:
        """Return the ids of decided reviews whose answers one account has to send, oldest first."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(ReviewRecord.id)
                .where(ReviewRecord.self_id == self_id, ReviewRecord.state.in_(ON_ITS_WAY))
                .order_by(ReviewRecord.decided_at, ReviewRecord.id)
            )
            return list(found)

    async def set_answer(self, review_id: int, answer: str, sources: Sequence[Source]) -> None:
        """Replace the text of the decision by what the workflow made of it."""
        await self._change(_is(review_id), answer=answer, sources=_stored(sources), continued=True)

    async def set_learnt(self, review_id: int) -> None:
        """Record that the approved answer was passed on."""
        await self._change(_is(review_id), learnt=True)

    async def sending(self, review_id: int) -> None:
        """Record that the answer is about to be handed to QQ."""
        await self._change(_is(review_id), state=ReviewState.SENDING, attempts=ReviewRecord.attempts + 1, sent_at=now())

    async def not_sent(self, review_id: int) -> None:
        """Record that the answer was certainly not handed to QQ after all."""
        await self._change(_is(review_id), state=ReviewState.DECIDED, attempts=ReviewRecord.attempts - 1)

    async def settle(self, review_id: int, state: ReviewState, sent_id: int | None = None) -> None:
        """Record what became of the answer."""
        await self._change(_is(review_id), state=state, sent_id=sent_id)

    # -- notices ------------------------------------------------------------------------------------------------------

    async def unannounced(self, self_id: str) -> list[Review]:
        """Return the open reviews that no admin was told about through an account, oldest first."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(ReviewRecord)
                .where(
                    ReviewRecord.self_id == self_id,
                    ReviewRecord.state == ReviewState.OPEN,
                    ReviewRecord.announced.is_(False),
                )
                .order_by(ReviewRecord.id)
            )
            return [_review(row) for row in found]

    async def announced(self, reviews: Sequence[Review], notices: Sequence[Notice]) -> None:
        """Record the messages that told about these reviews, of one account and group."""
        async with self._database.writing() as session:
            await session.execute(
                update(ReviewRecord)
                .where(ReviewRecord.id.in_([review.id for review in reviews]))
                .values(announced=True)
            )
            for review in reviews:
                session.add_all(
                    ReviewNoticeRecord(
                        review_id=review.id,
                        self_id=review.request.self_id,
                        group_id=review.request.group_id,
                        user_id=notice.user_id,
                        message_id=notice.message_id,
                    )
                    for notice in notices
                )

    async def told_by(self, self_id: str, message_id: int, group_id: int | None, user_id: int) -> list[Review]:
        """Return the reviews that a message told about.

        It was sent in a group, or, without `group_id`, in private to `user_id`.
        """
        row = ReviewNoticeRecord
        place = row.user_id == user_id if group_id is None else (row.group_id == group_id) & row.user_id.is_(None)
        async with self._database.reading() as session:
            found = await session.scalars(
                select(ReviewRecord)
                .join(row, row.review_id == ReviewRecord.id)
                .where(row.self_id == self_id, row.message_id == message_id, place)
                .order_by(ReviewRecord.id)
            )
            return [_review(each) for each in found]

    # -- internals ----------------------------------------------------------------------------------------------------

    async def _one(self, *which: ColumnElement[bool]) -> Review | None:
        async with self._database.reading() as session:
            found = await session.scalar(select(ReviewRecord).where(*which).order_by(ReviewRecord.id.desc()).limit(1))
            return None if found is None else _review(found)

    async def _change(self, *which: ColumnElement[bool], **values: object) -> Review | None:
        async with self._database.writing() as session:
            found = await session.scalars(update(ReviewRecord).where(*which).values(values).returning(ReviewRecord))
            row = found.one_or_none()
            return None if row is None else _review(row)


def _is(review_id: int) -> ColumnElement[bool]:
    return ReviewRecord.id == review_id


def _open_in(chat: str) -> tuple[ColumnElement[bool], ...]:
    return ReviewRecord.chat == chat, ReviewRecord.state == ReviewState.OPEN


def _decided(decision: Decided, answer: str, decided_by: int, name: str) -> dict[str, object]:
    return {
        "state": ReviewState.DECIDED,
        "decision": decision,
        "answer": answer,
        "decided_by": decided_by,
        "decided_by_name": name,
        "decided_at": now(),
    }


_COPIED = (
    "chat",
    "collection",
    "self_id",
    "group_id",
    "session_id",
    "asker_id",
    "question",
    "draft",
    "question_id",
    "answer_id",
    "turn_id",
    "confidence",
    "note",
    "requested_by",
)
_KEPT = (
    "announced",
    "assignee_id",
    "answer",
    "decided_by",
    "decided_by_name",
    "decided_at",
    "continued",
    "learnt",
    "attempts",
    "sent_at",
    "sent_id",
)


def _insertion(request: ReviewRequest, decided: Mapping[str, object]) -> ReturningInsert[ReviewRecord]:
    last = select(func.max(ReviewRecord.number)).where(ReviewRecord.chat == request.chat).scalar_subquery()
    fresh = {
        "number": func.coalesce(last, 0) + 1,
        "reason": request.reason,
        "sources": _stored(request.sources),
        "passages": _stored(request.passages),
        "opened_at": now(),
        "announced": False,
        "state": ReviewState.OPEN,
        "answer": "",
        "decided_by_name": "",
        "continued": False,
        "learnt": False,
        "attempts": 0,
    }
    values = fresh | {name: getattr(request, name) for name in _COPIED} | dict(decided)
    return insert(ReviewRecord).values(values).returning(ReviewRecord)


def _stored(sources: Sequence[Source]) -> StoredSources | None:
    return StoredSources(sources=tuple(sources)) if sources else None


def _review(row: ReviewRecord) -> Review:
    request = ReviewRequest(
        reason=ReviewReason(row.reason),
        sources=row.sources.sources if row.sources else (),
        passages=row.passages.sources if row.passages else (),
        **{name: getattr(row, name) for name in _COPIED},
    )
    return Review(
        id=row.id,
        number=row.number,
        request=request,
        state=ReviewState(row.state),
        opened_at=row.opened_at,
        decision=None if row.decision is None else Decided(row.decision),
        **{name: getattr(row, name) for name in _KEPT},
    )
