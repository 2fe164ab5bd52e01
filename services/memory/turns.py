"""The turns of all sessions: how each one begins, ends, or waits for a person.

A turn is PENDING while it is being answered. It ends as ANSWERED or FAILED. A workflow that needs a person's decision
stores its state elsewhere, calls `Turn.wait` with the id of that checkpoint, and leaves: the turn is WAITING, for days
if need be, and the session goes on. `Turns.resume` continues it.

begin ──► PENDING ──complete──► ANSWERED
            │  ▲ └──(not completed, or the process was killed)──► FAILED
       wait │  │ resume (one caller at a time)
            ▼  │
          WAITING ◄──(resumed, but not completed, or the process was killed)
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from services.errors import HistoryError, RecordsError
from services.memory.dialogues import is_farewell
from services.memory.history import TurnHistory
from services.memory.order import SessionOrder
from services.records.conversations import UNKNOWN_DETAILS, AnswerDetails, ConversationRecords, Source, details_of
from services.records.stored_values import StoredMessage
from services.records.tables import TurnRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """A turn that waits for a person. `checkpoint_id` names the stored state of its `workflow`."""

    id: int
    session_id: str
    user_id: int
    question: str
    workflow: str
    checkpoint_id: str


class Turn:
    """A question being answered. It ends through `complete` or `wait`, or else counts as failed.

    `id` is its number in the log, or None if the log could not be written. `checkpoint_id` is empty for a turn that
    never waited. `details` may be replaced at any time while the turn is open, and is stored when it ends or waits.
    """

    def __init__(
        self,
        records: ConversationRecords,
        turn_id: int | None,
        session_id: str,
        question: str,
        checkpoint_id: str = "",
        details: AnswerDetails = UNKNOWN_DETAILS,
    ) -> None:
        self.id = turn_id
        self.details = details
        self.session_id = session_id
        self.question = question
        self.checkpoint_id = checkpoint_id
        self.history = TurnHistory(records, session_id)
        # The sources of the excerpt that is shown if the turn fails.
        self.shown_sources: Sequence[Source] = ()
        self.is_open = True
        self._records = records

    async def complete(
        self, answer: str, sources: Sequence[Source] = (), *, said: str | None = None, doubtful: bool = False
    ) -> None:
        """Store the answer that is sent, and append the exchange to the working history.

        The history gets `said` instead, if that is given, and knows whether it is `doubtful`.

        Raise `HistoryError` on a second call or for a turn that is not in the log, and `RecordsError` if the database
        fails.
        """
        spoken = StoredMessage(type="ai", text=answer if said is None else said, doubtful=doubtful)
        exchange = [StoredMessage(type="human", text=self.question), spoken]
        await self._records.complete(
            self._id_if_open(), answer, exchange, sources, self.details, is_farewell=is_farewell(self.question)
        )
        self.is_open = False

    async def wait(self, workflow: str, checkpoint_id: str) -> None:
        """Leave the turn waiting for a person, at a checkpoint of `workflow` that is already stored.

        Raise as `complete` does. The caller leaves the turn afterwards, and the next turn of the session begins.
        """
        await self._records.wait(self._id_if_open(), workflow, checkpoint_id, self.details)
        self.is_open = False

    def _id_if_open(self) -> int:
        if not self.is_open:
            raise HistoryError("这一轮对话已经记过了。", f"turn {self.id}")
        if self.id is None:
            raise HistoryError("这一轮对话没能记下来。", f"no turn in the log of {self.session_id}")
        return self.id


class Turns:
    """The turns of all sessions, at most one of each session at a time."""

    def __init__(self, records: ConversationRecords, order: SessionOrder) -> None:
        self._records = records
        self._order = order

    async def restore(self) -> None:
        """End the turns that a stopped process left open; those that had waited before wait again."""
        if interrupted := await self._records.end_interrupted():
            log.warning("%s questions were interrupted by the last stop", interrupted)

    @asynccontextmanager
    async def begin(self, session_id: str, user_id: int, question: str) -> AsyncGenerator[Turn]:
        """Run one turn alone in its session; further turns wait in the order of arrival.

        The question is in the log before the block runs. If the block raises, or neither completes the turn nor lets
        it wait, the turn is marked as failed and the working history is unchanged. If the log cannot be written, the
        block runs all the same and the turn cannot be stored.
        """
        async with self._order.place(session_id):
            turn = Turn(self._records, await self._logged(session_id, user_id, question), session_id, question)
            try:
                yield turn
            finally:
                if turn.is_open and turn.id is not None:
                    await asyncio.shield(self._fail(turn.id, turn))

    @asynccontextmanager
    async def resume(self, turn_id: int) -> AsyncGenerator[Turn | None]:
        """Continue a waiting turn, alone in its session.

        The block gets None if the turn does not wait any more: it was continued by another caller, or withdrawn. If
        the block raises, or does not complete the turn, it waits again at its last checkpoint. Raise `RecordsError` if
        the database fails.
        """
        waiting = await self._records.turn(turn_id)
        if waiting is None:
            yield None
            return
        async with self._order.place(waiting.session_id):
            claimed = await self._records.claim(turn_id)
            if claimed is None:
                yield None
                return
            turn = Turn(
                self._records,
                turn_id,
                claimed.session_id,
                claimed.question,
                claimed.checkpoint_id or "",
                details_of(claimed),
            )
            try:
                yield turn
            finally:
                if turn.is_open:
                    await asyncio.shield(self._wait_again(turn_id))

    async def waiting(self, session_id: str) -> list[WaitingTurn]:
        """Return the turns of a session that wait for a person, oldest first."""
        return [_waiting(record) for record in await self._records.waiting(session_id)]

    async def checkpoints(self) -> list[str]:
        """Return the checkpoints of all turns that wait for a person."""
        return await self._records.checkpoints()

    async def withdraw(self, session_id: str, user_id: int, question: str) -> None:
        """Forget the text of a question that its author recalled before it was answered."""
        await self._records.withdraw(session_id, user_id, question)

    async def _logged(self, session_id: str, user_id: int, question: str) -> int | None:
        try:
            return await self._records.begin(session_id, user_id, question)
        except RecordsError:
            log.exception("a question of %s could not be written down", session_id)
            return None

    async def _fail(self, turn_id: int, turn: Turn) -> None:
        try:
            await self._records.fail(turn_id, turn.shown_sources, turn.details)
        except RecordsError:
            # It stays open in the log, and the next start marks it as failed.
            log.exception("turn %s could not be marked as failed", turn_id)

    async def _wait_again(self, turn_id: int) -> None:
        try:
            await self._records.wait_again(turn_id)
        except RecordsError:
            # It stays open in the log, and the next start lets it wait again.
            log.exception("turn %s could not be marked as waiting", turn_id)


def _waiting(record: TurnRecord) -> WaitingTurn:
    return WaitingTurn(
        id=record.id,
        session_id=record.session_id,
        user_id=record.user_id,
        question=record.question,
        workflow=record.workflow or "",
        checkpoint_id=record.checkpoint_id or "",
    )
