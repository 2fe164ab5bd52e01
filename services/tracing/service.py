"""The records of the latest requests: the last ones in memory, the others in the database for some days."""

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol

from services.errors import DamagedRecord, RecordsError
from services.settings import TraceSettings
from services.tracing.current import Origin, current_origin, recording
from services.tracing.models import ModelContext, Outcome, RequestKind, RequestTrace
from services.tracing.storage import StoredTrace, restored, stored

log = logging.getLogger(__name__)

# For the local page, which shows the latest answers.
_IN_MEMORY = 64
# More than this waits only if the database fails; a trace is not worth the memory.
_MOST_WAITING = 500
# Records are written together some time after the reply, so that no answer waits for their transaction.
_LINGER_S = 1.0
# Preparing a record takes a quarter of a millisecond, during which the event loop stands still.
_AT_ONCE = 50
_PRUNE_EVERY_S = 3600.0
# A list looks for readable records in so many rows for each line.
_ROWS_A_LINE = 50


class TraceStore(Protocol):
    """The table of records. Every method raises `RecordsError` if the database fails."""

    async def add(self, traces: Sequence[StoredTrace]) -> None:
        """Store records, without the texts of those whose memory or documents were removed meanwhile."""
        ...

    async def latest(self, chat: str, limit: int, skipped: int = 0) -> list[StoredTrace]:
        """Return the latest records of one chat, newest first, without the first `skipped` ones."""
        ...

    async def find(self, chat: str, number: str) -> StoredTrace | None:
        """Return the newest record of one chat whose id begins with `number`, or None."""
        ...

    async def erase_message(self, chat: str, message_id: int) -> None:
        """Erase the texts of the records of one message."""
        ...

    async def prune(self, before: datetime, max_bytes: int) -> int:
        """Delete some records from before a moment, or else the oldest ones above a total size; return how many."""
        ...


class TraceService:
    """Opens and keeps the records of requests. A failure to keep one is logged and never reaches the request.

    Records contain none of `secrets`.
    """

    def __init__(
        self,
        store: TraceStore,
        settings: TraceSettings,
        secrets: Collection[str] = (),
        *,
        linger_s: float = _LINGER_S,
    ) -> None:
        self._store = store
        self._settings = settings
        self._secrets = secrets
        self._linger_s = linger_s
        self._recalled = 0
        self._latest: deque[ModelContext] = deque(maxlen=_IN_MEMORY)
        self._waiting: deque[ModelContext] = deque(maxlen=_MOST_WAITING)
        self._arrived = asyncio.Event()
        self._writing = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def is_storing(self) -> bool:
        """Whether records are kept in the database."""
        return self._settings.keep_days > 0

    def resume(self) -> None:
        """Begin to write records and to delete old ones in the background."""
        self._tasks = [
            asyncio.create_task(self._write(), name="write-traces"),
            asyncio.create_task(self._prune(), name="prune-traces"),
        ]

    async def close(self) -> None:
        """Write what waits and stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.flush()

    @contextmanager
    def request(
        self,
        kind: RequestKind,
        *,
        collection: str,
        chat: str = "",
        session_id: str = "",
        turn_id: int | None = None,
        question: str = "",
        quoted: str = "",
    ) -> Generator[ModelContext]:
        """Record the block as one request and keep the record afterwards.

        `chat` is that of the message, unless it is given. The record of a cancelled request has no texts: the question
        was recalled, or the bot stops. The stage "total" is the time of the block.
        """
        origin = current_origin() or Origin()
        trace = RequestTrace(
            kind=kind,
            chat=chat or origin.chat,
            session_id=session_id,
            collection=collection,
            turn_id=turn_id,
            message_id=origin.message_id,
        )
        trace.question.quoted = quoted
        record = ModelContext(uuid=origin.uuid, raw_question=question, trace=trace)
        recalled, started = self._recalled, asyncio.get_running_loop().time()
        try:
            with recording(record):
                yield record
        except asyncio.CancelledError:
            trace.outcome = Outcome.CANCELLED
            raise
        except BaseException:
            trace.outcome = Outcome.ERROR
            raise
        finally:
            record.add_stage("total", asyncio.get_running_loop().time() - started)
            if trace.outcome in (Outcome.CANCELLED, Outcome.SILENT):
                record.erase()
            if self._recalled != recalled:
                trace.question = trace.question.own
            self._keep(record)

    def of_message(self, chat: str, message_id: int) -> ModelContext | None:
        """Return the record of the newest request of a message among the last 64 requests, or None."""
        found = (
            record
            for record in reversed(self._latest)
            if (record.trace.chat, record.trace.message_id) == (chat, message_id)
        )
        return next(found, None)

    async def latest(self, chat: str, limit: int) -> list[ModelContext]:
        """Return the latest readable records of one chat, newest first. Raise `RecordsError` if the database fails."""
        await self.flush()
        found: list[ModelContext] = []
        for skipped in range(0, limit * _ROWS_A_LINE, limit):
            rows = await self._store.latest(chat, limit, skipped)
            found += [record for record in map(_readable, rows) if record is not None]
            if len(found) >= limit or len(rows) < limit:
                break
        return found[:limit]

    async def find(self, chat: str, number: str) -> ModelContext | None:
        """Return the newest stored record of one chat with this number, or None.

        Raise `RecordsError` if the database fails, and `DamagedRecord` if the record cannot be read.
        """
        await self.flush()
        found = await self._store.find(chat, number)
        return None if found is None else restored(found)

    async def erase_message(self, chat: str, message_id: int) -> None:
        """Erase the texts of the records of a message that was recalled. A failure is logged.

        The other records of the chat lose every text of another message, which may be the recalled one.
        """
        self._recalled += 1
        for record in (*self._latest, *self._waiting):
            trace = record.trace
            if (trace.chat, trace.message_id) == (chat, message_id):
                record.erase()
            elif trace.chat == chat:
                trace.question = trace.question.own
        if not self.is_storing:
            return
        try:
            async with self._writing:
                await self._store.erase_message(chat, message_id)
        except RecordsError:
            log.exception("the texts of a recalled message in %s could not be erased", chat)

    async def flush(self) -> None:
        """Write the records that wait. A failure is logged, and the records are lost."""
        async with self._writing:
            while self._waiting:
                records = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
                try:
                    await self._store.add([stored(record, self._secrets) for record in records])
                except RecordsError:
                    log.exception("%s traces could not be stored", len(records))

    def _keep(self, record: ModelContext) -> None:
        self._latest.append(record)
        if self.is_storing:
            self._waiting.append(record)
            self._arrived.set()

    async def _write(self) -> None:
        while True:
            await self._arrived.wait()
            await asyncio.sleep(self._linger_s)
            self._arrived.clear()
            await self.flush()

    async def _prune(self) -> None:
        while True:
            await self.prune()
            await asyncio.sleep(_PRUNE_EVERY_S)

    async def prune(self) -> None:
        """Delete records that are too old or, the oldest first, too many. A failure is logged."""
        before = datetime.now(UTC) - timedelta(days=self._settings.keep_days)
        try:
            # In small transactions, between which others can write.
            while await self._store.prune(before, self._settings.max_mb * 1024 * 1024):
                pass
        except RecordsError:
            log.exception("old traces could not be deleted")


def _readable(found: StoredTrace) -> ModelContext | None:
    try:
        return restored(found)
    except DamagedRecord as error:
        log.error("a record is skipped: %s", error)  # noqa: TRY400  # the detail says it all
        return None
