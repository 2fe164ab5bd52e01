"""The queue in which messages wait until their account may make the next call."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from nonebot import get_bots, logger
from nonebot.adapters.onebot.v11 import Bot

from qq.chat import Chat
from qq.outbox.delivery import Delivery, NotSent
from qq.outbox.send_queue import Priority, QueuedMessage, SendQueue
from qq.recalls import Recalls
from services.settings import SendSettings

# How long a message waits for its account to come back. Nobody wants an older answer any more.
RECONNECT_S = 600.0


class Account(Protocol):
    """A connected QQ account."""

    async def call_api(self, api: str, **data: Any) -> Any:
        """Call an action of the client and return its data."""
        ...


@dataclass(eq=False, slots=True)
class Outgoing:
    """A message on its way. `granted` is set while it waits for a call, and `away_since` while its account is away.

    `message_ids` are those that QQ has given to its parts so far.
    """

    chat: Chat
    reply_to: int | None
    queued: QueuedMessage
    message_ids: list[int] = field(default_factory=list[int])
    has_begun: bool = False
    granted: asyncio.Future[Delivery | None] | None = None
    away_since: float | None = None


@dataclass(slots=True)
class _AccountQueue:
    """The messages of one account. QQ watches each account separately."""

    order: SendQueue
    messages: dict[QueuedMessage, Outgoing] = field(default_factory=dict[QueuedMessage, Outgoing])
    timer: asyncio.TimerHandle | None = None


def connected_account(self_id: str) -> Account | None:
    """Return the account with this QQ number if it is connected."""
    bot = get_bots().get(self_id)
    return bot if isinstance(bot, Bot) else None


class Queue:
    """Gives each call of a message its turn. Messages that exceed the pace wait.

    A message that quotes a recalled message gets no turn, and neither does one whose account stays away for longer than
    `reconnect_s`.
    """

    def __init__(
        self,
        pace: SendSettings,
        recalls: Recalls,
        account: Callable[[str], Account | None],
        reconnect_s: float,
    ) -> None:
        self._pace = pace
        self._recalls = recalls
        self._account = account
        self._reconnect_s = reconnect_s
        self._queues: dict[str, _AccountQueue] = {}
        self._is_closed = False
        self.waiting = 0

    def account_connected(self, self_id: str) -> None:
        """Grant the turns of messages that waited for an account to come back."""
        self._serve(self_id)

    def close(self) -> None:
        """End all waiting. No message gets a turn from then on."""
        self._is_closed = True
        for self_id in list(self._queues):
            self._serve(self_id)

    @asynccontextmanager
    async def outgoing(
        self, chat: Chat, reply_to: int | None, priority: Priority, asker: int | None
    ) -> AsyncGenerator[Outgoing]:
        """Keep a message in the queue of its account while the block runs."""
        now = asyncio.get_running_loop().time()
        queued = QueuedMessage(chat, priority, now, self._pace.group_interval_s if chat.is_group else 0.0, asker)
        message = Outgoing(chat, reply_to, queued)
        queue = self._queues.setdefault(chat.self_id, _AccountQueue(SendQueue(self._pace.per_minute)))
        queue.messages[queued] = message
        self.waiting += 1
        try:
            yield message
        finally:
            self.waiting -= 1
            del queue.messages[queued]
            queue.order.release(queued)
            self._serve(chat.self_id)

    async def turn(self, message: Outgoing) -> Account:
        """Wait until the next call of `message` is allowed, and return its account.

        Raises:
            NotSent: The message need not be sent any more.
        """
        self_id = message.chat.self_id
        while True:
            message.granted = asyncio.get_running_loop().create_future()
            self._queues[self_id].order.add(message.queued)
            self._serve(self_id)
            try:
                not_sent = await message.granted
            finally:
                self._queues[self_id].order.discard(message.queued)
                message.granted = None
            if not_sent is not None:
                raise NotSent(not_sent)
            if (account := self._account(self_id)) is not None:
                return account

    def take_back(self, message: Outgoing) -> None:
        """Undo the count of the last call, because nothing of it was sent."""
        self._queues[message.chat.self_id].order.take_back(message.queued)

    def _serve(self, self_id: str) -> None:
        """Release all messages that may go now, and schedule the next run for when another one may."""
        queue = self._queues.get(self_id)
        if queue is None:
            return
        if queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        is_away = self._account(self_id) is None
        for queued in queue.order:
            message = queue.messages[queued]
            message.away_since = (message.away_since or now) if is_away else None
            if (not_sent := self._not_sent(message, now)) is not None:
                _grant(message, not_sent)
            if message.granted is None or message.granted.done():
                # It was given up, or its sender was cancelled and has not run since.
                queue.order.discard(queued)
        next_at = None
        if is_away:
            waiting = [queue.messages[queued].away_since or now for queued in queue.order]
            next_at = min(waiting) + self._reconnect_s if waiting else None
        else:
            while (queued := queue.order.take(now)) is not None:
                _grant(queue.messages[queued], None)
            next_at = queue.order.next_at(now)
        if next_at is not None:
            queue.timer = loop.call_at(next_at, self._serve, self_id)

    def _not_sent(self, message: Outgoing, now: float) -> Delivery | None:
        """Return why a waiting message need not wait any longer, or None if it still has to wait."""
        if self._is_closed:
            return Delivery.AWAY
        quoted = None if message.has_begun else message.reply_to
        if quoted is not None and self._recalls.includes(message.chat, quoted):
            logger.info(f"message {quoted} was recalled and is not answered")
            return Delivery.RECALLED
        if message.away_since is not None and now - message.away_since >= self._reconnect_s:
            logger.warning(f"account {message.chat.self_id} did not come back, a message to {message.chat} is given up")
            return Delivery.AWAY
        return None


def _grant(message: Outgoing, not_sent: Delivery | None) -> None:
    if message.granted is not None and not message.granted.done():
        message.granted.set_result(not_sent)
