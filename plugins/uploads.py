"""Files dropped into a group or sent in private: fetched, taken in, and their outcome told."""

import asyncio
import time
from dataclasses import dataclass

from nonebot import get_bots, get_driver, logger, on_message, on_notice
from nonebot.adapters.onebot.v11 import Bot, NoticeEvent, PrivateMessageEvent
from nonebot.plugin import PluginMetadata

from plugins._depends import Knowledge, outbox, services, settings
from plugins._expected_files import expected_files
from plugins._files import UploadedFile, fetch
from plugins._messages import ingest_text
from plugins._outbox import Chat
from plugins._speaker import chat_of, member_role, shares_knowledge
from plugins._working import working
from services.errors import ServiceError
from services.knowledge.models import IncomingFile, IngestResult, IngestStatus
from services.knowledge.service import KnowledgeService
from services.records.tables import UploadRecord
from services.roles import Action, Place, Role, lowest_role, refusal
from services.session import Session

__plugin_meta__ = PluginMetadata("收文件", "群文件自动入库", "把文件发到群里或私聊发给我", type="application")

_UPLOAD_ROLES = {"member": Role.MEMBER, "admin": Role.ADMIN, "owner": Role.OWNER}
# Some clients tell of one private file by a notice and by a message, and two of our accounts in one group both hear of
# a file. The same telling twice is somebody sending the file again.
_SAME_FILE_S = 60.0
_recent: dict[tuple[int, int, str], "_Telling"] = {}
_in_hand: set[int] = set()


@dataclass(frozen=True, slots=True)
class _Telling:
    told_by: str
    size: int
    at: float


async def _is_file_notice(event: NoticeEvent) -> bool:
    return event.notice_type in ("group_upload", "offline_file")


async def _is_private_file(event: PrivateMessageEvent) -> bool:
    return any(segment.type == "file" for segment in event.message)


file_notice = on_notice(rule=_is_file_notice, priority=10, block=True)
private_file = on_message(rule=_is_private_file, priority=5, block=True)


@file_notice.handle()
async def _(bot: Bot, event: NoticeEvent, knowledge: Knowledge) -> None:
    # Without `busid` the adapter gives a plain notice: everything is then among the extra fields.
    fields = event.model_dump()
    data, user_id, group_id = fields.get("file"), fields.get("user_id"), fields.get("group_id")
    if not isinstance(data, dict) or not isinstance(user_id, int):
        logger.warning(f"a file notice without file or sender: {fields}")
        return
    if event.notice_type == "offline_file":
        group_id = None
    chat = Chat(bot.self_id, group_id) if group_id is not None else Chat(bot.self_id, None, user_id)
    await _receive(bot, chat, Session(group_id, user_id), UploadedFile.read(data), knowledge, "notice")


@private_file.handle()
async def _(bot: Bot, event: PrivateMessageEvent, knowledge: Knowledge) -> None:
    file = UploadedFile.in_message(event.message)
    if file is not None:
        await _receive(bot, chat_of(bot, event), Session(None, event.user_id), file, knowledge, "message")


@get_driver().on_bot_connect
async def _connected(bot: Bot) -> None:
    """Deliver what waited for this account, and go on with the files that a stop interrupted."""
    await outbox.account_connected()
    for upload in await services().uploads.waiting(bot.self_id):
        if upload.id not in _in_hand:
            task = asyncio.create_task(_take(bot, _chat(upload), upload, services().knowledge), name="resumed-upload")
            _resumed.add(task)
            task.add_done_callback(_resumed.discard)


_resumed: set[asyncio.Task[None]] = set()


async def _receive(
    bot: Bot, chat: Chat, session: Session, file: UploadedFile, knowledge: KnowledgeService, told_by: str
) -> None:
    if str(session.user_id) in get_bots() or _is_retold(session, file, f"{bot.self_id} {told_by}"):
        return
    if (take := expected_files.pop(session, file.name)) is not None:
        await take(bot, file)
        return
    if reason := await _refusal(bot, session, file, knowledge):
        await outbox.send(chat, reason)
        return
    upload = await services().uploads.add(
        bot.self_id, session.group_id, session.user_id, file.name, file.size, {**file.source(), "via": chat.group_id}
    )
    await _take(bot, chat, upload, knowledge)


