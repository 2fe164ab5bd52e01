"""Permissions in one table, which every plugin and the help text read."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Role(IntEnum):
    """A person's role in the chat they write in, in ascending order."""

    MEMBER = 1
    ADMIN = 2
    OWNER = 3
    SUPERUSER = 4


class Place(StrEnum):
    """The kind of chat."""

    GROUP = "group"
    PRIVATE = "private"


class Action(StrEnum):
    """Everything that a person can ask the bot to do."""

    HELP = "help"
    ASK = "ask"
    UPLOAD = "upload"
    UPLOAD_PRIVATE = "upload private"
    KB_STATUS = "kb status"
    KB_LIST = "kb list"
    KB_SHOW = "kb show"
    KB_SEARCH = "kb search"
    KB_ADD = "kb add"
    KB_DELETE = "kb delete"
    KB_CLEAR = "kb clear"
    KB_REINDEX = "kb reindex"
    KB_LOAD = "kb load"
    KB_USE = "kb use"
    KB_TEST = "kb test"
    KB_SOURCE = "kb source"
    MEMORY_STATUS = "memory status"
    MEMORY_SHOW = "memory show"
    MEMORY_COMPACT = "memory compact"
    MEMORY_CLEAR = "memory clear"
    MEMORY_CLEAR_SHARED = "memory clear shared"
    MEMORY_COMPACT_SHARED = "memory compact shared"
    TRACE = "trace"
    BOT_STATUS = "bot status"
    BOT_AUTO = "bot auto"
    BOT_QUIET = "bot quiet"


@dataclass(frozen=True, slots=True)
class Rule:
    """The lowest role that may perform an action in a group and in a private chat, or None if it is unavailable there.

    `usage` is the line of `/help`, empty if the action is not a command of its own. `confirm` marks actions that cannot
    be undone. `shared` is the lowest role while all groups share one knowledge base (KNOWLEDGE__SCOPE=global), because
    the admin of one group must not change everybody's files.
    """

    group: Role | None
    private: Role | None
    usage: str = ""
    confirm: bool = False
    shared: Role = Role.MEMBER


# In a private chat the knowledge base belongs to the person, so they may do everything with it.
ROLES: Mapping[Action, Rule] = {
    Action.HELP: Rule(Role.MEMBER, Role.MEMBER, "/help 看能用的命令"),
    Action.ASK: Rule(Role.MEMBER, Role.MEMBER, "/ask 问题（或 @我、回复我）"),
    Action.UPLOAD: Rule(Role.MEMBER, None),
    # Nobody should add a private file by accident to a knowledge base that every group reads.
    Action.UPLOAD_PRIVATE: Rule(None, Role.MEMBER, shared=Role.SUPERUSER),
    Action.KB_STATUS: Rule(Role.MEMBER, Role.MEMBER, "/kb status 知识库状态"),
    Action.KB_LIST: Rule(Role.MEMBER, Role.MEMBER, "/kb list [页] 文件列表"),
    Action.KB_SHOW: Rule(Role.MEMBER, Role.MEMBER, "/kb show 编号 看一个文件"),
    Action.KB_SEARCH: Rule(Role.MEMBER, Role.MEMBER, "/kb search 词 查资料原文"),
    Action.KB_ADD: Rule(Role.ADMIN, Role.MEMBER, "/kb add 标题 正文 手写一条资料", shared=Role.ADMIN),
    Action.KB_DELETE: Rule(Role.ADMIN, Role.MEMBER, "/kb delete 编号 删除文件", True, Role.SUPERUSER),
    Action.KB_CLEAR: Rule(Role.ADMIN, Role.MEMBER, "/kb clear 清空知识库", True, Role.SUPERUSER),
    Action.KB_REINDEX: Rule(Role.ADMIN, Role.MEMBER, "/kb reindex 用原文件重建索引", shared=Role.SUPERUSER),
    Action.KB_LOAD: Rule(Role.SUPERUSER, Role.SUPERUSER, "/kb load 载入服务器上 import 目录的文件"),
    Action.KB_USE: Rule(None, Role.MEMBER, "/kb use 群号 私聊里查那个群的资料"),
    # It shows raw candidates, and a complete test set keeps the machine busy.
    Action.KB_TEST: Rule(
        Role.ADMIN, Role.MEMBER, "/kb test [问题] 看会不会答、为什么，或测一个 CSV", shared=Role.ADMIN
    ),
    Action.KB_SOURCE: Rule(Role.MEMBER, Role.MEMBER, "/kb source 编号 看上一个回答的出处原文"),
    Action.MEMORY_STATUS: Rule(Role.MEMBER, Role.MEMBER, "/memory status 记忆状态"),
    Action.MEMORY_SHOW: Rule(Role.MEMBER, Role.MEMBER, "/memory show 最近的对话"),
    Action.MEMORY_COMPACT: Rule(Role.MEMBER, Role.MEMBER, "/memory compact 现在就总结"),
    Action.MEMORY_CLEAR: Rule(Role.MEMBER, Role.MEMBER, "/memory clear 忘掉这段对话", confirm=True),
    # With SESSION__SCOPE=group, the memory belongs to the whole group.
    Action.MEMORY_CLEAR_SHARED: Rule(Role.ADMIN, None, confirm=True),
    Action.MEMORY_COMPACT_SHARED: Rule(Role.ADMIN, None),
    # It shows what other members asked.
    Action.TRACE: Rule(Role.ADMIN, Role.MEMBER, "/trace [编号] 看一个回答是怎么来的"),
    Action.BOT_STATUS: Rule(Role.SUPERUSER, Role.SUPERUSER, "/bot status 机器人状态"),
    Action.BOT_AUTO: Rule(Role.ADMIN, None, "/bot auto on|off|status 没叫我时也回答"),
    # Everybody who feels disturbed may silence the bot; otherwise a group would remove a noisy bot.
    Action.BOT_QUIET: Rule(Role.MEMBER, None, "/bot quiet [时长] 先别主动回答"),
}

_NAMES: Mapping[Role, str] = {Role.ADMIN: "群管理员", Role.OWNER: "群主", Role.SUPERUSER: "机器人管理员"}


def lowest_role(place: Place, action: Action, *, shared: bool = False) -> Role | None:
    """Return the lowest role that may perform the action in this chat, or None if it is unavailable there."""
    rule = ROLES[action]
    lowest = rule.group if place is Place.GROUP else rule.private
    return max(lowest, rule.shared) if shared and lowest is not None else lowest


def may(role: Role, place: Place, action: Action, *, shared: bool = False) -> bool:
    """Return whether a person with this role may perform the action in this chat.

    `shared` tells whether all groups share one knowledge base.
    """
    lowest = lowest_role(place, action, shared=shared)
    return lowest is not None and role >= lowest


def refusal(place: Place, lowest: Role | None) -> str:
    """Return the sentence for a person whose role is below `lowest`.

    `lowest` is None if the action is unavailable in this chat.
    """
    if lowest is None:
        return "这个命令只能在私聊里用。" if place is Place.GROUP else "这个命令只能在群里用。"
    return f"需要管理员：这件事要由{_NAMES[lowest]}来做。"


def usages(role: Role, place: Place, *, shared: bool = False) -> list[str]:
    """Return the lines of `/help` for a person with this role."""
    return [rule.usage for action, rule in ROLES.items() if rule.usage and may(role, place, action, shared=shared)]
