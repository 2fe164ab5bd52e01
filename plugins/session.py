"""The command /session: the state of a person's dialogue, its end, and what they want of answers."""

from dataclasses import replace

from nonebot.plugin import PluginMetadata

from qq.commands.matcher import Argument, register
from qq.commands.models import Command
from qq.depends import SessionDialogues, services
from qq.messages import time_text
from qq.speaker import Speaking
from services.records.conversations import Preferences
from services.records.dialogues import Dialogue
from services.records.tables import DialogueStatus
from services.roles import Rights, Role

__plugin_meta__ = PluginMetadata(
    "会话", "这段对话的状态和回答偏好", "/session status、/session end、/session prefs", type="application"
)

_STATUS = {
    DialogueStatus.ACTIVE: "进行中",
    DialogueStatus.COMPLETED: "已结束",
    DialogueStatus.ABANDONED: "太久没说话，已结束",
}
_CODE, _RESULTS = frozenset({"code", "代码"}), frozenset({"results", "条数", "资料"})
_SWITCH = {"on": True, "开": True, "要": True, "off": False, "关": False, "不要": False}
_MOST_RESULTS = 10
_DEFAULT = frozenset({"默认", "default"})
_USAGE = "没看懂，可以写 /session prefs 代码 关，或 /session prefs 条数 3（1 到 10，或 默认）。"


async def _status(speaker: Speaking, dialogues: SessionDialogues) -> str:
    dialogue = await dialogues.last(speaker.session_id)
    if dialogue is None:
        return "还没有对话。"
    preferences = await services().conversations.preferences(speaker.session_id)
    whose = "全群共用" if speaker.shares_memory else "你的"
    lines = [
        f"{whose}对话：{_STATUS[dialogue.status]}",
        f"{time_text(dialogue.started_at)} 开始，最近 {time_text(dialogue.updated_at)}",
        f"{dialogue.turns} 轮" + (f"，用了 {dialogue.tokens} token" if dialogue.tokens else ""),
        *_rating_lines(dialogue),
        _preferences_line(preferences),
    ]
    if dialogue.status is DialogueStatus.ACTIVE:
        lines.append("结束这段：/session end　忘掉内容：/memory clear")
    return "\n".join(lines)


def _rating_lines(dialogue: Dialogue) -> list[str]:
    if dialogue.score is None:
        return []
    outcome = "" if dialogue.resolved is None else "，已解决" if dialogue.resolved else "，没全解决"
    return [f"评价：{dialogue.score:.1f} 分{outcome}"]


async def _end(speaker: Speaking, dialogues: SessionDialogues) -> str:
    if await dialogues.end(speaker.session_id):
        return "好，这段对话结束了。之前说的我还记得，要忘掉发 /memory clear。"
    return "没有进行中的对话。"


async def _prefs(speaker: Speaking, argument: Argument) -> str:
    conversations = services().conversations
    preferences = await conversations.preferences(speaker.session_id)
    if not argument:
        return f"{_preferences_line(preferences)}\n改：/session prefs 代码 关，/session prefs 条数 3"
    changed = _changed(preferences, argument)
    if changed is None:
        return _USAGE
    if speaker.shares_memory and (refused := await speaker.refusal(Rights(shared_memory=Role.ADMIN))):
        return refused
    await conversations.set_preferences(speaker.session_id, changed)
    return f"好，{_preferences_line(changed)}"


def _changed(preferences: Preferences, argument: str) -> Preferences | None:
    """Return the preferences with all that an argument changes, or None if a part of it is not understood."""
    words = argument.lower().split()
    changed: Preferences | None = preferences if words and len(words) % 2 == 0 else None
    for name, value in zip(words[::2], words[1::2], strict=False):
        changed = _with_one(changed, name, value) if changed is not None else None
    return changed


def _with_one(preferences: Preferences, name: str, value: str) -> Preferences | None:
    if name in _CODE and value in _SWITCH:
        return replace(preferences, include_code=_SWITCH[value])
    if name in _RESULTS and value in _DEFAULT:
        return replace(preferences, max_results=None)
    if name in _RESULTS and value.isdecimal() and len(value) <= 2 and 1 <= int(value) <= _MOST_RESULTS:
        return replace(preferences, max_results=int(value))
    return None


def _preferences_line(preferences: Preferences) -> str:
    results = f"最多 {preferences.max_results} 段资料" if preferences.max_results else "资料段数用默认"
    return f"回答偏好：{'带' if preferences.include_code else '不带'}代码，{results}"


register(
    Command(
        "session",
        ("会话",),
        "这段对话",
        subcommands=(
            Command("status", ("状态",), "状态", _status),
            # The dialogue of a whole group is not a matter of one member.
            Command("end", ("结束",), "结束这段对话", _end, rights=Rights(shared_memory=Role.ADMIN)),
            Command(
                "prefs",
                ("偏好",),
                "回答要不要代码、用几段资料",
                _prefs,
                arguments="[代码 开或关] [条数 数字]",
                example="条数 3",
            ),
        ),
    )
)
