"""The commands /help and /bot: what a person may do, and the state of the bot."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from nonebot.plugin import PluginMetadata

from qq.commands.matcher import Argument, help_for, register
from qq.commands.models import Command
from qq.depends import Proactive, outbox, services
from qq.messages import time_text
from qq.outbox.delivery import Delivery
from qq.outbox.replies import File
from qq.reports import proactive as proactive_report
from qq.speaker import Speaker, Speaking
from qq.status import bot_status, status_text
from services.export.service import MOST_BYTES, ExportTooLarge
from services.proactive.durations import LONGEST_QUIET, parse_duration
from services.records.tables import now
from services.roles import Rights, Role

__plugin_meta__ = PluginMetadata("帮助与状态", "命令列表、机器人状态", "/help、/bot status", type="application")

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
_EVERYTHING = frozenset({"全部", "all"})
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_SECTIONS: Mapping[str, str] = {
    "sessions": "对话",
    "messages": "消息",
    "feedback": "评价",
    "reviews": "审核",
    "faq": "问答",
}


async def _help(speaker: Speaking, argument: Argument) -> str:
    return (await help_for(speaker)).about(argument)


async def _status() -> str:
    return status_text(await asyncio.to_thread(bot_status))


async def _export(speaker: Speaking, argument: Argument) -> str | None:
    days = argument.removesuffix("天").strip()
    if days not in _EVERYTHING and not (days.isascii() and days.isdecimal() and len(days) <= 4 and int(days)):
        return "会把所有群和私聊的对话、评价发成一个文件。写 /bot export 30 导出最近 30 天，/bot export 全部 导出所有。"
    since = _BEGINNING if days in _EVERYTHING else now() - timedelta(days=int(days))
    try:
        exported = await services().export.export(since)
    except ExportTooLarge:
        return f"数据太多，超过 {MOST_BYTES >> 20} MB，请写少一点的天数。"
    counts = "，".join(f"{_SECTIONS.get(name, name)} {count} 条" for name, count in exported.counts)
    file = File(f"群知-导出-{now():%Y%m%d}.zip", exported.content, f"导出在上面的文件里：{counts}。")
    delivery = await outbox.send(speaker.chat, file, speaker.message_id)
    return "QQ 没有接收这个文件，请稍后再试。" if delivery is Delivery.REFUSED else None


async def _auto(speaker: Speaking, proactive: Proactive, argument: Argument) -> str:
    group_id, word = _group_of(speaker), argument.lower()
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


async def _quiet(speaker: Speaking, proactive: Proactive, argument: Argument) -> str:
    group_id = _group_of(speaker)
    if not proactive.is_on(group_id):
        return "这里没有打开主动回答，我只在被叫到时说话。"
    duration = parse_duration(argument) if argument else _QUIET
    if duration is None:
        return "没看懂时长，可以写 /bot quiet 30分钟、2小时 或 1天。"
    if duration > LONGEST_QUIET:
        return f"最多安静 {LONGEST_QUIET.days} 天，想一直安静请管理员发 /bot auto off。"
    until = await proactive.quiet(group_id, duration)
    if until is None:
        return "好，不用安静了，资料里有把握的问题我会主动答。"
    return f"好，安静到 {time_text(until)}，这之前只在被叫到时说话；提前恢复发 /bot quiet 0。"


def _group_of(speaker: Speaker) -> int:
    """Return the group, for commands that only exist in groups."""
    if speaker.session.group_id is None:
        raise ValueError("not in a group")
    return speaker.session.group_id


register(
    Command("help", ("帮助",), "看能用的命令和用法", _help, arguments="[命令]", example="kb"),
    Command(
        "bot",
        ("机器人",),
        "机器人",
        subcommands=(
            Command(
                "status",
                ("状态",),
                "机器人状态",
                _status,
                rights=Rights(group=Role.SUPERUSER, private=Role.SUPERUSER),
            ),
            Command(
                "export",
                ("导出",),
                "把对话和评价导出成文件",
                _export,
                arguments="天数或 全部",
                example="30",
                # It holds what people said in every chat.
                rights=Rights(group=None, private=Role.SUPERUSER),
            ),
            Command(
                "auto",
                ("主动",),
                "没叫我时也回答",
                _auto,
                arguments="on、off 或 status",
                example="on",
                rights=Rights(group=Role.ADMIN, private=None),
            ),
            # Everybody who feels disturbed may silence the bot; otherwise a group would remove a noisy bot.
            Command(
                "quiet",
                ("安静",),
                "先别主动回答",
                _quiet,
                arguments="[时长]",
                example="30分钟",
                rights=Rights(private=None),
            ),
        ),
    ),
)
