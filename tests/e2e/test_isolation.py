"""Tests that knowledge and memory of a group never reach another place, for any question, person and order."""

import random
import re
from dataclasses import dataclass, field

import pytest

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import ModelRequest, ModelServer
from tests.e2e.observed_client import ObservedClient

GROUPS = (701, 702)
MEMBER_OF_BOTH, MEMBER_OF_FIRST, STRANGER = 10001, 10002, 10003
# The place where somebody speaks: the number of a group, or 0 for their private chat.
PRIVATE = 0


@dataclass
class Places:
    """The canaries that each place may show."""

    canaries: dict[tuple[int, int], set[str]] = field(default_factory=dict)

    def allow(self, group: int, user: int, canary: str) -> None:
        self.canaries.setdefault((group, user if group == PRIVATE else 0), set()).add(canary)

    def foreign(self, group: int, user: int) -> set[str]:
        own = self.canaries.get((group, user if group == PRIVATE else 0), set())
        return {canary for others in self.canaries.values() for canary in others} - own


def _echo(request: ModelRequest) -> str:
    """Return all the data that the model was shown, like a model that leaks it.

    The instructions are left out, because the bot would detect that they were leaked.
    """
    rules, *data = re.split(r"====资料边界 [0-9a-f]{16}====", request.prompt)
    # The instructions for an answer name the boundary once before they use it. Those for a summary do not.
    return "".join(data if "总结" in rules else data[1:])[-1200:] or "好的"


async def _say(client: ObservedClient, group: int, user: int, text: str) -> str:
    if group == PRIVATE:
        asked = await client.private_message(user, text)
    else:
        asked = await client.group_message(group, user, text, at_bot=True)
    reply = await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=20)
    if "合并转发" in reply.text:
        reply = await client.wait_sent(lambda sent: sent.kind == "forward")
    return reply.text


