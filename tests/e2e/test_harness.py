"""Tests of the harness itself with NoneBot's adapter, httpx and the OpenAI client, before other tests rely on it."""

import asyncio
import base64
import json
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nonebot.adapters.onebot.v11 import Message

from simulator import cq_code
from tests.e2e.bot_process import ROOT, BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.file_server import FileServer
from tests.e2e.model_server import Completion, Mode, ModelRequest, ModelServer
from tests.e2e.observed_client import (
    DIALECTS,
    GO_CQHTTP,
    LAGRANGE,
    LLONEBOT,
    NAPCAT,
    Dialect,
    HandshakeRefused,
    ObservedClient,
)

GROUP, ALICE, BOB = 777, 10002, 10003
PROBE = '''
import json
import nonebot
from nonebot.adapters.onebot.v11 import Adapter, Bot, Event, Message, MessageEvent, MessageSegment, NoticeEvent
from nonebot.adapters.onebot.v11.exception import OneBotV11AdapterException

nonebot.init(_env_file=(), log_level="WARNING")
nonebot.get_driver().register_adapter(Adapter)
TEXTS = ("first", "[CQ:x]")


async def say(bot, event, text):
    await bot.send(event, Message(MessageSegment.text(text)), reply_message=True)


async def heard(bot: Bot, event: MessageEvent):
    """"call ACTION {params}" calls it and tells the outcome; anything else to the bot is described."""
    text = event.get_plaintext().strip()
    if text.startswith("call "):
        _, action, params = text.split(" ", 2)
        try:
            await say(bot, event, json.dumps(await bot.call_api(action, **json.loads(params)), ensure_ascii=False))
        except OneBotV11AdapterException as error:
            await say(bot, event, f"{type(error).__name__} {getattr(error, 'info', {}).get('retcode')}")
    elif text == "forward":
        nodes = Message(MessageSegment.node_custom(1, "n", Message(MessageSegment.text(t))) for t in TEXTS)
        target = {"group_id": event.group_id} if event.message_type == "group" else {"user_id": event.user_id}
        await bot.call_api(f"send_{event.message_type}_forward_msg", messages=nodes, **target)
    elif text == "string":
        await bot.call_api("send_group_msg", group_id=event.group_id, message="x[CQ:at,qq=all]&#91;y")
    elif event.to_me:
        quoted = event.reply and event.reply.message.extract_plain_text()
        kinds = ",".join(segment.type for segment in event.message)
        role = event.sender.role
        await say(bot, event, f"{type(event).__name__} {text!r} quoted={quoted!r} kinds={kinds} role={role}")


async def noticed(bot: Bot, event: NoticeEvent):
    told = {"kind": type(event).__name__, **event.model_dump(mode="json")}
    params = {"group_id": told["group_id"]} if told.get("group_id") else {"user_id": told["user_id"]}
    action = "send_group_msg" if "group_id" in params else "send_private_msg"
    await bot.call_api(action, message=Message(MessageSegment.text(json.dumps(told))), **params)


nonebot.on_message(handlers=[heard])
nonebot.on_notice(handlers=[noticed])
nonebot.run()
'''


@pytest.fixture(scope="module")
async def probe(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BotProcess]:
    directory = tmp_path_factory.mktemp("probe")
    script = directory / "probe_bot.py"
    script.write_text(PROBE, "utf-8")
    async with BotProcess(directory, {"NICKNAME": '["小库"]'}, script=script) as bot:
        yield bot
    # NoneBot logs this for an exception in a handler.
    assert "Running Matcher" not in bot.output(), bot.output()


async def _called(client: ObservedClient, action: str, **params: Any) -> Any:
    """Let the bot call an action, and return the data that it received, or the text of its error."""
    asked = await client.group_message(GROUP, ALICE, f"call {action} {json.dumps(params)}")
    text = (await client.wait_sent(lambda sent: sent.reply_id == asked)).text
    return json.loads(text) if text[0] in '{["n' else text


