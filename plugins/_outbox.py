"""Everything the bot says goes through here: in order, at a bearable pace, in a form that QQ takes.

Limits are those that QQ bots found by experience: one text up to 1,500 characters, a merged forward of at most 30
nodes of 1,000 up to 9,000, above that a file. When QQ refuses a form the next one is tried; a send that timed out may
have arrived, so it is never repeated.
"""

import asyncio
import base64
import random
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nonebot import get_bots, logger
from nonebot.adapters.onebot.v11 import Bot, Message, MessageSegment
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError

from services.settings import SendSettings

PLAIN_CHARS = 1500
FORWARD_CHARS = 9000
_NODE_CHARS = 1000
_PIECE_CHARS = 1200
_PIECE_GAP_S = (1.5, 3.0)
_UPLOAD_TIMEOUT_S = 120
_RECONNECT_S = 600
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Chat:
    """Where to send. `group_id` with `user_id` is a temporary private chat that came through a group."""

    self_id: str
    group_id: int | None
    user_id: int | None = None

    @property
    def is_group(self) -> bool:
        """Whether a group reads it."""
        return self.user_id is None

    def target(self) -> dict[str, int]:
        """The parameters that name this chat in an API call."""
        target: dict[str, int] = {}
        if self.group_id is not None:
            target["group_id"] = self.group_id
        if self.user_id is not None:
            target["user_id"] = self.user_id
        return target


class _Refused(Exception):
    """QQ did not take this form."""


@dataclass(slots=True)
class _Lane:
    """One chat's queue: who waits for the lock is served in order."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0


@dataclass(slots=True)
class _Account:
    """When an account sent in the last minute: QQ watches each account for itself."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    sent: deque[float] = field(default_factory=deque[float])


