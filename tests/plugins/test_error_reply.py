"""Tests of what people are told when a handler fails."""

import re

from tests.e2e.model_server import Mode, ModelServer
from tests.plugins.conversation import ADMIN, Call, Conversation


async def test_a_known_failure_is_one_sentence(conversation: Conversation, model_server: ModelServer) -> None:
    for number in range(6):
        await conversation.say(f"/ask 记一下第{number}件事", "")
    model_server.switch(Mode.DOWN)
    try:
        told = await conversation.say("/memory compact", "连不上", error="连不上")
    finally:
        model_server.switch(Mode.OK)
    assert "Error" not in told
    assert "503" not in told


async def test_an_unknown_failure_gives_a_number(conversation: Conversation) -> None:
    nobody = Conversation(conversation.app, conversation.group_id, ADMIN, claimed_role=None)
    parameters = {"group_id": nobody.group_id, "user_id": ADMIN, "no_cache": False}
    broken = Call("get_group_member_info", parameters, RuntimeError("没人料到"))
    told = await nobody.say("/kb clear", broken, "出错了，这条没处理成，请稍后再试", error="没人料到")
    assert re.search(r"（QZ-X01，编号 [0-9a-f]{6}）", told)
    assert "没人料到" not in told
