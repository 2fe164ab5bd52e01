"""Tests of /faq."""

import base64
import re

import pytest
from nonebot.adapters.onebot.v11 import Message, MessageEvent, MessageSegment
from nonebot.adapters.onebot.v11.event import Reply

from services.session import KnowledgeScope, SessionScope
from tests.plugins.conftest import Rescope
from tests.plugins.conversation import ADMIN, MEMBER, SUPERUSER, Call, Conversation

ADD = "/faq add 宿舍几点熄灯\n晚上十一点半。"


def _card(conversation: Conversation) -> Call:
    """Return the call that looks up by which name the group knows the person."""
    asked = {"group_id": conversation.group_id, "user_id": conversation.user_id, "no_cache": False}
    return Call("get_group_member_info", asked, {"user_id": conversation.user_id, "card": "小李"})


def _replying(conversation: Conversation, text: str, to: Message) -> MessageEvent:
    event = conversation.message(text)
    event.reply = Reply.model_validate(
        {
            "time": 1,
            "message_type": "group",
            "group_id": conversation.group_id,
            "message_id": 7,
            "real_id": 7,
            "sender": {"user_id": MEMBER},
            "message": to,
        }
    )
    return event


@pytest.fixture
def admin(conversation: Conversation) -> Conversation:
    return conversation.by(ADMIN)


async def test_without_entries_it_says_how_to_begin(conversation: Conversation, admin: Conversation) -> None:
    await conversation.say("/faq", "还没有问答，管理员发 /faq add 可以添加。")
    await conversation.say("/faq show", "请写上编号，例如 /faq show 1。")
    await conversation.say("/faq show 1", "没有这个编号，发 /faq list 看编号。")
    await conversation.say("/faq export", "还没有问答，没有可以导出的。")
    await admin.say("/faq add 宿舍几点熄灯", "请写上问题和回答，各占一行：")
    await admin.say("/faq edit 1", "请写上编号和新的回答")
    await admin.say("/faq edit 1 十点。", _card(admin), "没有这个编号")
    await admin.say("/faq confirm", "请写上编号")
    await admin.say("/faq confirm 1", _card(admin), "没有这个编号")
    await admin.say("/faq delete", "请写上编号")
    await admin.say("/faq delete 1", "没有这个编号")


async def test_only_admins_change_entries(conversation: Conversation) -> None:
    for command in (ADD, "/faq edit 1 十点。", "/faq confirm 1", "/faq delete 1", "/faq import"):
        await conversation.say(command, "需要管理员：这件事要由群管理员来做。")
    private = conversation.in_private()
    await private.say(ADD, "这个命令只能在群里用。")
    await private.say("/faq list", "还没有问答")


async def test_entries_shared_by_all_groups_are_changed_by_the_operator(
    conversation: Conversation, rescope: Rescope
) -> None:
    rescope(KnowledgeScope.GLOBAL, SessionScope.MEMBER)
    await conversation.by(ADMIN).say(ADD, "要由机器人管理员来做")
    # Other groups must not learn the name in this one, so it is not even looked up.
    await conversation.by(SUPERUSER).say(ADD, "已记下第 1 条「宿舍几点熄灯」")
    assert f"\n{SUPERUSER} 审核于" in await conversation.say("/faq show 1", "1. 宿舍几点熄灯")


async def test_an_entry_is_added_shown_replaced_edited_and_deleted(
    conversation: Conversation, admin: Conversation
) -> None:
    await admin.say(ADD, _card(admin), "已记下第 1 条「宿舍几点熄灯」，有人这样问就用这个回答。")
    await admin.say(ADD, _card(admin), "第 1 条「宿舍几点熄灯」已存在，回答相同。")
    assert (await conversation.say("/faq list", "")).split("\n") == [
        "共 1 条问答，第 1/1 页",
        "1. 宿舍几点熄灯",
        "看回答：/faq show 编号",
    ]
    shown = (await conversation.say("/问答 查看 1", "")).split("\n")
    assert shown[:3] == ["1. 宿舍几点熄灯", "晚上十一点半。", ""]
    assert re.fullmatch(rf"小李（{ADMIN}） 审核于 \d\d-\d\d \d\d:\d\d，手写，第 1 版", shown[3])
    replaced = await admin.say(
        "/faq add\n请问宿舍几点熄灯？\n十点。\n周末除外。", _card(admin), "原来有别的回答，已更新为第 2 版"
    )
    assert replaced.endswith("旧回答：晚上十一点半。")
    await admin.say("/faq edit 1 九点。", _card(admin), "第 1 条已更新为第 3 版。")
    await admin.say("/faq edit 1 " + "九" * 1501, _card(admin), "没有改：回答超过 1500 字。")
    await admin.say("/faq confirm 1", _card(admin), "第 1 条已确认，继续使用。")
    await admin.say("/faq delete 1", "要删除第 1 条问答「请问宿舍几点熄灯？」，不能恢复。")
    await admin.say("确认", "「请问宿舍几点熄灯？」已删除。")
    await conversation.say("/faq list", "还没有问答")


