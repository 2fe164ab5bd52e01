"""QQ as the queue of reviews uses it: it answers askers, looks for answers, and tells admins."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from nonebot import get_bots, logger
from nonebot.adapters.onebot.v11 import Bot, Message
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError
from nonebot.compat import type_validate_python
from pydantic import ValidationError

from qq.chat import Chat
from qq.depends import outbox, services, settings
from qq.messages import answer_reply, shortened
from qq.outbox.delivery import Delivery
from qq.outbox.queue import connected_account
from qq.outbox.send_queue import Priority
from qq.reports.reviews import notice_text
from qq.unasked import replied_to
from services.grounding.models import Answer
from services.records.reviews import Notice, Review, ReviewReason
from services.records.tables import now
from services.reviews.answers import signature
from services.reviews.models import Missing, Sending, SendStatus

# Enough for the minutes between a crash and the next start, in a busy group.
_LOOKED_THROUGH = 100
# The clock of QQ is not ours.
_CLOCKS = timedelta(seconds=2)
# A client may have lost a message that is older, and then silently sends an answer without its quotation.
_QUOTABLE = timedelta(hours=1)
_MOST_ADMINS = 5
_FAILURES = (ActionFailed, NetworkError, ApiNotAvailable)
_OUTCOMES = {
    Delivery.REFUSED: SendStatus.REFUSED,
    Delivery.AWAY: SendStatus.AWAY,
    Delivery.RECALLED: SendStatus.RECALLED,
}


class QQReviews:
    """The messages of reviews in QQ."""

    def is_connected(self, account: str) -> bool:
        """Return whether an account can send now."""
        return connected_account(account) is not None

    async def answer(self, review: Review, answer: Answer) -> Sending:
        """Answer the asker in their group, quoting the question and saying who approved it."""
        request = review.request
        reply = answer_reply(replace(answer, text=_introduction(review) + answer.text), ending=signature(review))
        posted = await outbox.post(_chat(review), reply, _quoted(review), asker=request.asker_id)
        if posted.delivery is not Delivery.SENT:
            return Sending(_OUTCOMES[posted.delivery])
        if not posted.message_ids:
            return Sending(SendStatus.UNCONFIRMED)
        await services().sent_answers.note(request.self_id, request.chat, posted.message_ids, request.turn_id)
        return Sending(SendStatus.SENT, posted.message_ids[0])

    async def find(self, review: Review) -> int | Missing:
        """Look for the answer among the last messages of the group, if the client can list them."""
        bot = get_bots().get(review.request.self_id)
        if bot is None or review.sent_at is None:
            return Missing.UNKNOWN
        try:
            listed = await bot.call_api(
                "get_group_msg_history", group_id=review.request.group_id, count=_LOOKED_THROUGH
            )
        except _FAILURES as error:
            logger.info(f"this client does not list messages: {error!r}")
            return Missing.UNKNOWN
        found: Any = listed.get("messages") if isinstance(listed, dict) else None
        messages = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        for message in messages:
            if isinstance(message_id := message.get("message_id"), int) and _is_answer(message, review):
                return message_id
        oldest = min((_time(message) for message in messages), default=None)
        return Missing.ABSENT if oldest is not None and oldest <= review.sent_at else Missing.UNKNOWN

    async def announce(self, reviews: Sequence[Review]) -> Sequence[Notice] | None:
        """Tell the admins about reviews of one group, in the group or in private as the settings say."""
        chats = [_chat(reviews[0])]
        if settings().review.notify == "private":
            admins = await self._admins(reviews[0])
            if admins is None:
                return None
            chats = [replace(chats[0], user_id=admin) for admin in admins]
        text, notices = notice_text(reviews), list[Notice]()
        for chat in chats:
            posted = await outbox.post(chat, text, priority=Priority.NOTICE)
            if posted.delivery is Delivery.AWAY:
                return notices or None
            notices += [Notice(message_id, chat.user_id) for message_id in posted.message_ids[:1]]
        if not notices:
            logger.warning(f"no admin of group {reviews[0].request.group_id} could be told about reviews")
        return notices

    async def _admins(self, review: Review) -> list[int] | None:
        """Return the people to tell in private, the owner first, or None if the client does not list them."""
        bot = get_bots().get(review.request.self_id)
        if not isinstance(bot, Bot):
            return None
        try:
            listed = await bot.call_api("get_group_member_list", group_id=review.request.group_id)
        except _FAILURES as error:
            logger.warning(f"cannot list the admins of group {review.request.group_id}: {error!r}")
            return None
        members = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        by_role = {
            role: [each.get("user_id") for each in members if each.get("role") == role] for role in ("owner", "admin")
        }
        people = [person for person in (*by_role["owner"], *by_role["admin"]) if isinstance(person, int)]
        return [person for person in people if str(person) not in get_bots()][:_MOST_ADMINS]


def _chat(review: Review) -> Chat:
    return Chat(review.request.self_id, review.request.group_id)


def _quoted(review: Review) -> int | None:
    request = review.request
    return request.question_id if request.question_id is not None else request.answer_id


def _introduction(review: Review) -> str:
    """Return what stands before the answer: a correction says so, and an old question is repeated."""
    if review.request.reason is ReviewReason.CORRECTION:
        return "更正："
    if _quoted(review) is not None and now() - review.opened_at < _QUOTABLE:
        return ""
    return f"你问的「{shortened(review.request.question, 40)}」：\n"


def _is_answer(message: dict[str, Any], review: Review) -> bool:
    """Return whether a listed message is the answer: it has its signature, or quotes the question after it was sent."""
    sender: Any = message.get("sender")
    author = sender.get("user_id") if isinstance(sender, dict) else message.get("user_id")
    if str(author) != review.request.self_id:
        return False
    try:
        content = type_validate_python(Message, message.get("message") or [])
    except (ValidationError, ValueError):
        return False
    if signature(review) in content.extract_plain_text():
        return True
    # A long answer is a merged forward, which cannot quote; the line behind it does.
    is_later = review.sent_at is not None and _time(message) >= review.sent_at - _CLOCKS
    return is_later and replied_to(content) is not None and replied_to(content) == _quoted(review)


def _time(message: dict[str, Any]) -> datetime:
    seconds = message.get("time")
    return datetime.fromtimestamp(seconds if isinstance(seconds, int) else 0, UTC)


review_messenger = QQReviews()
