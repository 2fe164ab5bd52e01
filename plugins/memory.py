"""The command /memory, which shows what the bot remembers of a person's own conversation."""

from collections.abc import Mapping
from typing import Annotated

from nonebot import on_command
from nonebot.adapters.onebot.v11 import Message
from nonebot.params import CommandArg
from nonebot.plugin import PluginMetadata

from qq.budget import Commanding
from qq.depends import Memory, confirmations
from qq.messages import shortened
from qq.speaker import Speaker, asked_knowledge
from qq.subcommands import split_subcommand
from services.memory.service import Exchange, MemoryService
from services.roles import Action

__plugin_meta__ = PluginMetadata(
    "记忆", "查看、总结、清空对话记忆", "/memory status、/memory show……", type="application"
)

_WORDS: Mapping[str, Action] = {
    "status": Action.MEMORY_STATUS,
    "状态": Action.MEMORY_STATUS,
    "show": Action.MEMORY_SHOW,
    "查看": Action.MEMORY_SHOW,
    "compact": Action.MEMORY_COMPACT,
    "总结": Action.MEMORY_COMPACT,
    "clear": Action.MEMORY_CLEAR,
    "清空": Action.MEMORY_CLEAR,
}
_SHARED: Mapping[Action, Action] = {
    Action.MEMORY_COMPACT: Action.MEMORY_COMPACT_SHARED,
    Action.MEMORY_CLEAR: Action.MEMORY_CLEAR_SHARED,
}

memory = on_command("memory", aliases={"记忆"}, force_whitespace=True, priority=10, block=True)


@memory.handle()
async def _(speaker: Commanding, memories: Memory, text: Annotated[Message, CommandArg()]) -> None:
    action, _rest = split_subcommand(text.extract_plain_text(), _WORDS)
    if action is None:
        await speaker.reply("没有这个命令，可以用 /memory status、show、compact、clear。")
        return
    if refused := await speaker.refusal(_needed(speaker, action)):
        await speaker.reply(refused)
        return
    await speaker.reply(await _OUTCOMES[action](speaker, memories))


def _needed(speaker: Speaker, action: Action) -> Action:
    """Return the right that `action` requires here."""
    return _SHARED.get(action, action) if speaker.shares_memory else action


async def _status(speaker: Speaker, memories: MemoryService) -> str:
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


async def _show(speaker: Speaker, memories: MemoryService) -> str:
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


async def _compact(speaker: Speaker, memories: MemoryService) -> str:
    count = await memories.compact(speaker.session_id)
    if not count:
        return "对话还很短，不用总结。"
    return f"已把 {count} 条消息总结成一条，链接、数字、日期和文件名都保留了；原来的对话仍在记录里。"


async def _clear(speaker: Speaker, memories: MemoryService) -> str:
    async def act() -> str:
        return f"好，忘掉了，共 {await memories.clear(speaker.session_id)} 条消息。"

    return confirmations.ask(speaker.session, _needed(speaker, Action.MEMORY_CLEAR), "要忘掉这段对话", act)


_OUTCOMES = {
    Action.MEMORY_STATUS: _status,
    Action.MEMORY_SHOW: _show,
    Action.MEMORY_COMPACT: _compact,
    Action.MEMORY_CLEAR: _clear,
}
