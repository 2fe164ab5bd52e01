"""Tests of how the process starts, refuses with one sentence to start, and ends without leaving anything behind."""

import asyncio
import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.bot_process import ROOT, BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import Mode, ModelServer
from tests.e2e.observed_client import HandshakeRefused
from tests.samples import documents

GROUP, ASKER = 777, 10002
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
REFUSAL = "启动失败："
# A script that loads the bot, and then prints a line for each package instead of serving.
LOADED = """
import logging
import sys

import bot
from qq.connection.server import Server


def log_and_return(_server):
    for package in ("plugins", "qq", "services", "simulator"):
        logging.getLogger(f"{package}.module").warning("a line of %s", package)


Server.run = log_and_return
sys.exit(bot.main())
"""
# What git does not track or a bot does not need. Copying the virtual environment alone would take minutes.
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "data", "tests", "docs", "benchmarks", "*.lock")


def _refusal(bot: BotProcess, code: int) -> str:
    """Return the only sentence of a refused start, which is also the last thing that the operator sees."""
    output = bot.output()
    assert code > 0, output
    assert output.count(REFUSAL) == 1, output
    sentence = output.partition(REFUSAL)[2].strip()
    assert output.count("Traceback") == 0, output
    assert re.search("（QZ-[A-Z][0-9]{2}）", sentence), sentence
    return sentence


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("RETRIEVAL__SUBMIT_TOPK=5", ("empty.env", "RETRIEVAL__SUBMIT_TOPK", "RETRIEVAL__SUBMIT_TOP_K")),
        ("RETRIEVAL__SUBMIT_TOP_K=0", ("RETRIEVAL__SUBMIT_TOP_K", "不能小于 1")),
        ("KNOWLEDGE__UPLOAD_ROLE=boss", ("KNOWLEDGE__UPLOAD_ROLE", "member、admin、owner")),
        ("SUPERUSERS=张三", ("SUPERUSERS", "张三")),
    ],
)
async def test_wrong_line_in_the_settings_file(line: str, named: tuple[str, ...], bot_factory: BotFactory) -> None:
    bot = bot_factory.create()
    bot.directory.mkdir(parents=True, exist_ok=True)
    (bot.directory / "empty.env").write_text(f"# 注释\n{line}\n", encoding="utf-8")
    sentence = _refusal(bot, await bot.start_refused())
    assert all(name in sentence for name in named), sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"RETREIVAL__SUBMIT_TOP_K": "5"}, ("环境变量", "RETREIVAL__SUBMIT_TOP_K", "RETRIEVAL__SUBMIT_TOP_K")),
        ({"MEMORY__MAX_HISTORY": "5"}, ("环境变量", "MEMORY__MAX_HISTORY")),
        ({"MEMORY__MAX_HISTORY_MESSAGES": "100000"}, ("MEMORY__MAX_HISTORY_MESSAGES", "不能大于 200")),
        ({"PORT": "http"}, ("PORT", "整数")),
        ({"HOST": "0.0.0.0", "ONEBOT_ACCESS_TOKEN": None}, ("HOST", "ONEBOT_ACCESS_TOKEN")),
        ({"HOST": "0.0.0.0", "ONEBOT_ACCESS_TOKEN": ""}, ("HOST", "ONEBOT_ACCESS_TOKEN")),
        ({"LLM__MODEL": ""}, ("LLM__MODEL", "LLM__BASE_URL")),
        ({"MEMORY__SUMMARY_PROMPT": "总结一下"}, ("MEMORY__SUMMARY_PROMPT", "{history_text}")),
    ],
)
async def test_wrong_setting_in_the_environment(
    settings: dict[str, str | None], named: tuple[str, ...], bot_factory: BotFactory
) -> None:
    bot = bot_factory.create()
    bot.environment |= settings
    sentence = _refusal(bot, await bot.start_refused())
    assert all(name in sentence for name in named), sentence
    assert "\n" not in sentence
    assert "e2e-key" not in bot.output(), "a key is never shown"
    # The harness may have put converted models there.
    left = {entry.name for entry in bot.data_directory.iterdir()}
    assert left <= {"models"}, "a refused start leaves no trace"


