"""A page at the bot's own address that simulates a QQ group, so that the bot can be tried without QQ.

The sandbox is a client like any other: it connects to the reverse WebSocket with its own account, and no other part of
the bot depends on it. With HTTP__TOKEN, a second page shows the operator the documents of real groups.
"""

import asyncio
from contextlib import AsyncExitStack

from nonebot import get_driver
from nonebot.plugin import PluginMetadata

from plugins.sandbox.hub import Hub
from plugins.sandbox.media import MediaHost
from plugins.sandbox.operator import add_operator_page
from plugins.sandbox.scenario import CAST
from plugins.sandbox.site import STATIC, Site
from qq.connection.routes import route_table
from qq.depends import settings
from simulator.stage import Stage

__plugin_meta__ = PluginMetadata("试用网页", "不连 QQ 也能试", "用浏览器打开机器人的地址", type="application")

_driver = get_driver()
_stack = AsyncExitStack()


@_driver.on_startup
async def _open() -> None:
    given = settings()
    if token := given.http.token.get_secret_value():
        has_access_token = bool(given.onebot_access_token.get_secret_value())
        add_operator_page(route_table, STATIC, token, has_access_token=has_access_token)
    if not given.sandbox_enabled:
        return
    media = MediaHost(f"http://{given.local_address}")
    stage = Stage(
        f"ws://{given.local_address}/onebot/v11/ws",
        CAST,
        token=given.onebot_access_token.get_secret_value() or None,
        file_host=media,
        expire_links=media.expire_links,
    )
    # Allow files larger than the bot accepts, so that its refusal can be tried too.
    max_file_bytes = min(2 * given.knowledge.max_file_mb, 256) << 20
    site = Site(Hub(stage, max_file_bytes), media, given.sandbox.token.get_secret_value(), max_file_bytes)
    route_table.add(site.guard, site.application)
    playing = asyncio.create_task(stage.run(), name="simulated-qq")
    _stack.push_async_callback(asyncio.wait, {playing})
    _stack.callback(playing.cancel)
    _stack.push_async_callback(site.close)


@_driver.on_shutdown
async def _close() -> None:
    await _stack.aclose()
