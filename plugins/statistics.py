"""The command /stats, which shows the admins of a group what was asked and answered there."""

from nonebot.plugin import PluginMetadata

from qq.commands.matcher import Argument, register
from qq.commands.models import Command
from qq.depends import services
from qq.reports.statistics import statistics_reply
from qq.speaker import Speaking
from services.roles import Rights, Role
from services.statistics.service import MOST_DAYS

__plugin_meta__ = PluginMetadata("统计", "这个群问了什么、答得怎么样", "/stats [天数]", type="application")

_DAYS = 7


async def _stats(speaker: Speaking, argument: Argument) -> str | None:
    days = _days(argument)
    if days is None:
        return f"没看懂，可以写 /stats 或 /stats 30，最多 {MOST_DAYS} 天。"
    report = await services().statistics.report(speaker.session.chat, speaker.own_collection.name, days)
    await speaker.reply(statistics_reply(report))
    return None


def _days(argument: str) -> int | None:
    text = argument.removesuffix("天").strip()
    if not text:
        return _DAYS
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_DAYS))):
        return None
    return int(text) if 1 <= int(text) <= MOST_DAYS else None


register(
    Command(
        "stats",
        ("统计",),
        "这个群的问答统计",
        _stats,
        arguments="[天数]",
        example="30",
        # It shows what other members asked.
        rights=Rights(group=Role.ADMIN, private=None),
    )
)
