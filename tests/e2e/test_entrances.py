"""Tests of every entrance of the running bot, and of what keeps strangers out."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.bot_process import ROOT, BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.observed_client import HandshakeRefused

NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
SELF_ID = 3889000001
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "data", "tests", "docs", "benchmarks", "*.lock")

# A plugin that prints the routes of the running application once the page has connected its account.
_ROUTE_LIST = """
import json
from nonebot import get_app, get_driver

def _routes(application, prefix=""):
    while not hasattr(application, "routes"):
        inner = [value for value in vars(application).values() if callable(value) and hasattr(value, "__dict__")]
        if len(inner) != 1:
            yield ["APPLICATION", prefix, type(application).__name__]
            return
        application = inner[0]
    for route in application.routes:
        path = prefix + route.path
        if hasattr(route, "app") and type(route).__name__ == "Mount":
            yield from _routes(route.app, path)
        elif type(route).__name__.endswith("WebSocketRoute"):
            yield ["WEBSOCKET", path, ""]
        else:
            for method in sorted(route.methods):
                yield [method, path, ""]

@get_driver().on_bot_connect
async def _list():
    print("ROUTES " + json.dumps(sorted(_routes(get_app()))), flush=True)
"""

REVERSE_WEBSOCKET = "token, Origin; without a token Host and Origin"
PAGE = "cookie; without a token Host"
PAGE_ACTION = "cookie, own Origin; without a token Host and own Origin"
PUBLIC = "without a token Host"
# The guards of each route of the bot. The test fails for a route that is missing here, because it has no guard.
GUARDS = {
    ("WEBSOCKET", "/onebot/v11/"): REVERSE_WEBSOCKET,
    ("WEBSOCKET", "/onebot/v11/ws"): REVERSE_WEBSOCKET,
    ("WEBSOCKET", "/onebot/v11/ws/"): REVERSE_WEBSOCKET,
    ("WEBSOCKET", "/sandbox/ws"): PAGE_ACTION,
    # The login form if a token is required.
    ("GET", "/"): PUBLIC,
    ("HEAD", "/"): PUBLIC,
    # The page's own files, and downloads, whose addresses cannot be guessed.
    ("APPLICATION", "/sandbox/static"): PUBLIC,
    ("GET", "/sandbox/files/{key}"): PUBLIC,
    ("HEAD", "/sandbox/files/{key}"): PUBLIC,
    ("POST", "/sandbox/login"): "own Origin; without a token Host",
    ("POST", "/sandbox/files"): PAGE_ACTION,
    ("POST", "/sandbox/images"): PAGE_ACTION,
    ("GET", "/sandbox/recording"): PAGE,
    ("HEAD", "/sandbox/recording"): PAGE,
    ("POST", "/sandbox/replay"): PAGE_ACTION,
}


async def knock(port: int, kind: str, path: str, *headers: tuple[str, str]) -> int:
    """Return the status of a request over a socket of its own. `headers` are sent exactly as given."""
    lines = list(headers)
    if not any(name.lower() == "host" for name, _ in headers):
        lines.append(("Host", f"127.0.0.1:{port}"))
    if kind == "WEBSOCKET":
        key = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        lines += [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), key]
    else:
        lines += [("Connection", "close"), ("Content-Length", "0")]
    method = {"WEBSOCKET": "GET", "APPLICATION": "GET"}.get(kind, kind)
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1"))
            status = await reader.readline()
            return int(status.split()[1])
        finally:
            writer.close()


async def post(port: int, path: str, body: object, *headers: tuple[str, str]) -> int:
    """Return the status of an HTTP POST with a JSON body."""
    content = json.dumps(body).encode()
    lines = [("Host", f"127.0.0.1:{port}"), ("Connection", "close"), ("Content-Length", str(len(content))), *headers]
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
            return int((await reader.readline()).split()[1])
        finally:
            writer.close()


@asynccontextmanager
async def _bot_with_route_list(bot_factory: BotFactory, copy: Path, **settings: str) -> AsyncGenerator[BotProcess]:
    await asyncio.to_thread(shutil.copytree, ROOT, copy, ignore=_NOT_COPIED)
    (copy / "plugins" / "route_list.py").write_text(_ROUTE_LIST, encoding="utf-8")
    # NoneBot would serve its documentation with these settings.
    (copy / ".env.prod").write_text("FASTAPI_DOCS_URL=/docs\nFASTAPI_OPENAPI_URL=/openapi.json\n", encoding="utf-8")
    async with bot_factory.create(script=copy / "bot.py", **NO_MODEL, **settings) as bot:
        yield bot


def _routes(output: str) -> set[tuple[str, str]]:
    listed = output.partition("ROUTES ")[2].splitlines()[0]
    return {(kind, path) for kind, path, _ in json.loads(listed)}


async def test_every_route_has_its_guard(bot_factory: BotFactory, tmp_path: Path) -> None:
    page_token = "let-me-in-please"
    async with _bot_with_route_list(bot_factory, tmp_path / "copy", SANDBOX__TOKEN=page_token) as bot:
        assert _routes(await bot.wait_output("ROUTES ")) == set(GUARDS)
        own = ("Origin", f"http://127.0.0.1:{bot.port}")
        foreign = ("Origin", "https://evil.example")
        for (kind, route), guard in GUARDS.items():
            path = route.replace("{key}", "x")
            self_id = ("X-Self-ID", str(SELF_ID + 1))
            right = ("Authorization", f"Bearer {bot.token}")
            if guard == REVERSE_WEBSOCKET:
                assert await knock(bot.port, kind, path, self_id) == 403, route
                assert await knock(bot.port, kind, path, self_id, ("Authorization", "Bearer wrong")) == 403, route
                assert await knock(bot.port, kind, path, self_id, right, foreign) == 403, route
                assert await knock(bot.port, kind, path, self_id, right, ("Origin", "null")) == 403, route
            elif guard in (PAGE, PAGE_ACTION):
                assert await knock(bot.port, kind, path, own) == 403, route
            elif kind == "POST":
                assert await knock(bot.port, kind, path, foreign) == 403, route
        # No route accepts OneBot events by POST, and NoneBot's documentation is not served.
        event = {"post_type": "meta_event", "meta_event_type": "heartbeat", "time": 1, "self_id": 1}
        for path in ("/onebot/v11/", "/onebot/v11/http", "/onebot/v11/http/", "/onebot/v11/ws", "/onebot/v11"):
            for headers in ((), (("Authorization", "Bearer wrong"),), (("Authorization", f"Bearer {bot.token}"),)):
                status = await post(bot.port, path, event, ("X-Self-ID", "1"), *headers, own)
                assert status in (403, 404, 405), path
        for path in ("/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect"):
            assert await knock(bot.port, "GET", path) in (403, 404), path


async def test_without_a_token_only_names_of_this_machine_are_served(bot_factory: BotFactory) -> None:
    bot = bot_factory.create(ONEBOT_ACCESS_TOKEN=None, **NO_MODEL)
    bot.token = ""
    async with bot:
        own = ("Origin", f"http://127.0.0.1:{bot.port}")
        for (kind, route), guard in GUARDS.items():
            path = route.replace("{key}", "x")
            elsewhere = f"127.0.0.1.evil.example:{bot.port}"
            for hosts in (["evil.example"], [elsewhere], ["127.0.0.1", "evil.example"], [""]):
                headers = [("Host", host) for host in hosts]
                status = await knock(bot.port, kind, path, *headers, ("X-Self-ID", "10"), own)
                assert status in (400, 403), (route, hosts, guard)
            if kind == "WEBSOCKET":
                for origin in ("http://evil.example", "null", "file://", f"http://127.0.0.1:{bot.port + 1}"):
                    assert await knock(bot.port, kind, path, ("X-Self-ID", "10"), ("Origin", origin)) == 403, route
        # Use a separate account for each, because the previous socket may not be gone yet.
        for number, host in enumerate((f"LOCALHOST:{bot.port}", "localhost.", f"[::1]:{bot.port}", "127.0.0.1")):
            self_id = ("X-Self-ID", f"2{number}")
            status = await knock(bot.port, "WEBSOCKET", "/onebot/v11/ws", ("Host", host), self_id)
            assert status == 101, host


async def test_what_a_client_has_to_show(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)

    async def status(*headers: tuple[str, str], path: str = "/onebot/v11/ws") -> int:
        return await knock(bot.port, "WEBSOCKET", path, *headers)

    right, self_id = ("Authorization", f"Bearer {bot.token}"), ("X-Self-ID", "10")
    refused: Sequence[Sequence[tuple[str, str]]] = (
        (right,),
        (right, ("X-Self-ID", "")),
        (right, ("X-Self-ID", "abc")),
        (right, ("X-Self-ID", "-10")),
        (right, ("X-Self-ID", "010")),
        (right, ("X-Self-ID", "1" * 30)),
        (right, self_id, ("X-Self-ID", "11")),
        (self_id,),
        (self_id, ("Authorization", bot.token)),
        (self_id, ("Authorization", f"Basic {bot.token}")),
        (self_id, ("Authorization", f"Bearer {bot.token}x")),
        (self_id, ("Authorization", f"Bearer {bot.token.upper()}")),
        (self_id, right, ("Authorization", "Bearer wrong")),
        (self_id, ("Authorization", "Bearer \xff\xfe")),
    )
    for headers in refused:
        assert await status(*headers) == 403, headers
    assert await status(self_id, path=f"/onebot/v11/ws?access_token={bot.token}") == 403
    for number, scheme in enumerate(("Bearer", "bearer", "Token")):
        accepted = (("X-Self-ID", f"1{number}"), ("Authorization", f"{scheme} {bot.token}"))
        assert await status(*accepted) == 101, scheme
    # Behind a proxy the bot has another name, and its own page may connect.
    named = (("Host", "bot.example.com"), ("Origin", "https://bot.example.com"))
    assert await status(("X-Self-ID", "20"), right, *named) == 101

    # None of these attempts has locked the account out.
    for wrong in (None, "wrong"):
        with pytest.raises(HandshakeRefused):
            await client_factory.create(bot, token=wrong).connect()
    client = await client_factory(bot)
    asked = await client.private_message(10002, "/help")
    assert "/ask" in (await client.wait_sent(lambda sent: sent.reply_id == asked)).text


async def test_the_debug_log_holds_no_secret(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    secrets = {
        "ONEBOT_ACCESS_TOKEN": "canary-access-token",
        "LLM__API_KEY": "canary-model-key",
        "EMBEDDING__API_KEY": "canary-embedding-key",
        "RERANK__API_KEY": "canary-rerank-key",
        "SANDBOX__TOKEN": "canary-page-token",
    }
    bot = bot_factory.create(LOG_LEVEL="DEBUG")
    bot.environment |= secrets
    bot.token = secrets["ONEBOT_ACCESS_TOKEN"]
    async with bot:
        client = await client_factory(bot)
        await client.upload_group_file(777, 10002, "熄灯.md", "宿舍每晚十一点熄灯。".encode())
        await client.wait_sent("已入库", timeout=30)
        await client.group_message(777, 10002, "几点熄灯？", at_bot=True)
        await client.wait_sent("十一点", timeout=30)
        assert await knock(bot.port, "WEBSOCKET", "/onebot/v11/ws", ("Authorization", "Bearer canary-wrong")) == 403
        # A client that is set up the wrong way sends its token in the address.
        assert await knock(bot.port, "WEBSOCKET", "/onebot/v11/ws?access_token=canary-access-token") == 403
        await bot.stop()
    assert "[DEBUG]" in bot.output()
    assert "canary" not in bot.output()
