"""The command /memory, which shows what the bot remembers of a person's own conversation."""

from nonebot.plugin import PluginMetadata

from qq.commands.matcher import register
from qq.commands.models import Command
from qq.confirmations import Confirmation
from qq.depends import Memory
from qq.messages import shortened
from qq.speaker import Speaking, asked_knowledge
from services.memory.service import Exchange
from services.roles import Rights, Role

__plugin_meta__ = PluginMetadata(
    "记忆", "查看、总结、清空对话记忆", "/memory status、/memory show……", type="application"
)


async def _status(speaker: Speaking, memories: Memory) -> str:
    status = await memories.status(speaker.session_id)
    whose = "全群共用" if speaker.shares_memory else "你自己的"
    lines = [f"{whose}对话：{status.turns} 轮" + (f"，其中 {status.failed} 轮没答成" if status.failed else "")]
    if status.summaries:
        lines.append(
            f"我现在记着 {status.history} 条消息，超过 {status.limit} 条就把最早的 {status.chunk} 条总结成一条"
        )
    else:
        lines.append(f"我现在记着 {status.history} 条消息；没有配置模型，不会总结")
    lines.append("看内容：/memory show　忘掉：/memory clear")
    return "\n".join(lines)


async def _show(speaker: Speaking, memories: Memory) -> str:
    # A private conversation about the files of a group reveals them, so it is only shown to a current member.
    if refused := (await asked_knowledge(speaker)).refusal:
        return refused
    exchanges = await memories.recent(speaker.session_id)
    summary = await memories.summary(speaker.session_id)
    if not exchanges and not summary:
        return "还没有对话。"
    lines = [f"更早的摘要：{shortened(summary, 300)}"] if summary else []
    for item in exchanges:
        asker = f"{item.user_id}" if speaker.shares_memory else "你"
        lines.append(f"{asker}：{shortened(item.question, 60)}")
        lines.append(f"我：{_outcome(item)}")
    return "\n".join(lines)


def _outcome(exchange: Exchange) -> str:
    if exchange.waiting:
        return "（还在等管理员确认）"
    return "（没答成）" if exchange.failed else shortened(exchange.answer, 80)


async def _compact(speaker: Speaking, memories: Memory) -> str:
    count = await memories.compact(speaker.session_id)
    if count is None:
        return "没有配置模型，不能总结记忆；可以用 /memory clear 清空。"
    if not count:
        return "对话还很短，不用总结。"
    return f"已把 {count} 条消息总结成一条，链接、数字、日期和文件名都保留了；原来的对话仍在记录里。"


async def _clear(speaker: Speaking, memories: Memory) -> Confirmation:
    async def act() -> str:
        return f"好，忘掉了，共 {await memories.clear(speaker.session_id)} 条消息。"

    return Confirmation("要忘掉这段对话", act)


register(
    Command(
        "memory",
        ("记忆",),
        "对话记忆",
        subcommands=(
            Command("status", ("状态",), "记忆状态", _status),
            Command("show", ("查看",), "最近的对话", _show),
            # The memory of a whole group is not a matter of one member.
            Command("compact", ("总结",), "现在就总结", _compact, rights=Rights(shared_memory=Role.ADMIN)),
            Command("clear", ("清空",), "忘掉这段对话", _clear, rights=Rights(shared_memory=Role.ADMIN)),
        ),
    )
)
