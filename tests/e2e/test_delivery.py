"""Tests of delivery: receipts and answers arrive in order, and what happens to them when something goes wrong."""

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.file_server import FileServer
from tests.e2e.model_server import Mode, ModelServer
from tests.e2e.observed_client import ObservedClient, Sent

GROUP, MEMBER, ADMIN = 777, 10002, 10009
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
RULES = "# 报销制度\n## 差旅\n出差住宿每天不超过 350 元，交通补贴每天 80 元。\n".encode()


def _numbered(number: int) -> bytes:
    return f"# 第 {number} 号通知\n第 {number} 会议室的门牌号是 QZ-{number:03d}，钥匙在值班室。\n".encode()


def _change(bot: BotProcess, statement: str) -> None:
    with closing(sqlite3.connect(bot.data_directory / "app.sqlite3", timeout=10)) as database, database:
        database.execute(statement)


def _uploads(bot: BotProcess) -> int:
    with closing(sqlite3.connect(f"file:{bot.data_directory / 'app.sqlite3'}?mode=ro", uri=True)) as database:
        return database.execute("SELECT count(*) FROM uploads").fetchone()[0]


async def _outcome(client: ObservedClient, name: str) -> str:
    """Return the reported outcome of a file. Skip the sign that it arrived, which only slow files get."""
    sent = await client.wait_sent(lambda sent: name in sent.text and not sent.text.startswith("收到"), timeout=30)
    return sent.text


async def _answer(client: ObservedClient, asked: int, seconds: float = 20) -> Sent:
    return await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=seconds)


async def _say(client: ObservedClient, user: int, text: str) -> str:
    asked = await client.group_message(GROUP, user, text, at_bot=not text.startswith("/"))
    return (await _answer(client, asked)).text


async def test_files_that_come_together_get_one_receipt_and_no_question_waits_for_it(
    bot_factory: BotFactory, client_factory: ClientFactory, file_server: FileServer
) -> None:
    bot = await bot_factory(**NO_MODEL, SEND__GROUP_INTERVAL_S="1.5", SEND__PER_MINUTE="20")
    client = await client_factory(bot)
    await client.upload_group_file(GROUP, MEMBER, "报销.md", RULES)
    assert (await _outcome(client, "报销.md")).startswith("「报销.md」已入库，")

    names = [f"通知{number}.md" for number in range(12)]
    file_server.slow(3, file=names[0])
    for number, name in enumerate(names):
        await client.upload_group_file(GROUP, MEMBER, name, _numbered(number))
    await client.upload_group_file(GROUP, MEMBER, "程序.exe", b"MZ")
    await client.upload_group_file(GROUP, MEMBER, "副本.md", RULES)
    asked = await client.group_message(GROUP, MEMBER, "qwerty zxcvbn", at_bot=True)
    answer = await _answer(client, asked, 10)
    assert "没有找到" in answer.text
    assert "个文件正在读，读完可以再问。" in answer.text

    told = {*names, "程序.exe"}
    receipts: list[str] = []
    while any(f"「{name}」" not in "".join(receipts) for name in told):
        notice = await client.wait_sent(lambda sent: sent.reply_id is None, timeout=60)
        if not notice.text.startswith("收到"):
            receipts.append(notice.text)
    assert len(receipts) <= 3, receipts
    assert all("".join(receipts).count(f"「{name}」") == 1 for name in told), receipts
    assert any("「程序.exe」没有入库：不支持 .exe" in text for text in receipts)
    assert any("已存在" in text and "「报销.md」" in text for text in receipts)
    await client.quiet(1)


