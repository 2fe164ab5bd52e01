"""Tests of /review, and of corrections by replying to an answer."""

from collections.abc import Iterator
from typing import Any

import nonebot
import pytest
from nonebot.adapters.onebot.v11 import Bot, Message, MessageEvent, MessageSegment

from services.records.reviews import Notice
from services.settings import Settings
from tests.e2e.model_server import ModelServer
from tests.plugins.conversation import ADMIN, MEMBER, OWNER, SELF_ID, Call, Conversation, event_of

RULES = "退款规定 门票七天内可以全额退款，凭订单号到服务台办理；七天以后不退。"
QUESTION = "门票几天内可以退款"
OTHER = 10005


async def _answered(conversation: Conversation, model_server: ModelServer) -> MessageEvent:
    """Let a member ask and get an answer, and return the question."""
    model_server.when(QUESTION, "门票七天内可以退款〔1〕。")
    await conversation.by(ADMIN).say(f"/kb add {RULES}", "已入库")
    question = conversation.message(f"/ask {QUESTION}？")
    await conversation.send(question, "七天内可以退款")
    return question


def _quoted(conversation: Conversation, question: MessageEvent, text: str, message_id: int = 1) -> MessageEvent:
    """Return a message that replies to the answer to a question, as the adapter passes it on."""
    event = conversation.message({"type": "reply", "data": {"id": str(message_id)}}, text)
    reply: dict[str, Any] = {
        "time": 1,
        "message_type": "group",
        "message_id": message_id,
        "real_id": message_id,
        "group_id": conversation.group_id,
        "sender": {"user_id": SELF_ID, "nickname": "群知"},
        "message": [MessageSegment.reply(question.message_id), MessageSegment.text("门票七天内可以退款〔1〕。")],
    }
    replying = type(event).model_validate(event.model_dump() | {"reply": reply})
    replying.message = Message(text)
    replying.original_message = event.message
    return replying


def _answer(conversation: Conversation, question: MessageEvent, *fragments: str) -> Call:
    """Return the call that answers a question, quoting it."""
    return Call(
        "send_msg",
        {
            "message_type": "group",
            "group_id": conversation.group_id,
            "message": _Quoting(question.message_id, *fragments),
        },
        {"message_id": 77},
    )


class _Quoting:
    """Compares equal to a message that quotes another one and contains some fragments."""

    def __init__(self, quoted: int, *fragments: str) -> None:
        self.quoted = quoted
        self.fragments = fragments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return False
        ids = [int(segment.data["id"]) for segment in other if segment.type == "reply"]
        return ids == [self.quoted] and all(part in other.extract_plain_text() for part in self.fragments)

    def __hash__(self) -> int:
        return self.quoted

    def __repr__(self) -> str:
        return f"a message that quotes {self.quoted} and contains {self.fragments}"


async def test_a_member_asks_and_an_admin_approves(conversation: Conversation, model_server: ModelServer) -> None:
    question = await _answered(conversation, model_server)
    admin = conversation.by(ADMIN)
    await admin.say("/review list", "没有要审核的回答。")
    await conversation.by(OTHER).send(_quoted(conversation.by(OTHER), question, "/review ask 去年改过"), "编号 1")
    # Once for each answer, no matter who asks.
    await conversation.send(_quoted(conversation, question, "/review"), "已请管理员看（编号 1）")
    assert QUESTION in await admin.say("/review list", "共 1 个要审核")
    shown = await admin.say("/review show 1", "编号 1，有人请管理员看")
    assert "门票七天内可以退款〔1〕。" in shown
    assert "说明：去年改过" in shown
    approved = await admin.say(
        "/review approve 1",
        _answer(conversation, question, "门票七天内可以退款〔1〕。", "（由 小王 审核，编号 1）"),
        "编号 1 已通过，照草稿回。",
    )
    assert "还没" not in approved
    await conversation.by(OWNER).say("/review reject 1 不对", "编号 1 已由 小王 通过。")
    assert "已回给提问的人" in await admin.say("/review show 1", "")
    await conversation.send(_quoted(conversation, question, "/review"), "管理员已经看过了")


