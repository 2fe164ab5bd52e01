"""Tests that a signal ends the bot within ten seconds, whatever it is doing, and that nothing is lost."""

import asyncio
import os
import signal
import time

import pytest

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.file_server import FileServer
from tests.e2e.model_server import Mode, ModelServer
from tests.e2e.observed_client import ObservedClient

GROUP, ASKER = 777, 10002
LONGEST_S = 10.0
_FORCED = "现在直接退出"
_LONG = "".join(f"第{line}条：仪器编号 QZ-{line:04d} 由第 {line} 组保管，用完当天归还。\n" for line in range(600))


async def _stopped(bot: BotProcess, *signals: signal.Signals) -> float:
    """Send the signals at once, and return the time in seconds from the first one until the process was gone."""
    began = time.perf_counter()
    for number in signals[:-1]:
        os.kill(bot.pid, number)
    code = await bot.stop(signals[-1], timeout=LONGEST_S + 5)
    took = time.perf_counter() - began
    output = bot.output()
    assert code == 0, output
    assert took < LONGEST_S, f"{took:.1f} s\n{output}"
    assert "Traceback" not in output, output
    assert "KeyError" not in output, output
    return took


async def _burst(client: ObservedClient, questions: int = 50) -> None:
    for number in range(questions):
        await client.group_message(GROUP + number % 5, ASKER + number, f"第 {number} 个问题：几点熄灯？", at_bot=True)


@pytest.mark.parametrize("gone", [False, True], ids=["connected", "client gone"])
async def test_after_a_burst_of_questions(
    gone: bool, bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory(LLM__TIMEOUT_S="300", SEND__GROUP_INTERVAL_S="1.5")
    client = await client_factory(bot)
    await client.upload_group_file(GROUP, ASKER, "熄灯.md", "宿舍每晚十一点熄灯。".encode())
    await client.wait_sent("已入库", timeout=30)
    model_server.switch(Mode.HANG)
    await _burst(client)
    if gone:
        await client.drop()
    took = await _stopped(bot, signal.SIGTERM)
    assert _FORCED not in bot.output(), bot.output()
    assert took < 8
    if gone:
        return
    # The question is marked as failed, and the bot works as before.
    model_server.switch(Mode.OK)
    await bot.start()
    await client.reconnect()
    await client.group_message(GROUP, ASKER, "几点熄灯？", at_bot=True)
    await client.wait_sent("十一点", timeout=30)


async def test_with_everything_under_way(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer, file_server: FileServer
) -> None:
    """Stop while a model and a download hang, a file is ingested, and somebody keeps connecting and asking."""
    bot = await bot_factory(LLM__TIMEOUT_S="300")
    client = await client_factory(bot)
    file_server.hang(file="不来.md")
    await client.upload_group_file(GROUP, ASKER, "不来.md", b"x")
    await client.upload_group_file(GROUP, ASKER, "长.txt", _LONG.encode())
    await client.wait_sent("正在入库", timeout=20)
    model_server.switch(Mode.HANG)
    await _burst(client, 10)
    other = client_factory.create(bot, self_id=3889000077, connect_timeout=0)

    async def insist() -> None:
        while True:
            try:
                await other.connect()
                await other.group_message(GROUP, ASKER, "随便聊聊吧", at_bot=True)
                await other.close()
            except Exception:  # noqa: BLE001, S110 - any refusal will do
                pass
            await asyncio.sleep(0.02)

    insisting = asyncio.create_task(insist())
    try:
        # Impatient people press Ctrl-C as well.
        await _stopped(bot, signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGTERM)
    finally:
        insisting.cancel()
        await asyncio.wait({insisting})
        await other.close()
    file_server.restore()
    await bot.start()
    await client.reconnect()
    names = {"不来.md", "长.txt"}
    while names:
        receipt = await client.wait_sent("已入库", timeout=90)
        names -= {name for name in names if name in receipt.text}


@pytest.mark.parametrize("after_s", [0.2, 1.5, 3.0, 4.5])
async def test_during_start_up(after_s: float, bot_factory: BotFactory) -> None:
    bot = bot_factory.create()
    starting = asyncio.create_task(bot.start())
    await asyncio.sleep(after_s)
    starting.cancel()
    await asyncio.wait({starting})
    began = time.perf_counter()
    await bot.stop(signal.SIGTERM, timeout=LONGEST_S + 5)
    assert time.perf_counter() - began < LONGEST_S, bot.output()
    assert "Traceback" not in bot.output(), bot.output()
