"""The agent layer through QQ: what a member may not use, and an answer from two searches and a calculation."""

import json
from typing import Any

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import Completion, ModelRequest, ModelServer

GROUP, MEMBER, ADMIN = 777, 10002, 10005


def call(name: str, **arguments: Any) -> Completion:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return Completion("", ({"id": f"call_{name}", "type": "function", "function": function},), "tool_calls")


async def test_tools_depend_on_the_role_and_answers_are_checked(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    offered: list[list[str]] = []

    def reply(request: ModelRequest) -> Completion | str:
        offered.append([tool["function"]["name"] for tool in request.body.get("tools", [])])
        if request.body["messages"][-1]["role"] == "tool":
            return "每晚三百五十元〔1〕，三晚共 1050 元。"
        return call("calculator", expression="350*3")

    model_server.reply = reply
    bot = await bot_factory(AGENT__ENABLED="true", AGENT__TOOLS_MEMBER="knowledge_search")
    client = await client_factory(bot)
    client.world.add_member(GROUP, ADMIN, role="admin")
    await client.upload_group_file(GROUP, ADMIN, "差旅.txt", "住宿标准为每晚三百五十元，超出自理。".encode())
    await client.wait_sent("已入库", timeout=20)
    question = "住宿标准为每晚多少元，住 3 晚一共多少"
    told: list[str] = []
    for user in (ADMIN, MEMBER):
        asked = await client.group_message(GROUP, user, question, at_bot=True)
        told.append((await client.wait_sent(lambda sent, asked=asked: sent.reply_id == asked, timeout=20)).text)
    assert "1050" in told[0]
    assert "未核实" not in told[0]
    assert "差旅.txt" in told[0]
    # Nobody computed it for a member.
    assert "（未核实）" in told[1]
    assert offered == [["knowledge_search", "time", "calculator"]] * 2 + [["knowledge_search"]] * 2
