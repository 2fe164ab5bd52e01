"""The outbox, which sends everything the bot says: in order, at an acceptable pace, in a format that QQ accepts.

The limits are those that QQ bots found by experience: one text of up to 1,500 characters, a merged forward of at most
30 nodes of 1,000 characters for up to 9,000, and a file above that. If QQ refuses a format, the next one is tried. A
send that timed out may have arrived, so it is never repeated.
"""

import asyncio
import base64
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol

from nonebot import get_bots, logger
from nonebot.adapters.onebot.v11 import Bot, Message, MessageSegment
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError
from nonebot.exception import WebSocketClosed
from starlette.websockets import WebSocketDisconnect

from qq.chat import Chat
from qq.outbox.send_queue import Priority, QueuedMessage, SendQueue
from qq.recalls import Recalls
from services.settings import SendSettings

PLAIN_CHARS = 1500
FORWARD_CHARS = 9000
_NODE_CHARS = 1000
_PIECE_CHARS = 1200
_PIECE_GAP_S = (1.5, 3.0)
_UPLOAD_TIMEOUT_S = 120
# How long a message waits for its account to come back. Nobody wants an older answer any more.
RECONNECT_S = 600.0


class Delivery(Enum):
    """The outcome of a message. SENT includes a send that QQ did not confirm, because it may have arrived."""

    SENT = auto()
    REFUSED = auto()
    AWAY = auto()
    RECALLED = auto()


class Account(Protocol):
    """A connected QQ account."""

    async def call_api(self, api: str, **data: Any) -> Any:
        """Call an action of the client and return its data."""
        ...


