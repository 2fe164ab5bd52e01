"""Tests of the gate: what is not in the table does not exist, and a guard decides about every route of its group."""

import logging

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.types import Message, Scope
from starlette.websockets import WebSocket

from qq.connection.gate import Gate
from qq.connection.guards import BearerGuard, NeighbourGuard
from qq.connection.routes import Refusal, RouteTable

ORIGIN = {"Origin": "https://evil.example"}


class Nobody:
    """A guard that admits nobody."""

    def refusal(self, scope: Scope) -> Refusal | None:
        return Refusal(f"not to {scope['path']}", 403)


class Everybody:
    """A guard that admits everybody."""

    def refusal(self, scope: Scope) -> Refusal | None:
        return None


async def _hello(request: Request) -> Response:
    return PlainTextResponse(f"hello {request.url.path}")


async def _socket(socket: WebSocket) -> None:
    await socket.accept()


def application(*paths: str) -> Starlette:
    return Starlette(routes=[Route(path, _hello) for path in paths])


def browser(table: RouteTable) -> httpx.AsyncClient:
    """Return a client of the port, behind whose gate there is an application with an open route."""
    transport = httpx.ASGITransport(Gate(application("/open", "/shut"), table))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080")


async def test_only_what_is_in_the_table_exists() -> None:
    table = RouteTable()
    table.add(Everybody(), application("/here", "/files/{key}"))
    table.add(Nobody(), application("/shut"))
    async with browser(table) as client:
        assert (await client.get("/here")).text == "hello /here"
        assert (await client.get("/files/a")).text == "hello /files/a"
        assert (await client.post("/here")).status_code == 405
        for path in ("/open", "/", "/here/", "/files/a/b", "/files/../shut/x"):
            answer = await client.get(path)
            assert (answer.status_code, answer.text) == (404, "没有这个地址。"), path
            assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_guard_decides_about_all_routes_and_methods_of_its_group() -> None:
    table = RouteTable()
    routes = [Route("/a", _hello), Route("/a", _hello, methods=["POST"]), Mount("/b", application("/c"))]
    table.add(Nobody(), Starlette(routes=routes))
    table.add(Everybody(), application("/d"))
    async with browser(table) as client:
        for path in ("/a", "/b/c", "/b/unknown"):
            for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS"):
                answer = await client.request(method, path)
                assert answer.status_code == 403, (method, path)
                assert answer.text == ("" if method == "HEAD" else f"not to {path}"), (method, path)
        assert (await client.get("/d")).status_code == 200


async def test_a_refused_handshake_is_in_the_log_and_a_strangers_path_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = RouteTable()
    table.add(Nobody(), Starlette(routes=[WebSocketRoute("/ws", _socket)]))

    async def handshake(path: str) -> Message:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "websocket", "path": path, "headers": [], "root_path": ""}
        await Gate(application(), table)(scope, receive, send)
        return sent[0]

    with caplog.at_level(logging.WARNING):
        for path in ("/ws", "/nothing\nforged line"):
            assert (await handshake(path))["type"] == "websocket.close"
    assert [record.getMessage() for record in caplog.records] == ["a connection to /ws was refused: not to /ws"]


def test_two_groups_cannot_share_a_path() -> None:
    table = RouteTable()
    table.add(Nobody(), application("/a", "/b"))
    with pytest.raises(ValueError, match="/b"):
        table.add(Everybody(), application("/b", "/c"))
    # A WebSocket and a page may share a path: they are different entrances.
    table.add(Everybody(), Starlette(routes=[WebSocketRoute("/a", _socket)]))


class Asked(BaseModel):
    message: str


async def test_an_api_brings_its_own_validation_and_openapi_document() -> None:
    router = APIRouter(prefix="/sgbx")

    @router.post("/document_chat")
    async def _chat(asked: Asked) -> Asked:
        return asked

    api = FastAPI(openapi_url="/sgbx/openapi.json", docs_url=None, redoc_url=None)
    api.include_router(router)
    table = RouteTable()
    table.add(BearerGuard("HTTP__TOKEN", "sixteen-letters!"), api)
    right = {"Authorization": "Bearer sixteen-letters!"}
    async with browser(table) as client:
        for path in ("/sgbx/document_chat", "/sgbx/openapi.json"):
            assert (await client.post(path, json={"message": "x"})).status_code == 401
        answer = await client.post("/sgbx/document_chat", json={"message": "扩写"}, headers=right)
        assert answer.json() == {"message": "扩写"}
        assert (await client.post("/sgbx/document_chat", json={}, headers=right)).status_code == 422
        described = (await client.get("/sgbx/openapi.json", headers=right)).json()
        assert list(described["paths"]) == ["/sgbx/document_chat"]


async def test_the_bearer_guard() -> None:
    table = RouteTable()
    table.add(BearerGuard("HTTP__TOKEN", "right"), application("/status"))
    async with browser(table) as client:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer"}, {"Authorization": "right"}):
            assert (await client.get("/status", headers=headers)).status_code == 401
        right = {"Authorization": "Bearer right"}
        assert (await client.get("/status", headers=right)).status_code == 200
        # Behind a proxy the bot has another name.
        assert (await client.get("/status", headers={**right, "Host": "bot.example.com"})).status_code == 200
        assert (await client.get("/status", headers={**right, **ORIGIN})).status_code == 403
    with pytest.raises(ValueError, match="HTTP__TOKEN"):
        BearerGuard("HTTP__TOKEN", "")


@pytest.mark.parametrize(
    ("has_access_token", "headers", "status"),
    [
        (False, {}, 200),
        (False, {"Host": "localhost:8080"}, 200),
        (False, {"Host": "evil.example"}, 403),
        (False, {"Origin": "http://127.0.0.1:8080"}, 200),
        (False, ORIGIN, 403),
        (True, {"Host": "bot:8080"}, 200),
        (True, ORIGIN, 403),
    ],
)
async def test_the_neighbour_guard(has_access_token: bool, headers: dict[str, str], status: int) -> None:
    table = RouteTable()
    table.add(NeighbourGuard(has_access_token=has_access_token), application("/healthz"))
    async with browser(table) as client:
        assert (await client.get("/healthz", headers=headers)).status_code == status