async def test_an_edited_and_a_rejected_answer(conversation: Conversation, model_server: ModelServer) -> None:
    admin = conversation.by(ADMIN)
    question = await _answered(conversation, model_server)
    await conversation.send(_quoted(conversation, question, "/review"), "编号 1")
    await admin.say("/review edit 1", "请写上编号和回答")
    edited = _answer(conversation, question, "改成十天了。", "（由 小王 审核，编号 1）")
    await admin.say("/review 改 1 改成十天了。", edited, "编号 1 按你写的回：「改成十天了。」")

    again = conversation.message(f"/ask {QUESTION}呢？")
    # What was approved is the group's own answer now.
    await conversation.send(again, "改成十天了。")
    await conversation.send(_quoted(conversation, again, "/review"), "编号 2")
    rejected = _answer(conversation, again, "现在没有可靠的答案。原因：规定正在改", "编号 2")
    await admin.say("/review reject 2 规定正在改", rejected, "编号 2 已拒绝，原因：规定正在改。")


async def test_only_admins_decide_and_each_group_has_its_own(
    conversation: Conversation, model_server: ModelServer
) -> None:
    question = await _answered(conversation, model_server)
    await conversation.send(_quoted(conversation, question, "/review"), "编号 1")
    for text in ("/review list", "/review show 1", "/review approve 1", "/review assign 1 10003"):
        await conversation.say(text, "需要管理员")
    elsewhere = Conversation(conversation.app, (conversation.group_id or 0) + 50_000, ADMIN, "admin")
    await elsewhere.say("/review list", "没有要审核的回答。")
    for text in ("/review show 1", "/review approve 1", "/review edit 1 不对", "/review reject 1"):
        await elsewhere.say(text, "没有编号 1 的审核")
    # A message of another group is no answer here, even if it has the same id.
    there = elsewhere.by(MEMBER)
    await there.send(_quoted(there, question, "/review"), "找不到这条对应的问题")


async def test_a_review_is_given_to_an_admin(conversation: Conversation, model_server: ModelServer) -> None:
    question = await _answered(conversation, model_server)
    await conversation.send(_quoted(conversation, question, "/review"), "编号 1")
    admin = conversation.by(ADMIN)

    def looked_up(user_id: int, role: str) -> Call:
        parameters = {"group_id": conversation.group_id, "user_id": user_id, "no_cache": False}
        return Call("get_group_member_info", parameters, {"user_id": user_id, "role": role})

    at = {"type": "at", "data": {"qq": str(OWNER)}}
    await admin.send(admin.message("/review assign 1 ", at), looked_up(OWNER, "owner"), f"编号 1 交给 {OWNER} 了。")
    await admin.say(f"/review assign 1 {OTHER}", looked_up(OTHER, "member"), "只能交给这个群的管理员。")
    assert f"（{OWNER}）" in await admin.say("/review list", "")
    await admin.say("/review assign 1", "请写上编号和 @ 一个人")


async def test_ones_own_last_answer_needs_no_reply(conversation: Conversation, model_server: ModelServer) -> None:
    question = await _answered(conversation, model_server)
    found = {"message": [MessageSegment.reply(question.message_id), MessageSegment.text("七天内")]}
    await conversation.by(OTHER).say("/review", "找不到这条对应的问题")
    await conversation.say("/review", Call("get_msg", {"message_id": 1}, found), "已请管理员看（编号 1）")
    answered = _answer(conversation, question, "七天内可以退款")
    await conversation.by(ADMIN).say("/review approve 1", answered, "编号 1 已通过")


async def test_an_admin_corrects_an_answer(conversation: Conversation, model_server: ModelServer) -> None:
    question = await _answered(conversation, model_server)
    admin = conversation.by(ADMIN)
    corrected = _answer(conversation, question, "更正：十天内可以退。", "（由 小王 审核，编号 1）")
    await admin.send(_quoted(admin, question, "正确答案：十天内可以退。"), corrected)
    assert "已由 小王 改过" in await admin.say("/review show 1", "")
    # Talk about other messages is none of the bot's business.
    await admin.send(_quoted(admin, question, "正确答案：十天内可以退。", message_id=4711))


async def test_a_member_proposes_an_answer(conversation: Conversation, model_server: ModelServer) -> None:
    question = await _answered(conversation, model_server)
    await conversation.send(_quoted(conversation, question, "正确答案是十天内可以退。"), "收到，已请管理员看（编号 1）")
    approved = _answer(conversation, question, "十天内可以退。")
    await conversation.by(ADMIN).say("/review approve 1", approved, "编号 1 已通过")


async def test_a_low_rating_is_reviewed(conversation: Conversation, model_server: ModelServer) -> None:
    question = await _answered(conversation, model_server)
    await conversation.send(_quoted(conversation, question, "/feedback 2 没解决 和文件不一样"), "记下了：2 分")
    shown = await conversation.by(ADMIN).say("/review show 1", "有人给了差评")
    assert "说明：和文件不一样" in shown
    # Once, also if another member thinks the same.
    other = conversation.by(OTHER)
    await other.send(_quoted(other, question, "/feedback 1"), "记下了：1 分")
    await conversation.by(ADMIN).say("/review list", "共 1 个要审核")