async def test_second_process_and_port_in_use(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    first = await bot_factory(**NO_MODEL)
    client = await client_factory(first)
    second = bot_factory.create(DATA_DIR=str(first.data_directory), **NO_MODEL)
    sentence = _refusal(second, await second.start_refused())
    assert "另一个进程" in sentence
    assert str(first.data_directory) in sentence

    third = bot_factory.create(PORT=str(first.port), **NO_MODEL)
    sentence = _refusal(third, await third.start_refused())
    assert f"127.0.0.1:{first.port}" in sentence
    assert "PORT" in sentence

    # A program of another kind uses the port, on all addresses.
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        fourth = bot_factory.create(PORT=str(port), **NO_MODEL)
        assert str(port) in _refusal(fourth, await fourth.start_refused())

    # The first bot is not affected.
    await client.upload_group_file(GROUP, ASKER, "值班.md", "值班电话是 6023。".encode())
    await client.wait_sent("已入库", timeout=20)
    await first.stop()


async def test_data_directory_is_a_file(bot_factory: BotFactory, tmp_path: Path) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("不是目录")
    for path in (occupied, occupied / "inside"):
        bot = bot_factory.create(DATA_DIR=str(path), **NO_MODEL)
        sentence = _refusal(bot, await bot.start_refused())
        assert "DATA_DIR" in sentence
        assert str(occupied) in sentence
    assert occupied.read_text() == "不是目录"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind root")
async def test_data_directory_is_read_only(bot_factory: BotFactory, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    bot = bot_factory.create(DATA_DIR=str(closed), **NO_MODEL)
    assert "DATA_DIR" in _refusal(bot, await bot.start_refused())


async def test_database_is_broken(bot_factory: BotFactory) -> None:
    bot = bot_factory.create(**NO_MODEL)
    bot.data_directory.mkdir(parents=True, exist_ok=True)
    database = bot.data_directory / "app.sqlite3"
    database.write_bytes(b"this is no database at all" * 400)
    sentence = _refusal(bot, await bot.start_refused())
    assert "数据库" in sentence
    assert "DATA_DIR" in sentence
    assert "file is not a database" in bot.output(), "the cause stands in the log"
    assert database.read_bytes().startswith(b"this is no"), "nothing is overwritten"


def _copied(target: Path) -> Path:
    """Copy the product to a directory where it may be damaged."""
    shutil.copytree(ROOT, target, ignore=_NOT_COPIED)
    return target


def _break_yaml(copy: Path) -> None:
    path = copy / "prompts" / "rag" / "answer.yaml"
    path.write_text(path.read_text("utf-8") + "\nhuman: [\n", encoding="utf-8")


def _misspell_variable(copy: Path) -> None:
    path = copy / "prompts" / "memory" / "summary.yaml"
    path.write_text(path.read_text("utf-8").replace("{history_text}", "{history_txt}"), encoding="utf-8")


def _remove_persona(copy: Path) -> None:
    (copy / "prompts" / "persona.yaml").unlink()


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_break_yaml, ("prompts/rag/answer.yaml", "YAML")),
        (_misspell_variable, ("prompts/memory/summary.yaml", "{history_text}")),
        (_remove_persona, ("prompts/persona.yaml", "缺少")),
    ],
)
async def test_broken_prompt_file(
    damage: Callable[[Path], None], named: tuple[str, ...], bot_factory: BotFactory, tmp_path: Path
) -> None:
    copy = await asyncio.to_thread(_copied, tmp_path / "copy")
    damage(copy)
    bot = bot_factory.create(script=copy / "bot.py", **NO_MODEL)
    sentence = _refusal(bot, await bot.start_refused())
    assert all(name in sentence for name in named), sentence


async def test_broken_plugin(bot_factory: BotFactory, tmp_path: Path) -> None:
    copy = await asyncio.to_thread(_copied, tmp_path / "copy")
    with (copy / "plugins" / "admin.py").open("a", encoding="utf-8") as file:
        file.write("\nimport a_module_that_nobody_installed\n")
    bot = bot_factory.create(script=copy / "bot.py", **NO_MODEL)
    code = await bot.start_refused()
    assert code > 0
    output = bot.output()
    assert output.count(REFUSAL) == 1
    assert "插件 admin 没有加载成功" in output
    assert "a_module_that_nobody_installed" in output, "the cause stands in the log"


async def test_every_package_of_ours_writes_to_the_log(bot_factory: BotFactory, tmp_path: Path) -> None:
    script = tmp_path / "loaded.py"
    script.write_text(LOADED, encoding="utf-8")
    bot = bot_factory.create(script=script, PYTHONPATH=str(ROOT), **NO_MODEL)
    assert await bot.start_refused() == 0, bot.output()
    warnings = [line for line in bot.output().splitlines() if "[WARNING]" in line]
    packages = {line.rpartition("a line of ")[2] for line in warnings if "a line of" in line}
    assert packages == {"plugins", "qq", "services", "simulator"}, bot.output()


