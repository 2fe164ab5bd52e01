"""Tests of SIGKILL at random moments of ingestion and summarising: nothing is lost, duplicated or incomplete."""

import asyncio
import hashlib
import json
import os
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import Mode, ModelServer
from tests.e2e.observed_client import ObservedClient

# Set KILL_ROUNDS=20 for a longer test.
ROUNDS = int(os.environ.get("KILL_ROUNDS", "8"))
GROUP, ASKER, ADMIN = 777, 10002, 10009
SENTENCE = "第{document}号文件第{line}条：仪器编号 QZ-{document:03d}-{line:03d} 由第 {line} 组保管，使用前要登记。\n"
LINES = 150


async def test_kill_at_random_moments(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    chance = random.Random(20261121)
    model_server.reply = "好的，记住了。"
    model_server.switch(Mode.SLOW, seconds=0.15)
    bot = bot_factory.create(MEMORY__MAX_HISTORY_MESSAGES="6", MEMORY__SUMMARY_CHUNK_SIZE="4")
    await bot.start()
    client = await client_factory(bot)
    database = bot.data_directory / "app.sqlite3"
    said: list[str] = []
    try:
        for round_number in range(ROUNDS):
            document = "".join(SENTENCE.format(document=round_number, line=line) for line in range(LINES))
            # Every fourth round sends a new version of the file of the previous round.
            name = f"文件{round_number - (round_number % 4 == 3)}.txt"
            sent = await client.upload_group_file(GROUP, ASKER, name, document.encode())
            for number in range(3):
                said.append(f"记一下第 {round_number:02d}{number} 件事，代号 FACT-{round_number:02d}{number}")
                await client.group_message(GROUP, ASKER, said[-1], at_bot=True)
            # The bot cannot keep what the process had not even read from its socket when it was killed.
            await _until(
                lambda document=document, sent=sent: _noted(database, sent.notice_id, document), 20, pause=0.005
            )
            await asyncio.sleep(chance.uniform(0, 2.5))
            await bot.kill()
            await bot.start()
            await client.reconnect()
        model_server.switch(Mode.OK)
        await _until(lambda: not _rows(database, "SELECT id FROM documents WHERE embedding_fingerprint = ''"), 120)
        await _until(lambda: not _rows(database, "SELECT id FROM uploads"), 60)
        await _until(lambda: not _rows(database, "SELECT id FROM retired"), 60)
        await _check_knowledge(client, database, bot.data_directory / "files")
        await client.group_message(GROUP, ASKER, "最后一句 FACT-999", at_bot=True)
        await client.wait_sent(lambda sent: sent.group_id == GROUP and "记住了" in sent.text)
        _check_memory(database, said)
    finally:
        await bot.kill()


async def test_a_deleted_document_stays_away_after_a_kill(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = bot_factory.create(LLM__BASE_URL=None, LLM__API_KEY=None, LLM__MODEL=None)
    await bot.start()
    client = await client_factory(bot)
    client.world.add_member(GROUP, ADMIN, role="admin")
    database = bot.data_directory / "app.sqlite3"
    try:
        document = "".join(SENTENCE.format(document=1, line=line) for line in range(3000))
        await client.upload_group_file(GROUP, ASKER, "台账.txt", document.encode())
        await client.wait_sent("已入库", timeout=60)
        await _until(lambda: not _rows(database, "SELECT id FROM documents WHERE embedding_fingerprint = ''"), 120)
        await client.group_message(GROUP, ADMIN, "/kb delete 1")
        await client.wait_sent("确认")
        begun = time.monotonic()
        await client.group_message(GROUP, ADMIN, "确认")
        await client.wait_sent("已删除")
        assert time.monotonic() - begun < 2
        assert _rows(database, "SELECT id FROM retired"), "its removal has only begun"
        await bot.kill()
        await bot.start()
        await client.reconnect()
        asked = await client.group_message(GROUP, ASKER, "仪器编号 QZ-001-2999 由第几组保管？", at_bot=True)
        answer = await client.wait_sent(lambda sent: sent.reply_id == asked)
        assert "2999 组" not in answer.text
        await _until(lambda: not _rows(database, "SELECT id FROM retired"), 60)
        await client.group_message(GROUP, ASKER, "/kb status")
        assert "索引：0 块，其中有向量 0 块" in (await client.wait_sent("索引：")).text
        assert not list((bot.data_directory / "files").iterdir())
    finally:
        await bot.kill()


async def _check_knowledge(client: ObservedClient, database: Path, files: Path) -> None:
    documents = _rows(database, "SELECT name, version, chunk_count, stored_name, content_hash FROM documents")
    expected = {f"文件{number - (number % 4 == 3)}.txt" for number in range(ROUNDS)}
    assert sorted(row[0] for row in documents) == sorted(expected), "each file once, by its latest version"
    assert {path.name for path in files.iterdir()} == {row[3] for row in documents}
    await client.group_message(GROUP, ASKER, "/kb status")
    status = (await client.wait_sent("索引：", timeout=20)).text
    chunks = sum(row[2] for row in documents)
    assert f"{len(expected)} 个文件，{chunks} 块" in status, status
    assert f"索引：{chunks} 块，其中有向量 {chunks} 块" in status, status
    for number in (0, ROUNDS - 1):
        asked = await client.group_message(GROUP, ASKER, f"/kb search QZ-{number:03d}-{LINES - 1:03d}")
        found = await client.wait_sent(lambda sent, asked=asked: sent.reply_id == asked)
        assert f"文件{number - (number % 4 == 3)}" in found.text


def _check_memory(database: Path, said: list[str]) -> None:
    turns = _rows(database, "SELECT question, state FROM turns ORDER BY id")
    logged = [question for question, _ in turns if "FACT-999" not in question]
    assert len(logged) == len(set(logged)), "no turn is doubled"
    assert set(logged) <= set(said)
    assert {state for _, state in turns} <= {"answered", "failed"}
    history = _rows(database, "SELECT position, message FROM history ORDER BY position")
    text = "\n".join(message for _, message in history)
    answered = [question for question, state in turns if state == "answered"]
    missing = [question for question in answered if question.split("代号 ")[-1] not in text]
    assert not missing, "what was answered is in the history or in its summary"
    kinds = [json.loads(message)["type"] for _, message in history]
    spoken = [kind for kind in kinds if kind != "system"]
    if "system" in kinds and spoken[0] == "ai":
        spoken = spoken[1:]  # the summary includes the question before it
    assert spoken == ["human", "ai"] * (len(spoken) // 2), kinds
    assert kinds == sorted(kinds, key=lambda kind: kind != "system"), "summaries stand first"
    assert len(spoken) <= 8


def _noted(database: Path, notice_id: str, content: str) -> bool:
    """Return whether the bot knows this very file. The row of a former version has the same name."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    return bool(
        _rows(database, "SELECT id FROM uploads WHERE source LIKE ?", f"%{notice_id}%")
        or _rows(database, "SELECT id FROM documents WHERE content_hash = ?", digest)
    )


def _rows(database: Path, query: str, *parameters: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(query, parameters).fetchall()
    finally:
        connection.close()


async def _until(condition: Callable[[], bool], seconds: float, pause: float = 0.2) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come to rest"
        await asyncio.sleep(pause)