# -- the client towards NoneBot ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", [*DIALECTS, replace(NAPCAT, string_messages=True)], ids=lambda d: d.name)
async def test_messages_are_typed_and_addressed(
    probe: BotProcess, client_factory: ClientFactory, dialect: Dialect
) -> None:
    client = await client_factory(probe, dialect=dialect)
    client.world.add_member(GROUP, ALICE, role="admin")

    asked = await client.group_message(GROUP, ALICE, "你好,[a]&b", at_bot=True)
    sent = await client.wait_sent()
    assert sent.text == "GroupMessageEvent '你好,[a]&b' quoted=None kinds=text role=admin"
    assert (sent.kind, sent.action, sent.group_id, sent.user_id, sent.reply_id) == (
        "message",
        "send_msg",
        GROUP,
        None,
        asked,
    )
    assert sent.mentions == ()
    assert (asked < 0) == dialect.signed_message_ids

    # A reply to the bot is addressed to it without an @: the adapter finds the author by get_msg.
    await client.group_message(GROUP, ALICE, "然后呢", reply_to=sent.message_id)
    assert "'然后呢' quoted=\"GroupMessageEvent" in (await client.wait_sent()).text
    await client.wait_call("get_msg")

    await client.group_message(GROUP, ALICE, "小库 在吗")
    assert "'在吗'" in (await client.wait_sent()).text
    await client.group_message(GROUP, ALICE, "与你无关")
    await client.group_message(
        GROUP, ALICE, [client.image("a.png", b"png"), {"type": "text", "data": {"text": "小库"}}]
    )
    await client.quiet(0.2)

    await client.private_message(BOB, "私下说")
    private = await client.wait_sent()
    assert private.text.startswith("PrivateMessageEvent '私下说'")
    assert (private.group_id, private.user_id) == (None, BOB)


async def test_temporary_chat_and_unknown_member(probe: BotProcess, client_factory: ClientFactory) -> None:
    client = await client_factory(probe)
    client.world.add_member(GROUP, BOB, role="owner", known=False)
    await client.group_message(GROUP, BOB, "我是谁", at_bot=True)
    assert (await client.wait_sent()).text.endswith("role=None")
    assert (await _called(client, "get_group_member_info", group_id=GROUP, user_id=BOB))["role"] == "owner"

    await client.private_message(BOB, "临时", from_group=GROUP)
    sent = await client.wait_sent()
    assert (sent.group_id, sent.user_id) == (GROUP, BOB)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_group_upload_is_a_typed_notice_and_a_message(
    probe: BotProcess, client_factory: ClientFactory, file_server: FileServer, dialect: Dialect
) -> None:
    client = await client_factory(probe, dialect=dialect)
    for first in (True, False):
        file = await client.upload_group_file(GROUP, ALICE, "手册.pdf", b"%PDF-1.7", notice_first=first)
        told = json.loads((await client.wait_sent("GroupUploadNoticeEvent")).text)
        assert (told["group_id"], told["user_id"]) == (GROUP, ALICE)
        assert told["file"]["name"] == "手册.pdf"
        assert told["file"]["size"] == 8
        assert ("url" in told["file"]) == dialect.notice_url
        assert (told["file"]["id"] != file.segment_id) == dialect.notice_id_differs
        assert file.message_id in client.world.messages
        for file_id in (told["file"]["id"], file.segment_id):
            url = (await _called(client, "get_group_file_url", group_id=GROUP, file_id=file_id, busid=102))["url"]
            assert url.endswith("?fname=") == dialect.nameless_url
            async with httpx.AsyncClient(trust_env=False) as http:
                assert (await http.get(url)).content == b"%PDF-1.7"
    assert len(file_server.downloads("手册.pdf")) == 4


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_private_file(probe: BotProcess, client_factory: ClientFactory, dialect: Dialect) -> None:
    client = await client_factory(probe, dialect=dialect)
    await client.upload_private_file(ALICE, "a.txt", b"text")
    texts = {(await client.wait_sent()).text for _ in range(2 if dialect.private_file == "both" else 1)}
    await client.quiet(0.1)
    assert any("kinds=file" in text for text in texts) == (dialect.private_file != "notice")
    assert any('"notice_type": "offline_file"' in text for text in texts) == (dialect.private_file != "message")