async def test_the_answer_may_be_a_message(conversation: Conversation, admin: Conversation) -> None:
    said = Message("晚上十一点半〔1〕。\n周末不熄灯。\n\n〔1〕规定.txt\n〔2〕手册.pdf 第3页")
    await admin.send(_replying(admin, "/faq add 宿舍几点熄灯", said), _card(admin), "已记下第 1 条")
    shown = await conversation.say("/faq show 1", "1. 宿舍几点熄灯\n晚上十一点半。\n周末不熄灯。\n\n小李")
    assert "规定.txt" not in shown


async def test_the_list_has_pages(conversation: Conversation, admin: Conversation) -> None:
    for number in range(9):
        await admin.say(f"/faq add 第{number}间教室在哪里\n在{number}楼。", _card(admin), "已记下")
    first = await conversation.say("/faq list", "共 9 条问答，第 1/2 页")
    assert first.endswith("下一页：/faq list 2")
    assert len(first.split("\n")) == 10
    await conversation.say("/faq list 2", "9. 第8间教室在哪里")
    await conversation.say("/faq list 3", "只有 2 页，发 /faq list 2 看最后一页。")


async def test_an_entry_whose_document_changed_is_marked(conversation: Conversation, admin: Conversation) -> None:
    from qq.depends import services  # noqa: PLC0415 - importing it needs a driver
    from services.faq.models import Approver, FaqOrigin  # noqa: PLC0415
    from services.records.conversations import Source  # noqa: PLC0415

    collection = f"group_{conversation.group_id}"
    gone = Source(1, "规定.txt", 1, "a build that is gone")
    await services().faq.add(collection, "几点熄灯", "十点〔1〕。", Approver(ADMIN), FaqOrigin.REVIEW, [gone])
    assert await conversation.say("/faq list", "共 1 条问答，1 条过期") != ""
    shown = await conversation.say("/faq show 1", "过期：「规定.txt」改过或删掉了，现在不会用这条回答。")
    assert "〔1〕规定.txt" in shown
    assert shown.endswith("核对后发 /faq confirm 1，或发 /faq edit 1 新回答。")
    await admin.say("/faq confirm 1", _card(admin), "第 1 条已确认")
    assert "过期" not in await conversation.say("/faq show 1", "十点。")


def _file(name: str, content: str) -> tuple[Message, Call]:
    """Return the message of a file, and the call by which the bot fetches it."""
    data = content.encode()
    segment = MessageSegment("file", {"file": name, "file_id": "/f", "file_size": str(len(data))})
    answered = {"base64": base64.b64encode(data).decode()}
    return Message(segment), Call("get_file", {"file_id": "/f", "_timeout": 120}, answered)


def _link(conversation: Conversation) -> Call:
    asked = {"group_id": conversation.group_id, "file_id": "/f", "busid": 0}
    return Call("get_group_file_url", asked, {})


def _listing(conversation: Conversation) -> Call:
    asked = {"group_id": conversation.group_id, "file_count": 500, "_timeout": 60}
    return Call("get_group_root_files", asked, {"files": [], "folders": []})


async def test_a_table_is_imported_completely_or_not_at_all(conversation: Conversation, admin: Conversation) -> None:
    await admin.say("/faq import", "把 CSV 发到这里，10 分钟内有效，不会进知识库。")
    wrong, fetched = _file("问答.csv", "问题,回答\n几点熄灯,十点\n几点开门,\n")
    await admin.send(
        _replying(admin, "/faq import", wrong),
        _link(admin),
        _listing(admin),
        fetched,
        "「问答.csv」一条也没有导入：第 3 行没有回答。改好后 10 分钟内再发到这里就行。",
    )
    await conversation.say("/faq list", "还没有问答")
    await admin.say("/faq add 几点熄灯？\n十一点。", _card(admin), "已记下第 1 条")
    right, fetched = _file("问答.csv", "问题,回答\n几点熄灯,十点\n几点开门,六点\n")
    told = await admin.send(
        _replying(admin, "/faq import", right),
        _link(admin),
        _listing(admin),
        fetched,
        _card(admin),
        "「问答.csv」导入完成：新增 1 条，换成新回答 1 条，已存在 0 条。",
    )
    assert "换掉旧回答的是编号 1。" in told
    await conversation.say("/faq show 2", "2. 几点开门\n六点")
    other, _ = _file("问答.txt", "问题,回答\n")
    await admin.send(_replying(admin, "/faq import", other), "只能导入 CSV 文件")
