"""The command /kb, which inspects and changes a knowledge base."""

import re
from pathlib import Path
from typing import Annotated

from nonebot.adapters.onebot.v11 import MessageEvent
from nonebot.exception import FinishedException
from nonebot.params import Depends
from nonebot.plugin import PluginMetadata

from qq.commands.calls import split_word
from qq.commands.matcher import Argument, register
from qq.commands.models import Command, normalized
from qq.confirmations import Confirmation
from qq.depends import Knowledge, services, settings
from qq.knowledge_pull import pull_knowledge
from qq.knowledge_trial import try_knowledge
from qq.messages import ingest_text, passage_text, reading_text, shortened
from qq.reports.documents import LIST_PAGE, TYPE_NAMES, document_text, list_text, profile_text, search_text
from qq.speaker import Speaking, asked_knowledge, member_lookup, reading_count, shares_knowledge, uploader_names
from services.access import AskedKnowledge
from services.knowledge.models import DocumentType, IngestStatus, KnowledgeStatus
from services.knowledge.profiles import MOST_TAGS, TAG_CHARS
from services.knowledge.service import KnowledgeService
from services.roles import Rights, Role
from services.session import KnowledgeCollection
from services.text.sizes import size_text

_BETWEEN_TAGS = re.compile(r"[\s,，、;；#]+")
# The words that give a decision of an admin back to the rules.
_BY_RULES = ("自动", "auto")
_TYPES = {normalized(name): kind for kind, name in TYPE_NAMES.items()} | {kind.value: kind for kind in DocumentType}

__plugin_meta__ = PluginMetadata("知识库", "查看和管理群资料", "/kb status、/kb list……", type="application")


async def _asked_base(speaker: Speaking) -> AskedKnowledge:
    """Return the knowledge base that this person asks, and whose it is. End the handler if they may not ask it."""
    asked = await asked_knowledge(speaker)
    if asked.refusal:
        await speaker.reply(asked.refusal)
        raise FinishedException
    return asked


# NoneBot would validate an injected dataclass with pydantic.
AskedBase = Annotated[AskedKnowledge, Depends(_asked_base, validate=False)]


async def _asked(asked: AskedBase) -> KnowledgeCollection:
    return asked.collection


async def _changed(speaker: Speaking) -> KnowledgeCollection:
    """Return the knowledge base of this chat. End the handler while a private chat asks the files of a group.

    The numbers that the private chat sees are then those of the group.
    """
    if refused := await services().access.change_refusal(speaker.session):
        await speaker.reply(refused)
        raise FinishedException
    return speaker.own_collection


Asked = Annotated[KnowledgeCollection, Depends(_asked)]
Changed = Annotated[KnowledgeCollection, Depends(_changed)]


# -- inspection -------------------------------------------------------------------------------------------------------


async def _status(knowledge: Knowledge, collection: Asked) -> str:
    return status_text(await knowledge.status(collection.name))


def status_text(status: KnowledgeStatus) -> str:
    """Return the state of a knowledge base, which fits on one phone screen."""
    lines = [f"知识库：{status.documents} 个文件，{status.chunks} 块，{size_text(status.size)}"]
    if status.indexed_chunks is None:
        lines.append("索引：暂时读不到，稍后再看")
    else:
        lines.append(f"索引：{status.indexed_chunks} 块，其中有向量 {status.indexed_vectors} 块")
    lines.append(f"向量模型：{status.embedding}")
    if status.degraded:
        lines.append(status.degraded)
    if status.stale:
        lines.append(f"{status.stale} 个文件是用别的向量模型入库的，只能按字词查找，发 /kb reindex 重建")
    for item in status.progress[:3]:
        done = f"{item.done}/{item.total} 块" if item.total else "正在读"
        lines.append(f"入库中：「{shortened(item.name, 20)}」{done}")
    if len(status.progress) > 3:
        lines.append(f"还有 {len(status.progress) - 3} 个文件在排队")
    lines.append("看文件：/kb list")
    return "\n".join(lines)


async def _list(speaker: Speaking, knowledge: Knowledge, collection: Asked, argument: Argument) -> str:
    page = _number(argument) or 1
    entries, total = await knowledge.documents(collection.name, page, LIST_PAGE)
    if not total:
        return f"知识库是空的，把文件发到群里就会入库。{reading_text(reading_count(speaker, collection))}"
    return list_text(entries, total, page)


async def _show(speaker: Speaking, asked: AskedBase, argument: Argument) -> str:
    number = _number(argument)
    view = await services().catalogue.view(asked.collection.name, number) if number else None
    if view is None:
        return "没有这个编号，发 /kb list 看编号。" if number else "请写上编号，例如 /kb show 1。"
    return document_text(view, await uploader_names(speaker, asked)(view.entry))


