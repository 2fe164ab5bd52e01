"""What the operator reads in the terminal once the bot is reachable: its addresses, models and data directory."""

import asyncio
from contextlib import suppress

from nonebot import get_driver, logger
from nonebot.plugin import PluginMetadata

from qq.depends import services, settings

__plugin_meta__ = PluginMetadata("启动提示", "在终端写明地址、令牌、模型和目录", "自动生效", type="application")

_driver = get_driver()
_LONGEST_WAIT_S = 10.0
_waiting: set[asyncio.Task[None]] = set()


@_driver.on_startup
async def _begin() -> None:
    # The server only accepts connections after the whole startup is done.
    _waiting.add(asyncio.create_task(_announce(), name="announcement"))


@_driver.on_shutdown
async def _end() -> None:
    for task in _waiting:
        task.cancel()


async def _announce() -> None:
    # If this machine cannot reach its own address, the block is printed all the same.
    with suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST_WAIT_S):
            await _accepting()
    logger.opt(raw=True).info(announcement())


async def _accepting() -> None:
    host, _, port = settings().local_address.rpartition(":")
    while True:
        try:
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


def announcement() -> str:
    """Return the block, which ends with a line break."""
    given = settings()
    has_token = bool(given.onebot_access_token.get_secret_value())
    token = "已设置令牌" if has_token else "没有设置令牌，只接受本机的连接"
    page = f"http://{given.local_address}/" if given.sandbox_enabled else "没有打开（SANDBOX__ENABLED）"
    if given.sandbox_enabled and given.sandbox.token.get_secret_value():
        page += "（要输入 SANDBOX__TOKEN）"
    model = services().model_name or "没有配置，逐字摘录原文（LLM__API_KEY）"
    lines = (
        ("试用网页", page),
        ("接入地址", f"ws://{given.local_address}/onebot/v11/ws（{token}）"),
        ("大模型", model),
        ("向量模型", services().embedding.description),
        ("数据目录", str(given.data_dir.resolve())),
    )
    rule = "─" * 64
    # Every character of a label is two columns wide.
    body = "\n".join(f"  {label}{'　' * (6 - len(label.replace(' ', '')))}{value}" for label, value in lines)
    return f"{rule}\n  群知已启动，按 Ctrl-C 停止\n{body}\n{rule}\n"
