"""The command /trace, which shows how an answer came about."""

import re

from nonebot import logger
from nonebot.plugin import PluginMetadata

from qq.commands.matcher import Argument, register
from qq.commands.models import Command
from qq.depends import outbox, services
from qq.outbox.delivery import Delivery
from qq.outbox.replies import File
from qq.reports.trace import list_text, summary_text
from qq.speaker import Speaker, Speaking, asked_knowledge
from services.errors import DamagedRecord
from services.retrieval.look_up import look_up
from services.roles import Place, Rights, Role
from services.tracing.models import NUMBER_CHARS, ModelContext

__plugin_meta__ = PluginMetadata("来历", "看回答是怎么来的", "/trace [编号]", type="application")

_LISTED = 8
_NUMBER = re.compile(f"[0-9a-f]{{{NUMBER_CHARS}}}")
_FULL = frozenset({"full", "完整", "全部"})


async def _trace(speaker: Speaking, argument: Argument) -> str | None:
    if not services().traces.is_storing:
        return "没有保存记录，请机器人管理员设置 TRACE__KEEP_DAYS。"
    number, _, rest = argument.lower().partition(" ")
    if not number:
        return list_text(await _latest(speaker))
    if not _NUMBER.fullmatch(number) or rest.strip() not in {"", *_FULL}:
        return "没看懂，可以写 /trace、/trace 编号 或 /trace 编号 full。"
    try:
        record = await _found(speaker, number)
    except DamagedRecord as error:
        logger.error(str(error))
        return error.told()
    if record is None:
        return f"这里没有编号 {number} 的记录，看最近的：/trace"
    return await _sent(speaker, record) if rest else summary_text(record)


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


async def _sent(speaker: Speaker, record: ModelContext) -> str | None:
    """Send the whole record as a file, and return what is left to say."""
    content = record.model_dump_json(indent=2).encode()
    name, note = f"来历-{record.number}.json", f"编号 {record.number} 的完整记录在上面的文件里。"
    delivery = await outbox.send(speaker.chat, File(name, content, note), speaker.message_id)
    return "QQ 没有接收这个文件，请稍后再试。" if delivery is Delivery.REFUSED else None


register(
    Command(
        "trace",
        ("来历",),
        "看一个回答是怎么来的",
        _trace,
        arguments="[编号]",
        example="a1b2c3",
        # It shows what other members asked.
        rights=Rights(group=Role.ADMIN),
    )
)
