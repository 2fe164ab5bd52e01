"""Tests of /kb pull: files that were in the group before the bot, from every client, through restarts and refusals."""

import asyncio
import re
import time
from dataclasses import replace

import pytest

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.observed_client import DIALECTS, NAPCAT, Dialect, ObservedClient

GROUP, MEMBER, ADMIN, OTHER_ADMIN = 777, 10002, 10009, 10010
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
FOLDER = "/f1"


def rule(number: int) -> bytes:
    return f"第{number}号仓库的钥匙由第{number}组保管，每周{'一二三四五六日'[number % 7]}清点一次。\n".encode()


async def present(client: ObservedClient, count: int, *, first: int = 0, folder_id: str = "/") -> None:
    """Put files into the group that the bot gets no event for. The earlier numbers are the newer files."""
    for number in range(first, first + count):
        name = f"仓库{number}.md"
        file = await client.upload_group_file(
            GROUP, MEMBER, name, rule(number), notice=False, message=False, folder_id=folder_id
        )
        file.uploaded = int(time.time()) - 86_400 * (number + 1)


def admins(client: ObservedClient) -> None:
    client.world.add_member(GROUP, ADMIN, role="admin")
    client.world.add_member(GROUP, OTHER_ADMIN, role="admin")
    client.world.add_member(GROUP, MEMBER)


async def say(client: ObservedClient, user_id: int, text: str) -> str:
    asked = await client.group_message(GROUP, user_id, text)
    return (await client.wait_sent(lambda sent: sent.reply_id == asked)).text


async def report(client: ObservedClient) -> str:
    return (await client.wait_sent("群文件收完了", timeout=60)).text


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_every_client_lists_its_files_and_all_are_taken_in(
    bot_factory: BotFactory, client_factory: ClientFactory, dialect: Dialect
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot, dialect=dialect)
    admins(client)
    client.world.folders[GROUP] = {FOLDER: "钥匙"}
    assert await say(client, ADMIN, "/kb pull") == "群文件是空的。"
    await present(client, 7)
    await present(client, 1, first=7, folder_id=FOLDER)
    await client.upload_group_file(GROUP, MEMBER, "照片.zip", b"x", notice=False, message=False)
    listing = (await say(client, ADMIN, "/kb pull")).split("\n")
    assert listing[0] == "群文件 9 个：没收 8 个，收不了 1 个（第 1/2 页）"
    assert re.fullmatch(r"1\. 仓库0\.md（66 字节，\d{4}-\d\d-\d\d）", listing[1])
    assert listing[-2:] == ["全收：/kb pull all；选收：/kb pull 1 3-5", "下一页：/kb pull p2"]
    assert len(listing) <= 10
    second = (await say(client, ADMIN, "/kb pull p2")).split("\n")
    assert second[2].startswith("8. 钥匙/仓库7.md（")
    assert second[3].startswith("9. 照片.zip（1 字节，")
    assert second[3].endswith("，收不了）")
    assert "需要管理员" in await say(client, MEMBER, "/kb pull all")
    started = await say(client, ADMIN, "/kb pull all")
    assert started == "开始收 8 个文件（收不了 1 个），收完说一声。停下发 /kb pull stop。"
    assert await report(client) == "群文件收完了：已入库 8 个，已有 0 个，失败 0 个。"
    asked = await client.group_message(GROUP, MEMBER, "第7号仓库的钥匙由谁保管？", at_bot=True)
    assert "仓库7.md" in (await client.wait_sent(lambda sent: sent.reply_id == asked)).text
    links = len(client.called("get_group_file_url"))
    assert await say(client, ADMIN, "/kb pull all") == "群里能收的文件都已入库，另有 1 个收不了。"
    assert len(client.called("get_group_file_url")) == links
    assert (await say(client, ADMIN, "/kb pull 9")).startswith("「照片.zip」没有入库：不支持 .zip 文件")


