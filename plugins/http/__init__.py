"""The HTTP port: the gate in front of every route, and the routes for the operator's own programs."""

import asyncio
from dataclasses import asdict

from fastapi import FastAPI
from nonebot import get_driver
from nonebot.drivers import ASGIMixin
from nonebot.plugin import PluginMetadata
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qq.connection.gate import Gate
from qq.connection.guards import BearerGuard, NeighbourGuard
from qq.connection.routes import route_table
from qq.depends import is_open, settings
from qq.status import bot_status

__plugin_meta__ = PluginMetadata("HTTP 接口", "健康检查和运行状态", "GET /healthz、/status", type="application")


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _status(_request: Request) -> Response:
    if not is_open():
        return JSONResponse({"status": "stopping"}, 503)
    return JSONResponse(asdict(await asyncio.to_thread(bot_status)))


def _install() -> None:
    driver = get_driver()
    if not isinstance(driver, ASGIMixin):
        raise TypeError("the port needs a driver that serves")
    application: FastAPI = driver.server_app
    application.add_middleware(Gate, routes=route_table)
    has_access_token = bool(settings().onebot_access_token.get_secret_value())
    route_table.add(NeighbourGuard(has_access_token=has_access_token), Starlette(routes=[Route("/healthz", _healthz)]))
    # What the bot tells only to its operator does not exist without a token.
    if token := settings().http.token.get_secret_value():
        route_table.add(BearerGuard("HTTP__TOKEN", token), Starlette(routes=[Route("/status", _status)]))


# Like the registration of a matcher: the middleware has to be there before the application starts.
_install()