async def test_recall_and_raw_events(probe: BotProcess, client_factory: ClientFactory) -> None:
    client = await client_factory(probe)
    message_id = await client.group_message(GROUP, ALICE, "说错了")
    await client.recall(message_id, operator_id=BOB)
    told = json.loads((await client.wait_sent("GroupRecallNoticeEvent")).text)
    assert (told["message_id"], told["operator_id"]) == (message_id, BOB)
    assert await _called(client, "get_msg", message_id=message_id) == "ActionFailed 1200"

    poke = {"post_type": "notice", "notice_type": "notify", "sub_type": "poke", "user_id": ALICE, "group_id": GROUP}
    await client.send_event({**poke, "target_id": client.self_id})
    await client.wait_sent("PokeNotifyEvent")


async def test_forward(probe: BotProcess, client_factory: ClientFactory) -> None:
    client = await client_factory(probe)
    await client.group_message(GROUP, ALICE, "forward")
    sent = await client.wait_sent()
    assert (sent.kind, sent.group_id) == ("forward", GROUP)
    # A CQ code inside a text segment stays text.
    assert [(node.user_id, node.nickname, node.text) for node in sent.nodes] == [(1, "n", "first"), (1, "n", "[CQ:x]")]
    await client.private_message(ALICE, "forward")
    assert (await client.wait_sent()).user_id == ALICE


async def test_string_message_is_read_for_codes_and_reported(probe: BotProcess, file_server: FileServer) -> None:
    async with ObservedClient(probe.url, token=probe.token, file_host=file_server) as client:
        await client.group_message(GROUP, ALICE, "string")
        sent = await client.wait_sent()
        assert (sent.text, sent.mentions) == ("x[y", ("all",))
        assert len(client.violations) == 1


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_actions_answer_as_the_dialect_does(
    probe: BotProcess, client_factory: ClientFactory, dialect: Dialect
) -> None:
    client = await client_factory(probe, dialect=dialect)
    client.world.folders[GROUP] = {"/f1": "资料"}
    inner = await client.upload_group_file(GROUP, ALICE, "内.md", b"inner", folder_id="/f1", notice=False)
    question = await client.group_message(GROUP, ALICE, "问题")

    assert (await _called(client, "get_version_info"))["app_name"] == dialect.app_name
    assert (await _called(client, "get_login_info"))["user_id"] == client.self_id
    assert (await _called(client, "get_status"))["online"]
    assert (await _called(client, "get_group_info", group_id=str(GROUP)))["member_count"] == 2
    assert [group["group_id"] for group in await _called(client, "get_group_list")] == [GROUP]
    assert (await _called(client, "get_msg", message_id=question))["message"][0]["data"]["text"] == "问题"
    root = await _called(client, "get_group_root_files", group_id=GROUP)
    # go-cqhttp has null for an empty list.
    assert (root["files"] or [], [folder["folder_id"] for folder in root["folders"]]) == ([], ["/f1"])
    listed = await _called(client, "get_group_files_by_folder", group_id=GROUP, folder_id="/f1")
    assert listed["files"][0]["file_name"] == "内.md"
    fresh = listed["files"][0]["file_id"]
    assert (fresh != inner.segment_id) == (dialect is NAPCAT)
    assert "/files/" in (await _called(client, "get_group_file_url", group_id=GROUP, file_id=fresh))["url"]

    liked = await _called(client, "set_msg_emoji_like", message_id=question, emoji_id=76)
    assert (liked == "ActionFailed 1404") == (dialect in (LAGRANGE, GO_CQHTTP))
    assert bool(client.observer.reactions) == (dialect in (NAPCAT, LLONEBOT))
    coded = await _called(client, "set_group_reaction", group_id=GROUP, message_id=question, code="76", is_add=True)
    assert (coded is None) == (dialect is LAGRANGE)
    typing = await _called(client, "set_input_status", user_id=ALICE, event_type=1)
    assert (typing == "ActionFailed 1404") == (not dialect.input_status)
    fetched = await _called(client, "get_file", file_id=inner.segment_id)
    assert (fetched == "ActionFailed 1404") == (not dialect.get_file)
    assert await _called(client, "get_flowers") == "ActionFailed 1404"
    assert await _called(client, "delete_msg", message_id=question) is None
    assert await _called(client, "delete_msg", message_id=question) == "ActionFailed 1200"