async def test_chosen_files_by_number_and_name(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    admins(client)
    await present(client, 6)
    assert await say(client, ADMIN, "/kb pull 1") == "编号要看最新的列表，先发 /kb pull，再发要收的编号。"
    await say(client, ADMIN, "/kb pull")
    # The numbers are those that this admin saw, although a newer file has come meanwhile.
    file = await client.upload_group_file(GROUP, MEMBER, "新来的.md", rule(9) * 2, notice=False, message=False)
    assert await say(client, ADMIN, "/kb pull 1，3-4 9") == "没有编号 9，编号是 1 到 6，发 /kb pull 看列表。"
    assert (await say(client, ADMIN, "/kb pull 1，3-4")).startswith("开始收 3 个文件，")
    assert await report(client) == "群文件收完了：已入库 3 个，已有 0 个，失败 0 个。"
    listed = await say(client, ADMIN, "/kb list")
    assert [name for name in ("仓库0", "仓库1", "仓库2", "仓库3") if name in listed] == ["仓库0", "仓库2", "仓库3"]
    assert (await say(client, ADMIN, "/kb pull 仓库")).startswith("有 6 个，发编号：\n2. 仓库1.md（")
    assert (await say(client, ADMIN, "/kb pull 新来的")).startswith("开始收 1 个文件，")
    await report(client)
    assert await say(client, ADMIN, "/kb pull 新来的.md") == "「新来的.md」已入库，不用再收。"
    assert "没有名字带「没有的」" in await say(client, ADMIN, "/kb pull 没有的")
    # It left the group: it is offered, and stays until somebody deletes it.
    client.world.remove_file(file)
    assert "群里已删、库里还在：4「新来的.md」，要删发 /kb delete 4" in await say(client, ADMIN, "/kb pull")
    assert "新来的.md" in await say(client, ADMIN, "/kb list")


async def test_a_restart_goes_on_and_reports_once(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    admins(client)
    await present(client, 8)
    client.faults.delay("get_group_file_url", 0.7)
    assert (await say(client, ADMIN, "/kb pull all")).startswith("开始收 8 个文件")
    assert (await say(client, OTHER_ADMIN, "/kb pull all")).startswith("群文件正在收，8 个里收好 ")
    async with asyncio.timeout(30):
        while not await _some_are_in(client):  # noqa: ASYNC110 - the bot announces nothing
            await asyncio.sleep(0.2)
    await _kill_and_start(bot, client)
    # NapCat's ids from before the restart may be unknown by now; the list has new ones.
    client.world.forget()
    assert await report(client) == "群文件收完了：已入库 8 个，已有 0 个，失败 0 个。"
    assert "共 8 个文件" in await say(client, ADMIN, "/kb list")
    await client.reconnect()
    await client.quiet(2)


async def _some_are_in(client: ObservedClient) -> bool:
    return "知识库：0 个文件" not in await say(client, ADMIN, "/kb status")


async def _kill_and_start(bot: BotProcess, client: ObservedClient) -> None:
    await bot.kill()
    await client.close()
    await bot.start()
    await client.connect()


async def test_stopping_and_failures(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    admins(client)
    assert await say(client, ADMIN, "/kb pull stop") == "现在没有在收群文件。"
    await present(client, 6)
    client.faults.ignore("get_group_file_url")
    await say(client, ADMIN, "/kb pull all")
    assert "正在收：6 个里收好 0 个" in await say(client, ADMIN, "/kb pull")
    assert (await say(client, ADMIN, "/kb pull stop")).startswith("好，不再收了")
    stopped = await client.wait_sent("群文件不再收了")
    assert stopped.text.startswith("群文件不再收了：已入库 0 个，已有 0 个，失败 0 个，没收 6 个。")
    client.faults.restore()
    client.faults.fail("get_group_file_url", "get_file")
    await say(client, ADMIN, "/kb pull 仓库0")
    assert (await report(client)).split("\n") == [
        "群文件收完了：已入库 0 个，已有 0 个，失败 1 个。",
        "「仓库0.md」：没能从 QQ 拿到这个文件，请重新发一次。（QZ-F03）",
    ]


async def test_a_client_without_the_interface_says_so(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot, dialect=replace(NAPCAT, lists_files=False))
    admins(client)
    assert (await say(client, ADMIN, "/kb pull")).startswith("这个 QQ 客户端没有列出群文件的接口")
    asked = await client.private_message(ADMIN, "/kb pull")
    assert (await client.wait_sent(lambda sent: sent.reply_id == asked)).text == "这个命令只能在群里用。"
