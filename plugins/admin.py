"""/help and /bot: what one may do, and how the bot is."""

import asyncio
import platform
import shutil
import time
import tomllib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from nonebot import get_bots, on_command
from nonebot.adapters.onebot.v11 import Message
from nonebot.params import CommandArg
from nonebot.plugin import PluginMetadata

from plugins._depends import outbox, services, settings, started_at
from plugins._messages import size_text
from plugins._speaker import Speaking, shares_knowledge
from plugins._subcommands import split_subcommand
from services.roles import Action, usages

__plugin_meta__ = PluginMetadata("帮助与状态", "命令列表、机器人状态", "/help、/bot status", type="application")

_WORDS: Mapping[str, Action] = {"status": Action.BOT_STATUS, "状态": Action.BOT_STATUS}

show_help = on_command("help", aliases={"帮助"}, force_whitespace=True, priority=10, block=True)
bot_command = on_command("bot", aliases={"机器人"}, force_whitespace=True, priority=10, block=True)


@show_help.handle()
async def _(speaker: Speaking) -> None:
    lines = usages(await speaker.role(), speaker.place, shared=shares_knowledge())
    await speaker.reply("\n".join(["把文件发出来就会入库，问我就从里面找答案。你能用的命令：", *lines]))


@bot_command.handle()
async def _(speaker: Speaking, text: Annotated[Message, CommandArg()]) -> None:
    action, _rest = split_subcommand(text.extract_plain_text(), _WORDS)
    if action is None:
        await speaker.reply("没有这个命令，可以用 /bot status。")
        return
    await speaker.reply(await speaker.refusal(action) or await asyncio.to_thread(status_text))


def status_text() -> str:
    """The state of the whole bot on one phone screen."""
    usage = shutil.disk_usage(settings().data_dir)
    minutes = int((time.monotonic() - started_at) // 60)
    opened = services()
    names = ("nonebot2", "nonebot-adapter-onebot", "langchain-core", "chromadb")
    return "\n".join(
        (
            f"运行：{minutes // 1440} 天 {minutes // 60 % 24} 小时 {minutes % 60} 分",
            f"在线账号：{'、'.join(sorted(get_bots())) or '无'}",
            f"排队：待发 {outbox.waiting} 条，入库中 {opened.knowledge.building_count} 个文件",
            f"模型：{opened.model_name or '未配置，只摘录原文'}",
            f"向量：{opened.embedding.description}",
            *((opened.embedding.degraded,) if opened.embedding.degraded else ()),
            f"磁盘：剩余 {size_text(usage.free)}，共 {size_text(usage.total)}",
            f"版本：群知 {version_of_bot()}，Python {platform.python_version()}",
            "，".join(f"{name} {version(name)}" for name in names),
        )
    )


def version_of_bot() -> str:
    """The release, read from the one place that names it."""
    content = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    return content["project"]["version"]