class _NotSent(Exception):
    """Signals that the queue decided not to send a message. It will not be sent later either."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery)
        self.delivery = delivery


class _Refused(Exception):
    """Signals that QQ did not accept this format."""


@dataclass(eq=False, slots=True)
class _Outgoing:
    """A message on its way. `granted` is set while it waits for a call, and `away_since` while its account is away."""

    chat: Chat
    reply_to: int | None
    queued: QueuedMessage
    has_begun: bool = False
    granted: asyncio.Future[Delivery | None] | None = None
    away_since: float | None = None


@dataclass(slots=True)
class _Queue:
    """The messages of one account. QQ watches each account separately."""

    order: SendQueue
    messages: dict[QueuedMessage, _Outgoing] = field(default_factory=dict[QueuedMessage, _Outgoing])
    timer: asyncio.TimerHandle | None = None


def _connected_account(self_id: str) -> Account | None:
    bot = get_bots().get(self_id)
    return bot if isinstance(bot, Bot) else None


class Outbox:
    """Sends messages one at a time in each chat. Messages that exceed the pace wait, and none is dropped because of it.

    Answers go before notices, both in a chat and within the account's limit per minute. Among answers, those to the
    people who received the fewest within the last minute go first; messages to one person keep their order. A message
    that quotes a recalled message is not sent.
    """

    def __init__(
        self,
        pace: SendSettings,
        recalls: Recalls,
        account: Callable[[str], Account | None] = _connected_account,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        self._pace = pace
        self._recalls = recalls
        self._account = account
        self._reconnect_s = reconnect_s
        self._queues: dict[str, _Queue] = {}
        self._is_closed = False
        self.waiting = 0

    def account_connected(self, self_id: str) -> None:
        """Send the messages that waited for an account to come back."""
        self._serve(self_id)

    def close(self) -> None:
        """End all waiting. Nothing is sent from then on."""
        self._is_closed = True
        for self_id in list(self._queues):
            self._serve(self_id)

    async def send(
        self,
        chat: Chat,
        text: str,
        reply_to: int | None = None,
        priority: Priority = Priority.ANSWER,
        *,
        asker: int | None = None,
    ) -> Delivery:
        """Send `text` to `chat`, quoting the message `reply_to`. Return when it was sent or is given up.

        `asker` is the QQ number of the person whom an answer is for. If the account is not connected, the message waits
        for up to ten minutes.
        """
        async with self._outgoing(chat, reply_to, priority, asker) as message:
            try:
                return await self._in_best_format(message, text)
            except _NotSent as not_sent:
                return not_sent.delivery

    async def send_file(
        self, chat: Chat, name: str, content: bytes, note: str, reply_to: int | None = None
    ) -> Delivery:
        """Send a file to `chat`, then the line `note`. If QQ does not accept the file, the note is not sent."""
        async with self._outgoing(chat, reply_to, Priority.ANSWER) as message:
            try:
                await self._upload(message, name, content)
            except _Refused as refused:
                logger.warning(f"QQ refused the file {name!r} of {len(content)} bytes: {refused}")
                return Delivery.REFUSED
            except _NotSent as not_sent:
                return not_sent.delivery
            await self._note(message, note)
            return Delivery.SENT

    # -- formats ------------------------------------------------------------------------------------------------------

    async def _in_best_format(self, message: _Outgoing, text: str) -> Delivery:
        formats: list[Callable[[_Outgoing, str], Awaitable[None]]]
        formats = [self._plain, self._forward, self._pieces, self._file]
        if len(text) > FORWARD_CHARS:
            formats = [self._file, self._forward, self._pieces]
        elif len(text) > PLAIN_CHARS:
            formats = formats[1:]
        for send in formats:
            try:
                await send(message, text)
            except _Refused as refused:
                logger.warning(f"QQ refused a message of {len(text)} characters as {send.__name__}: {refused}")
            else:
                return Delivery.SENT
        logger.error(f"a message of {len(text)} characters to {message.chat} could not be sent in any format")
        return Delivery.REFUSED

    async def _plain(self, message: _Outgoing, text: str) -> None:
        await self._say(message, text, message.reply_to)

    async def _forward(self, message: _Outgoing, text: str) -> None:
        chat = message.chat
        nodes = Message(
            MessageSegment.node_custom(int(chat.self_id), "群知", Message(MessageSegment.text(piece)))
            for piece in split_text(text, _NODE_CHARS)
        )
        action = "send_group_forward_msg" if chat.is_group else "send_private_forward_msg"
        await self._call(message, action, messages=nodes, **_only_target(chat))
        # A forward cannot quote, so a note does. It is only sent once QQ has accepted the forward.
        if len(text) > PLAIN_CHARS:
            await self._note(message, f"内容较长，约 {len(text)} 字，请看上面的合并转发。")
        else:
            await self._note(message, "内容在上面的合并转发里。")

    async def _pieces(self, message: _Outgoing, text: str) -> None:
        for number, piece in enumerate(split_text(text, _PIECE_CHARS)):
            if number:
                await asyncio.sleep(random.uniform(*_PIECE_GAP_S))  # noqa: S311 - a human pace, not a secret
            await self._say(message, piece, message.reply_to if number == 0 else None)

    async def _file(self, message: _Outgoing, text: str) -> None:
        await self._upload(message, "回答.txt", text.encode())
        await self._note(message, f"内容很长，约 {len(text)} 字，放在文件「回答.txt」里了。")

    async def _note(self, message: _Outgoing, text: str) -> None:
        """Send a line about what was just delivered.

        A failure is only logged, because the delivery is complete without the line.
        """
        try:
            await self._say(message, text, message.reply_to)
        except (_Refused, _NotSent) as error:
            logger.warning(f"the line after a delivery to {message.chat} was not sent: {error}")

    async def _upload(self, message: _Outgoing, name: str, content: bytes) -> None:
        action = "upload_group_file" if message.chat.is_group else "upload_private_file"
        encoded = (await asyncio.to_thread(base64.b64encode, content)).decode()
        result = await self._call(
            message,
            action,
            file=f"base64://{encoded}",
            name=name,
            _timeout=_UPLOAD_TIMEOUT_S,
            **_only_target(message.chat),
        )
        if not (isinstance(result, dict) and result.get("file_id")):
            # Some clients answer a failed upload with an empty success.
            raise _Refused("no file_id")

    # -- the wire -----------------------------------------------------------------------------------------------------

    async def _say(self, message: _Outgoing, text: str, reply_to: int | None) -> None:
        await self._call(message, "send_msg", message=_quoting(text, reply_to), **_typed(message.chat))

    async def _call(self, message: _Outgoing, action: str, /, **parameters: Any) -> Any:
        chat = message.chat
        while True:
            account = await self._allowed_account(message)
            try:
                result = await account.call_api(action, **parameters)
            except ActionFailed as failed:
                if _timed_out(failed):
                    logger.warning(f"{action} to {chat} timed out at QQ; it may have arrived and is not repeated")
                    return None
                raise _Refused(str(failed.info)) from failed
            except (ApiNotAvailable, WebSocketClosed, WebSocketDisconnect):
                # The socket was closed before anything was written to it.
                self._queues[chat.self_id].order.take_back(message.queued)
                await asyncio.sleep(0.1)
            except NetworkError:
                logger.warning(f"{action} to {chat} got no answer; it may have arrived and is not repeated")
                return None
            else:
                message.has_begun = True
                return result

    # -- the queue ----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _outgoing(
        self, chat: Chat, reply_to: int | None, priority: Priority, asker: int | None = None
    ) -> AsyncGenerator[_Outgoing]:
        now = asyncio.get_running_loop().time()
        queued = QueuedMessage(chat, priority, now, self._pace.group_interval_s if chat.is_group else 0.0, asker)
        message = _Outgoing(chat, reply_to, queued)
        queue = self._queues.setdefault(chat.self_id, _Queue(SendQueue(self._pace.per_minute)))
        queue.messages[queued] = message
        self.waiting += 1
        try:
            yield message
        finally:
            self.waiting -= 1
            del queue.messages[queued]
            queue.order.release(queued)
            self._serve(chat.self_id)

    async def _allowed_account(self, message: _Outgoing) -> Account:
        """Wait until the next call of `message` is allowed, and return its account."""
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
                raise _NotSent(not_sent)
            if (account := self._account(self_id)) is not None:
                return account

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

    def _not_sent(self, message: _Outgoing, now: float) -> Delivery | None:
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


def _grant(message: _Outgoing, not_sent: Delivery | None) -> None:
    if message.granted is not None and not message.granted.done():
        message.granted.set_result(not_sent)


def _only_target(chat: Chat) -> dict[str, Any]:
    return {"group_id": chat.group_id} if chat.is_group else {"user_id": chat.user_id}


def _typed(chat: Chat) -> dict[str, Any]:
    return {"message_type": "group" if chat.is_group else "private", **chat.target()}


def _quoting(text: str, reply_to: int | None) -> Message:
    # Always use a text segment, because a string would be parsed for CQ codes.
    message = Message(MessageSegment.text(text))
    return message if reply_to is None else MessageSegment.reply(reply_to) + message


def _timed_out(failed: ActionFailed) -> bool:
    """Return whether QQ did not confirm a send in time.

    NapCat reports this with the code 1200 and the word "timeout".
    """
    words = f"{failed.info.get('message', '')} {failed.info.get('wording', '')}".lower()
    return failed.info.get("retcode") == 1200 and "timeout" in words


def split_text(text: str, limit: int) -> Sequence[str]:
    """Split a text at the ends of paragraphs, lines or sentences into pieces of at most `limit` characters.

    Nothing of the text is lost.

    >>> split_text("一二三。四五六。", 5)
    ['一二三。', '四五六。']
    """
    pieces: list[str] = []
    rest = text
    while len(rest) > limit:
        window = rest[:limit]
        paragraph = window.rfind("\n\n")
        cut = paragraph + 2 if paragraph >= 0 else 0
        if cut < limit // 2:
            cut = max(window.rfind("\n") + 1, *(match.end() for match in re.finditer(r"[。！？!?；;]", window)), 0)
        if cut < limit // 4:
            cut = limit
        pieces.append(rest[:cut])
        rest = rest[cut:]
    return [*pieces, rest] if rest else pieces
