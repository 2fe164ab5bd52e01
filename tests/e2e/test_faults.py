"""Tests of faults behind retrieval: the reply reports them, nobody sees anything unapproved, and nothing is lost."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.model_server import ModelServer, answer_from_references
from tests.e2e.observed_client import ObservedClient
from tests.fakes.rerank_server import KEY, Fault, RerankServer, running_rerank_server

GROUP, ASKER = 777, 10002
RULES = "# 报销制度\n## 差旅\n出差住宿每天不超过 350 元。\n## 采购\n单笔超过 5000 元的采购要系主任签字。\n"
QUESTION, ANSWER = "出差住宿每天不超过多少元", "350"


@pytest.fixture
async def rerank_server() -> AsyncIterator[RerankServer]:
    async with running_rerank_server() as server:
        yield server


async def _ask(client: ObservedClient, text: str = QUESTION) -> str:
    asked = await client.group_message(GROUP, ASKER, text, at_bot=True)
    return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=30)).text


async def _taught(client: ObservedClient) -> None:
    client.world.add_member(GROUP, ASKER, role="admin")
    await client.upload_group_file(GROUP, ASKER, "报销.md", RULES.encode())
    await client.wait_sent("已入库", timeout=30)


FAULTS = {
    Fault.STATUS: "重排服务",
    Fault.SLOW: "重排服务没有在规定时间内回应",
    Fault.MALFORMED: "重排服务返回的内容不能用",
    Fault.MISSING_INDEX: "重排服务返回的内容不能用",
    Fault.NOT_A_NUMBER: "重排服务返回的内容不能用",
    Fault.CUT: "重排服务的连接中断了",
}


async def test_a_failing_rerank_service(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer, rerank_server: RerankServer
) -> None:
    model_server.reply = answer_from_references
    bot = await bot_factory(
        RERANK__PROVIDER="jina",
        RERANK__BASE_URL=rerank_server.url("jina"),
        RERANK__API_KEY=KEY,
        RERANK__MODEL="rerank-test",
        RERANK__TIMEOUT_S="1",
    )
    client = await client_factory(bot)
    await _taught(client)
    rerank_server.seconds = 3
    for fault, sentence in FAULTS.items():
        rerank_server.fault = fault
        reply = await _ask(client)
        assert sentence in reply, (fault, reply)
        assert ANSWER not in reply
        assert "〔" not in reply
        # The explanation for a person who asks why reports the fault too.
        assert sentence in await _ask(client, f"/kb test {QUESTION}")
    assert not any(ANSWER in prompt for prompt in model_server.prompts())
    assert KEY not in bot.output()

    rerank_server.fault = Fault.NONE
    reply = await _ask(client)
    assert ANSWER in reply
    assert "〔1〕报销.md" in reply


def _content(path: Path) -> bytes:
    """Return the whole content of a database, in its one file."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


async def test_broken_vectors_leave_the_words(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(LLM__BASE_URL=None, LLM__API_KEY=None, LLM__MODEL=None)
    client = await client_factory(bot)
    await _taught(client)
    whole = await _ask(client)
    assert ANSWER in whole
    await bot.stop()
    (vectors,) = bot.data_directory.rglob("chroma.sqlite3")
    content = _content(vectors)
    with closing(sqlite3.connect(vectors)) as database, database:
        database.execute("DROP TABLE embeddings")
    await bot.start()
    await client.reconnect()
    reply = await _ask(client)
    assert ANSWER in reply
    assert "资料的向量索引出错了" in reply
    assert "这次只按字词查找" in reply
    await bot.stop()
    vectors.write_bytes(content)
    await bot.start()
    await client.reconnect()
    assert await _ask(client) == whole


async def test_broken_words_are_told_and_built_again(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    model_server.reply = answer_from_references
    bot = await bot_factory()
    client = await client_factory(bot)
    await _taught(client)
    assert ANSWER in await _ask(client)
    await bot.stop()
    (words,) = (path for path in bot.data_directory.rglob("*.sqlite3") if path.parent.name == "lexical")
    _content(words)
    words.write_bytes(b"this is no database" * 1000)
    await bot.start()
    await client.reconnect()
    asked_models = len(model_server.chats)
    async with asyncio.timeout(60):
        while ANSWER not in (reply := await _ask(client)):
            assert "资料的字词索引丢了，正在用原文件重建" in reply
            assert len(model_server.chats) == asked_models
            await asyncio.sleep(0.5)
    assert "〔1〕报销.md" in reply
    (damaged,) = words.parent.glob("*.damaged-*")
    assert damaged.read_bytes().startswith(b"this is no database")
