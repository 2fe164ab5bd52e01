"""Tests of uploads: every format, every way to fetch the bytes, everything that is refused, and who may send what."""

import asyncio
import re
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.file_server import FileServer
from tests.e2e.observed_client import NAPCAT, ObservedClient
from tests.samples import documents

GROUP, MEMBER, ADMIN, SUPERUSER = 777, 10002, 10009, 10001
NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
RULES = "# 报销制度\n## 差旅\n出差住宿每天不超过 350 元，交通补贴每天 80 元。\n".encode()


@dataclass(frozen=True)
class Good:
    """A file that is ingested, a question about it, and what the answer shows: a fact and its place."""

    name: str
    write: Callable[[Path], Path]
    question: str
    fact: str
    place: str


GOOD = (
    Good("规章.pdf", documents.regulations_pdf, "差旅费要在多少天内报销？", "三十日内", "〔1〕规章.pdf 第2页"),
    Good("规章.docx", documents.regulations_docx, "差旅费要在多少天内报销？", "三十日内", "第二章 经费管理"),
    Good("手册.md", documents.manual_markdown, "采样间隔的默认值是多少秒？", "60", "〔1〕手册.md · 水质监测系统手册"),
    Good("培训.pptx", documents.training_pptx, "废液应该倒在哪里？", "废液倒入专用桶", "〔1〕培训.pptx 第2页"),
    Good("预算.xlsx", documents.budget_xlsx, "差旅费的金额是多少元？", "30000.5", "〔1〕预算.xlsx · 预算"),
    Good("名单.csv", documents.roster_csv, "王晓岚的电话是多少？", "6023", "〔1〕名单.csv"),
    Good("公告.html", documents.page_html, "报名什么时候截止？", "3 月 15 日", "〔1〕公告.html · 招聘公告"),
    Good(
        "通知.txt",
        lambda path: documents.text_file(path, encoding="gbk"),
        "五一期间放假几天？",
        "放假五天",
        "〔1〕通知.txt",
    ),
    Good(
        "宽字.TXT",
        lambda path: documents.text_file(path, encoding="utf-16-le", mark=b"\xff\xfe"),
        "值班电话是多少？",
        "0571-88886666",
        "〔1〕宽字.TXT",
    ),
)


