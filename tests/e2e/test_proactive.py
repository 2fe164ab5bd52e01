"""Tests of the proactive mode in QQ: what it answers and ignores, how it is silenced, and that a restart keeps it."""

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import ModelServer
from tests.e2e.observed_client import LAGRANGE, LLONEBOT, NAPCAT, Dialect, ObservedClient, Sent

GROUP, OTHER_GROUP, ADMIN = 777, 778, 10009
ANNA, BEN, CARL, DORA = 10002, 10003, 10004, 10005
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
# Answer without a delay, and do not take the messages of a test for a conversation.
AT_ONCE: dict[str, Any] = {"PROACTIVE__DELAY_S": "0", "PROACTIVE__QUIET_S": "0"}
MARK = "（主动回答，嫌吵发 /bot quiet）"
RULES = (
    "# 报销制度\n## 差旅\n出差住宿每天不超过 350 元，交通补贴每天 80 元。差旅费应当在返回后三十日内报销。\n"
    "## 采购\n单笔超过 5000 元的采购要系主任签字。\n"
)
HOTEL, PURCHASE, DEADLINE = "出差住宿每天能报销多少元", "单笔多少元的采购要系主任签字", "差旅费要在返回后多少日内报销"
CHATTER = ("哈哈哈哈哈笑死我了", "晚上一起去打球吗", "今天食堂的红烧肉不错", "谁有空帮我带杯奶茶", "收到收到，辛苦了")
THUMB_DOWN, HUSH, THUMB_UP = "128078", "33", "76"


async def _group(client: ObservedClient, group_id: int = GROUP) -> None:
    """Set up a group with an admin, one document, and the mode switched on."""
    client.world.add_member(group_id, ADMIN, role="admin")
    await client.upload_group_file(group_id, ANNA, "报销.md", RULES.encode())
    await client.wait_sent(lambda sent: sent.group_id == group_id and "已入库" in sent.text, timeout=30)
    assert "主动回答已打开" in await _say(client, ADMIN, "/bot auto on", group_id)


async def _say(client: ObservedClient, user: int, text: str, group_id: int = GROUP, reply_to: int | None = None) -> str:
    """Return the bot's reply to somebody in the group."""
    return (await _answered(client, await client.group_message(group_id, user, text, reply_to=reply_to))).text


async def _answered(client: ObservedClient, message_id: int) -> Sent:
    return await client.wait_sent(lambda sent: sent.reply_id == message_id, timeout=20)


async def _status(client: ObservedClient, group_id: int = GROUP) -> str:
    return await _say(client, ADMIN, "/bot auto status", group_id)


def _feedback(bot: BotProcess) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(bot.data_directory / "app.sqlite3")) as database:
        return database.execute("SELECT collection, helpful FROM gate_feedback ORDER BY id").fetchall()