class Outbox:
    """Sends, in turn for each chat. Nothing is dropped: who has to wait, waits."""

    def __init__(self, pace: SendSettings) -> None:
        self._pace = pace
        self._lanes: dict[Chat, _Lane] = {}
        self._accounts: dict[str, _Account] = {}
        self._connected = asyncio.Condition()
        self.waiting = 0

    async def account_connected(self) -> None:
        """Wake what waits for an account to come back."""
        async with self._connected:
            self._connected.notify_all()

    async def send(self, chat: Chat, text: str, reply_to: int | None = None) -> None:
        """Say `text` in `chat`, quoting the message `reply_to`. Returns when it was sent or cannot be.

        While the account is not connected it waits for up to ten minutes.
        """
        lane = self._lanes.setdefault(chat, _Lane())
        self.waiting += 1
        try:
            async with lane.lock:
                await self._in_best_form(chat, lane, text, reply_to)
        finally:
            self.waiting -= 1

    async def send_file(self, chat: Chat, name: str, content: bytes, note: str, reply_to: int | None = None) -> bool:
        """Put a file into `chat`, then say `note`. False when QQ does not take the file; the note is then not said."""
        lane = self._lanes.setdefault(chat, _Lane())
        self.waiting += 1
        try:
            async with lane.lock:
                await self._upload(chat, lane, name, content)
                await self._in_best_form(chat, lane, note, reply_to)
        except _Refused as refused:
            logger.warning(f"QQ refused the file {name!r} of {len(content)} bytes: {refused}")
            return False
        finally:
            self.waiting -= 1
        return True

    # -- forms --------------------------------------------------------------------------------------------------------

    async def _in_best_form(self, chat: Chat, lane: _Lane, text: str, reply_to: int | None) -> None:
        forms: list[Callable[[Chat, _Lane, str, int | None], Awaitable[None]]]
        forms = [self._plain, self._forward, self._pieces, self._file]
        if len(text) > FORWARD_CHARS:
            forms = [self._file, self._forward, self._pieces]
        elif len(text) > PLAIN_CHARS:
            forms = forms[1:]
        for form in forms:
            try:
                await form(chat, lane, text, reply_to)
            except _Refused as refused:
                logger.warning(f"QQ refused a message of {len(text)} characters as {form.__name__}: {refused}")
            else:
                return
        logger.error(f"a message of {len(text)} characters to {chat} could not be sent in any form")

    async def _plain(self, chat: Chat, lane: _Lane, text: str, reply_to: int | None) -> None:
        await self._call(chat, lane, "send_msg", message=_quoting(text, reply_to), **_typed(chat))

    async def _forward(self, chat: Chat, lane: _Lane, text: str, reply_to: int | None) -> None:
        nodes = Message(
            MessageSegment.node_custom(int(chat.self_id), "群知", Message(MessageSegment.text(piece)))
            for piece in split_text(text, _NODE_CHARS)
        )
        head = f"回答较长，约 {len(text)} 字，请看下面的合并转发。"
        await self._plain(chat, lane, head, reply_to)
        action = "send_group_forward_msg" if chat.is_group else "send_private_forward_msg"
        target = {"group_id": chat.group_id} if chat.is_group else {"user_id": chat.user_id}
        await self._call(chat, lane, action, messages=nodes, **target)

    async def _pieces(self, chat: Chat, lane: _Lane, text: str, reply_to: int | None) -> None:
        for number, piece in enumerate(split_text(text, _PIECE_CHARS)):
            if number:
                await asyncio.sleep(random.uniform(*_PIECE_GAP_S))  # noqa: S311 - a human pace, not a secret
            await self._plain(chat, lane, piece, reply_to if number == 0 else None)

    async def _file(self, chat: Chat, lane: _Lane, text: str, reply_to: int | None) -> None:
        await self._upload(chat, lane, "回答.txt", text.encode())
        await self._plain(chat, lane, f"回答很长，约 {len(text)} 字，放在文件「回答.txt」里了。", reply_to)

    async def _upload(self, chat: Chat, lane: _Lane, name: str, content: bytes) -> None:
        action = "upload_group_file" if chat.is_group else "upload_private_file"
        target = {"group_id": chat.group_id} if chat.is_group else {"user_id": chat.user_id}
        encoded = base64.b64encode(content).decode()
        result = await self._call(
            chat, lane, action, file=f"base64://{encoded}", name=name, _timeout=_UPLOAD_TIMEOUT_S, **target
        )
        if not (isinstance(result, dict) and result.get("file_id")):
            # Some clients answer a failed upload with an empty success.
            raise _Refused("no file_id")

    # -- the wire -----------------------------------------------------------------------------------------------------

    async def _call(self, chat: Chat, lane: _Lane, action: str, **parameters: Any) -> Any:
        await self._wait_for_turn(chat, lane)
        while True:
            bot = await self._account(chat.self_id)
            try:
                return await bot.call_api(action, **parameters)
            except ActionFailed as failed:
                if _timed_out(failed):
                    logger.warning(f"{action} to {chat} timed out at QQ; it may have arrived and is not repeated")
                    return None
                raise _Refused(str(failed.info)) from failed
            except ApiNotAvailable:
                # The socket was gone before anything was written to it.
                await asyncio.sleep(0.1)
            except NetworkError:
                logger.warning(f"{action} to {chat} got no answer; it may have arrived and is not repeated")
                return None

    async def _account(self, self_id: str) -> Bot:
        def account() -> Bot | None:
            bot = get_bots().get(self_id)
            return bot if isinstance(bot, Bot) else None

        async with self._connected:
            try:
                async with asyncio.timeout(_RECONNECT_S):
                    while (bot := account()) is None:
                        await self._connected.wait()
            except TimeoutError as error:
                raise _Refused(f"account {self_id} did not come back") from error
            return bot

    async def _wait_for_turn(self, chat: Chat, lane: _Lane) -> None:
        if chat.is_group and self._pace.group_interval_s:
            await asyncio.sleep(max(0.0, lane.free_at - time.monotonic()))
        if self._pace.per_minute:
            account = self._accounts.setdefault(chat.self_id, _Account())
            async with account.lock:
                sent = account.sent
                while sent and sent[0] <= time.monotonic() - _MINUTE_S:
                    sent.popleft()
                if len(sent) >= self._pace.per_minute:
                    await asyncio.sleep(max(0.0, sent.popleft() + _MINUTE_S - time.monotonic()))
                sent.append(time.monotonic())
        lane.free_at = time.monotonic() + self._pace.group_interval_s


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
