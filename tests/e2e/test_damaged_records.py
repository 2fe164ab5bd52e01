"""A value in the database that nobody can read costs nothing but itself."""

import sqlite3
from contextlib import closing

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.observed_client import ObservedClient

GROUP, MEMBER = 777, 10002
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
RULES = "# 报销制度\n## 差旅\n出差住宿每天不超过 350 元，交通补贴每天 80 元。\n".encode()
BLOCKED = "CREATE TRIGGER blocked BEFORE INSERT ON documents BEGIN SELECT RAISE(ABORT, 'no'); END"


def _change(bot: BotProcess, *statements: str) -> None:
    with closing(sqlite3.connect(bot.data_directory / "app.sqlite3", timeout=10)) as database, database:
        for statement in statements:
            database.execute(statement)


async def _say(client: ObservedClient, text: str) -> str:
    asked = await client.group_message(GROUP, MEMBER, text, at_bot=not text.startswith("/"))
    return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=20)).text


async def test_damaged_values_stop_neither_answers_nor_commands_nor_files(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    await client.upload_group_file(GROUP, MEMBER, "报销.md", RULES)
    await client.wait_sent("已入库", timeout=30)
    assert "350" in await _say(client, "出差住宿每天能报多少钱？")
    assert "350" in await _say(client, "/kb source 1")
    _change(bot, BLOCKED)
    await client.upload_group_file(GROUP, MEMBER, "通知.md", "# 通知\n会议室的钥匙在值班室。\n".encode())
    await client.wait_sent("「通知.md」还没入库", timeout=30)
    await bot.kill()
    _change(
        bot,
        "DROP TRIGGER blocked",
        "UPDATE turns SET sources = '{\"version\": 2}'",
        "UPDATE history SET message = '{half'",
        "UPDATE uploads SET source = '5'",
    )
    await bot.start()
    await client.reconnect()
    # The file is found again by its name and size.
    await client.wait_sent("「通知.md」已入库", timeout=30)
    assert "没有出处" in await _say(client, "/kb source 1")
    assert "出差住宿" in await _say(client, "/memory show")
    assert "350" in await _say(client, "出差住宿每天能报多少钱？")
    assert "350" in await _say(client, "/kb source 1")
    output = bot.output()
    assert "a record is skipped: QZ-D04" in output
    for kind in ("StoredSources", "UploadSource"):
        assert kind in output
