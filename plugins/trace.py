"""The command /trace, which shows how an answer came about."""

import re
from typing import Annotated

from nonebot import on_command
from nonebot.adapters.onebot.v11 import Message
from nonebot.params import CommandArg
from nonebot.plugin import PluginMetadata

from qq.budget import Commanding
from qq.depends import outbox, services
from qq.outbox.outbox import Delivery
from qq.reports.trace import list_text, summary_text
from qq.speaker import Speaker, asked_knowledge
from services.retrieval.look_up import look_up
from services.roles import Action, Place
from services.tracing.models import NUMBER_CHARS, ModelContext

__plugin_meta__ = PluginMetadata("来历", "看回答是怎么来的", "/trace [编号]", type="application")

_LISTED = 8
_NUMBER = re.compile(f"[0-9a-f]{{{NUMBER_CHARS}}}")
_FULL = frozenset({"full", "完整", "全部"})

trace = on_command("trace", aliases={"来历"}, force_whitespace=True, priority=10, block=True)


@trace.handle()
async def _(speaker: Commanding, text: Annotated[Message, CommandArg()]) -> None:
    if refused := await speaker.refusal(Action.TRACE):
        await speaker.reply(refused)
        return
    if not services().traces.is_storing:
        await speaker.reply("没有保存记录，请机器人管理员设置 TRACE__KEEP_DAYS。")
        return
    number, _, rest = text.extract_plain_text().strip().lower().partition(" ")
    if not number:
        await speaker.reply(list_text(await _latest(speaker)))
    elif not _NUMBER.fullmatch(number) or rest.strip() not in {"", *_FULL}:
        await speaker.reply("没看懂，可以写 /trace、/trace 编号 或 /trace 编号 full。")
    elif (record := await _found(speaker, number)) is None:
        await speaker.reply(f"这里没有编号 {number} 的记录，看最近的：/trace")
    elif rest:
        await _send(speaker, record)
    else:
        await speaker.reply(summary_text(record))


async def _latest(speaker: Speaker) -> list[ModelContext]:
    readable = await _readable_collections(speaker)
    records = await services().traces.latest(speaker.session.chat, _LISTED)
    return [record for record in records if readable is None or record.trace.collection in readable]


async def _found(speaker: Speaker, number: str) -> ModelContext | None:
    readable = await _readable_collections(speaker)
    record = await services().traces.find(speaker.session.chat, number)
    if record is None or (readable is not None and record.trace.collection not in readable):
        return None
    await look_up(record, services().retriever)
    return record


async def _readable_collections(speaker: Speaker) -> set[str] | None:
    """Return the knowledge bases whose answers may be shown here, or None for all.

    A private chat may have asked the files of a group, which only a current member may see.
    """
    if speaker.place is Place.GROUP:
        return None
    asked = await asked_knowledge(speaker)
    return {speaker.own_collection.name, *(() if asked.refusal else (asked.collection.name,))}


async def _send(speaker: Speaker, record: ModelContext) -> None:
    content = record.model_dump_json(indent=2).encode()
    name, note = f"来历-{record.number}.json", f"编号 {record.number} 的完整记录在上面的文件里。"
    if await outbox.send_file(speaker.chat, name, content, note, speaker.message_id) is Delivery.REFUSED:
        await speaker.reply("QQ 没有接收这个文件，请稍后再试。")
