"""One receipt for the files that arrive together in a chat."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from nonebot import logger

from qq.chat import Chat
from qq.messages import arrival_text, receipt_text
from qq.outbox.delivery import Delivery
from qq.outbox.outbox import Outbox
from qq.outbox.send_queue import Priority
from qq.working import SHOW_AFTER_S
from services.knowledge.models import IngestResult

# How long an outcome waits at most for those of other files in its chat. The first receipt comes early, so that people
# know about a small file although large ones are still being read.
FIRST_TOGETHER_S = 10.0
TOGETHER_S = 30.0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """An outcome that has not been reported yet. `at` is in seconds of the event loop's clock."""

    result: IngestResult
    at: float
    delivery: asyncio.Future[Delivery]


@dataclass(slots=True)
class _Batch:
    """The files of one chat that are in progress together.

    `reading` holds the name of each file, and whether an earlier batch announced it.
    """

    began_at: float
    task: asyncio.Task[None] | None = None
    has_told: bool = False
    reading: dict[int, tuple[str, bool]] = field(default_factory=dict[int, tuple[str, bool]])
    outcomes: list[_Outcome] = field(default_factory=list[_Outcome])
    arrival: asyncio.Task[Delivery] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Receipts:
    """Reports the outcomes of files.

    The outcome of a file that is alone in its chat is reported at once. The outcomes of files that are in progress
    together are reported in one message when the last one is done. Until then, those that are done are reported after
    10 seconds for the first time, and then every 30 seconds. At most one such message waits in the outbox for each
    chat, and outcomes that follow meanwhile go into the next one.
    """

    def __init__(
        self,
        outbox: Outbox,
        show_after_s: float = SHOW_AFTER_S,
        first_together_s: float = FIRST_TOGETHER_S,
        together_s: float = TOGETHER_S,
    ) -> None:
        self._outbox = outbox
        self._show_after_s = show_after_s
        self._first_together_s = first_together_s
        self._together_s = together_s
        self._batches: dict[Chat, _Batch] = {}
        self._numbers = count()

    @contextmanager
    def reading(self, chat: Chat, name: str, *, is_announced: bool = False) -> Generator[None]:
        """Count a file as in progress while the block runs.

        After two seconds one message says that files have arrived, unless all of them were announced before.
        """
        batch, number = self._batch(chat), next(self._numbers)
        batch.reading[number] = name, is_announced
        batch.changed.set()
        try:
            yield
        finally:
            del batch.reading[number]
            batch.changed.set()

    def reading_count(self, chat: Chat) -> int:
        """Return how many files of a chat are in progress."""
        batch = self._batches.get(chat)
        return 0 if batch is None else len(batch.reading)

    async def tell(self, chat: Chat, result: IngestResult) -> Delivery:
        """Add an outcome to the chat's next receipt. Return when the receipt was sent or is given up."""
        loop = asyncio.get_running_loop()
        outcome = _Outcome(result, loop.time(), loop.create_future())
        batch = self._batch(chat)
        batch.outcomes.append(outcome)
        batch.changed.set()
        return await outcome.delivery

    async def close(self) -> None:
        """Stop reporting. Calls of `tell` that wait are cancelled."""
        tasks = [batch.task for batch in self._batches.values() if batch.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _batch(self, chat: Chat) -> _Batch:
        batch = self._batches.get(chat)
        if batch is None:
            batch = self._batches[chat] = _Batch(asyncio.get_running_loop().time())
            batch.task = asyncio.create_task(self._work_off(chat, batch), name="receipts")
        return batch

    async def _work_off(self, chat: Chat, batch: _Batch) -> None:
        loop = asyncio.get_running_loop()
        try:
            while batch.reading or batch.outcomes:
                batch.changed.clear()
                together_s = self._together_s if batch.has_told else self._first_together_s
                receipt_at = min((outcome.at + together_s for outcome in batch.outcomes), default=float("inf"))
                arrival_at = batch.began_at + self._show_after_s if _is_unannounced(batch) else float("inf")
                if batch.outcomes and (not batch.reading or receipt_at <= loop.time()):
                    await self._send_receipt(chat, batch)
                elif arrival_at <= loop.time():
                    self._announce(chat, batch)
                else:
                    await _either(batch.changed, min(receipt_at, arrival_at) - loop.time())
        finally:
            del self._batches[chat]
            _stop(batch.arrival)
            for outcome in batch.outcomes:
                outcome.delivery.cancel()

    async def _send_receipt(self, chat: Chat, batch: _Batch) -> None:
        told, batch.outcomes, batch.has_told = batch.outcomes, [], True
        _stop(batch.arrival)
        text = receipt_text([outcome.result for outcome in told], len(batch.reading))
        try:
            delivery = await self._outbox.send(chat, text, priority=Priority.NOTICE)
        except asyncio.CancelledError:
            for outcome in told:
                outcome.delivery.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - raised again by `tell`
            for outcome in told:
                _set_exception(outcome.delivery, error)
        else:
            for outcome in told:
                if not outcome.delivery.done():
                    outcome.delivery.set_result(delivery)

    def _announce(self, chat: Chat, batch: _Batch) -> None:
        names = [name for name, _ in batch.reading.values()] + [outcome.result.name for outcome in batch.outcomes]
        batch.arrival = asyncio.create_task(self._outbox.send(chat, arrival_text(names), priority=Priority.NOTICE))
        batch.arrival.add_done_callback(_log_failure)


def _is_unannounced(batch: _Batch) -> bool:
    return batch.arrival is None and not all(is_announced for _, is_announced in batch.reading.values())


async def _either(changed: asyncio.Event, seconds: float) -> None:
    """Wait for the event for at most `seconds`."""
    try:
        async with asyncio.timeout(None if seconds == float("inf") else max(seconds, 0.0)):
            await changed.wait()
    except TimeoutError:
        return


def _stop(task: asyncio.Task[Delivery] | None) -> None:
    """Cancel an announcement that was overtaken while it waited."""
    if task is not None:
        task.cancel()


def _set_exception(future: asyncio.Future[Delivery], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _log_failure(task: asyncio.Task[Delivery]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.opt(exception=error).error("files could not be announced")
