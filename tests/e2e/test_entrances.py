"""Tests of every entrance of the running bot, and of what keeps strangers out."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.bot_process import ROOT, BotProcess
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.e2e.observed_client import HandshakeRefused

NO_MODEL = {"LLM__BASE_URL": None, "LLM__API_KEY": None, "LLM__MODEL": None}
SELF_ID = 3889000001
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "data", "tests", "docs", "benchmarks", "*.lock")

# A plugin that prints the table of routes once the page has connected its account. It also adds routes behind the
# gate's back, as an adapter or a library would.
_ROUTE_LIST = """
import json
from nonebot import get_app, get_driver
from qq.connection.routes import route_table

get_app().add_api_route("/stray", lambda: "unguarded")
get_app().add_api_route("/onebot/v11/", lambda: "unguarded")

def _routes():
    for group in route_table.groups:
        for route in group.application.routes:
            guard, kind = type(group.guard).__name__, type(route).__name__
            if kind == "Route":
                yield from ([method, route.path, guard] for method in sorted(route.methods))
            else:
                yield [kind, route.path, guard]

@get_driver().on_bot_connect
async def _list():
    print("ROUTES " + json.dumps(sorted(_routes())), flush=True)
"""

CLIENT = "ClientGuard"  # token, Origin; without a token Host and Origin; a QQ number
PAGE = "PageGuard"  # cookie; without a token Host; to change something own Origin
NEIGHBOUR = "NeighbourGuard"  # Origin; without ONEBOT_ACCESS_TOKEN Host
BEARER = "BearerGuard"  # HTTP__TOKEN, Origin
# The guard of each route of the bot. The test fails for a route that is missing here.
GUARDS = {
    ("WebSocketRoute", "/onebot/v11/"): CLIENT,
    ("WebSocketRoute", "/onebot/v11/ws"): CLIENT,
    ("WebSocketRoute", "/onebot/v11/ws/"): CLIENT,
    ("GET", "/healthz"): NEIGHBOUR,
    ("HEAD", "/healthz"): NEIGHBOUR,
    ("GET", "/status"): BEARER,
    ("HEAD", "/status"): BEARER,
    ("GET", "/operator"): NEIGHBOUR,
    ("HEAD", "/operator"): NEIGHBOUR,
    ("Mount", "/operator/static"): NEIGHBOUR,
    ("GET", "/operator/api/groups"): BEARER,
    ("HEAD", "/operator/api/groups"): BEARER,
    ("GET", "/operator/api/documents"): BEARER,
    ("HEAD", "/operator/api/documents"): BEARER,
    ("GET", "/operator/api/statistics"): BEARER,
    ("HEAD", "/operator/api/statistics"): BEARER,
    ("GET", "/operator/api/document"): BEARER,
    ("HEAD", "/operator/api/document"): BEARER,
    ("GET", "/operator/api/passages"): BEARER,
    ("HEAD", "/operator/api/passages"): BEARER,
    ("POST", "/operator/api/deletion"): BEARER,
    ("WebSocketRoute", "/sandbox/ws"): PAGE,
    ("GET", "/"): PAGE,
    ("HEAD", "/"): PAGE,
    ("Mount", "/sandbox/static"): PAGE,
    ("GET", "/sandbox/files/{key}"): PAGE,
    ("HEAD", "/sandbox/files/{key}"): PAGE,
    ("POST", "/sandbox/login"): PAGE,
    ("POST", "/sandbox/files"): PAGE,
    ("POST", "/sandbox/images"): PAGE,
    ("GET", "/sandbox/recording"): PAGE,
    ("HEAD", "/sandbox/recording"): PAGE,
    ("POST", "/sandbox/replay"): PAGE,
    ("GET", "/sandbox/library/document"): PAGE,
    ("HEAD", "/sandbox/library/document"): PAGE,
    ("GET", "/sandbox/library/passages"): PAGE,
    ("HEAD", "/sandbox/library/passages"): PAGE,
    ("POST", "/sandbox/library/deletion"): PAGE,
}
# What the page shows without a cookie: the login form, its own files, and downloads, whose addresses cannot be guessed.
PUBLIC = {"/", "/sandbox/static", "/sandbox/files/{key}"}
HTTP_TOKEN = "for-my-monitoring"


def _path(kind: str, route: str) -> str:
    """Return an address that the route serves."""
    return f"{route}/page.js" if kind == "Mount" else route.replace("{key}", "x")


async def knock(port: int, kind: str, path: str, *headers: tuple[str, str]) -> int:
    """Return the status of a request over a socket of its own. `headers` are sent exactly as given."""
    lines = list(headers)
    if not any(name.lower() == "host" for name, _ in headers):
        lines.append(("Host", f"127.0.0.1:{port}"))
    if kind == "WebSocketRoute":
        key = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        lines += [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), key]
    else:
        lines += [("Connection", "close"), ("Content-Length", "0")]
    method = {"WebSocketRoute": "GET", "Mount": "GET"}.get(kind, kind)
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


def _routes(output: str) -> dict[tuple[str, str], str]:
    listed = output.partition("ROUTES ")[2].splitlines()[0]
    return {(kind, path): guard for kind, path, guard in json.loads(listed)}


async def test_every_route_has_its_guard(bot_factory: BotFactory, tmp_path: Path) -> None:
    tokens = {"SANDBOX__TOKEN": "let-me-in-please", "HTTP__TOKEN": HTTP_TOKEN}
    async with _bot_with_route_list(bot_factory, tmp_path / "copy", **tokens) as bot:
        assert _routes(await bot.wait_output("ROUTES ")) == GUARDS
        own = ("Origin", f"http://127.0.0.1:{bot.port}")
        foreign = ("Origin", "https://evil.example")
        for (kind, route), guard in GUARDS.items():
            path = _path(kind, route)
            self_id = ("X-Self-ID", str(SELF_ID + 1))
            right = ("Authorization", f"Bearer {bot.token}")
            if guard == CLIENT:
                assert await knock(bot.port, kind, path, self_id) == 403, route
                assert await knock(bot.port, kind, path, self_id, ("Authorization", "Bearer wrong")) == 403, route
                assert await knock(bot.port, kind, path, self_id, right, foreign) == 403, route
                assert await knock(bot.port, kind, path, self_id, right, ("Origin", "null")) == 403, route
            elif guard == BEARER:
                assert await knock(bot.port, kind, path) == 401, route
                assert await knock(bot.port, kind, path, right) == 401, route
                right = ("Authorization", f"Bearer {HTTP_TOKEN}")
                assert await knock(bot.port, kind, path, right, foreign) == 403, route
                # A request without a group is let in, and is not complete.
                complete = route in ("/status", "/operator/api/groups")
                assert await knock(bot.port, kind, path, right) == (200 if complete else 400), route
            elif guard == NEIGHBOUR:
                assert await knock(bot.port, kind, path, foreign) == 403, route
                assert await knock(bot.port, kind, path, ("Host", "bot.example.com")) == 200, route
            elif route == "/sandbox/login":
                assert await knock(bot.port, kind, path, foreign) == 403, route
            elif route not in PUBLIC:
                assert await knock(bot.port, kind, path, own) == 403, route
        # What is not in the table does not exist, and neither does a method that a route does not have.
        assert await knock(bot.port, "GET", "/stray") == 404
        assert await knock(bot.port, "GET", "/stray", ("Authorization", f"Bearer {HTTP_TOKEN}")) == 404
        assert await knock(bot.port, "WebSocketRoute", "/stray") == 403
        assert await knock(bot.port, "POST", "/healthz") == 405
        # No route accepts OneBot events by POST, and NoneBot's documentation is not served.
        event = {"post_type": "meta_event", "meta_event_type": "heartbeat", "time": 1, "self_id": 1}
        for path in ("/onebot/v11/", "/onebot/v11/http", "/onebot/v11/http/", "/onebot/v11/ws", "/onebot/v11"):
            for headers in ((), (("Authorization", "Bearer wrong"),), (("Authorization", f"Bearer {bot.token}"),)):
                status = await post(bot.port, path, event, ("X-Self-ID", "1"), *headers, own)
                assert status in (403, 404, 405), path
        for path in ("/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect"):
            assert await knock(bot.port, "GET", path) == 404, path


async def test_without_a_token_only_names_of_this_machine_are_served(bot_factory: BotFactory) -> None:
    bot = bot_factory.create(ONEBOT_ACCESS_TOKEN=None, HTTP__TOKEN=HTTP_TOKEN, **NO_MODEL)
    bot.token = ""
    async with bot:
        own = ("Origin", f"http://127.0.0.1:{bot.port}")
        for (kind, route), guard in GUARDS.items():
            path = _path(kind, route)
            elsewhere = f"127.0.0.1.evil.example:{bot.port}"
            for hosts in (["evil.example"], [elsewhere], ["127.0.0.1", "evil.example"], [""]):
                headers = [("Host", host) for host in hosts]
                status = await knock(bot.port, kind, path, *headers, ("X-Self-ID", "10"), own)
                assert status in (400, 403), (route, hosts, guard)
            if kind == "WebSocketRoute":
                for origin in ("http://evil.example", "null", "file://", f"http://127.0.0.1:{bot.port + 1}"):
                    assert await knock(bot.port, kind, path, ("X-Self-ID", "10"), ("Origin", origin)) == 403, route
        # Use a separate account for each, because the previous socket may not be gone yet.
        for number, host in enumerate((f"LOCALHOST:{bot.port}", "localhost.", f"[::1]:{bot.port}", "127.0.0.1")):
            self_id = ("X-Self-ID", f"2{number}")
            status = await knock(bot.port, "WebSocketRoute", "/onebot/v11/ws", ("Host", host), self_id)
            assert status == 101, host


async def test_what_a_client_has_to_show(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(**NO_MODEL)

    async def status(*headers: tuple[str, str], path: str = "/onebot/v11/ws") -> int:
        return await knock(bot.port, "WebSocketRoute", path, *headers)

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


async def test_what_the_operators_programs_see(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    bot = await bot_factory(SUPERUSERS="10001", HTTP__TOKEN=HTTP_TOKEN, SANDBOX__ENABLED="false", **NO_MODEL)
    client = await client_factory(bot)
    address = f"http://127.0.0.1:{bot.port}"
    async with httpx.AsyncClient(base_url=address) as http:
        alive = await http.get("/healthz")
        assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {HTTP_TOKEN}"}):
            refused = await http.get("/status", headers=headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert refused.text == "请求头 Authorization 里要有 HTTP__TOKEN。"
        status = (await http.get("/status", headers={"Authorization": f"Bearer {HTTP_TOKEN}"})).json()
        asked = await client.private_message(10001, "/bot status")
        shown = (await client.wait_sent(lambda sent: sent.reply_id == asked)).text
        assert status["accounts"] == [str(client.self_id)]
        assert status["model"] == ""
        assert status["files_building"] == status["messages_waiting"] == 0
        for known in (*status["accounts"], status["embedding"], status["reranker"], status["version"]):
            assert known in shown
        missing = await http.get("/nothing")
        assert (missing.status_code, missing.text) == (404, "没有这个地址。")
        # Without the page, its address does not exist either.
        assert (await http.get("/")).status_code == 404

    quiet = await bot_factory(SANDBOX__ENABLED="false", **NO_MODEL)
    assert await knock(quiet.port, "GET", "/status") == 404
    assert await knock(quiet.port, "GET", "/status", ("Authorization", "Bearer ")) == 404
    assert await knock(quiet.port, "GET", "/healthz") == 200


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
async def test_what_cannot_be_parsed_is_logged_under_its_own_number_and_as_text_at_debug_only(
    bot_factory: BotFactory, client_factory: ClientFactory, level: str
) -> None:
    bot = await bot_factory(LOG_LEVEL=level)
    client = await client_factory(bot)
    await client.group_message(777, 10002, "/help")
    await client.wait_sent("/kb")
    frame = {"time": 1e300, "self_id": client.self_id, "post_type": "message", "raw_message": "canary"}
    await client.send_raw(json.dumps(frame))
    told = await bot.wait_output("an event is ignored because it cannot be parsed")
    assert ("canary" in told) == (level == "DEBUG")
    await client.close()
    output = await bot.wait_output("closed by peer")
    (ignored,) = (line for line in output.splitlines() if "cannot be parsed" in line)
    (closed,) = (line for line in output.splitlines() if "closed by peer" in line)
    number = re.search(r"\[([0-9a-f]{6})\] ", ignored)
    assert number is not None
    before = output.partition(ignored)[0].splitlines()
    assert not any(f"[{number[1]}]" in line for line in before if level == "INFO")
    assert not re.search(r"\[[0-9a-f]{6}\] ", closed)


async def test_the_debug_log_holds_no_secret(bot_factory: BotFactory, client_factory: ClientFactory) -> None:
    secrets = {
        "ONEBOT_ACCESS_TOKEN": "canary-access-token",
        "LLM__API_KEY": "canary-model-key",
        "EMBEDDING__API_KEY": "canary-embedding-key",
        "RERANK__API_KEY": "canary-rerank-key",
        "SANDBOX__TOKEN": "canary-page-token",
        "HTTP__TOKEN": "canary-http-token",
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
        assert (
            await knock(bot.port, "WebSocketRoute", "/onebot/v11/ws", ("Authorization", "Bearer canary-wrong")) == 403
        )
        # A client that is set up the wrong way sends its token in the address.
        assert await knock(bot.port, "WebSocketRoute", "/onebot/v11/ws?access_token=canary-access-token") == 403
        await bot.stop()
    assert "[DEBUG]" in bot.output()
    assert "canary" not in bot.output()