async def test_a_client_that_answers_late_and_many_times_stays_connected(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory()
    client = await client_factory(bot)
    client.faults.repeat("send_msg", 5)
    # The response arrives a moment after the call was cancelled because the question was answered.
    client.faults.delay("set_msg_emoji_like", 0.5)
    client.faults.repeat("set_msg_emoji_like", 3)
    model_server.reply = "在的"
    model_server.switch(Mode.SLOW, seconds=2.4)
    asked = [await client.group_message(GROUP, 20000 + number, "随便聊聊吧", at_bot=True) for number in range(6)]
    for message_id in asked:
        await _answer(client, message_id)
    await asyncio.sleep(1)
    assert client.connected, client.close_code
    assert "InvalidStateError" not in bot.output()


async def test_what_fails_while_a_file_is_received_is_told_and_tried_again(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    # The list of unfinished files cannot be written.
    _change(bot, "CREATE TRIGGER full BEFORE INSERT ON uploads BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    await client.upload_group_file(GROUP, MEMBER, "甲.md", _numbered(1))
    told = await _outcome(client, "甲.md")
    assert told.startswith("「甲.md」还没入库：机器人这边出了问题。（QZ-X01，编号 ")
    assert told.endswith("）还没能记下来，机器人重启的话要重新发。我会自动再试。")
    _change(bot, "DROP TRIGGER full")
    assert (await _outcome(client, "甲.md")).startswith("「甲.md」已入库，")

    # The document cannot be registered, and the bot is killed before it can be.
    _change(bot, "CREATE TRIGGER full BEFORE INSERT ON documents BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    await client.upload_group_file(GROUP, MEMBER, "乙.md", _numbered(2))
    assert (await _outcome(client, "乙.md")).startswith("「乙.md」还没入库：")
    await bot.kill()
    _change(bot, "DROP TRIGGER full")
    await bot.start()
    await client.reconnect()
    assert (await _outcome(client, "乙.md")).startswith("「乙.md」已入库，")
    await client.quiet(1)
    assert _uploads(bot) == 0


async def test_a_failure_is_told_with_its_code_which_the_log_has_too(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    await _say(client, MEMBER, "/memory clear")
    _change(bot, "CREATE TRIGGER broken BEFORE INSERT ON conversations BEGIN SELECT RAISE(ABORT, 'no'); END")
    told = await _say(client, MEMBER, "确认")
    unforeseen = re.fullmatch("出错了，这条没处理成，.*。（QZ-X01，编号 ([0-9a-f]{6})）", told)
    assert unforeseen, told
    assert f"failure {unforeseen[1]} (QZ-X01)" in bot.output()
    _change(bot, "ALTER TABLE conversations RENAME TO elsewhere")
    told = await _say(client, MEMBER, "/memory status")
    assert told.endswith("请联系管理员，稍后再试。（QZ-D01）"), told
    assert "told the user: QZ-D01 " in bot.output()


async def test_malformed_answers_of_the_client_lose_no_file(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(**NO_MODEL, API_TIMEOUT="2")
    client = await client_factory(bot)
    odd: tuple[dict[str, Any], ...] = (
        {"get_group_file_url": ["x"], "get_group_root_files": ["x"], "get_file": ["x"]},
        {"get_group_file_url": {"url": 5}, "get_group_root_files": {"files": ["x"]}, "get_file": "x"},
        {"get_group_file_url": 5, "get_group_root_files": {"files": 5}, "get_file": {"base64": 5, "file": ["x"]}},
        {"get_group_file_url": {"url": ["x"]}, "get_group_root_files": {"files": [{}]}, "get_file": {"base64": "?"}},
    )
    for number, answers in enumerate(odd):
        for action, data in answers.items():
            client.faults.answer(action, data)
        name = f"怪{number}.md"
        await client.upload_group_file(GROUP, MEMBER, name, _numbered(number))
        told = await _outcome(client, name)
        assert told == f"「{name}」没有入库：没能从 QQ 拿到这个文件，请重新发一次。（QZ-F03）"
    client.faults.restore()

    notice = {"post_type": "notice", "notice_type": "group_upload", "group_id": GROUP, "user_id": MEMBER}
    await client.send_event(notice | {"file": ["x"]})
    await client.wait_sent("有一个文件没有入库")
    client.faults.answer("send_msg", ["x"])
    await client.upload_group_file(GROUP, MEMBER, "好.md", _numbered(9))
    assert (await _outcome(client, "好.md")).startswith("「好.md」已入库，")
    await client.quiet(1)
    assert client.connected
    assert _uploads(bot) == 0


async def test_a_confirmation_counts_once_with_the_rights_of_its_moment(
    bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    client.world.add_member(GROUP, ADMIN, role="admin")
    await client.upload_group_file(GROUP, ADMIN, "甲.md", _numbered(1))
    await client.wait_sent("已入库", timeout=20)

    assert "删除全部 1 个文件" in await _say(client, ADMIN, "/kb clear")
    client.world.add_member(GROUP, ADMIN, role="member")
    assert "需要管理员" in await _say(client, ADMIN, "确认")
    client.world.add_member(GROUP, ADMIN, role="admin")

    assert "删除全部 1 个文件" in await _say(client, ADMIN, "/kb clear")
    await client.upload_group_file(GROUP, ADMIN, "乙.md", _numbered(2))
    await _outcome(client, "乙.md")
    again = await _say(client, ADMIN, "确认")
    assert again.startswith("又来了 1 个文件，还没有删除。要清空知识库，删除全部 2 个文件")

    before = len(client.sent)
    for _ in range(10):
        await client.group_message(GROUP, ADMIN, "确认")
    await client.wait_sent("已删除全部 2 个文件")
    await client.quiet(1)
    assert [sent.text for sent in client.sent[before:]] == ["已删除全部 2 个文件。"]
    assert await _say(client, ADMIN, "取消") == "刚才已经确认过了，来不及取消。"


async def test_a_recalled_question_is_not_answered(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory()
    client = await client_factory(bot)
    model_server.reply = "在的"
    model_server.switch(Mode.SLOW, seconds=1.5)
    in_group = await client.group_message(GROUP, MEMBER, "说错话了", at_bot=True)
    in_private = await client.private_message(MEMBER, "也说错了")
    await asyncio.sleep(0.7)
    assert len(model_server.chats) == 2
    await client.recall(in_group)
    await client.recall(in_private)
    await client.quiet(2)
    assert "其中 1 轮没答成" in await _say(client, MEMBER, "/memory status")
    assert "说错" not in await _say(client, MEMBER, "/memory show")
    await _say(client, MEMBER, "随便聊聊吧")
    messages = model_server.chats[-1].body["messages"]
    assert [message["role"] for message in messages] == ["system", "user"], "the recalled turn is not remembered"
    # A recall of another message and a recall that names no message have no effect.
    asked = await client.group_message(GROUP, MEMBER, "再聊聊吧", at_bot=True)
    await client.recall(await client.group_message(GROUP, MEMBER, "闲聊"))
    await client.send_event({"post_type": "notice", "notice_type": "group_recall", "group_id": GROUP})
    await _answer(client, asked)


async def test_half_characters_of_a_quoted_message_are_left_out(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory()
    client = await client_factory(bot)
    said = await client.group_message(GROUP, 10003, "住宿\ud83d标准")
    asked = await client.group_message(GROUP, MEMBER, "这个怎么看", at_bot=True, reply_to=said)
    assert "出错了" not in (await _answer(client, asked)).text
    assert "住宿标准" in model_server.prompts()[-1]


async def test_sentences_for_the_operator_arrive_as_written(
    bot_factory: BotFactory, client_factory: ClientFactory, model_server: ModelServer
) -> None:
    bot = await bot_factory()
    client = await client_factory(bot)
    model_server.switch(Mode.UNAUTHORIZED)
    assert await _say(client, MEMBER, "随便聊聊吧") == "模型的密钥无效，请管理员检查 LLM__API_KEY。（QZ-M03）"
