"""Tests of the stage with a bot over a real WebSocket."""

import asyncio
import json

import pytest

from simulator.stage import Rejected
from simulator.transcript import StageChat
from tests.simulator.conftest import ADMIN, GROUP, MEMBER, OTHER_GROUP, OWNER, Playground

HERE, ELSEWHERE, PRIVATE = StageChat(True, GROUP), StageChat(True, OTHER_GROUP), StageChat(False, MEMBER)


async def test_what_is_said_is_heard_shown_and_answered(playground: Playground) -> None:
    said = await playground.stage.say(HERE, MEMBER, "你好<b>", at_bot=True)
    shown = (await playground.frame("message", "你好"))["message"]
    assert (shown["id"], shown["chat"], shown["sender"]) == (str(said), HERE.id, str(MEMBER))
    assert shown["parts"] == [
        {"kind": "at", "id": "20001", "name": "群知"},
        {"kind": "text", "text": " 你好<b>"},
    ]
    answer = (await playground.frame("message", "你说你好"))["message"]
    assert answer["parts"] == [{"kind": "reply", "id": str(said)}, {"kind": "text", "text": "你说你好<b>"}]
    call = (await playground.frame("call", "send_group_msg"))["call"]
    assert (call["chat"], call["status"], call["retcode"]) == (HERE.id, "ok", 0)

    await playground.stage.say(PRIVATE, MEMBER, "私下")
    assert (await playground.frame("message", "你说私下"))["message"]["chat"] == PRIVATE.id


async def test_a_page_opened_later_sees_everything(playground: Playground) -> None:
    await playground.stage.say(HERE, MEMBER, "早", at_bot=True)
    await playground.frame("message", "你说早")
    stage = json.loads(json.dumps(playground.stage.stage_frame()))
    chats = {chat["id"]: chat for chat in stage["chats"]}
    assert [len(chats[chat.id]["messages"]) for chat in (HERE, ELSEWHERE, PRIVATE)] == [2, 0, 0]
    assert [member["role"] for member in chats[HERE.id]["members"]] == ["bot", "owner", "admin", "member"]
    assert stage["bot"]["connected"]


async def test_files_and_pictures(playground: Playground) -> None:
    await playground.stage.send_file(HERE, OWNER, "手册.pdf", b"%PDF")
    shown = (await playground.frame("message", "手册.pdf"))["message"]
    assert shown["parts"] == [{"kind": "file", "name": "手册.pdf", "size": 4, "url": "/files/1"}]
    await playground.frame("message", "已入库")
    await playground.stage.say(HERE, OWNER, "看图", image=("a.png", b"png"))
    parts = (await playground.frame("message", "看图"))["message"]["parts"]
    assert parts == [{"kind": "image", "name": "a.png", "url": "/files/2"}, {"kind": "text", "text": "看图"}]

    await playground.bot.call("upload_group_file", group_id=GROUP, file="base64://eA==", name="结果.csv")
    sent = (await playground.frame("message", "结果.csv"))["message"]["parts"]
    assert sent == [{"kind": "file", "name": "结果.csv", "size": 1, "url": "/files/3"}]

    png = "base64://iVBORw0KGgo="
    segments = [{"type": "text", "data": {"text": "见图"}}, {"type": "image", "data": {"file": png, "summary": "[图]"}}]
    await playground.bot.call("send_msg", message_type="group", group_id=GROUP, message=segments)
    parts = (await playground.frame("message", "见图"))["message"]["parts"]
    assert [part["kind"] for part in parts] == ["text", "image"]
    assert parts[1]["url"] == "/files/4"


async def test_merged_forward_is_told_with_its_messages(playground: Playground) -> None:
    nodes = [
        {
            "type": "node",
            "data": {"user_id": "1", "nickname": "群知", "content": [{"type": "text", "data": {"text": t}}]},
        }
        for t in ("第一段", "第二段")
    ]
    await playground.bot.call("send_group_forward_msg", group_id=GROUP, messages=nodes)
    part = (await playground.frame("message", "第一段"))["message"]["parts"][0]
    assert [node["parts"] for node in part["nodes"]] == [
        [{"kind": "text", "text": "第一段"}],
        [{"kind": "text", "text": "第二段"}],
    ]


async def test_recall_by_whom_it_may_be(playground: Playground) -> None:
    stage = playground.stage
    said = await stage.say(HERE, MEMBER, "说错了")
    of_admin = await stage.say(HERE, ADMIN, "管理员说的")
    with pytest.raises(Rejected, match="recall_not_allowed"):
        await stage.recall(of_admin, MEMBER)
    await stage.recall(of_admin, OWNER)
    await stage.recall(said, ADMIN)
    playground.frames.clear()
    with pytest.raises(Rejected, match="unknown_message"):
        await stage.recall(said, ADMIN)
    entry = stage.transcript.find(said)
    assert entry is not None
    assert stage.transcript.frame(entry)["parts"] == []
    await playground.bot.heard(4)
    assert [event["notice_type"] for event in playground.bot.events[2:]] == ["group_recall"] * 2
    # The bot can recall its own message, and cannot find messages that others recalled.
    await playground.bot.call("get_msg", message_id=said)
    await stage.say(HERE, MEMBER, "在", at_bot=True)
    answer = (await playground.frame("message", "你说在"))["message"]
    await playground.bot.call("delete_msg", message_id=int(answer["id"]))
    assert (await playground.frame("message", "'recalled': True"))["message"]["id"] == answer["id"]
    assert any(response["retcode"] == 1200 for response in playground.bot.responses)