async def _search(speaker: Speaking, collection: Asked, argument: Argument) -> str:
    if not argument:
        return "请写上要找的词，例如 /kb search 报销。"
    found = await services().retriever.search(collection.name, argument, 5)
    if not found:
        return f"没有找到和「{shortened(argument, 30)}」有关的资料。{reading_text(reading_count(speaker, collection))}"
    return search_text(argument, found)


async def _source(speaker: Speaking, collection: Asked, argument: Argument) -> str:
    number = _number(argument.strip("〔〕[]【】 "))
    if not number:
        return "请写上出处的编号，例如 /kb source 1。"
    return passage_text(await services().answering.source(speaker.session_id, collection, number), number)


async def _test(speaker: Speaking, event: MessageEvent, argument: Argument) -> str:
    return await try_knowledge(speaker, event, argument)


# -- changes ----------------------------------------------------------------------------------------------------------


async def _add(speaker: Speaking, knowledge: Knowledge, collection: Changed, argument: Argument) -> str:
    title, body = split_word(argument)
    if not body:
        return "请写上标题和正文，例如 /kb add 报销时间 每周三下午办理报销。"
    session = speaker.session
    result = await knowledge.add_text(collection.name, title, body, session.group_id, session.user_id)
    return ingest_text(result)


async def _delete(knowledge: Knowledge, collection: Changed, argument: Argument) -> str | Confirmation:
    number = _number(argument)
    entry = await knowledge.document(collection.name, number) if number else None
    if entry is None:
        return "没有这个编号，发 /kb list 看编号。" if number else "请写上编号，例如 /kb delete 1。"

    async def act() -> str:
        deleted = await knowledge.delete(collection.name, entry.number)
        return f"「{deleted.name}」已删除。" if deleted else "这个文件已经不在了。"

    return Confirmation(f"要删除「{entry.name}」（{entry.chunks} 块）", act)


async def _type(knowledge: Knowledge, collection: Changed, argument: Argument) -> str:
    word, name = split_word(argument)
    number = _number(word)
    chosen = _TYPES.get(normalized(name))
    if not number or (chosen is None and name not in _BY_RULES):
        kinds = "、".join(TYPE_NAMES.values())
        return f"请写上编号和类型（{kinds}），例如 /kb type 1 教程；改回自动判断：/kb type 1 自动。"
    if not await knowledge.choose_type(collection.name, number, chosen):
        return "没有这个编号，发 /kb list 看编号。"
    return await _edited(collection, number)


async def _tag(knowledge: Knowledge, collection: Changed, argument: Argument) -> str:
    word, rest = split_word(argument)
    number = _number(word)
    tags = [tag for tag in _BETWEEN_TAGS.split(rest) if tag]
    if not number or not tags:
        return "请写上编号和标签，例如 /kb tag 1 报销 差旅；改回自动标签：/kb tag 1 自动；不要标签：/kb tag 1 无。"
    if len(tags) > MOST_TAGS:
        return f"一个文件最多 {MOST_TAGS} 个标签，现在有 {len(tags)} 个，请减少后再发。"
    if long := next((tag for tag in tags if len(tag) > TAG_CHARS), None):
        return f"标签「{shortened(long, 12)}」太长，最多 {TAG_CHARS} 个字。"
    chosen = None if tags[0] in _BY_RULES and len(tags) == 1 else [] if tags == ["无"] else tags
    if not await knowledge.choose_tags(collection.name, number, chosen):
        return "没有这个编号，发 /kb list 看编号。"
    return await _edited(collection, number)


async def _edited(collection: KnowledgeCollection, number: int) -> str:
    view = await services().catalogue.view(collection.name, number)
    if view is None or not view.chunks:
        return "已改好，入库后生效。"
    return f"「{shortened(view.entry.name, 20)}」已改好。{profile_text(view.profile)}"


async def _clear(speaker: Speaking, knowledge: Knowledge, collection: Changed) -> str | Confirmation:
    _, total = await knowledge.documents(collection.name, 1, 1)
    if not total:
        return f"知识库是空的。{reading_text(reading_count(speaker, collection))}"
    return _clearing(knowledge, collection.name, total)


def _clearing(knowledge: KnowledgeService, collection: str, total: int, since: str = "") -> Confirmation:
    async def act() -> str | Confirmation:
        count = await knowledge.clear(collection, at_most=total)
        if count > total:
            return _clearing(knowledge, collection, count, f"又来了 {count - total} 个文件，还没有删除。")
        return f"已删除全部 {count} 个文件。"

    return Confirmation(f"{since}要清空知识库，删除全部 {total} 个文件", act)


async def _reindex(knowledge: Knowledge, collection: Changed) -> str:
    count = await knowledge.reindex(collection.name)
    if not count:
        return "知识库是空的，没有要重建的。"
    return f"开始用原文件重建 {count} 个文件的索引，期间照常可以问，进度看 /kb status。"


