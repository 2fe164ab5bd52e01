"""Ratings of answers by members."""

from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import Select, delete, select

from services.database import Database
from services.records.tables import (
    DocumentRecord,
    FeedbackRecord,
    FeedbackSource,
    Resolution,
    TurnRecord,
    now,
)

# The newest ones say what the documents and the gate are like now.
_OPINIONS = 100


@dataclass(frozen=True, slots=True)
class Rating:
    """What a member says about an answer. `score` is 1 to 5."""

    score: int
    resolution: Resolution
    comment: str = ""
    source: FeedbackSource = FeedbackSource.COMMAND


@dataclass(frozen=True, slots=True)
class RatedPassage:
    """The score of the best passage of an answer, 0 to 1, and the rating of the answer, 1 to 5."""

    passage_score: float
    score: int


@dataclass(frozen=True, slots=True)
class StoredRating:
    """A rating that is stored: the one before it of the same member, if any, and the collection of the answer."""

    previous: Rating | None
    collection: str


class FeedbackRecords:
    """Queries on ratings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, turn_id: int, user_id: int, rating: Rating) -> StoredRating | None:
        """Store the rating of a member in place of their earlier one. Return None if the turn does not exist.

        A rating without a comment keeps the earlier comment.
        """
        async with self._database.writing() as session:
            turn = await session.get(TurnRecord, turn_id)
            if turn is None:
                return None
            found = await session.scalars(_of(turn_id, user_id))
            row = found.one_or_none()
            if row is not None:
                previous = _rating(row)
                row.score, row.resolution, row.source = rating.score, rating.resolution, rating.source
                row.comment = rating.comment or row.comment
                row.submitted_at = now()
                return StoredRating(previous, row.collection)
            best = turn.retrieved.passages[0] if turn.retrieved else None
            collection = None
            if best is not None:
                collection = await session.scalar(
                    select(DocumentRecord.collection).where(DocumentRecord.build_id == best.build_id).limit(1)
                )
            session.add(
                FeedbackRecord(
                    uuid=str(uuid4()),
                    turn_id=turn_id,
                    user_id=user_id,
                    score=rating.score,
                    resolution=rating.resolution,
                    comment=rating.comment,
                    source=rating.source,
                    collection=collection or "",
                    # A passage of a document that was asked for by name has the score 1, and passed no gate.
                    passage_score=best.score if best is not None and collection and best.score < 1 else None,
                    submitted_at=now(),
                )
            )
            return StoredRating(None, collection or "")

    async def find(self, turn_id: int, user_id: int) -> Rating | None:
        """Return the rating of a member, or None."""
        async with self._database.reading() as session:
            row = (await session.scalars(_of(turn_id, user_id))).one_or_none()
        return None if row is None else _rating(row)

    async def withdraw(self, turn_id: int, user_id: int, source: FeedbackSource | None = None) -> str | None:
        """Delete the rating of a member, if it was given by `source` or any way if that is None.

        Return the collection of the answer, which may be empty, or None if there was no such rating.
        """
        mine = [FeedbackRecord.turn_id == turn_id, FeedbackRecord.user_id == user_id]
        if source is not None:
            mine.append(FeedbackRecord.source == source)
        async with self._database.writing() as session:
            gone = await session.scalars(delete(FeedbackRecord).where(*mine).returning(FeedbackRecord.collection))
            return gone.one_or_none()

    async def rated_passages(self, collection: str) -> list[RatedPassage]:
        """Return one opinion for each of the newest 100 rated answers from a knowledge base, newest first.

        The rating of the asker counts, or else the lowest one.
        """
        row = FeedbackRecord
        chosen = (
            select(row, TurnRecord.user_id)
            .join(TurnRecord, row.turn_id == TurnRecord.id)
            .where(row.collection == collection, row.passage_score.is_not(None))
            .order_by(row.submitted_at.desc(), row.id.desc())
            # A few members rate the same answer.
            .limit(3 * _OPINIONS)
        )
        async with self._database.reading() as session:
            found = [(rating, asker) for rating, asker in await session.execute(chosen)]
        of_turn: dict[int, list[tuple[bool, int, float]]] = {}
        for rating, asker in found:
            opinions = of_turn.setdefault(rating.turn_id, [])
            opinions.append((rating.user_id != asker, rating.score, rating.passage_score or 0.0))
        decisive = [min(opinions) for opinions in of_turn.values()]
        return [RatedPassage(passage_score, score) for _, score, passage_score in decisive[:_OPINIONS]]


def _of(turn_id: int, user_id: int) -> Select[FeedbackRecord]:
    return select(FeedbackRecord).where(FeedbackRecord.turn_id == turn_id, FeedbackRecord.user_id == user_id)


def _rating(row: FeedbackRecord) -> Rating:
    return Rating(row.score, Resolution(row.resolution), row.comment, FeedbackSource(row.source))
