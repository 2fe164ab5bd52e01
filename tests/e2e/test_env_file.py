"""Tests of the operator's settings file: `.env` beside bot.py, which only the bot itself reads, and which it obeys."""

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from services.settings import setting_fields
from tests.e2e.bot_process import ROOT, BotProcess, free_port
from tests.e2e.conftest import BotFactory, ClientFactory

GROUP, ASKER, SUPERUSER = 777, 10002, 10001
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "data", "tests", "docs", "benchmarks", "*.lock")
_LISTS = {"SUPERUSERS", "NICKNAME", "COMMAND_START", "KNOWLEDGE__FILE_TYPES", "KNOWLEDGE__CLIENT_FILE_DIRS"}


async def _installed(bot_factory: BotFactory, directory: Path) -> BotProcess:
    """Return a bot in its own tree, started as the README says: without arguments and environment variables."""
    await asyncio.to_thread(shutil.copytree, ROOT, directory, ignore=_NOT_COPIED)
    bot = bot_factory.create(script=directory / "bot.py")
    bot.environment = {}
    bot.arguments = []
    bot.token = ""
    return bot


def _fit(bot: BotProcess, text: str) -> str:
    """Return the settings file with the free port and the data directory of this test."""
    text = re.sub(r"(?m)^PORT=.*$", f"PORT={bot.port}", text)
    return re.sub(r"(?m)^DATA_DIR=.*$", f"DATA_DIR={bot.data_directory}", text)


async def test_the_example_as_it_is(bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    bot = await _installed(bot_factory, tree)
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert {line.partition("=")[0] for line in example.splitlines() if line and line[0] != "#"} == {
        name for name, _ in setting_fields()
    }
    (tree / ".env").write_text(_fit(bot, example), encoding="utf-8")
    # NoneBot would read the first file for ENVIRONMENT=dev, and the second by default. Both contain values that it
    # rejects.
    for name in (".env.dev", ".env.prod"):
        (tree / name).write_text("SUPERUSERS=10001,10002\nCOMMAND_SEP=.\nNICKNAME=[\n", encoding="utf-8")
    bot.environment = {"ENVIRONMENT": "dev", "COMMAND_SEP": ".", "SESSION_EXPIRE_TIMEOUT": "soon"}
    async with bot:
        client = await client_factory(bot, token=None)
        await client.group_message(GROUP, ASKER, "群知，你能做什么")
        await client.wait_sent(timeout=20)
        await client.group_message(GROUP, ASKER, "／help")
        await client.wait_sent("/ask")
        assert "Traceback" not in bot.output()


_WAYS = {
    "people": "SUPERUSERS=10001, 10009\nNICKNAME=小库,库库\nCOMMAND_START=/,!\nKNOWLEDGE__FILE_TYPES=pdf,md\n"
    "KNOWLEDGE__CLIENT_FILE_DIRS=/srv/qq,/srv/other\n",
    "json": 'SUPERUSERS=["10001", "10009"]\nNICKNAME=["小库", "库库"]\nCOMMAND_START=["/", "!"]\n'
    'KNOWLEDGE__FILE_TYPES=["pdf", "md"]\nKNOWLEDGE__CLIENT_FILE_DIRS=["/srv/qq", "/srv/other"]\n',
    "quoted": "SUPERUSERS='10001,10009'\nNICKNAME=\"小库,库库\"\nCOMMAND_START='/,!' # 两个前缀\n"
    'KNOWLEDGE__FILE_TYPES=\'["pdf", "md"]\'\nKNOWLEDGE__CLIENT_FILE_DIRS="/srv/qq"\n',
    # As a Windows editor saves the file, and as a shell would read it.
    "windows": "\ufeff# 设置\r\nexport SUPERUSERS=10001\r\nexport NICKNAME = 小库 # 名字\r\n\r\nCOMMAND_START=!\r\n"
    "  KNOWLEDGE__FILE_TYPES=md\r\nKNOWLEDGE__CLIENT_FILE_DIRS=\r\n",
}


@pytest.mark.parametrize("way", _WAYS)
async def test_every_way_to_write_a_list(
    way: str, bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path
) -> None:
    assert all(name in _WAYS[way] for name in _LISTS)
    tree = tmp_path / "tree"
    bot = await _installed(bot_factory, tree)
    newline = "\r\n" if way == "windows" else "\n"
    (tree / ".env").write_text(
        f"{_WAYS[way]}PORT={bot.port}{newline}DATA_DIR='{bot.data_directory}'{newline}", encoding="utf-8", newline=""
    )
    bot.environment = {"ENVIRONMENT": "dev"}
    async with bot:
        client = await client_factory(bot, token=None)
        # Each of these is only answered if its setting is in effect.
        await client.group_message(GROUP, SUPERUSER, "!bot status")
        assert "运行：" in (await client.wait_sent(lambda sent: sent.group_id == GROUP)).text
        await client.group_message(GROUP, ASKER, "小库，/help" if way != "windows" else "小库，!help")
        assert "/ask" in (await client.wait_sent(lambda sent: sent.group_id == GROUP)).text
        await client.upload_group_file(GROUP, ASKER, "名单.csv", "姓名,电话\n张三,6023\n".encode())
        assert "没有入库" in (await client.wait_sent("名单.csv")).text
        assert "Traceback" not in bot.output()


@pytest.mark.parametrize("line", ["SUPERUSERS=", "NICKNAME=", "COMMAND_START=", "HOST=localhost"])
async def test_one_line_alone(line: str, bot_factory: BotFactory, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    bot = await _installed(bot_factory, tree)
    (tree / ".env").write_text(
        f"{line}\nPORT={bot.port}\nDATA_DIR={bot.data_directory}\nSANDBOX__ENABLED=true\n", encoding="utf-8"
    )
    address = line.partition("HOST=")[2] or "127.0.0.1"
    async with bot:
        await bot.wait_output(f"http://{address}:{bot.port}/")
        # The page's own account connects to the address that is logged, through the guard of the entrance.
        await bot.wait_output("Bot 900000000000 connected", 20)


async def test_a_file_that_cannot_be_read(bot_factory: BotFactory, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    bot = await _installed(bot_factory, tree)
    for content, told in (
        ("NICKNAME=小库\n".encode("gbk"), "UTF-8"),
        ("NICKNAME=小库\n".encode("utf-16"), "UTF-8"),
        (f"PORT={free_port()}\nSUPERUSERS 10001\n".encode(), "第 2 行"),
        (b"ENVIRONMENT=dev\n", "ENVIRONMENT"),
    ):
        (tree / ".env").write_bytes(content)
        bot.log_file.unlink(missing_ok=True)
        assert await bot.start_refused() == 2
        assert bot.output().startswith("启动失败："), bot.output()
        assert told in bot.output()
        assert len(bot.output().splitlines()) == 1