async def test_reactions_of_both_sides(playground: Playground) -> None:
    said = await playground.stage.say(HERE, MEMBER, "问")
    await playground.bot.call("set_msg_emoji_like", message_id=said, emoji_id="424")
    shown = (await playground.frame("message", "424"))["message"]
    assert shown["reactions"] == [{"emoji": "424", "people": ["20001"]}]
    await playground.stage.react(said, OWNER, "76", on=True)
    await playground.bot.heard(2)
    assert playground.bot.events[-1]["likes"] == [{"emoji_id": "76", "count": 1}]
    await playground.stage.react(said, OWNER, "76", on=False)
    assert all(reaction["emoji"] != "76" for reaction in (await _last(playground))["reactions"])


async def _last(playground: Playground) -> dict[str, list[dict[str, str]]]:
    return [frame["message"] for frame in playground.frames if frame["type"] == "message"][-1]


async def test_nobody_speaks_where_he_is_not(playground: Playground) -> None:
    for chat, speaker in ((StageChat(True, 1), OWNER), (HERE, 999), (HERE, 20001), (StageChat(False, OWNER), MEMBER)):
        with pytest.raises(Rejected, match="bad_request"):
            await playground.stage.say(chat, speaker, "冒名")
    other = await playground.stage.say(ELSEWHERE, MEMBER, "别处的话")
    with pytest.raises(Rejected, match="unknown_message"):
        await playground.stage.say(HERE, MEMBER, "引用别处", reply_to=other)
    with pytest.raises(Rejected, match="empty_message"):
        await playground.stage.say(HERE, MEMBER, "")


async def test_troubles(playground: Playground) -> None:
    stage = playground.stage
    stage.set_trouble("timeout", on=True)
    await stage.say(HERE, MEMBER, "甲", at_bot=True)
    call = (await playground.frame("call", "send_group_msg"))["call"]
    assert (call["status"], call["retcode"]) == ("failed", 1200)
    assert await playground.frame("message", "你说甲"), "it arrives although it is reported as failed"
    stage.set_trouble("timeout", on=False)
    stage.set_trouble("refused", on=True)
    playground.frames.clear()
    await stage.say(HERE, MEMBER, "乙", at_bot=True)
    assert (await playground.frame("call"))["call"]["status"] == "failed"
    stage.set_trouble("refused", on=False)
    stage.set_trouble("deaf", on=True)
    await stage.say(HERE, MEMBER, "丙", at_bot=True)
    assert (await playground.frame("call", "ignored"))["call"]["action"] == "send_group_msg"
    assert "你说乙" not in str(playground.frames)
    assert "你说丙" not in str(playground.frames)
    stage.set_trouble("deaf", on=False)
    stage.set_trouble("expired", on=True)
    assert playground.files.expired
    stage.set_trouble("expired", on=False)
    assert not playground.files.expired
    assert stage.troubles_frame()["troubles"] == []


async def test_a_change_of_dialect_and_a_storm(playground: Playground) -> None:
    stage = playground.stage
    playground.frames.clear()
    await stage.change_dialect("llonebot")
    await playground.frame("bot", "'connected': False")
    frame = await playground.frame("bot", "'connected': True")
    assert frame["bot"]["dialect"] == "llonebot"
    await stage.say(HERE, MEMBER, "还在吗", at_bot=True)
    await playground.frame("message", "你说还在吗")
    with pytest.raises(Rejected, match="bad_request"):
        await stage.change_dialect("icq")
    stage.start_storm(HERE)
    async with asyncio.timeout(15):
        while sum(frame["type"] == "message" for frame in playground.frames) < 200:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_a_cut_ends_by_itself_and_nothing_is_said_meanwhile(playground: Playground) -> None:
    said = await playground.stage.say(HERE, MEMBER, "先说一句")
    await playground.stage.cut_connection()
    await playground.frame("bot", "'connected': False")
    with pytest.raises(Rejected, match="not_connected"):
        await playground.stage.say(HERE, MEMBER, "听得到吗", at_bot=True)
    with pytest.raises(Rejected, match="not_connected"):
        await playground.stage.send_file(HERE, OWNER, "丢.txt", b"x")
    with pytest.raises(Rejected, match="not_connected"):
        await playground.stage.recall(said, MEMBER)
    world = playground.stage.client.world
    assert (list(world.messages), world.files) == ([said], []), "nothing of it stays, nothing is lost"
    async with asyncio.timeout(10):
        while not playground.stage.client.connected:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    await playground.stage.say(HERE, MEMBER, "听得到吗", at_bot=True)
    await playground.frame("message", "你说听得到吗")