async def _load(speaker: Speaking, knowledge: Knowledge, collection: Changed) -> str:
    """Load the files of the import folder. The bot fixes its name, so that nothing a person types becomes a path."""
    folder: Path = settings().data_dir / "import" / collection.name
    if not folder.is_dir():
        return f"请先在服务器的数据目录里建 import/{collection.name}，把文件放进去再发这个命令。"
    counts = dict.fromkeys(IngestStatus, 0)
    refused: list[str] = []
    session = speaker.session
    async for result in knowledge.load_directory(collection.name, folder, session.group_id, session.user_id):
        counts[result.status] += 1
        if result.status is IngestStatus.REJECTED:
            refused.append(f"「{shortened(result.name, 20)}」{result.reason}")
    loaded = counts[IngestStatus.INDEXED] + counts[IngestStatus.UPDATED]
    lines = [
        f"载入完成：已入库 {loaded} 个，已存在 {counts[IngestStatus.DUPLICATE]} 个，没有入库 {len(refused)} 个",
        *refused[:5],
    ]
    if waiting := counts[IngestStatus.DEFERRED] + counts[IngestStatus.IN_PROGRESS]:
        lines.append(f"{waiting} 个还在处理，进度看 /kb status")
    return "\n".join(lines)


async def _use(speaker: Speaking, argument: Argument) -> str:
    if shares_knowledge():
        return "现在所有群共用一个知识库，不用选群。"
    conversations = services().conversations
    if argument in ("0", "自己", "off"):
        await conversations.use_knowledge_group(speaker.session_id, None)
        await services().memory.clear(speaker.session_id)
        return "好，现在查你自己的资料，之前的对话不再带入。"
    group_id = _number(argument)
    if not group_id:
        return "请写上群号，例如 /kb use 123456；发 /kb use 0 换回自己的资料。"
    if refused := await services().access.choice_refusal(speaker.session, group_id, member_lookup(speaker.bot)):
        return refused
    await conversations.use_knowledge_group(speaker.session_id, group_id)
    # What was said about the files of one group must not be carried into questions about those of another.
    await services().memory.clear(speaker.session_id)
    return f"好，现在私聊里查群 {group_id} 的资料，之前的对话不再带入；发 /kb use 0 换回自己的资料。"


async def _pull(speaker: Speaking, argument: Argument) -> str:
    return await pull_knowledge(speaker, argument)


def _number(text: str) -> int:
    """Return a positive number, or 0 for anything else."""
    return int(text) if text.isdecimal() and len(text) <= 12 else 0


# In a private chat the knowledge base belongs to the person, so they may do everything with it.
_ADDING = Rights(group=Role.ADMIN, shared_knowledge=Role.ADMIN)
_PULLING = Rights(group=Role.ADMIN, private=None, shared_knowledge=Role.ADMIN)
_CHANGING = Rights(group=Role.ADMIN, shared_knowledge=Role.SUPERUSER)

register(
    Command(
        "kb",
        ("知识库", "资料"),
        "知识库",
        subcommands=(
            Command("status", ("状态",), "知识库状态", _status),
            Command("list", ("列表",), "文件列表", _list, arguments="[页]", example="2"),
            Command("show", ("查看",), "看一个文件", _show, arguments="编号", example="1"),
            Command("search", ("搜索",), "查资料原文", _search, arguments="词", example="报销"),
            Command("source", ("出处",), "看上一个回答的出处原文", _source, arguments="编号", example="1"),
            Command(
                "use",
                ("使用",),
                "私聊里查那个群的资料",
                _use,
                arguments="群号",
                example="123456",
                rights=Rights(group=None),
            ),
            # It shows raw candidates, and a complete test set keeps the machine busy.
            Command(
                "test",
                ("测试",),
                "看会不会答、为什么，或测一个 CSV",
                _test,
                arguments="[问题]",
                example="住宿能报多少",
                rights=_ADDING,
            ),
            Command(
                "add",
                ("添加",),
                "手写一条资料",
                _add,
                arguments="标题 正文",
                example="报销时间 每周三下午办理报销。",
                rights=_ADDING,
            ),
            Command("delete", ("删除",), "删除文件", _delete, arguments="编号", example="1", rights=_CHANGING),
            Command(
                "tag",
                ("标签",),
                "改文件的标签",
                _tag,
                arguments="编号 标签…",
                example="1 报销 差旅",
                rights=_CHANGING,
            ),
            Command(
                "type",
                ("类型",),
                "改文件的类型",
                _type,
                arguments="编号 类型",
                example="1 教程",
                rights=_CHANGING,
            ),
            Command("clear", ("清空",), "清空知识库", _clear, rights=_CHANGING),
            Command("reindex", ("重建",), "用原文件重建索引", _reindex, rights=_CHANGING),
            Command(
                "pull",
                ("群文件", "收取"),
                "收群里原有的文件",
                _pull,
                arguments="[all 或编号]",
                example="1 3-5",
                rights=_PULLING,
            ),
            Command(
                "load",
                ("载入",),
                "载入服务器上 import 目录的文件",
                _load,
                rights=Rights(group=Role.SUPERUSER, private=Role.SUPERUSER),
            ),
        ),
    )
)
