"""Everything the bot says goes through here: in order, at a bearable pace, in a form that QQ takes.

Limits are those that QQ bots found by experience: one text up to 1,500 characters, a merged forward of at most 30
nodes of 1,000 up to 9,000, above that a file. When QQ refuses a form the next one is tried; a send that timed out may
have arrived, so it is never repeated.
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

from plugins._chat import Chat
from plugins._recalls import Recalls
from plugins._turns import Priority, Turn, Turns
from services.settings import SendSettings

PLAIN_CHARS = 1500
FORWARD_CHARS = 9000
_NODE_CHARS = 1000
_PIECE_CHARS = 1200
_PIECE_GAP_S = (1.5, 3.0)
_UPLOAD_TIMEOUT_S = 120
# How long a message waits for its account to come back. An older answer is not wanted any more.
RECONNECT_S = 600.0


class Delivery(Enum):
    """What became of a message. SENT includes a send that QQ did not confirm: it may have arrived."""

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
    """The message was not sent and will not be; the queue decided so."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery)
        self.delivery = delivery


class _Refused(Exception):
    """QQ did not take this form."""


@dataclass(eq=False, slots=True)
class _Outgoing:
    """A message on its way. `granted` is set while it waits for a turn; `away_since` while its account is away."""

    chat: Chat
    reply_to: int | None
    turn: Turn
    has_begun: bool = False
    granted: asyncio.Future[Delivery | None] | None = None
    away_since: float | None = None


@dataclass(slots=True)
class _Queue:
    """The messages of one account. QQ watches each account for itself."""

    turns: Turns
    messages: dict[Turn, _Outgoing] = field(default_factory=dict[Turn, _Outgoing])
    timer: asyncio.TimerHandle | None = None


def _connected_account(self_id: str) -> Account | None:
    bot = get_bots().get(self_id)
    return bot if isinstance(bot, Bot) else None


