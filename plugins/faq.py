"""The command /faq, which shows and changes the approved answers of a group."""

import re
from typing import Annotated

from nonebot.adapters.onebot.v11 import MessageEvent
from nonebot.exception import FinishedException
from nonebot.params import Depends
from nonebot.plugin import PluginMetadata

from qq.commands.calls import split_word
from qq.commands.matcher import Argument, register
from qq.commands.models import Command
from qq.confirmations import Confirmation
from qq.depends import services
from qq.faq_table import approver_of, export_table, import_table
from qq.messages import shortened
from qq.reports.faq import entry_text, list_text
from qq.speaker import Speaking, asked_knowledge
from qq.unanswered import list_unanswered
from services.faq.models import Change, FaqOrigin, Refused, Written
from services.roles import Rights, Role
from services.session import KnowledgeCollection

__plugin_meta__ = PluginMetadata("问答", "群里确认过的问答", "/faq list、/faq add……", type="application")

_HOW_TO_ADD = (
    "请写上问题和回答，各占一行：\n/faq add 宿舍几点熄灯\n晚上十一点半。\n也可以回复一条消息，写 /faq add 问题。"
)
_NO_NUMBER = "没有这个编号，发 /faq list 看编号。"
_SOURCE_LINE = re.compile(r"〔\d{1,3}〕")


async def _asked(speaker: Speaking) -> KnowledgeCollection:
    """Return the knowledge base that this person asks. End the handler if they may not ask it."""
    asked = await asked_knowledge(speaker)
    if asked.refusal:
        await speaker.reply(asked.refusal)
        raise FinishedException
    return asked.collection


async def _own(speaker: Speaking) -> KnowledgeCollection:
    return speaker.own_collection


Asked = Annotated[KnowledgeCollection, Depends(_asked)]
Own = Annotated[KnowledgeCollection, Depends(_own)]


async def _list(collection: Asked, argument: Argument) -> str:
    entries = await services().faq.entries(collection.name)
    if not entries:
        return "还没有问答，管理员发 /faq add 可以添加。"
    return list_text(entries, _number(argument) or 1)


async def _show(collection: Asked, argument: Argument) -> str:
    number = _number(argument)
    entry = await services().faq.entry(collection.name, number) if number else None
    if entry is None:
        return _NO_NUMBER if number else "请写上编号，例如 /faq show 1。"
    return entry_text(entry)


async def _add(speaker: Speaking, event: MessageEvent, collection: Own, argument: Argument) -> str:
    question, _, answer = argument.partition("\n")
    if not answer.strip() and event.reply:
        answer = _without_sources(event.reply.message.extract_plain_text())
    if not question.strip() or not answer.strip():
        return _HOW_TO_ADD
    approver = await approver_of(speaker)
    written = await services().faq.add(collection.name, question, answer, approver, FaqOrigin.CORRECTION)
    return written.reason if isinstance(written, Refused) else _written_text(written)


async def _edit(speaker: Speaking, collection: Own, argument: Argument) -> str:
    word, answer = split_word(argument)
    number = _number(word)
    if not number or not answer:
        return "请写上编号和新的回答，例如 /faq edit 1 晚上十一点熄灯。"
    written = await services().faq.edit(collection.name, number, answer, await approver_of(speaker))
    if written is None:
        return _NO_NUMBER
    return written.reason if isinstance(written, Refused) else f"第 {number} 条已更新为第 {written.entry.version} 版。"


async def _confirm(speaker: Speaking, collection: Own, argument: Argument) -> str:
    number = _number(argument)
    if not number:
        return "请写上编号，例如 /faq confirm 1。"
    written = await services().faq.confirm(collection.name, number, await approver_of(speaker))
    return _NO_NUMBER if written is None else f"第 {number} 条已确认，继续使用。"


async def _delete(collection: Own, argument: Argument) -> str | Confirmation:
    number = _number(argument)
    entry = await services().faq.entry(collection.name, number) if number else None
    if entry is None:
        return _NO_NUMBER if number else "请写上编号，例如 /faq delete 1。"

    async def act() -> str:
        deleted = await services().faq.delete(collection.name, number)
        return f"「{shortened(deleted.question, 30)}」已删除。" if deleted else "这一条已经不在了。"

    return Confirmation(f"要删除第 {number} 条问答「{shortened(entry.question, 30)}」", act)


async def _import(speaker: Speaking, event: MessageEvent, collection: Own) -> str:
    return await import_table(speaker, event, collection, _CHANGING)


async def _export(speaker: Speaking, collection: Asked) -> str | None:
    return await export_table(speaker, collection)


def _without_sources(text: str) -> str:
    """Return a text without the list of sources with which an answer of the bot ends, because it has other numbers."""
    lines = text.rstrip().split("\n")
    while lines and (not lines[-1].strip() or _SOURCE_LINE.match(lines[-1])):
        lines.pop()
    return "\n".join(lines)


def _written_text(written: Written) -> str:
    number, question = written.entry.number, shortened(written.entry.question, 30)
    if written.change is Change.SAME:
        return f"第 {number} 条「{question}」已存在，回答相同。"
    if written.change is Change.ADDED:
        return f"已记下第 {number} 条「{question}」，有人这样问就用这个回答。"
    return (
        f"第 {number} 条「{question}」原来有别的回答，已更新为第 {written.entry.version} 版。\n"
        f"旧回答：{shortened(written.before, 80)}"
    )


def _number(text: str) -> int:
    """Return a positive number, or 0 for anything else."""
    return int(text) if text.isdecimal() and len(text) <= 9 else 0


# An answer is confirmed by a group for a group. Where all groups share the answers, no group decides for the others.
_CHANGING = Rights(group=Role.ADMIN, private=None, shared_knowledge=Role.SUPERUSER)

register(
    Command(
        "faq",
        ("问答",),
        "群里确认过的问答",
        subcommands=(
            Command("list", ("列表",), "问答列表", _list, arguments="[页]", example="2"),
            Command("show", ("查看",), "看一条问答", _show, arguments="编号", example="1"),
            Command(
                "add",
                ("添加",),
                "添加一条，问题和回答各占一行",
                _add,
                arguments="问题 回答",
                example="宿舍几点熄灯\n晚上十一点半。",
                rights=_CHANGING,
            ),
            Command(
                "edit",
                ("修改",),
                "改一条的回答",
                _edit,
                arguments="编号 回答",
                example="1 晚上十一点熄灯。",
                rights=_CHANGING,
            ),
            Command(
                "confirm", ("核对",), "过期的一条仍然有效", _confirm, arguments="编号", example="1", rights=_CHANGING
            ),
            Command("delete", ("删除",), "删除一条问答", _delete, arguments="编号", example="1", rights=_CHANGING),
            Command("import", ("导入",), "从 CSV 导入，列是问题、回答", _import, rights=_CHANGING),
            Command("export", ("导出",), "导出成 CSV", _export),
            Command(
                "unanswered",
                ("待答",),
                "没答上来的问题",
                list_unanswered,
                arguments="[页]",
                example="2",
                rights=Rights(group=Role.ADMIN, private=None),
            ),
        ),
    )
)