async def test_every_format_is_answered_from_with_its_place(
    bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    for number, good in enumerate(GOOD):
        content = good.write(tmp_path / good.name).read_bytes()
        await client.upload_group_file(800 + number, MEMBER, good.name, content)
    for number, good in enumerate(GOOD):
        receipt = await client.wait_sent(lambda sent, group=800 + number: sent.group_id == group, timeout=40)
        while "正在入库" in receipt.text:
            receipt = await client.wait_sent(lambda sent, group=800 + number: sent.group_id == group, timeout=40)
        assert receipt.text.startswith(f"「{good.name}」已入库，"), receipt.text
    for number, good in enumerate(GOOD):
        asked = await client.group_message(800 + number, MEMBER, good.question, at_bot=True)
        answer = await client.wait_sent(lambda sent, asked=asked: sent.reply_id == asked)
        assert good.fact in answer.text, answer.text
        assert good.place in answer.text, answer.text
        assert "不该出现" not in answer.text
    assert not list((bot.data_directory / "incoming").iterdir())


@dataclass(frozen=True)
class Bad:
    """A file that is refused after it was read, with words of the refusal."""

    name: str
    write: Callable[[Path], Path]
    words: tuple[str, ...]


BAD = (
    Bad("扫描.pdf", documents.scanned_pdf, ("扫描件", "文字", "再发")),
    Bad("加密.pdf", documents.encrypted_pdf, ("加了密", "去掉密码")),
    Bad("半截.pdf", documents.truncated_pdf, ("损坏或不完整", "重新")),
    Bad("炸弹.docx", documents.zip_bomb, ("解压后大得不正常", "拆分")),
    Bad(
        "大笑.docx",
        lambda path: documents.billion_laughs(path, documents.regulations_docx, "word/document.xml"),
        ("不安全的 XML", "另存"),
    ),
    Bad("加密.docx", documents.encrypted_docx, ("加了密", "去掉密码")),
    Bad("半截.docx", documents.truncated_docx, ("损坏或不完整", "重新")),
    Bad("空.txt", documents.empty_file, ("是空的", "检查")),
    Bad("冒充.docx", documents.regulations_pdf, ("内容不是 docx", "扩展名")),
    Bad("乱码.txt", lambda path: _bytes_file(path, bytes(range(256)) * 40), ("不是文本", "UTF-8")),
)


async def test_refused_files_leave_nothing(
    bot_factory: BotFactory, client_factory: ClientFactory, file_server: FileServer, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    for bad in BAD:
        # Some take seconds to make, in which this loop has to answer the bot's pings.
        content = (await asyncio.to_thread(bad.write, tmp_path / bad.name)).read_bytes()
        await client.upload_group_file(GROUP, MEMBER, bad.name, content)
        await _refused(client, bad.name, *bad.words)
    await _at_rest(bot)
    assert _left(bot) == {}

    # A file that the notice alone rules out is not fetched.
    fetched = len(file_server.requests)
    await client.upload_group_file(GROUP, MEMBER, "程序.exe", b"MZ" * 100)
    await _refused(client, "程序.exe", "不支持", ".exe", "pdf")
    await client.upload_group_file(GROUP, MEMBER, "没有扩展名", RULES)
    await _refused(client, "没有扩展名", "不支持没有扩展名的文件", "pdf")
    await client.upload_group_file(GROUP, MEMBER, "大.txt", bytes(100 << 20))
    await _refused(client, "大.txt", "超过 20 MB", "拆分")
    assert len(file_server.requests) == fetched

    # If the notice omits the size, the announced length and then the body are decisive.
    file_server.declare_length(100 << 20, file="不说.txt")
    await client.upload_group_file(GROUP, MEMBER, "不说.txt", b"")
    await _refused(client, "不说.txt", "超过 20 MB", "拆分")
    file_server.endless(file="无尽.txt")
    await client.upload_group_file(GROUP, MEMBER, "无尽.txt", b"")
    await _refused(client, "无尽.txt", "超过 20 MB", "拆分")
    assert len(file_server.downloads("无尽.txt")) == 1

    await client.group_message(GROUP, MEMBER, "/kb status")
    status = (await client.wait_sent("索引：")).text
    assert "知识库：0 个文件，0 块" in status
    assert "索引：0 块，其中有向量 0 块" in status
    await client.group_message(GROUP, MEMBER, "/kb list")
    await client.wait_sent("知识库是空的")
    await _at_rest(bot)
    assert _left(bot) == {}

    # After all that, a good file is ingested as usual.
    await client.upload_group_file(GROUP, MEMBER, "报销.md", RULES)
    await client.wait_sent("「报销.md」已入库", timeout=20)


async def test_links_that_fail(bot_factory: BotFactory, client_factory: ClientFactory, file_server: FileServer) -> None:
    bot = await bot_factory(**NO_MODEL, API_TIMEOUT="1")
    client = await client_factory(bot)

    file_server.fail(404, file="没了.md")
    await client.upload_group_file(GROUP, MEMBER, "没了.md", RULES)
    await _refused(client, "没了.md", "链接已失效", "重新发")
    file_server.expire(file="过期.md")
    await client.upload_group_file(GROUP, MEMBER, "过期.md", RULES)
    await _refused(client, "过期.md", "链接已失效", "重新发")
    file_server.fail(503, file="出错.md")
    await client.upload_group_file(GROUP, MEMBER, "出错.md", RULES)
    await _refused(client, "出错.md", "文件服务器出错", "重新发")
    file_server.drop(20, file="断了.md")
    await client.upload_group_file(GROUP, MEMBER, "断了.md", RULES)
    await _refused(client, "断了.md", "网络中断", "重新发")
    file_server.declare_length(len(RULES) + 9, file="短了.md")
    await client.upload_group_file(GROUP, MEMBER, "短了.md", RULES)
    await _refused(client, "短了.md", "网络中断", "重新发")

    # Where a link leads: the host that the client named is trusted, and any other host must be public.
    port = file_server.port
    secret = file_server.host("内网.md", b"secret").url
    inward = (
        secret.replace("127.0.0.1", "localhost"),
        secret.replace("127.0.0.1", "127.0.0.2"),
        secret.replace("127.0.0.1", "0x7f000001"),
        secret.replace("127.0.0.1", "[::ffff:127.0.0.1]"),
        f"http://0.0.0.0:{port}/files/x",
    )
    for number, url in enumerate(inward):
        name = f"跳转{number}.md"
        file_server.redirect(url, file=name)
        await client.upload_group_file(GROUP, MEMBER, name, RULES)
        await _refused(client, name, "内网地址", "重新发")
    for url in ("file:///etc/passwd", secret.replace("127.0.0.1", "2130706433")):
        file_server.redirect(url, file="本机.md")
        await client.upload_group_file(GROUP, MEMBER, "本机.md", RULES)
        await _refused(client, "本机.md", "链接无效", "重新发")
    assert not file_server.downloads("内网.md")
    turning = file_server.host("转圈.md", RULES)
    file_server.redirect(turning.url, file="转圈.md")
    await client.upload_group_file(GROUP, MEMBER, "转圈.md", RULES)
    await _refused(client, "转圈.md", "跳转太多次", "重新发")
    await _at_rest(bot)
    assert _left(bot) == {}

    honest = file_server.host("真身.md", RULES)
    file_server.redirect(honest.url, file="同主机.md")
    await client.upload_group_file(GROUP, MEMBER, "同主机.md", RULES)
    await client.wait_sent("「同主机.md」已入库", timeout=20)
    assert len(file_server.downloads("真身.md")) == 1


async def test_every_way_to_the_bytes(
    bot_factory: BotFactory, client_factory: ClientFactory, file_server: FileServer, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    bot = await bot_factory(**NO_MODEL, API_TIMEOUT="1", KNOWLEDGE__CLIENT_FILE_DIRS=str(shared))
    client = await client_factory(bot)

    # NapCat's link ends in `fname=`, and QQ's host refuses it without the name.
    name = "报销 100% #1&2+3.md"
    await client.upload_group_file(GROUP, MEMBER, name, _version(1))
    await client.wait_sent(f"「{name}」已入库", timeout=20)
    assert [request.query["fname"] for request in file_server.downloads(name)] == [name]

    # The first link breaks off, and the second is complete. Nothing of the first half is left in the file.
    file_server.drop(20, file="二次.md", times=1)
    await client.upload_group_file(GROUP, MEMBER, "二次.md", _version(2))
    await client.wait_sent("「二次.md」已入库", timeout=20)

    # If every link breaks off, the client's own copy is used, in base64 or as a path on this machine.
    client.actions.files.get_file_base64 = True
    file_server.drop(20, file="副本.md")
    await client.upload_group_file(GROUP, MEMBER, "副本.md", _version(3))
    await client.wait_sent("「副本.md」已入库", timeout=20)
    client.actions.files.get_file_base64 = False
    client.actions.files.shared_directory = shared
    shared.mkdir()
    file_server.drop(20, file="路径.md")
    await client.upload_group_file(GROUP, MEMBER, "路径.md", _version(4))
    await client.wait_sent("「路径.md」已入库", timeout=20)
    assert (client.actions.files.shared_directory / "路径.md").read_bytes() == _version(4), (
        "the client's copy is not moved"
    )
    # A path outside the directories that the operator named is not read, although the size is right.
    client.actions.files.shared_directory = tmp_path / "elsewhere"
    client.actions.files.shared_directory.mkdir()
    client.faults.answer("get_group_file_url", {})
    await client.upload_group_file(GROUP, MEMBER, "别处.md", _version(7))
    await _refused(client, "别处.md", "KNOWLEDGE__CLIENT_FILE_DIRS", "重新发")
    client.faults.restore()
    client.actions.files.shared_directory = None

    # A client that does not respond costs a second, but not the file. So does one whose base64 is too large or broken.
    client.faults.ignore("get_group_file_url")
    client.actions.files.get_file_base64 = True
    await client.upload_group_file(GROUP, MEMBER, "哑巴.md", _version(5))
    await client.wait_sent("「哑巴.md」已入库", timeout=20)
    await client.upload_group_file(GROUP, MEMBER, "大副本.txt", b"0" * (21 << 20), notice=False, message=False)
    await client.send_event(_notice(client, "大副本.txt", size=0))
    await _refused(client, "大副本.txt", "超过 20 MB", "拆分")
    client.faults.restore()
    client.faults.fail("get_group_file_url", "get_file")
    await client.upload_group_file(GROUP, MEMBER, "没法.md", _version(6))
    await _refused(client, "没法.md", "没能从 QQ 拿到", "重新发")
    client.faults.restore()

    rows = _rows(bot, "SELECT name, size FROM documents ORDER BY number")
    assert rows == [
        (name, len(_version(1))),
        *((f"{title}.md", len(_version(2))) for title in ("二次", "副本", "路径", "哑巴")),
    ]
    await _at_rest(bot)
    assert not list((bot.data_directory / "incoming").iterdir())
    assert len(list((bot.data_directory / "files").iterdir())) == len(rows)


async def test_slow_file_and_a_restart_of_both_sides(
    bot_factory: BotFactory, client_factory: ClientFactory, file_server: FileServer
) -> None:
    bot = await bot_factory(**NO_MODEL)
    client = await client_factory(bot)
    file_server.slow(4, file="慢.md")
    began = time.perf_counter()
    await client.upload_group_file(GROUP, MEMBER, "慢.md", RULES)
    progress = await client.wait_sent(lambda sent: sent.group_id == GROUP)
    assert progress.text == "收到「慢.md」，正在入库…"
    assert 1.8 < progress.time - began < 3.5
    receipt = await client.wait_sent(lambda sent: sent.group_id == GROUP, timeout=20)
    assert receipt.text.startswith("「慢.md」已入库，")
    await client.upload_group_file(GROUP, MEMBER, "快.md", _version(1))
    assert "「快.md」已入库" in (await client.wait_sent(lambda sent: sent.group_id == GROUP)).text

    # The bot is killed while it waits for the bytes. NapCat is restarted too, and no longer knows the ids that it
    # issued.
    file_server.hang(file="接着.md", times=1)
    await client.upload_group_file(GROUP, MEMBER, "接着.md", _version(2))
    await _until(lambda: bool(file_server.downloads("接着.md")), 10)
    await bot.kill()
    client.world.forget()
    await bot.start()
    await client.reconnect()
    await client.wait_sent("「接着.md」已入库", timeout=20)
    assert client.called("get_group_root_files")
    assert [request.query["fname"] for request in file_server.downloads("接着.md")] == ["接着.md"] * 2
    await _at_rest(bot)
    assert not _rows(bot, "SELECT id FROM uploads")
    assert len(_rows(bot, "SELECT id FROM documents")) == 3


async def test_who_may_send_what_where(
    bot_factory: BotFactory, client_factory: ClientFactory, file_server: FileServer
) -> None:
    bot = await bot_factory(**NO_MODEL, KNOWLEDGE__UPLOAD_ROLE="admin", SUPERUSERS=str(SUPERUSER))
    client = await client_factory(bot)
    client.world.add_member(GROUP, ADMIN, role="admin")
    client.world.add_member(GROUP, MEMBER)
    await client.upload_group_file(GROUP, MEMBER, "成员.md", _version(1))
    await _refused(client, "成员.md", "需要管理员", "群管理员")
    client.faults.fail("get_group_member_info", message="服务不可用", times=1)
    await client.upload_group_file(GROUP, ADMIN, "查不到.md", _version(1))
    await _refused(client, "查不到.md", "需要管理员")
    assert not file_server.requests, "what is refused is not fetched"
    await client.upload_group_file(GROUP, ADMIN, "管理员.md", _version(1))
    await client.wait_sent("「管理员.md」已入库", timeout=20)
    await client.upload_group_file(GROUP, SUPERUSER, "超级.md", _version(2))
    await client.wait_sent("「超级.md」已入库", timeout=20)

    # The bot ignores files of its own account and of its other accounts.
    other = await client_factory(bot, self_id=3889000002)
    client.world.add_member(GROUP, client.self_id, role="owner")
    client.world.add_member(GROUP, other.self_id, role="owner")
    await client.upload_group_file(GROUP, client.self_id, "自己.md", _version(3))
    await client.upload_group_file(GROUP, other.self_id, "另一个号.md", _version(4))
    await client.quiet(1)
    assert not file_server.downloads("自己.md")
    assert not file_server.downloads("另一个号.md")
    await other.close()

    # A private file belongs to its owner, and the rule of the group does not apply to it.
    await client.upload_private_file(MEMBER, "私人.md", "我的保险柜密码是 QZ-4711。".encode())
    receipt = await client.wait_sent("「私人.md」已入库", timeout=20)
    assert (receipt.group_id, receipt.user_id) == (None, MEMBER)
    asked = await client.private_message(MEMBER, "保险柜密码是什么？")
    answer = await client.wait_sent(lambda sent: sent.reply_id == asked)
    assert "QZ-4711" in answer.text
    assert "〔1〕私人.md" in answer.text
    for user, group in ((MEMBER, GROUP), (ADMIN, GROUP), (ADMIN, None)):
        for text in ("保险柜密码是什么？", "/kb search QZ-4711", "/kb list"):
            if group is None:
                asked = await client.private_message(user, text)
            else:
                asked = await client.group_message(group, user, text, at_bot=True)
            reply = await client.wait_sent(lambda sent, asked=asked: sent.reply_id == asked)
            assert "4711。" not in reply.text
            assert "私人" not in reply.text


async def test_added_by_hand_and_loaded_from_the_server(
    bot_factory: BotFactory, client_factory: ClientFactory, tmp_path: Path
) -> None:
    bot = await bot_factory(**NO_MODEL, SUPERUSERS=str(SUPERUSER))
    client = await client_factory(bot)
    client.world.add_member(GROUP, ADMIN, role="admin")
    assert "需要管理员" in await _say(client, MEMBER, "/kb add 值班 周三下午值班的是李强。")
    assert "标题和正文" in await _say(client, ADMIN, "/kb add 值班")
    assert "「值班.txt」已入库，" in await _say(client, ADMIN, "/kb add 值班 周三下午值班的是李强。")
    assert "「开放时间.txt」已入库，" in await _say(
        client, ADMIN, "/知识库 添加 开放时间\n仪器室周五上午开放。\n周六不开。"
    )
    answer = await _say(client, MEMBER, "周三下午谁值班？")
    assert "李强" in answer
    assert "〔1〕值班.txt" in answer
    assert "已存在" in await _say(client, ADMIN, "/kb add 值班 周三下午值班的是李强。")
    changed = await _say(client, ADMIN, "/kb add 值班 周三下午值班的是赵敏。")
    assert "第 2 版" in changed
    assert "李强" not in await _say(client, MEMBER, "周三下午谁值班？")

    folder = bot.data_directory / "import" / f"group_{GROUP}"
    assert "import/group_777" in await _say(client, SUPERUSER, "/kb load")
    (folder / "二层").mkdir(parents=True)
    (folder / "import.md").write_bytes(RULES)
    documents.text_file(folder / "二层" / "通知.txt", encoding="gbk")
    documents.empty_file(folder / "空.txt")
    documents.scanned_pdf(folder / "扫描.pdf")
    (folder / "程序.exe").write_bytes(b"MZ")
    # The folder of another place, and whatever a typed path would reach, are not touched.
    stranger = bot.data_directory / "import" / "group_778"
    stranger.mkdir()
    (stranger / "别群.md").write_bytes(_version(9))
    assert "需要管理员" in await _say(client, ADMIN, "/kb load")
    loaded = await _say(client, SUPERUSER, "/kb load ../group_778")
    assert "已入库 2 个，已存在 0 个，没有入库 3 个" in loaded, loaded
    for words in ("「空.txt」这个文件是空的", "「扫描.pdf」这是扫描件", "「程序.exe」不支持 .exe"):
        assert words in loaded, loaded
    assert "已入库 0 个，已存在 2 个，没有入库 3 个" in await _say(client, SUPERUSER, "/kb load")
    assert "350" in await _say(client, MEMBER, "出差住宿每天多少元？")
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 5, "the operator's files stay where they are"
    assert "别群" not in await _say(client, MEMBER, "/kb list")
    await _at_rest(bot)
    assert not list((bot.data_directory / "incoming").iterdir())
    assert len(list((bot.data_directory / "files").iterdir())) == 4


def _version(number: int) -> bytes:
    return f"# 第 {number} 号通知\n第 {number} 会议室的门牌号是 QZ-{number:03d}，钥匙在值班室。\n".encode()


def _bytes_file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _notice(client: ObservedClient, name: str, *, size: int) -> dict[str, Any]:
    """Return a group_upload notice for a file that already exists, with a size that may be wrong."""
    file = next(file for file in client.world.files if file.name == name)
    data = NAPCAT.upload_notice(file) | {"size": size}
    return {
        "time": int(time.time()),
        "self_id": client.self_id,
        "post_type": "notice",
        "notice_type": "group_upload",
        "group_id": GROUP,
        "user_id": file.user_id,
        "file": data,
    }


async def _refused(client: ObservedClient, name: str, *words: str) -> None:
    """Wait for the one sentence about a refused file, and check it."""
    refusal = await client.wait_sent(lambda sent: name in sent.text and "正在入库" not in sent.text, timeout=30)
    assert refusal.text.startswith(f"「{name}」没有入库"), refusal.text
    assert all(word in refusal.text for word in words), refusal.text
    assert "\n" not in refusal.text
    assert re.search(r"。(（QZ-[A-Z]\d\d）)?$", refusal.text), refusal.text
    assert not any(word in refusal.text for word in ("Error", "Exception", "Traceback", "None")), refusal.text


async def _say(client: ObservedClient, user: int, text: str) -> str:
    asked = await client.group_message(GROUP, user, text, at_bot=not text.startswith("/"))
    return (await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=30)).text


async def _at_rest(bot: BotProcess) -> None:
    """Wait until the last record of uploads is removed, which happens after the outcome was reported."""
    await _until(lambda: not _rows(bot, "SELECT id FROM uploads UNION ALL SELECT id FROM retired"), 5)


def _left(bot: BotProcess) -> dict[str, list[Any]]:
    """Return everything that a refused file could have left behind, by place."""
    places: dict[str, list[Any]] = {
        table: _rows(bot, f"SELECT * FROM {table}")  # noqa: S608 - names of our own
        for table in ("documents", "uploads", "retired")
    }
    places |= {name: list((bot.data_directory / name).iterdir()) for name in ("files", "incoming")}
    return {place: found for place, found in places.items() if found}


def _rows(bot: BotProcess, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{bot.data_directory / 'app.sqlite3'}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come to rest"
        await asyncio.sleep(0.05)
