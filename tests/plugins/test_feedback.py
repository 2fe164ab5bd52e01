"""Tests of ratings in a chat: by command, by reply and by reaction."""

from typing import Any

from nonebot.adapters.onebot.v11 import Message, MessageEvent
from nonebot.adapters.onebot.v11.event import Reply
from nonebot.compat import type_validate_python

from services.records.feedback import Rating
from services.records.tables import FeedbackSource, Resolution
from tests.plugins.conversation import ADMIN, MEMBER, Conversation

QUESTION = "差旅费要在多少天内报销？"
OTHER = 10005


async def _answered(conversation: Conversation) -> None:
    await conversation.by(ADMIN).say("/kb add 报销 差旅费要在出差结束后三十天内到财务处报销。", "已入库")
    await conversation.say(QUESTION, "三十天", to_me=True)


async def _rating(conversation: Conversation, user_id: int = MEMBER) -> Rating | None:
    from qq.depends import services  # noqa: PLC0415 - importing it needs a driver

    opened = services()
    session_id = f"group_{conversation.group_id}_{MEMBER}"
    (turn,) = await opened.conversations.recent(session_id, 5)
    return await opened.feedback.rating(turn.id, user_id)


def _replying(conversation: Conversation, message_id: int, text: str) -> MessageEvent:
    """Return a reply as the adapter leaves it. The client of these tests gives every message the id 1."""
    event = conversation.message({"type": "reply", "data": {"id": str(message_id)}}, text)
    event.message = Message(segment for segment in event.message if segment.type != "reply")
    quoted = {"time": 1, "message_type": "group", "message_id": message_id, "real_id": 1, "message": "三十天"}
    event.reply = type_validate_python(Reply, quoted | {"sender": {"user_id": MEMBER}})
    return event


def _reacted(conversation: Conversation, emoji_id: str, **data: Any) -> Any:
    return conversation.notice(
        "group_msg_emoji_like", likes=[{"emoji_id": emoji_id, "count": 1}], **({"message_id": 1} | data)
    )


async def test_ones_own_last_answer_is_rated_without_a_reply(conversation: Conversation) -> None:
    await conversation.say("/feedback 5", "还没有可以评价的回答")
    await _answered(conversation)
    await conversation.say("/feedback 谢谢", "没看懂，可以写 /feedback 5 已解决")
    await conversation.say("/评价 5 已解决 很清楚", "记下了：5 分，已解决。")
    assert await _rating(conversation) == Rating(5, Resolution.RESOLVED, "很清楚")
    await conversation.say("/feedback 2", "评价改成：2 分，没解决。")
    await conversation.say("/feedback 撤回", "好，评价收回了。")
    await conversation.say("/feedback 撤回", "你没有评价过它。")
    assert await _rating(conversation) is None
    # Nobody else's last answer is meant.
    await conversation.by(OTHER).say("/feedback 1", "还没有可以评价的回答")


async def test_any_member_rates_the_answer_they_reply_to(conversation: Conversation) -> None:
    await _answered(conversation)
    other = conversation.by(OTHER)
    await other.send(_replying(other, 1, "/feedback 3 部分解决"), "记下了：3 分，部分解决。")
    assert await _rating(conversation, OTHER) == Rating(3, Resolution.PARTIALLY_RESOLVED)
    await conversation.send(_replying(conversation, 2, "/feedback 5"), "这条不是我给出的回答")
    elsewhere = Conversation(conversation.app, (conversation.group_id or 0) + 500_000)
    await elsewhere.send(_replying(elsewhere, 1, "/feedback 5"), "这条不是我给出的回答")


async def test_a_thumb_is_a_rating_and_can_be_taken_back(conversation: Conversation) -> None:
    await _answered(conversation)
    await conversation.send(_reacted(conversation, "128077"))
    assert await _rating(conversation) == Rating(5, Resolution.RESOLVED, source=FeedbackSource.REACTION)
    await conversation.send(_reacted(conversation, "77"))
    assert await _rating(conversation) == Rating(1, Resolution.UNRESOLVED, source=FeedbackSource.REACTION)
    await conversation.send(_reacted(conversation, "77", is_add=False))
    assert await _rating(conversation) is None
    for said_nothing in (_reacted(conversation, "66"), _reacted(conversation, "77", message_id=2)):
        await conversation.send(said_nothing)
    assert await _rating(conversation) is None


async def test_thanks_and_farewells_are_no_rating(conversation: Conversation) -> None:
    await _answered(conversation)
    for remark in ("谢谢，解决了", "👋"):
        await conversation.send(_replying(conversation, 1, remark))
    assert await _rating(conversation) is None