def _is_retold(session: Session, file: UploadedFile, told_by: str) -> bool:
    present = time.monotonic()
    for key in [key for key, telling in _recent.items() if telling.at < present - _SAME_FILE_S]:
        del _recent[key]
    key = (session.group_id or 0, session.user_id, file.name)
    first = _recent.setdefault(key, _Telling(told_by, file.size, present))
    # Not every telling knows the size.
    if first.told_by != told_by and (first.size == file.size or not (first.size and file.size)):
        return True
    _recent[key] = _Telling(told_by, file.size, present)
    return False


async def _refusal(bot: Bot, session: Session, file: UploadedFile, knowledge: KnowledgeService) -> str:
    """Why a file need not be fetched; empty when it may come."""
    place = Place.PRIVATE if session.group_id is None else Place.GROUP
    action = Action.UPLOAD if place is Place.GROUP else Action.UPLOAD_PRIVATE
    needed = lowest_role(place, action, shared=shares_knowledge()) or Role.SUPERUSER
    if session.group_id is not None:
        needed = max(needed, _UPLOAD_ROLES[settings().knowledge.upload_role])
    if needed > Role.MEMBER and await _role(bot, session) < needed:
        return f"「{file.name}」没有入库。{refusal(place, needed)}"
    reason = knowledge.refusal(file.name, file.size)
    return f"「{file.name}」没有入库：{reason}" if reason else ""


async def _role(bot: Bot, session: Session) -> Role:
    if str(session.user_id) in settings().superusers:
        return Role.SUPERUSER
    if session.group_id is None:
        return Role.MEMBER
    return await member_role(bot, session.group_id, session.user_id) or Role.MEMBER


async def _take(bot: Bot, chat: Chat, upload: UploadRecord, knowledge: KnowledgeService) -> None:
    """Fetch and take in one file, and tell the outcome; only then is it off the list."""
    _in_hand.add(upload.id)

    async def show() -> None:
        await outbox.send(chat, f"收到「{upload.name}」，正在入库…")

    try:
        async with working(show):
            result = await _outcome(bot, upload, knowledge)
        await outbox.send(chat, ingest_text(result))
        if result.status is IngestStatus.DEFERRED:
            final = await knowledge.outcome(result.document_id)
            await outbox.send(chat, ingest_text(final or result))
        await services().uploads.finish(upload.id)
    finally:
        _in_hand.discard(upload.id)


async def _outcome(bot: Bot, upload: UploadRecord, knowledge: KnowledgeService) -> IngestResult:
    if upload.document_id is not None and (result := await knowledge.outcome(upload.document_id)) is not None:
        return result
    session = Session(upload.group_id, upload.user_id)
    path = knowledge.new_incoming()
    source = {key: value for key, value in upload.source.items() if key != "via"}
    try:
        collection = session.collection(settings().knowledge.scope).name
        async with knowledge.receiving(collection, upload.name, upload.size, upload.group_id, upload.user_id):
            await fetch(
                bot,
                UploadedFile(**source),
                session.group_id,
                session.user_id,
                path,
                knowledge.max_bytes,
                knowledge.min_bytes_per_s,
            )
        return await knowledge.ingest(
            IncomingFile(
                collection=collection,
                path=path,
                name=upload.name,
                group_id=upload.group_id,
                uploader_id=upload.user_id,
                received_at=upload.received_at,
                upload_id=upload.id,
            )
        )
    except ServiceError as error:
        logger.warning(f"upload {upload.id} failed: {error}")
        return IngestResult(IngestStatus.REJECTED, upload.name, reason=error.user_message)


def _chat(upload: UploadRecord) -> Chat:
    if upload.group_id is not None:
        return Chat(upload.self_id, upload.group_id)
    return Chat(upload.self_id, upload.source.get("via"), upload.user_id)