async def test_files_from_the_bot(probe: BotProcess, client_factory: ClientFactory, tmp_path: Path) -> None:
    client = await client_factory(probe)
    encoded = base64.b64encode("你好".encode()).decode()
    data = await _called(client, "upload_group_file", group_id=GROUP, file=f"base64://{encoded}", name="a.md")
    sent = await client.wait_sent("a.md")
    assert (sent.kind, sent.content, client.world.file(data["file_id"])) == (
        "file",
        "你好".encode(),
        client.world.files[-1],
    )
    (tmp_path / "b.md").write_text("b")
    upload = {"user_id": ALICE, "file": str(tmp_path / "b.md"), "name": "b.md"}
    assert await _called(client, "upload_private_file", **upload) == "ActionFailed 1200"  # another host
    client.actions.files.shared_directory = tmp_path
    await _called(client, "upload_private_file", **upload)
    assert (await client.wait_sent("b.md")).user_id == ALICE

    file = await client.upload_private_file(ALICE, "c.md", b"c")
    await client.wait_sent("kinds=file")
    fetched = await _called(client, "get_file", file_id=file.segment_id)
    assert Path(fetched["file"]).read_bytes() == b"c"
    assert "base64" not in fetched
    client.actions.files.get_file_base64 = True
    assert (await _called(client, "get_file", file_id=file.segment_id))["base64"] == "Yw=="
    assert (await _called(client, "get_private_file_url", file_id=file.segment_id))["url"].endswith("&isthumb=0")
    client.world.forget()
    assert await _called(client, "get_private_file_url", file_id=file.segment_id) == "ActionFailed 1200"


async def test_wrong_parameters_are_refused_and_reported(probe: BotProcess, file_server: FileServer) -> None:
    text = [{"type": "text", "data": {"text": "x"}}]
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("send_group_msg", {"message": text}),
        ("send_group_msg", {"group_id": GROUP, "message": [{"type": "text", "data": {"text": 1}}]}),
        ("send_group_msg", {"group_id": GROUP, "message": [{"type": "marquee", "data": {}}]}),
        ("send_group_forward_msg", {"group_id": GROUP, "messages": text}),
        ("upload_group_file", {"group_id": GROUP, "file": "base64://eA=="}),
        ("get_group_file_url", {"group_id": GROUP}),
    ]
    async with ObservedClient(probe.url, token=probe.token, file_host=file_server) as client:
        for number, (action, params) in enumerate(wrong, 1):
            assert await _called(client, action, **params) == "ActionFailed 1400", action
            assert len(client.violations) == number
        refused = {"group_id": 1, "message": text}  # no such group, which is not the bot's fault
        assert await _called(client, "send_group_msg", **refused) == "ActionFailed 1200"
        assert await _called(client, "send_private_msg", user_id=404, message=text) == "ActionFailed 1200"
        assert len(client.violations) == len(wrong)


