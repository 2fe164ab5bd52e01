"""Tests of /kb test in QQ: explaining one question, trying a CSV file, who may use it, and what is refused."""

import asyncio
import csv
import io
import time
from pathlib import Path

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.file_server import FileServer
from tests.e2e.observed_client import LLONEBOT, ObservedClient
from tests.samples import documents

GROUP, MEMBER, ADMIN, OTHER_ADMIN, SUPERUSER = 777, 10002, 10009, 10010, 10001
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
QUESTION = "差旅费要在多少天内报销？"
QUESTIONS = f"问题,应答,文件\r\n{QUESTION},是,规章.pdf\r\n哈哈哈哈哈,否,\r\n=1+1,,\r\n晚上一起打球吗,是,规章.pdf\r\n"


async def _with_rules(bot: BotProcess, client_factory: ClientFactory, tmp_path: Path) -> ObservedClient:
    """Return a client in a group with two admins, whose knowledge base holds one PDF."""
    client = await client_factory(bot)
    for admin in (ADMIN, OTHER_ADMIN):
        client.world.add_member(GROUP, admin, role="admin")
    client.world.add_member(GROUP, MEMBER)
    content = documents.regulations_pdf(tmp_path / "规章.pdf").read_bytes()
    await client.upload_group_file(GROUP, MEMBER, "规章.pdf", content)
    await client.wait_sent("「规章.pdf」已入库", timeout=30)
    return client


async def _say(client: ObservedClient, user: int, text: str, reply_to: int | None = None) -> str:
    """Return the bot's reply to somebody in the group."""
    asked = await client.group_message(GROUP, user, text, reply_to=reply_to)
    return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=30)).text


async def _say_privately(client: ObservedClient, user: int, text: str) -> str:
    asked = await client.private_message(user, text)
    return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=30)).text


async def _documents(client: ObservedClient) -> str:
    return await _say(client, ADMIN, "/kb list")


async def test_one_question_is_explained(
    bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL, SUPERUSERS=str(SUPERUSER))
    client = await _with_rules(bot, client_factory, tmp_path)

    report = await _say(client, ADMIN, f"/kb test 大佬们求助，{QUESTION}")
    lines = report.splitlines()
    assert lines[0].startswith("会回答："), report
    assert "门槛" in lines[0]
    assert "查的是：差旅费要在多少天内报销" in report
    assert "\n1. 规章.pdf 第2页\n「" in report
    assert "，通过\n" in report
    assert "三十日内" in report
    assert lines[-1].startswith("召回 ")
    assert lines[-1].endswith(" 毫秒")
    assert len(report) < 1000

    report = await _say(client, ADMIN, "/知识库 测试 哈哈哈哈哈")
    assert report.startswith("不会回答："), report

    # Explain a message that somebody else wrote, by replying to it.
    asked = await client.group_message(GROUP, MEMBER, QUESTION)
    assert (await _say(client, ADMIN, "/kb test", reply_to=asked)).startswith("会回答：")

    # A member may not use it in a group. In private, they may test their own knowledge base, but not the group's.
    assert "需要管理员" in await _say(client, MEMBER, f"/kb test {QUESTION}")
    own = await _say_privately(client, MEMBER, f"/kb test {QUESTION}")
    assert own.startswith("不会回答：知识库是空的\n\n召回 0 段，重排 0 段，通过 0 段，用时 "), own
    for user, words in ((MEMBER, "需要管理员"), (ADMIN, "会回答"), (SUPERUSER, "会回答")):
        client.world.member(GROUP, user)
        assert "现在私聊里查群" in await _say_privately(client, user, f"/kb use {GROUP}")
        assert words in await _say_privately(client, user, f"/kb test {QUESTION}")


