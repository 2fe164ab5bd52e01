"""Tests of what one member and one group may ask: others are answered meanwhile, and a refusal is sent once."""

import asyncio
import sqlite3
import time
from typing import Any

import pytest

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import Mode, ModelServer
from tests.e2e.observed_client import ObservedClient, Sent

GROUP, OTHER_GROUP, FLOODER, ASKER, OWNER, SUPERUSER = 777, 778, 10002, 10003, 10008, 10009
QUESTION = "出差住宿每天能报多少"
RULES = "出差住宿每天能报 350 元，报销时间是每周三下午。"
# The limits of a bot without configuration, which the other end-to-end tests lift.
DEFAULTS: dict[str, Any] = {
    "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": None,
    "BUDGET__WAITING_QUESTIONS": None,
}


@pytest.mark.parametrize("scope", ["member", "group"])
async def test_a_flooding_member_delays_nobody(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer, scope: str
) -> None:
    model_server.reply = "【闲聊】好的。"
    model_server.switch(Mode.SLOW, seconds=2)
    bot = await bot_factory(SESSION__SCOPE=scope, **DEFAULTS)
    client = await client_factory(bot)
    flood: set[int] = set()
    for number in range(50):
        flood.add(await client.group_message(GROUP, FLOODER, f"第 {number} 个问题", at_bot=True))
        await asyncio.sleep(0.02)
    waits = [
        asyncio.create_task(_answered(client, GROUP, ASKER)),
        asyncio.create_task(_answered(client, OTHER_GROUP, ASKER)),
    ]
    for number in range(50, 100):
        flood.add(await client.group_message(GROUP, FLOODER, f"第 {number} 个问题", at_bot=True))
        await asyncio.sleep(0.02)
    same_group, other_group = await asyncio.gather(*waits)
    assert same_group < 10, f"another member waited for {same_group:.1f} s"
    assert other_group < 5, f"another group waited for {other_group:.1f} s"

    await _until_quiet(client)
    replies = [sent.text for sent in client.sent if sent.reply_id in flood]
    answers = replies.count("好的。")
    # One is being answered and three wait. More are accepted only as these are answered, up to six in a minute.
    assert 4 <= answers <= 6
    assert [text for text in replies if text != "好的。"] == ["你有 3 个问题在等，等我答完再问。"]
    assert len(model_server.chats) == answers + 2, "a refused question costs no call of the model"


async def _until_quiet(client: ObservedClient) -> None:
    for _ in range(10):
        before = len(client.sent)
        await asyncio.sleep(3)
        if len(client.sent) == before:
            return
    raise AssertionError("the bot did not stop talking")


async def _answered(client: ObservedClient, group: int, user: int) -> float:
    began = time.perf_counter()
    asked = await client.group_message(group, user, "住宿能报多少", at_bot=True)

    def answers(sent: Sent) -> bool:
        return sent.reply_id == asked

    await client.wait_sent(answers, timeout=20)
    return time.perf_counter() - began


async def test_daily_budgets_are_told_once_and_survive_a_restart(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    model_server.reply = "按制度办理〔1〕。"
    bot = await bot_factory(
        BUDGET__GROUP_MODEL_CALLS_PER_DAY="2", BUDGET__MEMBER_QUESTIONS_PER_DAY="4", SUPERUSERS=str(SUPERUSER)
    )
    client = await client_factory(bot)
    for group in (GROUP, OTHER_GROUP):
        await client.upload_group_file(group, ASKER, "报销.md", RULES.encode())
        await client.wait_sent("已入库", timeout=20)
    notice = "今天这里的模型用量用完了，先只摘录资料原文，明天恢复。"
    texts = [await _text(client, GROUP, ASKER, QUESTION) for _ in range(4)]
    assert ["按制度办理" in text for text in texts] == [True, True, False, False]
    assert "每周三下午" in texts[2], "without the model the files still answer"
    assert [notice in text for text in texts] == [False, False, True, False]
    assert await _text(client, GROUP, ASKER, QUESTION) == "你今天的 4 个问题用完了，明天再问我。"
    for group in (GROUP, OTHER_GROUP):
        await client.group_message(group, ASKER, QUESTION, at_bot=True)
    await client.quiet(1.5)
    assert "按制度办理" in await _text(client, OTHER_GROUP, FLOODER, QUESTION), "another group has a budget of its own"
    await client.close()

    await bot.restart()
    client = await client_factory(bot)
    calls = len(model_server.chats)
    assert "明天再问我" in await _text(client, GROUP, ASKER, QUESTION)
    for _ in range(5):
        assert "每周三下午" in await _text(client, GROUP, SUPERUSER, QUESTION)
    assert len(model_server.chats) == calls == 3
    with sqlite3.connect(f"file:{bot.data_directory / 'app.sqlite3'}?mode=ro", uri=True) as database:
        paid = list(database.execute("SELECT chat, session_id FROM model_calls JOIN turns ON turn_id = turns.id"))
        mine, others = f"group_{GROUP}", f"group_{OTHER_GROUP}"
        assert paid == [(mine, f"{mine}_{ASKER}")] * 2 + [(others, f"{others}_{FLOODER}")]
        asked = database.execute("SELECT count(*) FROM turns").fetchone()[0]
        assert asked == 4 + 1 + 5, "a refused question is in no log"


async def test_commands_and_empty_questions_count_for_the_minute(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(LLM__API_KEY="", LLM__MODEL="", LLM__BASE_URL="", **DEFAULTS)
    client = await client_factory(bot)
    client.world.add_member(GROUP, OWNER, role="owner")
    for text in ("/kb list", "/help", "/memory status", "/kb status"):
        await client.group_message(GROUP, FLOODER, text)
    for text in ("", "/没有这个", "/kb list", "/help", "住宿能报多少", "/kb search 住宿", ""):
        await client.group_message(GROUP, FLOODER, text, at_bot=True)
    await _until_quiet(client)
    assert len(client.sent) == 6 + 1
    assert sum("一分钟内问得太多了，过 " in sent.text for sent in client.sent) == 1
    # The owner's commands are not limited, because cleaning up takes many of them.
    for _ in range(8):
        await client.group_message(GROUP, OWNER, "/kb list")
        await client.wait_sent("知识库是空的")


async def _text(client: ObservedClient, group: int, user: int, question: str) -> str:
    """Return the bot's answer to a question."""
    asked = await client.group_message(group, user, question, at_bot=True)
    return (await client.wait_sent(lambda sent: sent.reply_id == asked)).text
