"""Tests of what the bot remembers: summaries that keep the facts, restarts, and a separate memory for each person."""

import asyncio
import sqlite3
from collections.abc import Callable

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import Mode, ModelRequest, ModelServer

GROUP, ASKER = 777, 10002
SUMMARY = "请将以下对话历史总结"


def _reply(request: ModelRequest) -> str:
    """Answer like a model that summarises badly and forgets every fact."""
    return "用户聊了一些安排。" if SUMMARY in request.prompt else "【闲聊】好的，记住了。"


async def test_summaries_keep_facts_and_survive_a_restart(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    model_server.reply = _reply
    bot = await bot_factory(MEMORY__MAX_HISTORY_MESSAGES="6", MEMORY__SUMMARY_CHUNK_SIZE="4")
    client = await client_factory(bot)
    said = [
        "预算是 3500 元，12月25日 出发",
        "资料在 https://example.org/a?b=1 ，文件叫 行程.docx",
        "工号 QZ-20231 ，第 3 批",
        "联系人邮箱 li@example.org",
        "还有别的吗",
        "就先这些吧",
    ]
    for text in said:
        await client.group_message(GROUP, ASKER, text, at_bot=True)
        await client.wait_sent("记住了")
    await _until(lambda: sum(SUMMARY in prompt for prompt in model_server.prompts()) >= 2)
    await asyncio.sleep(0.5)
    await client.group_message(GROUP, ASKER, "我的预算是多少", at_bot=True)
    await client.wait_sent("记住了")
    shown = (
        model_server.chats[-1].prompt if SUMMARY not in model_server.chats[-1].prompt else model_server.chats[-2].prompt
    )
    for fact in ("3500 元", "12月25日", "https://example.org/a?b=1", "行程.docx", "QZ-20231", "li@example.org"):
        assert fact in shown, fact
    with sqlite3.connect(f"file:{bot.data_directory / 'app.sqlite3'}?mode=ro", uri=True) as database:
        logged = [row[0] for row in database.execute("SELECT question FROM turns ORDER BY id")]
        assert logged == [*said, "我的预算是多少"]
    await client.close()

    await bot.restart()
    client = await client_factory(bot)
    await client.group_message(GROUP, ASKER, "重启后还记得吗", at_bot=True)
    await client.wait_sent("记住了")
    prompt = next(prompt for prompt in reversed(model_server.prompts()) if SUMMARY not in prompt)
    assert "3500 元" in prompt
    assert "我的预算是多少" in prompt

    await client.group_message(GROUP, ASKER, "/memory show")
    assert "更早的摘要" in (await client.wait_sent("重启后还记得吗")).text
    await client.group_message(GROUP, 10003, "我是新来的", at_bot=True)
    await client.wait_sent("记住了")
    assert "3500" not in model_server.chats[-1].prompt, "another member has a memory of his own"
    await client.group_message(GROUP, ASKER, "/memory clear")
    await client.wait_sent("确认")
    await client.group_message(GROUP, ASKER, "确认")
    await client.wait_sent("忘掉了")
    await client.group_message(GROUP, ASKER, "还记得吗", at_bot=True)
    await client.wait_sent("记住了")
    assert "3500" not in model_server.chats[-1].prompt


async def test_a_failing_summary_changes_nothing(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    model_server.reply = "【闲聊】好的。"
    bot = await bot_factory(
        MEMORY__MAX_HISTORY_MESSAGES="4", MEMORY__SUMMARY_CHUNK_SIZE="2", LLM__MAX_RETRIES="0", LLM__TIMEOUT_S="2"
    )
    client = await client_factory(bot)
    for number in range(2):
        await client.group_message(GROUP, ASKER, f"第{number}句", at_bot=True)
        await client.wait_sent("好的")
    model_server.when(SUMMARY, lambda _: "")
    await client.group_message(GROUP, ASKER, "第2句", at_bot=True)
    await client.wait_sent("好的")
    await _until(lambda: any(SUMMARY in prompt for prompt in model_server.prompts()))
    await client.group_message(GROUP, ASKER, "第3句", at_bot=True)
    await client.wait_sent("好的")
    prompt = next(prompt for prompt in reversed(model_server.prompts()) if SUMMARY not in prompt)
    assert all(f"第{number}句" in prompt for number in range(4)), "nothing was lost"
    model_server.switch(Mode.DOWN)
    await client.group_message(GROUP, ASKER, "/memory compact")
    await client.wait_sent("连不上")
    await client.group_message(GROUP, ASKER, "/memory status")
    assert "8 条消息" in (await client.wait_sent("条消息")).text


async def test_shared_memory_of_a_group(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory(SESSION__SCOPE="group")
    client = await client_factory(bot)
    model_server.reply = "【闲聊】好的。"
    await client.group_message(GROUP, ASKER, "口令是芝麻", at_bot=True)
    await client.wait_sent("好的")
    await client.group_message(GROUP, 10003, "口令是什么", at_bot=True)
    await client.wait_sent("好的")
    assert "芝麻" in model_server.chats[-1].prompt
    await client.group_message(778, 10003, "口令是什么", at_bot=True)
    await client.wait_sent("好的")
    assert "芝麻" not in model_server.chats[-1].prompt
    await client.group_message(GROUP, ASKER, "/memory clear")
    await client.wait_sent("需要管理员")


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("did not happen within ten seconds")