async def test_a_file_of_questions_in_a_group(
    bot_factory: BotFactory, client_factory: ClientFactory, file_server: FileServer, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await _with_rules(bot, client_factory, tmp_path)
    asked = await client.group_message(GROUP, ADMIN, "/kb test")
    invitation = await client.wait_sent(lambda sent: sent.reply_id == asked)
    assert "10 分钟内有效" in invitation.text
    assert invitation.text.endswith("。")

    # A table from another person and another file from the same person are ingested as usual.
    await client.upload_group_file(GROUP, MEMBER, "名单.csv", documents.roster_csv(tmp_path / "名单").read_bytes())
    await client.wait_sent("「名单.csv」已入库", timeout=30)
    await client.upload_group_file(GROUP, ADMIN, "说明.md", "# 说明\n周三下午办理。\n".encode())
    await client.wait_sent("「说明.md」已入库", timeout=30)

    # A file that cannot be read is refused, and the next attempt is still a test.
    await client.upload_group_file(GROUP, ADMIN, "题目.csv", "问题,应答\n甲,也许\n".encode())
    refusal = await client.wait_sent(lambda sent: "没有测" in sent.text, timeout=20)
    assert refusal.reply_id == asked
    assert refusal.text.startswith("「题目.csv」没有测：「甲」这题的应答写的是「也许」")
    file_server.fail(404, file="丢了.csv")
    await client.upload_group_file(GROUP, ADMIN, "丢了.csv", QUESTIONS.encode())
    assert "链接已失效" in (await client.wait_sent(lambda sent: "没有测" in sent.text, timeout=20)).text
    await client.upload_group_file(GROUP, ADMIN, "大.csv", b"x" * (1 << 20) + b"y")
    assert "超过 1 MB" in (await client.wait_sent(lambda sent: "没有测" in sent.text, timeout=20)).text

    await client.upload_group_file(GROUP, ADMIN, "题目.csv", QUESTIONS.encode("gbk"))
    result = await client.wait_sent(lambda sent: sent.kind == "file", timeout=30)
    assert (result.text, result.group_id, result.action) == ("题目-结果.csv", GROUP, "upload_group_file")
    summary = await client.wait_sent(lambda sent: "测完了" in sent.text, timeout=30)
    assert summary.reply_id == asked
    assert summary.text.startswith("「题目.csv」测完了，共 4 题\n会回答 1 题，不会回答 3 题\n有标注的 3 题："), (
        summary.text
    )
    assert "准确率 100.0%，召回率 50.0%，F1 66.7%" in summary.text
    assert "1. 晚上一起打球吗（该答没答" in summary.text
    assert "哈哈哈哈哈" not in summary.text
    assert result.content is not None
    assert result.content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(result.content.decode("utf-8-sig"), newline="")))
    assert [row["结果"] for row in rows] == ["会回答", "不会回答", "不会回答", "不会回答"]
    assert [row["对错"] for row in rows] == ["对", "对", "", "错"]
    assert rows[0]["最接近的资料"] == "规章.pdf 第2页"
    assert rows[2]["问题"] == "'=1+1"

    # Nothing of this is in the knowledge base, and the next table is a document again.
    listed = await _documents(client)
    assert "共 3 个文件" in listed
    assert "题目" not in listed
    assert not list((bot.data_directory / "incoming").iterdir())
    await client.upload_group_file(GROUP, ADMIN, "题目.csv", QUESTIONS.encode())
    await client.wait_sent("「题目.csv」已入库", timeout=30)


async def test_by_replying_to_a_file_and_when_qq_takes_none(
    bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await _with_rules(bot, client_factory, tmp_path)
    file = await client.upload_group_file(GROUP, MEMBER, "考题.csv", QUESTIONS.encode())
    await client.wait_sent("「考题.csv」已入库", timeout=30)
    client.faults.fail("upload_group_file", message="群文件已满")
    text = await _say(client, ADMIN, "/kb test", reply_to=file.message_id)
    assert text.startswith("「考题.csv」测完了，共 4 题")
    assert "结果文件可能没有发出去" in text
    assert not [sent for sent in client.sent if sent.kind == "file"]
    client.faults.restore()

    rules = next(item for item in client.world.files if item.name == "规章.pdf")
    text = await _say(client, ADMIN, "/kb test", reply_to=rules.message_id)
    assert text.startswith("「规章.pdf」没有测：只能测 CSV 文件")

    # Repeat this in a private chat, with a client whose ids and links are different.
    other = await client_factory(bot, dialect=LLONEBOT, self_id=3889000002)
    assert "把要测的 CSV 发到这里" in await _say_privately(other, MEMBER, "/kb test")
    await other.upload_private_file(MEMBER, "私题.csv", QUESTIONS.encode())
    result = await other.wait_sent(lambda sent: sent.kind == "file", timeout=30)
    assert (result.text, result.user_id, result.action) == ("私题-结果.csv", MEMBER, "upload_private_file")
    summary = await other.wait_sent("测完了")
    assert "会回答 0 题，不会回答 4 题" in summary.text
    assert (await _say_privately(other, MEMBER, "/kb list")).startswith("知识库是空的")


async def test_a_long_run_lets_answers_through_and_ends_with_the_bot(
    bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await _with_rules(bot, client_factory, tmp_path)
    await _say(client, ADMIN, "/kb test")
    await client.upload_group_file(GROUP, ADMIN, "长.csv", f"问题\n{QUESTION}\n".encode() + "哈哈\n".encode() * 499)
    working = await client.wait_sent("正在测", timeout=20)
    assert working.text == "收到「长.csv」，共 500 题，正在测，期间照常可以问。"

    # A request for a second run is refused, but a question is answered.
    assert await _say(client, OTHER_ADMIN, "/kb test") == "这里正在测一个文件，测完再发 /kb test。"
    begun = time.monotonic()
    asked = await client.group_message(GROUP, MEMBER, QUESTION, at_bot=True)
    answer = await client.wait_sent(lambda sent: sent.reply_id == asked)
    assert "三十日内" in answer.text
    assert time.monotonic() - begun < 5

    assert not [sent for sent in client.sent if "测完了" in sent.text]
    begun = time.monotonic()
    assert await bot.stop() == 0
    assert time.monotonic() - begun < 10
    output = bot.output()
    assert "Traceback" not in output, output[-3000:]
    await bot.start()
    await client.reconnect()
    await asyncio.sleep(0.5)
    # Nothing is left over: the same place can test again, and no part of a test set became a document.
    assert "共 1 个文件" in await _documents(client)
    assert "把要测的 CSV 发到这里" in await _say(client, ADMIN, "/kb test")