async def test_only_what_the_documents_answer_is_answered_and_only_there_where_it_is_wanted(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory(**AT_ONCE)
    client = await client_factory(bot)
    client.world.add_member(GROUP, ADMIN, role="admin")
    await client.upload_group_file(GROUP, ANNA, "报销.md", RULES.encode())
    await client.wait_sent("已入库", timeout=30)

    # The mode is off until an admin of the group switches it on.
    await client.group_message(GROUP, ANNA, HOTEL)
    await client.quiet(1)
    assert "需要管理员" in await _say(client, ANNA, "/bot auto on")
    assert "没有打开主动回答" in await _say(client, ANNA, "/bot quiet")
    private = await client.private_message(ANNA, "/bot auto on")
    assert "只能在群里用" in (await _answered(client, private)).text
    assert (await _status(client)).startswith("主动回答：关")
    assert "主动回答已打开" in await _say(client, ADMIN, "／机器人 主动 开")

    # These are not answered: chatter, texts that are too short or too long, a picture, and words to somebody else.
    for text in (*CHATTER, "报销", f"{HOTEL}？" * 40):
        await client.group_message(GROUP, ANNA, text)
    await client.quiet(2)
    to_ben = [{"type": "at", "data": {"qq": str(BEN)}}, {"type": "text", "data": {"text": f" {HOTEL}"}}]
    await client.group_message(GROUP, ANNA, to_ben)
    await client.group_message(GROUP, ANNA, HOTEL, reply_to=await client.group_message(GROUP, BEN, "在的在的"))
    await client.quiet(1)
    assert not model_server.chats
    assert (await _status(client)).count("是对别人说的") == 2

    asked = await client.group_message(GROUP, ANNA, f"大佬们，{HOTEL}？")
    answer = await _answered(client, asked)
    assert "350" in answer.text
    assert "〔1〕报销.md" in answer.text
    assert answer.text.splitlines()[-1] == MARK
    assert len(model_server.chats) == 1

    # Ask the same question again, also in other words.
    await client.group_message(GROUP, BEN, HOTEL)
    await client.group_message(GROUP, CARL, f"请问{HOTEL}呢")
    await client.quiet(2)
    status = await _status(client)
    assert status.startswith("主动回答：开")
    assert "主动答了 1 次，最多 6 次" in status
    assert status.count("一天内答过") == 2
    assert "已回答" in status

    # If the model finds nothing worth saying, or fails, the bot stays silent.
    model_server.reply = "资料里没有相关内容。"
    await client.group_message(GROUP, DORA, PURCHASE)
    await client.quiet(2)
    assert len(model_server.chats) == 2
    assert "主动答了 1 次" in await _status(client)

    # A direct question is answered as usual, without the mark. After `off`, nothing is answered unasked.
    model_server.reply = "返回后三十日内报销。〔1〕"
    direct = await client.group_message(GROUP, DORA, DEADLINE, at_bot=True)
    assert MARK not in (await _answered(client, direct)).text
    assert "已关闭" in await _say(client, ADMIN, "/bot auto off")
    calls = len(model_server.chats)
    await client.group_message(GROUP, CARL, DEADLINE)
    await client.quiet(1.5)
    assert len(model_server.chats) == calls


async def test_people_come_first(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory(PROACTIVE__DELAY_S="2", PROACTIVE__QUIET_S="60")
    client = await client_factory(bot)
    await _group(client)
    await _group(client, OTHER_GROUP)

    # Two people in a conversation are left alone, even by a question of a third person. They may take turns or name
    # each other.
    for user, text in ((ANNA, "我下周要去上海出差"), (BEN, "去几天呀，住哪里呢"), (ANNA, HOTEL), (CARL, PURCHASE)):
        await client.group_message(GROUP, user, text)
        await asyncio.sleep(0.1)
    await client.quiet(3.5)
    assert "两个人正在对话" in await _status(client)

    # A question is taken up if somebody replies to it or addresses its author, but not if somebody just talks.
    replied = await client.group_message(OTHER_GROUP, ANNA, HOTEL)
    await client.group_message(OTHER_GROUP, BEN, "三百五", reply_to=replied)
    addressed = await client.group_message(OTHER_GROUP, CARL, PURCHASE)
    carl = [{"type": "at", "data": {"qq": str(CARL)}}, {"type": "text", "data": {"text": " 五千"}}]
    await client.group_message(OTHER_GROUP, DORA, carl)
    recalled = await client.group_message(OTHER_GROUP, 10006, DEADLINE)
    await client.recall(recalled)
    await client.quiet(4.5)
    status = await _status(client, OTHER_GROUP)
    assert status.count("有人接话") == 2, (status, addressed)
    assert "撤回了" in status
    assert not model_server.chats

    asked = await client.group_message(OTHER_GROUP, 10007, f"请问{DEADLINE}")
    await client.group_message(OTHER_GROUP, 10008, CHATTER[0])
    await client.quiet(1)
    assert MARK in (await _answered(client, asked)).text
    assert len(model_server.chats) == 1


@pytest.mark.parametrize("dialect", [NAPCAT, LLONEBOT, LAGRANGE], ids=lambda dialect: dialect.name)
async def test_a_reaction_silences_it_and_a_restart_does_not_wake_it(
    dialect: Dialect, bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(**NO_MODEL, **AT_ONCE, PROACTIVE__PER_HOUR="2")
    client = await client_factory(bot, dialect=dialect)
    await _group(client)
    question = await client.group_message(GROUP, ANNA, HOTEL)
    answer = await _answered(client, question)
    assert answer.text.endswith(MARK)

    # A reaction to a person's message and one that is removed have no effect. A friendly one is recorded once.
    await client.react(BEN, question, THUMB_DOWN)
    await client.react(BEN, answer.message_id, THUMB_DOWN, on=False)
    await client.quiet(1)
    assert _feedback(bot) == []
    await client.react(BEN, answer.message_id, THUMB_UP)
    await client.react(CARL, answer.message_id, THUMB_UP)
    await client.quiet(1)
    assert _feedback(bot) == [(f"group_{GROUP}", 1)]

    await client.react(BEN, answer.message_id, THUMB_DOWN)
    await client.wait_sent("一小时内不主动回答了")
    await client.react(CARL, answer.message_id, HUSH)
    await client.group_message(GROUP, CARL, PURCHASE)
    await client.quiet(2)
    assert _feedback(bot) == [(f"group_{GROUP}", 1), (f"group_{GROUP}", 0)]
    assert "安静到" in await _status(client)

    assert await bot.stop() == 0
    await bot.start()
    await client.reconnect()
    await asyncio.sleep(0.5)
    await client.group_message(GROUP, CARL, PURCHASE)
    await client.quiet(2)
    status = await _status(client)
    assert "安静到" in status
    assert "主动答了 1 次，最多 2 次" in status

    # When it speaks again, it still knows what it answered and how often.
    assert "不用安静了" in await _say(client, BEN, "/bot quiet 0")
    await client.group_message(GROUP, CARL, f"{HOTEL}？")
    await client.quiet(1.5)
    assert "一天内答过" in await _status(client)
    assert MARK in (await _answered(client, await client.group_message(GROUP, DORA, PURCHASE))).text
    await client.group_message(GROUP, 10006, DEADLINE)
    await client.quiet(1.5)
    assert "次数用完了" in await _status(client)
    assert "Traceback" not in bot.output()


async def test_words_silence_it_too(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL, **AT_ONCE)
    client = await client_factory(bot)
    await _group(client)
    answer = await _answered(client, await client.group_message(GROUP, ANNA, HOTEL))
    assert "一小时内不主动回答了" in await _say(client, BEN, "别说了！", reply_to=answer.message_id)
    await client.group_message(GROUP, CARL, "闭嘴", reply_to=answer.message_id)
    await client.group_message(GROUP, CARL, PURCHASE)
    await client.quiet(2)
    assert _feedback(bot) == [(f"group_{GROUP}", 0)]

    # The command has the same effect, for any duration, and records no opinion about the answers.
    assert "不用安静了" in await _say(client, DORA, "/机器人 安静 解除")
    assert "安静到" in await _say(client, DORA, "/bot quiet")
    assert "安静到" in await _say(client, DORA, "/bot quiet 30分钟")
    assert "最多安静 7 天" in await _say(client, DORA, "/bot quiet 8天")
    assert "没看懂时长" in await _say(client, DORA, "/bot quiet 很久")
    await client.group_message(GROUP, CARL, PURCHASE)
    await client.quiet(1.5)
    assert "安静中" in await _status(client)
    assert _feedback(bot) == [(f"group_{GROUP}", 0)]


async def test_unasked_answers_count_for_the_day_of_the_group(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory(**AT_ONCE, BUDGET__GROUP_QUESTIONS_PER_DAY="1", BUDGET__MEMBER_QUESTIONS_PER_DAY="1")
    client = await client_factory(bot)
    await _group(client)
    assert "350" in (await _answered(client, await client.group_message(GROUP, ANNA, HOTEL))).text
    await client.group_message(GROUP, ANNA, PURCHASE)
    await client.quiet(2)
    assert len(model_server.chats) == 1
    asked = await client.group_message(GROUP, ANNA, PURCHASE, at_bot=True)
    assert (await _answered(client, asked)).text == "本群今天的 1 个问题用完了，明天再问我。"
    # No person's own limit of the day was charged for this.
    assert "明天" not in (await _answered(client, await client.private_message(ANNA, PURCHASE))).text
    with closing(sqlite3.connect(bot.data_directory / "app.sqlite3")) as database:
        assert database.execute("SELECT chat, turn_id FROM model_calls").fetchall()[0] == (f"group_{GROUP}", None)
