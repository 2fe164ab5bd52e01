"""The last messages of a group, in which the answer to a review is looked for after a crash."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from nonebot import logger
from nonebot.adapters.onebot.v11 import Message
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError
from nonebot.compat import type_validate_python
from pydantic import ValidationError

from qq.unasked import replied_to
from services.records.reviews import Review
from services.reviews.answers import signature
from services.reviews.models import Missing

# Enough for the minutes between a crash and the next start, in a busy group.
_LOOKED_THROUGH = 100
# What the line behind a merged forward or a file says. These cannot quote, and hide the signature from the list.
_BEHIND = ("合并转发", "放在文件")


async def find_answer(call_api: Callable[..., Awaitable[Any]], review: Review) -> int | Missing:
    """Return the message that the answer to a review is, or why none was found.

    It is absent only if the list goes back to the moment when it was handed over. Most clients can list messages, by an
    action that is not in the standard.
    """
    if review.sent_at is None:
        return Missing.UNKNOWN
    try:
        listed = await call_api("get_group_msg_history", group_id=review.request.group_id, count=_LOOKED_THROUGH)
    except (ActionFailed, NetworkError, ApiNotAvailable) as error:
        logger.info(f"this client does not list messages: {error!r}")
        return Missing.UNKNOWN
    found: Any = listed.get("messages") if isinstance(listed, dict) else None
    messages = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    for message in messages:
        message_id = message.get("message_id")
        if isinstance(message_id, int) and _is_answer(message, review, review.sent_at):
            return message_id
    times = [time for message in messages if (time := _time(message)) is not None]
    return Missing.ABSENT if times and min(times) <= review.sent_at else Missing.UNKNOWN


def quoted_by_answer(review: Review) -> int | None:
    """Return the message that the answer to a review quotes: the question, or else the answer that is in doubt."""
    request = review.request
    return request.question_id if request.question_id is not None else request.answer_id


def _is_answer(message: dict[str, Any], review: Review, sent_at: datetime) -> bool:
    sender: Any = message.get("sender")
    author = sender.get("user_id") if isinstance(sender, dict) else message.get("user_id")
    if str(author) != review.request.self_id:
        return False
    try:
        content = type_validate_python(Message, message.get("message") or [])
    except (ValidationError, ValueError):
        return False
    text = content.extract_plain_text()
    if signature(review) in text:
        return True
    if message.get("message_id") == review.request.answer_id or not any(word in text for word in _BEHIND):
        return False
    # QQ tells whole seconds.
    time, quoted = _time(message), replied_to(content)
    is_later = time is not None and time >= sent_at.replace(microsecond=0)
    return is_later and quoted is not None and quoted == quoted_by_answer(review)


def _time(message: dict[str, Any]) -> datetime | None:
    seconds = message.get("time")
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int) else None