class Outbox:
    """Sends messages one at a time in each chat. Those that exceed the pace wait; none is dropped for it.

    Answers go before notices, in a chat and within the account's messages of a minute; within one class messages keep
    their order. What quotes a recalled message is not sent.
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
        """Send what waited for an account to come back."""
        self._serve(self_id)

    def close(self) -> None:
        """End all waiting. Nothing is sent any more."""
        self._is_closed = True
        for self_id in list(self._queues):
            self._serve(self_id)

    async def send(
        self, chat: Chat, text: str, reply_to: int | None = None, priority: Priority = Priority.ANSWER
    ) -> Delivery:
        """Say `text` in `chat`, quoting the message `reply_to`. Returns when it was sent or is given up.

        While the account is not connected it waits for up to ten minutes.
        """
        async with self._outgoing(chat, reply_to, priority) as message:
            try:
                return await self._in_best_form(message, text)
            except _NotSent as not_sent:
                return not_sent.delivery

    async def send_file(
        self, chat: Chat, name: str, content: bytes, note: str, reply_to: int | None = None
    ) -> Delivery:
        """Put a file into `chat`, then say `note`. When QQ does not take the file, the note is not said."""
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

    # -- forms --------------------------------------------------------------------------------------------------------

    async def _in_best_form(self, message: _Outgoing, text: str) -> Delivery:
        forms: list[Callable[[_Outgoing, str], Awaitable[None]]]
        forms = [self._plain, self._forward, self._pieces, self._file]
        if len(text) > FORWARD_CHARS:
            forms = [self._file, self._forward, self._pieces]
        elif len(text) > PLAIN_CHARS:
            forms = forms[1:]
        for form in forms:
            try:
                await form(message, text)
            except _Refused as refused:
                logger.warning(f"QQ refused a message of {len(text)} characters as {form.__name__}: {refused}")
            else:
                return Delivery.SENT
        logger.error(f"a message of {len(text)} characters to {message.chat} could not be sent in any form")
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
        # A forward cannot quote. It is announced only once QQ has taken it.
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
        """Say a line about what was just delivered. Without it the delivery is as good, so a failure is only logged."""
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
            account = await self._turn(message)
            try:
                result = await account.call_api(action, **parameters)
            except ActionFailed as failed:
                if _timed_out(failed):
                    logger.warning(f"{action} to {chat} timed out at QQ; it may have arrived and is not repeated")
                    return None
                raise _Refused(str(failed.info)) from failed
            except (ApiNotAvailable, WebSocketClosed, WebSocketDisconnect):
                # The socket was gone before anything was written to it.
                self._queues[chat.self_id].turns.take_back()
                await asyncio.sleep(0.1)
            except NetworkError:
                logger.warning(f"{action} to {chat} got no answer; it may have arrived and is not repeated")
                return None
            else:
                message.has_begun = True
                return result

    # -- the queue ----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _outgoing(self, chat: Chat, reply_to: int | None, priority: Priority) -> AsyncGenerator[_Outgoing]:
        now = asyncio.get_running_loop().time()
        turn = Turn(chat, priority, now, self._pace.group_interval_s if chat.is_group else 0.0)
        message = _Outgoing(chat, reply_to, turn)
        queue = self._queues.setdefault(chat.self_id, _Queue(Turns(self._pace.per_minute)))
        queue.messages[turn] = message
        self.waiting += 1
        try:
            yield message
        finally:
            self.waiting -= 1
            del queue.messages[turn]
            queue.turns.release(turn)
            self._serve(chat.self_id)

    async def _turn(self, message: _Outgoing) -> Account:
        """Wait until the next call of `message` may be made."""
        self_id = message.chat.self_id
        while True:
            message.granted = asyncio.get_running_loop().create_future()
            self._queues[self_id].turns.add(message.turn)
            self._serve(self_id)
            try:
                not_sent = await message.granted
            finally:
                self._queues[self_id].turns.discard(message.turn)
                message.granted = None
            if not_sent is not None:
                raise _NotSent(not_sent)
            if (account := self._account(self_id)) is not None:
                return account

    def _serve(self, self_id: str) -> None:
        """Let go every message that may go now, and come back when the next one may."""
        queue = self._queues.get(self_id)
        if queue is None:
            return
        if queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        is_away = self._account(self_id) is None
        for turn in queue.turns:
            message = queue.messages[turn]
            message.away_since = (message.away_since or now) if is_away else None
            if (not_sent := self._not_sent(message, now)) is not None:
                _grant(message, not_sent)
            if message.granted is None or message.granted.done():
                # Given up, or its sender was cancelled and has not run since.
                queue.turns.discard(turn)
        next_at = None
        if is_away:
            waiting = [queue.messages[turn].away_since or now for turn in queue.turns]
            next_at = min(waiting) + self._reconnect_s if waiting else None
        else:
            while (turn := queue.turns.take(now)) is not None:
                _grant(queue.messages[turn], None)
            next_at = queue.turns.next_at(now)
        if next_at is not None:
            queue.timer = loop.call_at(next_at, self._serve, self_id)

    def _not_sent(self, message: _Outgoing, now: float) -> Delivery | None:
        """Return why a waiting message need not wait any longer, None while it has to."""
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
    # Always as a text segment: a string would be read for CQ codes.
    message = Message(MessageSegment.text(text))
    return message if reply_to is None else MessageSegment.reply(reply_to) + message


def _timed_out(failed: ActionFailed) -> bool:
    """NapCat reports a send that QQ did not confirm in time as 1200 with this word."""
    words = f"{failed.info.get('message', '')} {failed.info.get('wording', '')}".lower()
    return failed.info.get("retcode") == 1200 and "timeout" in words


def split_text(text: str, limit: int) -> Sequence[str]:
    """Cut at paragraph, line or sentence ends into pieces of at most `limit` characters; nothing is lost.

    >>> split_text("一二三。四五六。", 5)
    ['一二三。', '四五六。']
    """
    pieces: list[str] = []
    rest = text
    while len(rest) > limit:
        window = rest[:limit]
        cut = max(window.rfind("\n\n") + 2, 2)
        if cut < limit // 2:
            cut = max(window.rfind("\n") + 1, *(match.end() for match in re.finditer(r"[。！？!?；;]", window)), 0)
        if cut < limit // 4:
            cut = limit
        pieces.append(rest[:cut])
        rest = rest[cut:]
    return [*pieces, rest] if rest else pieces