async def test_programmed_failures(probe: BotProcess, client_factory: ClientFactory) -> None:
    client = await client_factory(probe)
    text = {"group_id": GROUP, "message": [{"type": "text", "data": {"text": "做"}}]}
    client.faults.fail("send_group_msg", retcode=1200, message="Timeout: NTEvent", times=1)
    assert await _called(client, "send_group_msg", **text) == "ActionFailed 1200"
    assert not [sent for sent in client.sent if sent.text == "做"]
    client.faults.fail("send_group_msg", times=1, performed=True)
    assert await _called(client, "send_group_msg", **text) == "ActionFailed 1200"
    await client.wait_sent(lambda sent: sent.text == "做")
    assert "message_id" in await _called(client, "send_group_msg", **text)

    client.faults.fail("send_group_msg", "send_private_msg", retcode=120)
    for action in ("send_group_msg", "send_private_msg"):
        assert await _called(client, action, user_id=ALICE, **text) == "ActionFailed 120"

    client.faults.fail("get_status", status="文件上传失败", retcode=200)
    assert await _called(client, "get_status") is None  # the adapter takes Lagrange's error for a success
    client.faults.ignore("get_login_info")
    assert await _called(client, "get_login_info", _timeout=0.2) == "NetworkError None"
    client.faults.delay("get_version_info", 0.3)
    slow = asyncio.create_task(_called(client, "get_version_info"))
    assert "group_id" in await _called(client, "get_group_info", group_id=GROUP)
    assert not slow.done()  # a slow response does not delay others
    assert "app_name" in await slow
    client.faults.restore()
    assert (await _called(client, "get_status"))["good"]


async def test_waiting_fails_loudly(probe: BotProcess, client_factory: ClientFactory) -> None:
    client = await client_factory(probe)
    await client.group_message(GROUP, ALICE, "一", at_bot=True)
    with pytest.raises(AssertionError, match="not quiet"):
        await client.quiet(5)
    await client.wait_sent("一")
    with pytest.raises(AssertionError, match="no message for '一'"):
        await client.wait_sent("一", timeout=0.05)  # each is returned once
    with pytest.raises(AssertionError, match="no call of delete_msg"):
        await client.wait_call("delete_msg", timeout=0.05)


async def test_connection_is_guarded_and_comes_back(probe: BotProcess, client_factory: ClientFactory) -> None:
    wrongs: list[dict[str, Any]] = [{"token": None}, {"token": "wrong"}, {"headers": {"X-Self-ID": ""}}]
    for wrong in wrongs:
        with pytest.raises(HandshakeRefused) as refused:
            await client_factory.create(probe, **wrong).connect()
        assert refused.value.status == 403

    client = await client_factory(probe, heartbeat=0.05)
    with pytest.raises(HandshakeRefused):
        await client_factory.create(probe).connect()  # the account is already connected
    for _ in range(3):
        await client.drop()
        assert not client.connected
        await client.reconnect()
        await client.group_message(GROUP, ALICE, "又来了", at_bot=True)
        await client.wait_sent("又来了")
    await client.send_raw("{not json")
    assert await asyncio.wait_for(client.wait_closed(), 10) == 1000
    await client.reconnect()
    client.freeze()
    await client.group_message(GROUP, ALICE, "冻住", at_bot=True)
    await client.quiet(0.2)
    client.thaw()
    await client.wait_sent("冻住")


async def test_two_accounts_are_apart(probe: BotProcess, client_factory: ClientFactory) -> None:
    first = await client_factory(probe, self_id=1001)
    second = await client_factory(probe, self_id=1002, dialect=LLONEBOT)
    await first.group_message(GROUP, ALICE, "给一", at_bot=True)
    await second.group_message(GROUP, ALICE, "给二", at_bot=True)
    await first.wait_sent("给一")
    await second.wait_sent("给二")
    await second.group_message(GROUP, ALICE, [{"type": "at", "data": {"qq": "1001"}}])
    await asyncio.gather(first.quiet(0.2), second.quiet(0.2))
    assert (len(first.sent), len(second.sent)) == (1, 1)


@given(
    st.lists(st.tuples(st.sampled_from(["text", "x"]), st.text(st.characters(codec="utf-8"), min_size=1)), max_size=5)
)
def test_cq_codes_agree_with_the_adapter(parts: list[tuple[str, str]]) -> None:
    segments: list[dict[str, Any]] = []
    for kind, value in parts:
        if kind == "text" and segments and segments[-1]["type"] == "text":
            continue  # adjacent texts are merged
        segments.append({"type": kind, "data": {"text" if kind == "text" else "k": value}})
    encoded = cq_code.encode(segments)
    assert cq_code.decode(encoded) == segments
    # Compare with an independent parser of the same notation.
    assert [{"type": segment.type, "data": segment.data} for segment in Message(encoded)] == segments


