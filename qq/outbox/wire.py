"""The OneBot calls that put a message into QQ.

Text is always a text segment, because the client parses a string for CQ codes. A call that timed out may have arrived,
so it counts as sent and is never repeated.
"""

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

from nonebot import logger
from nonebot.adapters.onebot.v11 import Message, MessageSegment
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError
from nonebot.exception import WebSocketClosed
from starlette.websockets import WebSocketDisconnect

from qq.chat import Chat
from qq.outbox.delivery import Refused
from qq.outbox.queue import Outgoing, Queue

_UPLOAD_TIMEOUT_S = 120


class Wire:
    """Makes the calls for messages, each when the queue allows it.

    Every method raises `Refused` if QQ does not accept the form, and `NotSent` if the queue gives the message up.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    async def say(
        self, message: Outgoing, text: str, *, pictures: Sequence[tuple[bytes, str]] = (), quotes: bool = True
    ) -> None:
        """Send a text with PNG pictures under it, each with the word that QQ shows for it in the list of chats."""
        segments = Message(MessageSegment.text(text))
        for content, summary in pictures:
            encoded = base64.b64encode(content).decode()
            segments += MessageSegment("image", {"file": f"base64://{encoded}", "summary": f"[{summary}]"})
        if quotes and message.reply_to is not None:
            segments = MessageSegment.reply(message.reply_to) + segments
        await self._call(message, "send_msg", message=segments, **_typed(message.chat))

    async def forward(self, message: Outgoing, texts: Sequence[str]) -> None:
        """Send a merged forward with one node for each text."""
        chat = message.chat
        nodes = Message(
            MessageSegment.node_custom(int(chat.self_id), "群知", Message(MessageSegment.text(text))) for text in texts
        )
        action = "send_group_forward_msg" if chat.is_group else "send_private_forward_msg"
        await self._call(message, action, messages=nodes, **_only_target(chat))

    async def upload(self, message: Outgoing, name: str, content: bytes) -> None:
        """Send a file."""
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
            raise Refused("no file_id")

    async def _call(self, message: Outgoing, action: str, /, **parameters: Any) -> Any:
        while True:
            account = await self._queue.turn(message)
            try:
                result = await account.call_api(action, **parameters)
            except ActionFailed as failed:
                if _timed_out(failed):
                    logger.warning(
                        f"{action} to {message.chat} timed out at QQ; it may have arrived and is not repeated"
                    )
                    return None
                raise Refused(str(failed.info)) from failed
            except (ApiNotAvailable, WebSocketClosed, WebSocketDisconnect):
                # The socket was closed before anything was written to it.
                self._queue.take_back(message)
                await asyncio.sleep(0.1)
            except NetworkError:
                logger.warning(f"{action} to {message.chat} got no answer; it may have arrived and is not repeated")
                return None
            else:
                message.has_begun = True
                message.message_ids += _message_ids(result)
                return result


def _message_ids(result: Any) -> list[int]:
    # LLOneBot reports 0 for a message whose id it does not know.
    message_id = result.get("message_id") if isinstance(result, dict) else None
    return [message_id] if isinstance(message_id, int) and message_id else []


def _only_target(chat: Chat) -> dict[str, Any]:
    return {"group_id": chat.group_id} if chat.is_group else {"user_id": chat.user_id}


def _typed(chat: Chat) -> dict[str, Any]:
    return {"message_type": "group" if chat.is_group else "private", **chat.target()}


def _timed_out(failed: ActionFailed) -> bool:
    """Return whether QQ did not confirm a send in time.

    NapCat reports this with the code 1200 and the word "timeout".
    """
    words = f"{failed.info.get('message', '')} {failed.info.get('wording', '')}".lower()
    return failed.info.get("retcode") == 1200 and "timeout" in words