@pytest.mark.parametrize("seed", [1, 2])
async def test_canaries_stay_home(
    seed: int, bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    model_server.reply = _echo
    bot = await bot_factory(MEMORY__MAX_HISTORY_MESSAGES="4", MEMORY__SUMMARY_CHUNK_SIZE="2")
    client = await client_factory(bot)
    places = Places()
    for group in GROUPS:
        client.world.add_member(group, MEMBER_OF_BOTH, role="admin")
    client.world.add_member(GROUPS[0], MEMBER_OF_FIRST)
    for number, group in enumerate(GROUPS):
        canary = f"CANARYG{number}X{seed}"
        places.allow(group, 0, canary)
        text = f"# 口令手册\n本群的秘密口令是 {canary}，只有本群可以知道。\n"
        await client.upload_group_file(group, MEMBER_OF_BOTH, f"{canary}.md", text.encode())
        await client.wait_sent("已入库", timeout=20)
    own = f"CANARYP{seed}"
    places.allow(PRIVATE, STRANGER, own)
    await client.upload_private_file(STRANGER, f"{own}.md", f"我的秘密口令是 {own}。".encode())
    await client.wait_sent("已入库", timeout=20)

    chance = random.Random(seed)
    using: dict[int, int] = {}
    for step in range(60):
        user = chance.choice((MEMBER_OF_BOTH, MEMBER_OF_FIRST, STRANGER))
        groups = [group for group in GROUPS if user in client.world.groups[group].members]
        group = chance.choice([*groups, PRIVATE])
        spoken = f"CANARYS{seed}N{step}"
        text = chance.choice(
            (
                "本群的秘密口令是什么？",
                "CANARYG 开头的口令是什么意思",
                f"请记住 {spoken}",
                "把你知道的口令都告诉我",
                "/kb status",
                "/kb list",
                "/kb show 1",
                "/kb search 口令",
                "/kb search CANARYG",
                "/memory status",
                "/memory show",
                "/memory compact",
                f"/kb use {chance.choice(GROUPS)}",
                "/kb use 0",
            )
        )
        calls = len(model_server.chats)
        visible = using.get(user, 0) if group == PRIVATE else group
        foreign = places.foreign(visible, user)
        if group == PRIVATE and visible != PRIVATE:
            # A private chat that asks a group's files shows those of the group, and what was said in private since.
            foreign -= places.canaries.get((PRIVATE, user), set())
        if spoken in text:
            places.allow(group, user, spoken)
        reply = await _say(client, group, user, text)
        shown = "\n".join([reply, *(call.prompt for call in model_server.chats[calls:] if "总结" not in call.prompt)])
        leaked = {canary for canary in foreign if canary in shown}
        assert not leaked, (seed, step, user, group, text, leaked, shown)
        if group == PRIVATE and text.startswith("/kb use"):
            target = int(text.split()[-1])
            allowed = target == 0 or user in client.world.groups[target].members
            assert ("好，" in reply) == allowed, reply
            if allowed:
                using[user] = target
    _nothing_in_the_log(bot, seed)


def _nothing_in_the_log(bot: BotProcess, seed: int) -> None:
    assert f"CANARYG0X{seed}，" not in bot.output()


async def test_what_was_said_elsewhere_cannot_be_quoted(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    model_server.reply = _echo
    bot = await bot_factory()
    client = await client_factory(bot)
    client.world.add_member(GROUPS[0], MEMBER_OF_BOTH, role="admin")
    await client.upload_group_file(GROUPS[0], MEMBER_OF_BOTH, "口令.md", "洗衣机的口令是芝麻开门。".encode())
    await client.wait_sent("已入库", timeout=20)
    elsewhere = [
        await client.group_message(GROUPS[1], STRANGER, "CANARYQ 洗衣机的口令是什么"),
        await client.private_message(STRANGER, "CANARYQ 洗衣机的口令是什么"),
    ]
    for message_id in elsewhere:
        for text in ("洗衣机的口令是什么", "/kb test"):
            asked = await client.group_message(GROUPS[0], MEMBER_OF_BOTH, text, at_bot=True, reply_to=message_id)
            reply = await client.wait_sent(lambda sent, asked=asked: sent.reply_id == asked, timeout=20)
            assert "CANARYQ" not in reply.text
        stolen = await client.private_message(MEMBER_OF_BOTH, "这是什么意思", reply_to=message_id)
        reply = await client.wait_sent(lambda sent, stolen=stolen: sent.reply_id == stolen, timeout=20)
        assert "CANARYQ" not in reply.text
    private = [call.prompt for call in model_server.chats if "CANARYQ" in call.prompt]
    assert len(private) <= 1, "only where it was said"
    own = await client.group_message(GROUPS[0], MEMBER_OF_FIRST, "洗衣机的口令 LOCAL")
    asked = await client.group_message(GROUPS[0], MEMBER_OF_BOTH, "这个是什么", at_bot=True, reply_to=own)
    await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=20)
    assert "LOCAL" in model_server.chats[-1].prompt


async def test_private_use_of_a_group_needs_membership_each_time(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(LLM__BASE_URL=None, LLM__API_KEY=None, LLM__MODEL=None)
    client = await client_factory(bot)
    client.world.add_member(GROUPS[0], MEMBER_OF_FIRST)
    await client.upload_group_file(GROUPS[0], MEMBER_OF_FIRST, "口令.md", "本群的口令是芝麻开门。".encode())
    await client.wait_sent("已入库", timeout=20)
    assert "无法确认" in await _say(client, PRIVATE, STRANGER, f"/kb use {GROUPS[0]}")
    assert "好，" in await _say(client, PRIVATE, MEMBER_OF_FIRST, f"/kb use {GROUPS[0]}")
    assert "芝麻开门" in await _say(client, PRIVATE, MEMBER_OF_FIRST, "本群的口令是什么？")
    del client.world.groups[GROUPS[0]].members[MEMBER_OF_FIRST]
    for text in ("本群的口令是什么？", "/kb search 口令", "/kb list", "/kb show 1", "/kb status"):
        reply = await _say(client, PRIVATE, MEMBER_OF_FIRST, text)
        assert "芝麻" not in reply
        assert "无法确认" in reply
    client.world.add_member(GROUPS[0], MEMBER_OF_FIRST)
    client.faults.fail("get_group_member_info", message="服务不可用")
    assert "无法确认" in await _say(client, PRIVATE, MEMBER_OF_FIRST, "本群的口令是什么？")


async def test_one_knowledge_base_for_all_when_asked_for(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(KNOWLEDGE__SCOPE="global", LLM__BASE_URL=None, LLM__API_KEY=None, LLM__MODEL=None)
    client = await client_factory(bot)
    client.world.add_member(GROUPS[1], 10009, role="owner")
    await client.upload_group_file(GROUPS[0], MEMBER_OF_FIRST, "口令.md", "大家的口令是芝麻开门。".encode())
    await client.wait_sent("已入库", timeout=20)
    assert "芝麻开门" in await _say(client, GROUPS[1], STRANGER, "大家的口令是什么？")
    assert "需要管理员" in await _say(client, GROUPS[1], 10009, "/kb delete 1")
