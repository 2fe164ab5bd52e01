"""Tests of the page's own addresses: who may reach them, and what they transfer."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiohttp
import pytest

from tests.e2e.bot_process import BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.samples.documents import lines_pdf

GROUP, OTHER_GROUP = "g900000000101", "g900000000102"
OWNER, MEMBER = "900000000001", "900000000003"
RULES = "宿舍每晚十一点熄灯，周末推迟到十二点。金丝雀代号是蓝鲸七号。"


class Page:
    """What a browser does with the page, without a browser."""

    def __init__(self, session: aiohttp.ClientSession, address: str, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.session = session
        self.address = address
        self.frames: list[dict[str, Any]] = []
        self._socket = socket
        self._reading = asyncio.create_task(self._read())
        self._new = asyncio.Event()

    async def _read(self) -> None:
        async for message in self._socket:
            self.frames.append(json.loads(message.data))
            self._new.set()

    async def close(self) -> None:
        await self._socket.close()
        await self._reading

    async def do(self, kind: str, **fields: Any) -> None:
        await self._socket.send_json({"type": kind, **fields})

    async def send(self, frame: str | bytes) -> None:
        await (self._socket.send_bytes(frame) if isinstance(frame, bytes) else self._socket.send_str(frame))

    async def say(self, text: str, chat: str = GROUP, speaker: str = MEMBER, **fields: Any) -> None:
        await self.do("say", chat=chat, speaker=speaker, text=text, **{"at": True, **fields})

    async def post(self, path: str, content: bytes = b"", **query: str) -> tuple[int, str]:
        async with self.session.post(f"{self.address}{path}", data=content, params=query) as response:
            return response.status, await response.text()

    async def frame(
        self, kind: str, text: str = "", fits: Callable[[dict[str, Any]], bool] = lambda _: True
    ) -> dict[str, Any]:
        """Return the oldest frame of a kind that contains this text. Each frame is returned once."""
        async with asyncio.timeout(40):
            while True:
                for frame in self.frames:
                    if frame["type"] == kind and text in json.dumps(frame, ensure_ascii=False) and fits(frame):
                        self.frames.remove(frame)
                        return frame
                self._new.clear()
                await self._new.wait()

    async def connected(self) -> Self:
        stage = await self.frame("stage")
        if not stage["bot"]["connected"]:
            await self.frame("bot", fits=lambda frame: frame["bot"]["connected"])
        return self


@asynccontextmanager
async def opened(bot: BotProcess) -> AsyncGenerator[Page]:
    """Open the page of a running bot."""
    address = f"http://127.0.0.1:{bot.port}"
    async with aiohttp.ClientSession(headers={"Origin": address}) as session:
        page = Page(session, address, await session.ws_connect(f"{address}/sandbox/ws"))
        yield await page.connected()
        await page.close()


def _text(frame: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in frame["message"]["parts"])


async def test_a_file_is_taken_in_answered_from_and_explained(bot_factory: BotFactory, tmp_path: Path) -> None:
    content = lines_pdf(tmp_path / "a.pdf", [[RULES]]).read_bytes()
    bot = await bot_factory(LLM__API_KEY="", SEND__GROUP_INTERVAL_S="0")
    async with opened(bot) as page:
        await page.do("watch", chat=GROUP)
        assert (await page.post("/sandbox/files", content, chat=GROUP, speaker=OWNER, name="../夜间.pdf"))[0] == 204
        assert (await page.frame("message", "夜间.pdf"))["message"]["parts"][0]["name"] == "夜间.pdf"
        assert "「夜间.pdf」已入库" in _text(await page.frame("message", "已入库"))
        knowledge = await page.frame("knowledge", "夜间.pdf", lambda frame: not frame["knowledge"]["progress"])
        document = knowledge["knowledge"]["documents"][0]
        assert (document["version"], document["state"], document["uploader"]) == (1, "ready", "周老师")

        await page.say("宿舍几点熄灯？")
        reply = await page.frame("message", "十一点熄灯")
        answer = (await page.frame("answer"))["answer"]
        assert "〔1〕夜间.pdf 第1页" in _text(reply)
        assert (answer["status"], answer["kind"], answer["question"]) == ("usable", "excerpt", "宿舍几点熄灯？")
        assert answer["references"][0]["cited_as"] == 1
        assert answer["candidates"][0]["verdict"] == "approved"
        assert [timing["stage"] for timing in answer["timings"]][-2:] == ["total", "reply"]

        # The other group neither answers from the file nor shows it.
        await page.do("watch", chat=OTHER_GROUP)
        await page.say("宿舍几点熄灯？蓝鲸七号是什么？", chat=OTHER_GROUP)
        elsewhere = await page.frame(
            "message", fits=lambda frame: frame["message"]["chat"] == OTHER_GROUP and "熄灯？" not in _text(frame)
        )
        shown = await page.frame("knowledge", OTHER_GROUP)
        trace = await page.frame("answer", OTHER_GROUP)
        for frame in (elsewhere, shown, trace):
            assert "夜间" not in json.dumps(frame, ensure_ascii=False)
            assert "十一点" not in json.dumps(frame, ensure_ascii=False)

        # A page that is opened later receives everything.
        async with opened(bot) as second:
            await second.frame("answer", "十一点熄灯")
    await page.frame("call", "send_msg")


async def test_what_cannot_be_done_is_told(bot_factory: BotFactory) -> None:
    bot = await bot_factory(LLM__API_KEY="", KNOWLEDGE__MAX_FILE_MB="1")
    async with opened(bot) as page:
        place = {"chat": GROUP, "speaker": OWNER}
        assert json.loads((await page.post("/sandbox/files", b"", name="空.txt", **place))[1])["code"] == "empty_file"
        status, text = await page.post("/sandbox/files", bytes(3 << 20), name="大.txt", **place)
        assert (status, json.loads(text)["code"]) == (413, "file_too_large")
        # A file that only the bot refuses passes the page.
        assert (await page.post("/sandbox/files", bytes(3 << 19), name="稍大.txt", **place))[0] == 204
        assert "超过 1 MB" in _text(await page.frame("message", "没有入库"))
        svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
        assert json.loads((await page.post("/sandbox/images", svg, name="a.png", **place))[1])["code"] == "bad_image"
        assert json.loads((await page.post("/sandbox/replay", b"{}"))[1])["code"] == "bad_recording"
        for chat, speaker in (("x", OWNER), ("g1", OWNER), (GROUP, "1"), (GROUP, "900000000000"), (GROUP, "9" * 40)):
            status, text = await page.post("/sandbox/files", b"x", chat=chat, speaker=speaker, name="a.txt")
            assert (status, json.loads(text)["code"]) == (400, "bad_request")
        for kind, fields in (
            ("shell", {}),
            ("say", {"chat": GROUP, "speaker": OWNER, "text": "x", "group_id": 1}),
            ("recall", {"message": "12345", "operator": OWNER}),
            ("trouble", {"name": "fire", "on": True}),
        ):
            await page.do(kind, **fields)
            assert (await page.frame("error"))["code"] in ("bad_request", "unknown_message")
        # A lone surrogate breaks neither the page nor the bot.
        await page.say("半个字\ud83d", at=False)
        assert "半个字?" in _text(await page.frame("message", "半个字"))


async def test_of_real_groups_a_page_learns_and_does_nothing(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(LLM__API_KEY="")
    qq = await client_factory(bot)
    await qq.upload_group_file(777, 10002, "真群机密.txt", RULES.encode())
    await qq.wait_sent("已入库")
    await qq.upload_private_file(10002, "私人机密.txt", RULES.encode())
    await qq.wait_sent("已入库")
    group = {"id": 777, "name": "真群", "members": [{"id": 10002, "name": "真人", "role": "owner"}]}
    said = {"kind": "say", "at": 0, "chat": "g777", "speaker": 10002, "text": "/kb clear", "message": 1}
    forged = {"format": "qunzhi-conversation", "version": 1, "groups": [group], "friends": [], "steps": [said]}
    async with opened(bot) as page:
        for chat in ("g777", "p10002"):
            await page.do("watch", chat=chat)
            assert (await page.frame("error"))["code"] == "bad_request"
            async with page.session.get(f"{page.address}/sandbox/recording", params={"chat": chat}) as response:
                assert response.status == 400
        await page.say("几点熄灯？", chat="g777", speaker="10002")
        await page.frame("error", "g777")
        assert (
            json.loads((await page.post("/sandbox/replay", json.dumps(forged).encode()))[1])["code"] == "bad_recording"
        )
        # Meanwhile the group asks: its question, answer and evidence stay its own.
        await qq.group_message(777, 10002, "宿舍几点熄灯？", at_bot=True)
        await qq.wait_sent("十一点熄灯")
        await page.do("watch", chat=GROUP)
        await page.frame("knowledge")
        async with page.session.get(f"{page.address}/sandbox/recording") as response:
            recording = await response.text()
        assert "机密" not in recording + json.dumps(page.frames, ensure_ascii=False)
        assert "十一点" not in recording + json.dumps(page.frames, ensure_ascii=False)


async def test_frames_that_are_none_leave_the_page_open(shared_bot: BotProcess) -> None:
    before = shared_bot.output().count("Traceback")
    async with opened(shared_bot) as page:
        for frame in (b"\x00\xff", "", "[" * 100_000, "null", '{"type":', '"' + "a" * 2**20):
            await page.send(frame)
            assert (await page.frame("error"))["code"] == "bad_request"
        await page.do("watch", chat=GROUP)
        await page.frame("knowledge")
    assert shared_bot.output().count("Traceback") == before


async def test_expired_links_and_a_refused_message(bot_factory: BotFactory) -> None:
    bot = await bot_factory(LLM__API_KEY="", SEND__GROUP_INTERVAL_S="0")
    async with opened(bot) as page:
        await page.do("trouble", name="expired", on=True)
        await page.frame("troubles", "expired")
        await page.post("/sandbox/files", RULES.encode(), chat=GROUP, speaker=OWNER, name="规定.txt")
        assert "没有入库" in _text(await page.frame("message", "规定.txt", lambda frame: bool(_text(frame))))
        await page.do("trouble", name="expired", on=False)
        await page.post("/sandbox/files", RULES.encode(), chat=GROUP, speaker=OWNER, name="规定.txt")
        await page.frame("message", "已入库")
        # If the answer is refused as a text, other formats are tried, each of which is shown as a failed call.
        await page.do("trouble", name="refused", on=True)
        await page.say("几点熄灯？")
        for action in ("send_msg", "send_msg", "upload_group_file"):
            await page.frame("call", action, lambda frame: frame["call"]["status"] == "failed")
        await page.do("trouble", name="refused", on=False)
        await page.do("cut")
        await page.frame("bot", fits=lambda frame: not frame["bot"]["connected"])
        await page.frame("bot", fits=lambda frame: frame["bot"]["connected"])
        await page.say("几点熄灯？")
        await page.frame("message", "十一点熄灯")


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {"Host": "evil.example"}),
        ("/sandbox/recording", {"Host": "qunzhi.evil.example:8080"}),
    ],
)
async def test_a_name_elsewhere_that_points_here_gets_nothing(
    shared_bot: BotProcess, path: str, headers: dict[str, str]
) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{shared_bot.port}{path}", headers=headers) as response,
    ):
        assert response.status == 403
        assert "SANDBOX__TOKEN" in await response.text()


async def test_other_pages_cannot_act(shared_bot: BotProcess) -> None:
    address = f"http://127.0.0.1:{shared_bot.port}"
    async with aiohttp.ClientSession() as session:
        for origin in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"{address}0"}):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(f"{address}/sandbox/ws", headers=origin)
            assert refused.value.status == 403
            async with session.post(f"{address}/sandbox/replay", data=b"{}", headers=origin) as response:
                assert response.status == 403
        async with session.get(address) as response:
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
        for path in ("/sandbox/static/../guard.py", "/sandbox/static/%2e%2e/guard.py", "/sandbox/files/x"):
            async with session.get(address + path) as response:
                assert response.status == 404


@pytest.fixture(scope="module")
async def shared_bot(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BotProcess]:
    settings = {"LLM__API_KEY": "", "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": "0"}
    async with BotProcess(tmp_path_factory.mktemp("sandbox"), settings) as bot:
        yield bot


async def test_with_a_token_the_page_wants_it(bot_factory: BotFactory) -> None:
    bot = await bot_factory(LLM__API_KEY="", SANDBOX__ENABLED="true", SANDBOX__TOKEN="芝麻 开门 芝麻&", HOST="0.0.0.0")
    address = f"http://127.0.0.1:{bot.port}"
    headers = {"Origin": address}
    async with aiohttp.ClientSession(headers=headers, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.get(address) as response:
            assert response.status == 401
            assert "password" in await response.text()
        for path in ("/sandbox/recording",):
            async with session.get(address + path) as response:
                assert response.status == 403
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(f"{address}/sandbox/ws")
        async with session.post(f"{address}/sandbox/login", data={"token": "错"}) as response:
            assert (response.status, response.url.query_string) == (401, "wrong=1")

        async def guess(number: int) -> str:
            async with session.post(f"{address}/sandbox/login", data={"token": f"错{number}"}) as response:
                return response.url.query_string

        # Of many parallel attempts, two more are checked. The rest have to wait, even the right token, but not for
        # long.
        told = await asyncio.gather(*map(guess, range(60)))
        assert sorted(told) == ["wait=1"] * 58 + ["wrong=1"] * 2
        async with session.post(f"{address}/sandbox/login", data={"token": "芝麻 开门 芝麻&"}) as response:
            assert (response.status, response.url.query_string) == (401, "wait=1")
        await asyncio.sleep(1)
        async with session.post(f"{address}/sandbox/login", data={"token": "芝麻 开门 芝麻&"}) as response:
            assert response.status == 200
        async with session.ws_connect(f"{address}/sandbox/ws") as socket:
            assert (await socket.receive_json())["type"] == "stage"
    assert f"http://127.0.0.1:{bot.port}/（要输入 SANDBOX__TOKEN）" in bot.output()


async def test_where_there_is_no_page(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    for host, enabled in (("127.0.0.1", "false"), ("0.0.0.0", None)):
        bot = await bot_factory(LLM__API_KEY="", HOST=host, SANDBOX__ENABLED=enabled)
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{bot.port}/") as response:
            assert response.status == 404
        await bot.wait_output("没有打开（SANDBOX__ENABLED）")
        client = await client_factory(bot)
        await client.private_message(10002, "/help")
        await client.wait_sent("/ask")
        assert "900000000000" not in bot.output()


async def test_the_terminal_tells_where_everything_is(bot_factory: BotFactory) -> None:
    bot = await bot_factory()
    output = await bot.wait_output("数据目录")
    for told in (f"http://127.0.0.1:{bot.port}/", f"{bot.url}（已设置令牌）", "test-model", str(bot.data_directory)):
        assert told in output
    assert output.count("试用网页") == 1
