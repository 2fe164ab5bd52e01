"""QQ as the queue of reviews uses it: it answers askers, looks for answers, and tells admins."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from nonebot import get_bots, logger
from nonebot.adapters.onebot.v11 import Bot
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError

from qq.chat import Chat
from qq.chat_history import find_answer, quoted_by_answer
from qq.depends import outbox, services, settings
from qq.messages import answer_reply, shortened
from qq.outbox.delivery import Delivery
from qq.outbox.queue import connected_account
from qq.outbox.send_queue import Priority
from qq.reports.reviews import notice_text
from services.grounding.models import Answer
from services.records.reviews import Notice, Review, ReviewReason
from services.records.tables import now
from services.reviews.answers import signature
from services.reviews.models import Missing, Sending, SendStatus

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
        posted = await outbox.post(_chat(review), reply, quoted_by_answer(review), asker=request.asker_id)
        if posted.delivery is not Delivery.SENT:
            return Sending(_OUTCOMES[posted.delivery])
        if not posted.message_ids:
            return Sending(SendStatus.UNCONFIRMED)
        await services().sent_answers.note(request.self_id, request.chat, posted.message_ids, request.turn_id)
        return Sending(SendStatus.SENT, posted.message_ids[0])

    async def find(self, review: Review) -> int | Missing:
        """Look for the answer among the last messages of the group, if the client can list them."""
        bot = get_bots().get(review.request.self_id)
        return Missing.UNKNOWN if bot is None else await find_answer(bot.call_api, review)

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


def _introduction(review: Review) -> str:
    """Return what stands before the answer: a correction says so, and an old question is repeated."""
    if review.request.reason is ReviewReason.CORRECTION:
        return "更正："
    if quoted_by_answer(review) is not None and now() - review.opened_at < _QUOTABLE:
        return ""
    return f"你问的「{shortened(review.request.question, 40)}」：\n"


review_messenger = QQReviews()