# -- the process ------------------------------------------------------------------------------------------------------


def _script(directory: Path, body: str, *, listening: bool = True) -> Path:
    path = directory / "script.py"
    imports = "import os, socket, subprocess, sys, time\n"
    listen = "server = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))\n" if listening else ""
    path.write_text(imports + listen + body, "utf-8")
    return path


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_echo_bot_stops_and_restarts(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(script=ROOT / "benchmarks" / "echo_bot.py")
    client = await client_factory(bot)
    await client.group_message(GROUP, ALICE, "[CQ:at,qq=all] 回声", at_bot=True)
    sent = await client.wait_sent()
    assert (sent.text, sent.mentions) == ("[CQ:at,qq=all] 回声", ())
    await client.group_message(GROUP, ALICE, "没叫你")
    await client.quiet(0.1)
    await bot.restart()
    await client.reconnect()
    await bot.kill()
    await asyncio.wait_for(client.wait_closed(), 10)
    await bot.start()
    await client.reconnect()
    await client.private_message(ALICE, "还在")
    await client.wait_sent("还在")
    await bot.stop(signal.SIGINT)


async def test_children_of_a_killed_bot_do_not_survive(tmp_path: Path) -> None:
    # One child stays in the process group, and one leaves it.
    body = (
        "for own in (False, True):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=own)\n"
        "    print(child.pid)\n"
        "print('done')\ntime.sleep(60)\n"
    )
    bot = BotProcess(tmp_path, script=_script(tmp_path, body))
    await bot.start()
    await bot.wait_output("done")
    pids = [bot.pid, *map(int, bot.output().split()[:2])]
    assert all(map(_alive, pids))
    with pytest.raises(AssertionError, match="outlived the bot"):
        await bot.stop()
    assert not [pid for pid in pids if _alive(pid)]

    bot.log_file.write_text("")
    await bot.start()
    await bot.wait_output("done")
    pids = [bot.pid, *map(int, bot.output().split()[:2])]
    await bot.kill()
    assert not [pid for pid in pids if _alive(pid)]


async def test_exit_codes_are_noticed(tmp_path: Path) -> None:
    refusing = BotProcess(tmp_path, script=_script(tmp_path, "print('启动失败'); sys.exit(2)", listening=False))
    assert await refusing.start_refused() == 2
    assert "启动失败" in refusing.output()
    with pytest.raises(AssertionError, match=r"(?s)code 2.*启动失败"):
        await refusing.start()

    dying = BotProcess(tmp_path / "b", script=_script(tmp_path, "server.accept(); time.sleep(0.2); sys.exit(7)"))
    with pytest.raises(AssertionError, match="code 7"):
        async with dying:
            await asyncio.sleep(1)
    deaf = BotProcess(
        tmp_path / "c",
        script=_script(tmp_path, "import signal\nsignal.signal(15, signal.SIG_IGN)\nprint('on')\ntime.sleep(60)"),
    )
    await deaf.start()
    pid = deaf.pid
    await deaf.wait_output("on")
    with pytest.raises(AssertionError, match="still running"):
        await deaf.stop(timeout=0.3)
    assert not _alive(pid)


async def test_the_environment_of_the_developer_stays_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM__MODEL", "leak")
    monkeypatch.setenv("HTTP_PROXY", "http://leak")
    body = "print(sorted(os.environ), sys.argv[1:], os.getcwd())\nserver.accept(); time.sleep(60)"
    async with BotProcess(tmp_path, {"DATA_DIR": None}, script=_script(tmp_path, body)) as bot:
        assert bot.working_directory.samefile(tmp_path)
        output = await bot.wait_output(str(tmp_path))
    assert "LLM__MODEL" not in output
    assert "HTTP_PROXY" not in output
    assert "DATA_DIR" not in output
    assert f"'--env-file', '{tmp_path / 'empty.env'}'] {tmp_path}" in output


# -- the file server --------------------------------------------------------------------------------------------------


async def test_file_server_serves_and_fails(file_server: FileServer) -> None:
    content = bytes(range(256)) * 400
    hosted = file_server.host("报告.pdf", content)
    async with httpx.AsyncClient(trust_env=False, timeout=2) as http:
        answer = await http.get(hosted.url + "%E6%8A%A5%E5%91%8A.pdf")
        assert (answer.content, answer.headers["content-disposition"]) == (
            content,
            "attachment; filename*=UTF-8''%E6%8A%A5%E5%91%8A.pdf",
        )
        assert (await http.get(f"{file_server.address}/files/none")).status_code == 404

        file_server.expire(file="报告.pdf", times=2)
        assert [(await http.get(hosted.url)).status_code for _ in range(3)] == [400, 400, 200]
        file_server.fail(403, times=1)
        assert (await http.get(hosted.url)).status_code == 403
        file_server.redirect("http://169.254.0.1/a?b=c", file=hosted.id)
        answer = await http.get(hosted.url)
        assert (answer.status_code, answer.headers["location"]) == (302, "http://169.254.0.1/a?b=c")
        file_server.slow(0.3, file=hosted.id)
        answer = await http.get(hosted.url)
        assert answer.content == content
        assert answer.elapsed.total_seconds() > 0.25

        file_server.drop(5000, file=hosted.id)
        received = b""
        with pytest.raises(httpx.HTTPError):
            async with http.stream("GET", hosted.url) as streamed:
                async for chunk in streamed.aiter_raw():
                    received += chunk
        assert received == content[:5000]
        file_server.declare_length(len(content) + 10, file=hosted.id)
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get(hosted.url)
        file_server.declare_length(10, file=hosted.id)
        assert (await http.get(hosted.url)).content == content[:10]
        file_server.endless(file=hosted.id)
        size = 0
        async with http.stream("GET", hosted.url) as streamed:
            async for chunk in streamed.aiter_raw():
                size += len(chunk)
                if size > 5_000_000:
                    break
        file_server.hang(file=hosted.id)
        with pytest.raises(httpx.ReadTimeout):
            await http.get(hosted.url, timeout=0.2)
        file_server.restore()
        assert (await http.get(hosted.url)).content == content
    assert len(file_server.downloads(hosted.id)) == len(file_server.downloads("报告.pdf")) == 13


# -- the model server -------------------------------------------------------------------------------------------------

PROMPT = """只根据资料回答，例如〔1〕。
====资料〔1〕 制度.md
住宿每天 350 元。交通另算。
====资料〔2〕 其他.md
食堂十点关门。
===="""


async def _ask(client: openai.AsyncOpenAI, question: str = "住宿每天多少", **options: Any) -> Any:
    messages: list[Any] = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]
    return await client.chat.completions.create(model="m", messages=messages, **options)


