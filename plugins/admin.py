"""The commands /help and /bot: what a person may do, and the state of the bot."""

import asyncio
import platform
import shutil
import time
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from nonebot import get_bots, on_command
from nonebot.adapters.onebot.v11 import Message
from nonebot.params import CommandArg
from nonebot.plugin import PluginMetadata

from qq.budget import Commanding
from qq.depends import Proactive, outbox, services, settings, started_at
from qq.messages import size_text, time_text
from qq.reports import proactive as proactive_report
from qq.reports.usage import usage_text
from qq.speaker import Speaker, shares_knowledge
from qq.subcommands import split_subcommand
from services.proactive.durations import LONGEST_QUIET, parse_duration
from services.proactive.service import ProactiveService
from services.roles import Action, usages

__plugin_meta__ = PluginMetadata("帮助与状态", "命令列表、机器人状态", "/help、/bot status", type="application")

_WORDS: Mapping[str, Action] = {
    "status": Action.BOT_STATUS,
    "状态": Action.BOT_STATUS,
    "auto": Action.BOT_AUTO,
    "主动": Action.BOT_AUTO,
    "quiet": Action.BOT_QUIET,
    "安静": Action.BOT_QUIET,
}
_SWITCH: Mapping[str, bool | None] = {
    "": None,
    "status": None,
    "状态": None,
    "on": True,
    "开": True,
    "打开": True,
    "开启": True,
    "off": False,
    "关": False,
    "关闭": False,
}
_QUIET = timedelta(hours=1)

show_help = on_command("help", aliases={"帮助"}, force_whitespace=True, priority=10, block=True)
bot_command = on_command("bot", aliases={"机器人"}, force_whitespace=True, priority=10, block=True)


@show_help.handle()
async def _(speaker: Commanding) -> None:
    lines = usages(await speaker.role(), speaker.place, shared=shares_knowledge())
    await speaker.reply("\n".join(["把文件发出来就会入库，问我就从里面找答案。你能用的命令：", *lines]))


@bot_command.handle()
async def _(speaker: Commanding, proactive: Proactive, text: Annotated[Message, CommandArg()]) -> None:
    action, rest = split_subcommand(text.extract_plain_text(), _WORDS)
    if action is None:
        await speaker.reply("没有这个命令，可以用 /bot status、auto、quiet。")
    elif refused := await speaker.refusal(action):
        await speaker.reply(refused)
    elif action is Action.BOT_AUTO:
        await speaker.reply(await _auto(speaker, proactive, rest))
    elif action is Action.BOT_QUIET:
        await speaker.reply(await _quiet(speaker, proactive, rest))
    else:
        await speaker.reply(await asyncio.to_thread(status_text))


async def _auto(speaker: Speaker, proactive: ProactiveService, rest: str) -> str:
    group_id, word = _group_of(speaker), rest.strip().lower()
    if word not in _SWITCH:
        return "没看懂，可以写 /bot auto on、off 或 status。"
    on = _SWITCH[word]
    if on is None:
        return proactive_report.status_text(proactive.status(group_id))
    if on == proactive.is_on(group_id):
        return f"主动回答本来就{'开着' if on else '关着'}，看情况：/bot auto status"
    await proactive.switch(group_id, on=on)
    if not on:
        return "好，主动回答已关闭，我只在被叫到时说话。"
    limit = proactive.status(group_id).per_hour
    return f"好，主动回答已打开：没叫我但资料里有把握的问题我也会答，每小时最多 {limit} 次。嫌吵就发 /bot quiet。"


async def _quiet(speaker: Speaker, proactive: ProactiveService, rest: str) -> str:
    group_id = _group_of(speaker)
    if not proactive.is_on(group_id):
        return "这里没有打开主动回答，我只在被叫到时说话。"
    duration = parse_duration(rest) if rest.strip() else _QUIET
    if duration is None:
        return "没看懂时长，可以写 /bot quiet 30分钟、2小时 或 1天。"
    if duration > LONGEST_QUIET:
        return f"最多安静 {LONGEST_QUIET.days} 天，想一直安静请管理员发 /bot auto off。"
    until = await proactive.quiet(group_id, duration)
    if until is None:
        return "好，不用安静了，资料里有把握的问题我会主动答。"
    return f"好，安静到 {time_text(until)}，这之前只在被叫到时说话；提前恢复发 /bot quiet 0。"


def _group_of(speaker: Speaker) -> int:
    """Return the group, for actions that roles.py only allows in groups."""
    if speaker.session.group_id is None:
        raise ValueError("not in a group")
    return speaker.session.group_id


def status_text() -> str:
    """Return the state of the whole bot, which fits on one phone screen."""
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
            *((usage_text(opened.model_budget.today()),) if opened.model_name else ()),
            f"向量：{opened.embedding.description}",
            f"重排：{opened.reranker_name}",
            *((opened.embedding.degraded,) if opened.embedding.degraded else ()),
            f"磁盘：剩余 {size_text(usage.free)}，共 {size_text(usage.total)}",
            f"版本：群知 {version_of_bot()}，Python {platform.python_version()}",
            "，".join(f"{name} {version(name)}" for name in names),
        )
    )


def version_of_bot() -> str:
    """Return the version from pyproject.toml, the only place that states it."""
    content = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    return content["project"]["version"]