async def test_what_members_answer_each_other_is_suggested(conversation: Conversation) -> None:
    await conversation.by(ADMIN).say(f"/kb add {RULES}", "已入库")
    question = conversation.message("/ask 校园卡丢了去哪里补办？")
    await conversation.send(question, "没有找到")
    helper, asker = conversation.by(OTHER), conversation
    answer = helper.message(
        {"type": "reply", "data": {"id": str(question.message_id)}}, "在行政楼 203 补办，工作日都开"
    )
    await helper.send(answer)
    await conversation.by(ADMIN).say("/review list", "没有要审核的回答。")
    await asker.send(asker.message({"type": "reply", "data": {"id": str(answer.message_id)}}, "好的，谢谢！"))
    shown = await conversation.by(ADMIN).say("/review show 1", "群友答的，要不要记下来")
    assert "提议：在行政楼 203 补办，工作日都开" in shown
    await asker.say("/review", Call("get_msg", {"message_id": 1}, {}), "群友的回答，管理员正在看。")
    # The asker knows the answer already.
    await conversation.by(ADMIN).say("/review approve 1", "编号 1 已通过")


async def test_a_recalled_question_is_not_reviewed(conversation: Conversation, model_server: ModelServer) -> None:
    question = await _answered(conversation, model_server)
    await conversation.send(_quoted(conversation, question, "/review"), "编号 1")
    recalled = event_of(
        "group_recall",
        group_id=conversation.group_id,
        user_id=MEMBER,
        operator_id=MEMBER,
        message_id=question.message_id,
    )
    await conversation.send(recalled)
    admin = conversation.by(ADMIN)
    await admin.say("/review list", "没有要审核的回答。")
    await admin.say("/review approve 1", "提问已撤回，不用审核了。")
    assert QUESTION not in await admin.say("/review show 1", "")


@pytest.fixture
def in_private(loaded: Settings) -> Iterator[None]:
    """Let admins be told in private, for one test."""
    config: Any = nonebot.get_driver().config
    config.qunzhi = loaded.model_copy(update={"review": loaded.review.model_copy(update={"notify": "private"})})
    yield
    config.qunzhi = loaded


@pytest.mark.usefixtures("in_private")
async def test_admins_are_told_in_private(conversation: Conversation, model_server: ModelServer) -> None:
    from qq.depends import services  # noqa: PLC0415 - importing it needs a driver
    from qq.reviews import review_messenger  # noqa: PLC0415

    question = await _answered(conversation, model_server)
    await conversation.send(_quoted(conversation, question, "/review"), "编号 1")
    reviews, _ = await services().reviews.listed(f"group_{conversation.group_id}", 1)
    members = [
        {"user_id": MEMBER, "role": "member"},
        {"user_id": ADMIN, "role": "admin"},
        {"user_id": OWNER, "role": "owner"},
        {"user_id": SELF_ID, "role": "admin"},
    ]
    async with conversation.app.test_api() as context:
        context.create_bot(base=Bot, self_id=str(SELF_ID))
        context.should_call_api("get_group_member_list", {"group_id": conversation.group_id}, members)
        for message_id, person in ((501, OWNER), (502, ADMIN)):
            chat = {"message_type": "private", "group_id": conversation.group_id, "user_id": person}
            context.should_call_api("send_msg", {"message": _Saying(QUESTION), **chat}, {"message_id": message_id})
        notices = await review_messenger.announce(reviews)
    assert notices == [Notice(501, OWNER), Notice(502, ADMIN)]
    await services().reviews._records.announced(reviews, notices or ())  # pyright: ignore[reportPrivateUsage]

    admin = conversation.by(ADMIN)
    lookup = {"group_id": conversation.group_id, "user_id": ADMIN, "no_cache": False}
    private = admin.in_private()
    reply = private.message({"type": "reply", "data": {"id": "502"}}, "十天内可以退，带上订单号。")
    known = Call("get_group_member_info", lookup, {"user_id": ADMIN, "role": "admin"})
    await private.send(reply, known, _answer(conversation, question, "十天内可以退"), "编号 1 按你写的回")


class _Saying:
    """Compares equal to a message that contains a text and quotes nothing."""

    def __init__(self, fragment: str) -> None:
        self.fragment = fragment

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.fragment in other.extract_plain_text() and not other["reply"]

    def __hash__(self) -> int:
        return hash(self.fragment)
