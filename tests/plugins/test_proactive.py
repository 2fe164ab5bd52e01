"""Tests of unasked answers, and of objections to them."""

from typing import Any

from nonebot.adapters.onebot.v11 import Message, MessageSegment

from qq.unasked import MARK
from tests.plugins.conversation import ADMIN, MEMBER, SELF_ID, Call, Conversation

RULES = "差旅费报销标准 出差住宿费每人每天最高 350 元，凭发票报销；市内交通费每天 80 元包干。"
QUESTION = "出差住宿每天能报多少钱"
OTHER = 10005


async def _listening(conversation: Conversation) -> Conversation:
    """Return the admin of a group that knows the rules and where the mode is on."""
    admin = conversation.by(ADMIN)
    await admin.say(f"/kb add {RULES}", "已入库")
    await admin.say("/bot auto on", "主动回答已打开")
    return admin


def _looked_up(message_id: int, *segments: MessageSegment, author: int = SELF_ID) -> Call:
    found: dict[str, Any] = {"message_id": message_id, "sender": {"user_id": author}, "message": Message(segments)}
    return Call("get_msg", {"message_id": message_id}, found)


async def test_only_where_the_mode_is_on(conversation: Conversation) -> None:
    await conversation.by(ADMIN).say(f"/kb add {RULES}", "已入库")
    await conversation.say(QUESTION)
    await conversation.by(ADMIN).say("/bot auto on", "已打开")
    told = await conversation.by(OTHER).say(f"大佬们，{QUESTION}？", "350")
    assert told.split("\n")[-1] == MARK
    # The same question is answered once a day, and chatter never.
    await conversation.say(QUESTION)
    await conversation.say("哈哈哈哈哈哈哈")
    assert "主动答了 1 次" in await conversation.by(ADMIN).say("/bot auto", "")


async def test_a_thumb_down_on_an_unasked_answer_makes_an_hour_of_quiet(conversation: Conversation) -> None:
    admin = await _listening(conversation)
    question = conversation.message(f"大佬们，{QUESTION}？")
    await conversation.send(question, "350")
    quote, text = MessageSegment.reply(question.message_id), MessageSegment.text(f"每天 350 元。\n\n{MARK}")
    disliked = conversation.notice("group_msg_emoji_like", message_id=5)
    # A thumb down for a person, or for an answer to somebody who asked, is no objection.
    await conversation.send(disliked, _looked_up(5, quote, text, author=MEMBER))
    await conversation.send(disliked, _looked_up(5, MessageSegment.text("有人问过的回答")))
    # Faces without such a meaning are not even looked up.
    face = [{"emoji_id": "424", "count": 1}]
    await conversation.send(conversation.notice("group_msg_emoji_like", message_id=5, likes=face))
    assert "安静到" not in await admin.say("/bot auto", "")
    await conversation.send(disliked, _looked_up(5, quote, text), "好，一小时内不主动回答了")
    assert "安静到" in await admin.say("/bot auto", "")
    await conversation.send(disliked, _looked_up(5, quote, text))


async def test_being_told_to_be_quiet(conversation: Conversation) -> None:
    await _listening(conversation)
    await conversation.say("别说了", "好，一小时内不主动回答了", to_me=True)
    await conversation.say("/bot quiet 0", "好，不用安静了")
