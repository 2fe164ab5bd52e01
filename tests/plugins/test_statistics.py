"""Tests of /stats: a picture for admins, in words if it cannot be drawn."""

from nonebot.adapters.onebot.v11 import Message

from tests.plugins.conversation import ADMIN, Call, Conversation

QUESTION = "差旅费要在多少天内报销？"


class _Picture:
    """Compares equal to a message with one picture under a caption."""

    def __init__(self, caption: str) -> None:
        self.caption = caption

    def __eq__(self, message: object) -> bool:
        return (
            isinstance(message, Message) and len(message["image"]) == 1 and message.extract_plain_text() == self.caption
        )

    def __hash__(self) -> int:
        return id(self)


async def test_admins_see_the_figures_of_their_group(conversation: Conversation) -> None:
    admin = conversation.by(ADMIN)
    await admin.say("/stats", "最近 7 天没有人提问")
    await admin.say("/kb add 报销 差旅费要在出差结束后三十天内到财务处报销。", "已入库")
    await conversation.say(QUESTION, "三十天", to_me=True)
    parameters = {"message_type": "group", "group_id": conversation.group_id}
    picture = Call("send_msg", {"message": _Picture("最近 30 天的问答统计"), **parameters}, {"message_id": 1})
    await admin.say("/stats 30", picture)
    for nonsense in ("0", "366", "x", "³", "1 2"):
        await admin.say(f"/stats {nonsense}", "没看懂，可以写 /stats 或 /stats 30")
    await conversation.say("/stats", "需要管理员")