@pytest.fixture
async def model(model_server: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    http = httpx.AsyncClient(trust_env=False)
    # The client accepts httpx as well as its own httpx2, but its types only name the latter.
    options: dict[str, Any] = {"http_client": http, "max_retries": 0, "timeout": 1}
    async with openai.AsyncOpenAI(base_url=model_server.base_url, api_key="k", **options) as client:
        yield client
    await http.aclose()


async def test_model_answers(model: openai.AsyncOpenAI, model_server: ModelServer) -> None:
    answer = await _ask(model)
    assert answer.choices[0].message.content == "住宿每天 350 元。〔1〕"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + len("住宿每天 350 元。〔1〕")
    assert (await _ask(model, "食堂几点关门")).choices[0].message.content == "食堂十点关门。〔2〕"
    assert (await _ask(model, "zzz")).choices[0].message.content == "资料里没有相关内容。"
    assert PROMPT in model_server.prompts()[0]
    assert model_server.requests[0].body["model"] == "m"

    text, usage = "", None
    async for chunk in await _ask(model, stream=True, stream_options={"include_usage": True}):
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
        usage = chunk.usage or usage
    assert text == "住宿每天 350 元。〔1〕"
    assert usage is not None

    async def later(request: ModelRequest) -> str:
        await asyncio.sleep(0.05)
        return request.question[::-1]

    model_server.reply = later
    model_server.when("天气", "晴")
    answers = await asyncio.gather(*(_ask(model, f"第{number}问") for number in range(5)))
    assert [answer.choices[0].message.content for answer in answers] == [f"问{number}第" for number in range(5)]
    assert model_server.peak_in_flight == 5
    assert (await _ask(model, "天气如何")).choices[0].message.content == "晴"
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    model_server.reply = Completion(tool_calls=(call,), finish_reason="tool_calls")
    assert (await _ask(model)).choices[0].message.tool_calls[0].function.name == "f"
    assert [entry.id for entry in (await model.models.list()).data] == ["test-model"]


async def test_model_fails(model: openai.AsyncOpenAI, model_server: ModelServer) -> None:
    failures: list[tuple[Mode, type[Exception]]] = [
        (Mode.DOWN, openai.InternalServerError),
        (Mode.UNAUTHORIZED, openai.AuthenticationError),
        (Mode.RATE_LIMITED, openai.RateLimitError),
        (Mode.HANG, openai.APITimeoutError),
        (Mode.MALFORMED, json.JSONDecodeError),
        (Mode.CUT, openai.APIConnectionError),
    ]
    for mode, error in failures:
        model_server.switch(mode, times=1)
        with pytest.raises(error):
            await _ask(model)
    model_server.switch(Mode.DOWN, status=500, times=1)
    with pytest.raises(openai.InternalServerError) as down:
        await _ask(model)
    assert down.value.status_code == 500

    odd = {Mode.EMPTY: ("", "stop"), Mode.LENGTH: ("住宿每天 35", "length"), Mode.NO_FINISH_REASON: (None, None)}
    for mode, (text, reason) in odd.items():
        model_server.switch(mode, times=1)
        choice = (await _ask(model)).choices[0]
        assert choice.finish_reason == reason
        assert text is None or choice.message.content == text
    model_server.switch(Mode.CUT, times=1)
    with pytest.raises((httpx.RemoteProtocolError, openai.APIError)):
        async for _ in await _ask(model, stream=True):
            pass
    model_server.switch(Mode.SLOW, seconds=0.3, times=1)
    started = asyncio.get_running_loop().time()
    await _ask(model)
    assert asyncio.get_running_loop().time() - started > 0.25

    await model_server.refuse()
    with pytest.raises(openai.APIConnectionError):
        await _ask(model)
    await model_server.listen()
    assert (await _ask(model)).choices[0].finish_reason == "stop"
    model_server.api_key = "other"
    with pytest.raises(openai.AuthenticationError):
        await _ask(model)


async def test_model_embeds(model: openai.AsyncOpenAI) -> None:
    texts = ["住宿每天多少钱", "住宿每天 350 元", "食堂几点关门"]
    packed = (await model.embeddings.create(model="e", input=texts)).data
    plain = (await model.embeddings.create(model="e", input=texts, encoding_format="float")).data
    assert [len(entry.embedding) for entry in packed] == [64, 64, 64]
    assert packed[0].embedding == pytest.approx(plain[0].embedding, abs=1e-6)

    def likeness(a: int, b: int) -> float:
        return sum(x * y for x, y in zip(plain[a].embedding, plain[b].embedding, strict=True))

    assert likeness(0, 0) == pytest.approx(1)
    assert likeness(0, 1) > likeness(0, 2)


async def test_an_error_in_a_handler_is_not_lost() -> None:
    server = ModelServer()
    server.reply = lambda request: request.body["absent"]
    with pytest.raises(ExceptionGroup):
        async with server, httpx.AsyncClient(trust_env=False) as http:
            with pytest.raises(httpx.RemoteProtocolError):
                await http.post(f"{server.base_url}/chat/completions", json={"messages": []})
