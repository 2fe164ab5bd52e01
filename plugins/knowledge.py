"""The command /kb, which inspects and changes a knowledge base."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated

from nonebot import on_command
from nonebot.adapters.onebot.v11 import Message, MessageEvent
from nonebot.params import CommandArg
from nonebot.plugin import PluginMetadata

from qq.budget import Commanding
from qq.depends import Knowledge, confirmations, services, settings
from qq.knowledge_trial import try_knowledge
from qq.messages import ingest_text, passage_text, reading_text, shortened, size_text, time_text
from qq.speaker import Speaker, asked_knowledge, member_role, reading_count, shares_knowledge
from qq.subcommands import split_subcommand
from services.knowledge.models import DocumentEntry, IngestStatus, KnowledgeStatus
from services.knowledge.service import KnowledgeService
from services.roles import Action, Place
from services.session import KnowledgeCollection, Session

__plugin_meta__ = PluginMetadata("知识库", "查看和管理群资料", "/kb status、/kb list……", type="application")

_PAGE = 8
_WORDS: Mapping[str, Action] = {
    "status": Action.KB_STATUS,
    "状态": Action.KB_STATUS,
    "list": Action.KB_LIST,
    "列表": Action.KB_LIST,
    "show": Action.KB_SHOW,
    "查看": Action.KB_SHOW,
    "search": Action.KB_SEARCH,
    "搜索": Action.KB_SEARCH,
    "add": Action.KB_ADD,
    "添加": Action.KB_ADD,
    "delete": Action.KB_DELETE,
    "删除": Action.KB_DELETE,
    "clear": Action.KB_CLEAR,
    "清空": Action.KB_CLEAR,
    "reindex": Action.KB_REINDEX,
    "重建": Action.KB_REINDEX,
    "load": Action.KB_LOAD,
    "载入": Action.KB_LOAD,
    "use": Action.KB_USE,
    "使用": Action.KB_USE,
    "test": Action.KB_TEST,
    "测试": Action.KB_TEST,
    "source": Action.KB_SOURCE,
    "出处": Action.KB_SOURCE,
}

kb = on_command("kb", aliases={"知识库", "资料"}, force_whitespace=True, priority=10, block=True)


@kb.handle()
async def _(
    event: MessageEvent, speaker: Commanding, knowledge: Knowledge, text: Annotated[Message, CommandArg()]
) -> None:
    action, rest = split_subcommand(text.extract_plain_text(), _WORDS)
    if action is None:
        await speaker.reply(
            "没有这个命令，可以用 /kb status、list、show、search、source、add、delete、clear、reindex、test。"
        )
        return
    if refused := await speaker.refusal(action):
        await speaker.reply(refused)
        return
    if action in _LOOKING:
        asked = await asked_knowledge(speaker)
        outcome = asked.refusal or await _LOOKING[action](speaker, knowledge, asked.collection, rest)
    elif action in _CHANGING:
        outcome = await _chosen_elsewhere(speaker) or await _CHANGING[action](speaker, knowledge, rest)
    elif action is Action.KB_TEST:
        outcome = await try_knowledge(speaker, event, knowledge, rest)
    elif action is Action.KB_SOURCE:
        outcome = await _source(speaker, rest)
    else:
        outcome = await _use(speaker, rest)
    if outcome:
        await speaker.reply(outcome)


# -- inspection -------------------------------------------------------------------------------------------------------


async def _status(_speaker: Speaker, knowledge: KnowledgeService, collection: KnowledgeCollection, _rest: str) -> str:
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


async def _list(speaker: Speaker, knowledge: KnowledgeService, collection: KnowledgeCollection, rest: str) -> str:
    page = _number(rest) or 1
    entries, total = await knowledge.documents(collection.name, page, _PAGE)
    pages = -(-total // _PAGE)
    if not total:
        return f"知识库是空的，把文件发到群里就会入库。{reading_text(reading_count(speaker, collection))}"
    if not entries:
        return f"只有 {pages} 页，发 /kb list {pages} 看最后一页。"
    lines = [f"{entry.number}. {_entry_line(entry)}" for entry in entries]
    following = f"下一页：/kb list {page + 1}" if page < pages else "看内容：/kb show 编号"
    return "\n".join([f"共 {total} 个文件，第 {page}/{pages} 页", *lines, following])


def _entry_line(entry: DocumentEntry) -> str:
    version = f" v{entry.version}" if entry.version > 1 else ""
    return f"{shortened(entry.name, 24)}{version}（{_state(entry)}）"


def _state(entry: DocumentEntry) -> str:
    if not entry.ready:
        return "入库中"
    return f"{entry.chunks} 块" if entry.embedded else f"{entry.chunks} 块，现在按字词找"


async def _show(_speaker: Speaker, knowledge: KnowledgeService, collection: KnowledgeCollection, rest: str) -> str:
    number = _number(rest)
    view = await knowledge.show(collection.name, number) if number else None
    if view is None:
        return "没有这个编号，发 /kb list 看编号。" if number else "请写上编号，例如 /kb show 1。"
    entry = view.entry
    lines = [
        f"{entry.number}. {entry.name} 第 {entry.version} 版",
        f"{size_text(entry.size)}，{_state(entry) if entry.ready else '正在入库'}，"
        f"{entry.uploader_id} 上传于 {time_text(entry.uploaded_at)}",
        *(f"「{shortened(passage, 120)}」" for passage in view.passages),
    ]
    return "\n".join(lines)


async def _search(speaker: Speaker, _knowledge: KnowledgeService, collection: KnowledgeCollection, rest: str) -> str:
    if not rest:
        return "请写上要找的词，例如 /kb search 报销。"
    found = await services().retriever.search(collection.name, rest, 5)
    if not found:
        return f"没有找到和「{shortened(rest, 30)}」有关的资料。{reading_text(reading_count(speaker, collection))}"
    return "\n".join(
        f"〔{reference.number}〕{shortened(reference.place, 40)}\n{shortened(reference.text, 90)}"
        for reference in found
    )


async def _source(speaker: Speaker, rest: str) -> str:
    number = _number(rest.strip("〔〕[]【】 "))
    if not number:
        return "请写上出处的编号，例如 /kb source 1。"
    # Check again, because a private chat may have switched groups since, or its person may have left the group.
    asked = await asked_knowledge(speaker)
    if asked.refusal:
        return asked.refusal
    return passage_text(await services().answering.source(speaker.session_id, asked.collection, number), number)


# -- changes ----------------------------------------------------------------------------------------------------------


async def _chosen_elsewhere(speaker: Speaker) -> str:
    """Return why nothing may be changed while a private chat asks the files of a group, or an empty string otherwise.

    The numbers that the private chat sees are then those of the group.
    """
    if speaker.place is Place.GROUP or shares_knowledge():
        return ""
    group_id = await services().conversations.knowledge_group(speaker.session_id)
    if group_id is None:
        return ""
    return f"现在查的是群 {group_id} 的资料，要改请到群里去；发 /kb use 0 换回自己的资料再改。"


async def _add(speaker: Speaker, knowledge: KnowledgeService, rest: str) -> str:
    title, body = [*rest.split(maxsplit=1), "", ""][:2]
    if not body.strip():
        return "请写上标题和正文，例如 /kb add 报销时间 每周三下午办理报销。"
    session = speaker.session
    result = await knowledge.add_text(
        speaker.own_collection.name, title, body.strip(), session.group_id, session.user_id
    )
    return ingest_text(result)


async def _delete(speaker: Speaker, knowledge: KnowledgeService, rest: str) -> str:
    number = _number(rest)
    collection = speaker.own_collection.name
    view = await knowledge.show(collection, number, passages=0) if number else None
    if view is None:
        return "没有这个编号，发 /kb list 看编号。" if number else "请写上编号，例如 /kb delete 1。"

    async def act() -> str:
        entry = await knowledge.delete(collection, view.entry.number)
        return f"「{entry.name}」已删除。" if entry else "这个文件已经不在了。"

    return confirmations.ask(
        speaker.session, Action.KB_DELETE, f"要删除「{view.entry.name}」（{view.entry.chunks} 块）", act
    )


async def _clear(speaker: Speaker, knowledge: KnowledgeService, _rest: str) -> str:
    collection = speaker.own_collection.name
    _, total = await knowledge.documents(collection, 1, 1)
    if not total:
        return f"知识库是空的。{reading_text(reading_count(speaker, speaker.own_collection))}"
    return _ask_to_clear(speaker.session, knowledge, collection, total)


def _ask_to_clear(session: Session, knowledge: KnowledgeService, collection: str, total: int) -> str:
    async def act() -> str:
        count = await knowledge.clear(collection, at_most=total)
        if count > total:
            return f"又来了 {count - total} 个文件，还没有删除。" + _ask_to_clear(session, knowledge, collection, count)
        return f"已删除全部 {count} 个文件。"

    return confirmations.ask(session, Action.KB_CLEAR, f"要清空知识库，删除全部 {total} 个文件", act)


async def _reindex(speaker: Speaker, knowledge: KnowledgeService, _rest: str) -> str:
    count = await knowledge.reindex(speaker.own_collection.name)
    if not count:
        return "知识库是空的，没有要重建的。"
    return f"开始用原文件重建 {count} 个文件的索引，期间照常可以问，进度看 /kb status。"


async def _load(speaker: Speaker, knowledge: KnowledgeService, _rest: str) -> str:
    """Load the files of the import folder. The bot fixes its name, so that nothing a person types becomes a path."""
    collection = speaker.own_collection.name
    folder: Path = settings().data_dir / "import" / collection
    if not folder.is_dir():
        return f"请先在服务器的数据目录里建 import/{collection}，把文件放进去再发这个命令。"
    counts = dict.fromkeys(IngestStatus, 0)
    refused: list[str] = []
    session = speaker.session
    async for result in knowledge.load_directory(collection, folder, session.group_id, session.user_id):
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


async def _use(speaker: Speaker, rest: str) -> str:
    if shares_knowledge():
        return "现在所有群共用一个知识库，不用选群。"
    conversations = services().conversations
    if rest in ("0", "自己", "off"):
        await conversations.use_knowledge_group(speaker.session_id, None)
        await services().memory.clear(speaker.session_id)
        return "好，现在查你自己的资料，之前的对话不再带入。"
    group_id = _number(rest)
    if not group_id:
        return "请写上群号，例如 /kb use 123456；发 /kb use 0 换回自己的资料。"
    if await member_role(speaker.bot, group_id, speaker.session.user_id, fresh=True) is None:
        return f"无法确认你在群 {group_id} 里，不能查那个群的资料。"
    await conversations.use_knowledge_group(speaker.session_id, group_id)
    # What was said about the files of one group must not be carried into questions about those of another.
    await services().memory.clear(speaker.session_id)
    return f"好，现在私聊里查群 {group_id} 的资料，之前的对话不再带入；发 /kb use 0 换回自己的资料。"


def _number(text: str) -> int:
    """Return a positive number, or 0 for anything else."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= 12 else 0


_LOOKING: Mapping[Action, Callable[[Speaker, KnowledgeService, KnowledgeCollection, str], Awaitable[str]]] = {
    Action.KB_STATUS: _status,
    Action.KB_LIST: _list,
    Action.KB_SHOW: _show,
    Action.KB_SEARCH: _search,
}
_CHANGING: Mapping[Action, Callable[[Speaker, KnowledgeService, str], Awaitable[str]]] = {
    Action.KB_ADD: _add,
    Action.KB_DELETE: _delete,
    Action.KB_CLEAR: _clear,
    Action.KB_REINDEX: _reindex,
    Action.KB_LOAD: _load,
}