async def test_handshake_and_end(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    # A token of digits must not be parsed as a number, which would lose its leading zeros.
    token = "0012345678"
    bot = bot_factory.create(ONEBOT_ACCESS_TOKEN=token, LLM__TIMEOUT_S="300")
    bot.token = token
    bot.working_directory = elsewhere
    async with bot:
        for wrong in (None, "", "12345678", f"{token}0"):
            with pytest.raises(HandshakeRefused) as refused:
                await client_factory.create(bot, token=wrong).connect()
            assert refused.value.status in (401, 403), wrong
        strayed = client_factory.create(bot)
        strayed.url = strayed.url.removesuffix("/ws") + "/wrong"
        with pytest.raises(HandshakeRefused) as refused:
            await strayed.connect()
        assert refused.value.status in (403, 404)
        for path in ("/onebot/v11/", "/onebot/v11/ws"):
            client = client_factory.create(bot, self_id=3889000001 + len(path))
            client.url = f"ws://127.0.0.1:{bot.port}{path}"
            await client.connect()
            asked = await client.private_message(ASKER, "/help")
            assert "/ask" in (await client.wait_sent(lambda sent, asked=asked: sent.reply_id == asked)).text
            await client.close()
        assert not list(elsewhere.iterdir()), "nothing is written to the working directory"
        assert token not in bot.output()

        # The bot ends although it is connected, ingests a file, and waits for a model that never answers.
        client = await client_factory(bot)
        model_server.switch(Mode.HANG)
        await client.group_message(GROUP, ASKER, "帮我记一下这件事", at_bot=True)
        await _until(lambda: bool(model_server.chats), 10)
        await client.upload_group_file(GROUP, ASKER, "长.txt", "".join(_LONG).encode())
        await asyncio.sleep(0.3)
        began = time.perf_counter()
        await bot.stop(signal.SIGTERM)
        assert time.perf_counter() - began < 8
        assert "Traceback" not in bot.output(), bot.output()
        assert not client.sent, "nothing is said about a file that is still to be taken in"
        await client.close()
        await bot.start()
        await client.reconnect()
        await client.wait_sent("已入库", timeout=60)
        assert await bot.stop(signal.SIGINT) == 0


_LONG = [
    f"第{line}条：仪器编号 QZ-{line:04d} 由第 {line} 组保管，使用前要登记，用完当天归还。\n" for line in range(200)
]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="children are found by /proc")
async def test_killed_bot_leaves_no_child(
    bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    # While one file is embedded and another one is read, which takes minutes, child processes of every kind exist.
    slow = await asyncio.to_thread(documents.slow_pdf, tmp_path / "慢.pdf")
    await client.upload_group_file(GROUP, ASKER, "长.txt", "".join(_LONG).encode())
    await client.upload_group_file(GROUP, ASKER, "慢.pdf", slow.read_bytes())
    kinds = ("multiprocessing.spawn", "services.knowledge.parse_process", "resource_tracker")
    await _until(lambda: all(kind in "".join(_children(bot.pid).values()) for kind in kinds), 20)
    children = _children(bot.pid)
    os.kill(bot.pid, signal.SIGKILL)
    assert await bot.wait_exit() == -signal.SIGKILL
    try:
        await _until(lambda: not [pid for pid in children if _is_alive(pid)], 5)
    finally:
        for pid in filter(_is_alive, children):
            os.kill(pid, signal.SIGKILL)
    await bot.start()
    await client.reconnect()
    assert "「长.txt」" in (await client.wait_sent("已入库", timeout=60)).text


def _children(parent: int) -> dict[int, str]:
    """Return the live child processes of a process, with their command lines."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (_status(int(entry.name)) or ["", ""])[1] == str(parent):
            with suppress(OSError):
                found[int(entry.name)] = (entry / "cmdline").read_text("utf-8", "replace")
    return found


def _is_alive(pid: int) -> bool:
    status = _status(pid)
    return bool(status) and status[0] != "Z"


def _status(pid: int) -> list[str]:
    """Return the fields after the name in /proc, beginning with state and parent, or nothing if there is no process."""
    try:
        # The name may contain anything, but it ends at the last parenthesis.
        return (Path("/proc") / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come to rest"
        await asyncio.sleep(0.05)
