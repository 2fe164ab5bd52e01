"""Tests of /trace in QQ: who sees which records, the file with all of one, recalls, and the number of a failure."""

import asyncio
import json
import re
import sqlite3
from contextlib import closing

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.observed_client import ObservedClient

GROUP, OTHER, MEMBER, ADMIN, STRANGER = 777, 778, 10002, 10009, 10020
RULES = "差旅费应在三十日内报销。金丝雀代号是蓝鲸七号。".encode()
QUESTION = "差旅费要在多少天内报销？"
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}


async def _say(client: ObservedClient, user: int, text: str, group: int = GROUP) -> str:
    asked = await client.group_message(group, user, text)
    return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=30)).text


async def _say_privately(client: ObservedClient, user: int, text: str) -> str:
    asked = await client.private_message(user, text)
    return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=30)).text


def _stored(bot: BotProcess) -> str:
    with closing(sqlite3.connect(f"file:{bot.data_directory / 'app.sqlite3'}?mode=ro", uri=True)) as database:
        return repr(database.execute("SELECT * FROM traces").fetchall())


async def _with_rules(bot: BotProcess, client_factory: ClientFactory) -> ObservedClient:
    client = await client_factory(bot)
    for group in (GROUP, OTHER):
        client.world.add_member(group, ADMIN, role="admin")
        client.world.add_member(group, MEMBER)
    await client.upload_group_file(GROUP, MEMBER, "规章.md", RULES)
    await client.wait_sent("「规章.md」已入库", timeout=30)
    return client


async def test_admins_see_how_the_answers_of_their_group_came_about(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await _with_rules(bot, client_factory)
    assert "三十日" in await _say(client, MEMBER, f"/ask {QUESTION}")

    assert "需要管理员" in await _say(client, MEMBER, "/trace")
    listed = await _say(client, ADMIN, "/trace")
    number = listed[:6]
    assert re.fullmatch("[0-9a-f]{6}", number), listed
    assert listed.endswith(f"看一个：/trace {number}")
    summary = await _say(client, ADMIN, f"/来历 {number.upper()}")
    assert f"问：{QUESTION}" in summary
    assert "规章.md" in summary
    assert "通过" in summary
    assert len(summary.splitlines()) <= 10
    # The log carries the number at everything that the question caused.
    assert f"[{number}] " in bot.output()

    await client.group_message(GROUP, ADMIN, f"/trace {number} full")
    file = await client.wait_sent(lambda sent: sent.kind == "file", timeout=30)
    await client.wait_sent(f"编号 {number} 的完整记录", timeout=30)
    assert (file.text, file.group_id) == (f"来历-{number}.json", GROUP)
    record = json.loads(file.content or b"")
    assert record["uuid"].startswith(number)
    assert (record["raw_question"], record["trace"]["chat"]) == (QUESTION, f"group_{GROUP}")
    assert record["retriver_chunks"] == [RULES.decode()]
    assert record["trace"]["gate"]["passages"][0]["cited_as"] == 1

    # Another group, and the same admin in private, see nothing of it.
    assert await _say(client, ADMIN, "/trace", OTHER) == "这里还没有记录。"
    assert "没有编号" in await _say(client, ADMIN, f"/trace {number}", OTHER)
    assert "没有编号" in await _say_privately(client, ADMIN, f"/trace {number}")
    for wrong in ("/trace xyz", f"/trace {number} half", f"/trace {number}0", "/trace %%%%%%"):
        assert "没看懂" in await _say(client, ADMIN, wrong)

    # Without the document its text is gone.
    assert "蓝鲸" in _stored(bot)
    await _say(client, ADMIN, "/kb delete 1")
    await _say(client, ADMIN, "确认")
    assert "蓝鲸" not in _stored(bot)
    summary = await _say(client, ADMIN, f"/trace {number}")
    assert "（文字已删除）" in summary
    assert "（原文已不在）" in summary


async def test_a_private_chat_shows_answers_from_a_group_only_to_its_members(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await _with_rules(bot, client_factory)
    await _say_privately(client, MEMBER, f"/kb use {GROUP}")
    assert "三十日" in await _say_privately(client, MEMBER, QUESTION)
    number = (await _say_privately(client, MEMBER, "/trace"))[:6]
    assert "三十日" in await _say_privately(client, MEMBER, f"/trace {number}")
    assert "没有编号" in await _say_privately(client, STRANGER, f"/trace {number}")
    del client.world.groups[GROUP].members[MEMBER]
    client.world.add_friend(MEMBER)
    assert await _say_privately(client, MEMBER, "/trace") == "这里还没有记录。"
    assert "没有编号" in await _say_privately(client, MEMBER, f"/trace {number}")


async def test_a_recalled_question_leaves_no_text(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await _with_rules(bot, client_factory)
    asked = await client.group_message(GROUP, MEMBER, f"/ask {QUESTION}")
    await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=30)
    assert QUESTION in await _say(client, ADMIN, "/trace " + (await _say(client, ADMIN, "/trace"))[:6])
    await client.recall(asked)
    async with asyncio.timeout(10):
        # Nothing in the chat says that the notice was handled.
        while QUESTION in _stored(bot):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert "（文字已删除）" in await _say(client, ADMIN, "/trace")


async def test_a_damaged_record_is_said_to_be(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await _with_rules(bot, client_factory)
    await _say(client, MEMBER, f"/ask {QUESTION}")
    number = (await _say(client, ADMIN, "/trace"))[:6]
    with closing(sqlite3.connect(bot.data_directory / "app.sqlite3", timeout=10)) as database, database:
        database.execute("UPDATE traces SET record = '{half'")
    assert await _say(client, ADMIN, f"/trace {number}") == "这条记录坏了，读不出来。（QZ-D04）"
    assert "QZ-D04" in bot.output()


async def test_nothing_is_stored_if_nothing_may_be_kept(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL, TRACE__KEEP_DAYS="0")
    client = await _with_rules(bot, client_factory)
    await _say(client, MEMBER, f"/ask {QUESTION}")
    assert "TRACE__KEEP_DAYS" in await _say(client, ADMIN, "/trace")
    assert _stored(bot) == "[]"


async def test_the_number_of_a_failure_is_in_the_log(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await _with_rules(bot, client_factory)
    with closing(sqlite3.connect(bot.data_directory / "app.sqlite3")) as database:
        # An integrity error is a mistake of ours, for which there is no sentence.
        database.execute("CREATE TRIGGER wrong BEFORE INSERT ON turns BEGIN SELECT RAISE(ABORT, 'constraint'); END")
        database.commit()
    said = await _say(client, MEMBER, f"/ask {QUESTION}")
    found = re.search("编号 ([0-9a-f]{6})）", said)
    assert found is not None, said
    assert f"[{found[1]}] failure" in bot.output()
    assert bot.output().count(f"[{found[1]}] ") > 1
