"""Files that are sent to a group or in private: they are fetched and ingested, and their outcome is reported."""

import asyncio
import errno
import secrets
import time
from collections.abc import Coroutine
from dataclasses import dataclass

from nonebot import get_bots, get_driver, logger, on_message, on_notice
from nonebot.adapters.onebot.v11 import Bot, NoticeEvent, PrivateMessageEvent
from nonebot.plugin import PluginMetadata

from qq.chat import Chat
from qq.depends import Knowledge, outbox, receipts, services, settings
from qq.expected_files import expected_files
from qq.files import UploadedFile, fetch
from qq.outbox.outbox import Delivery
from qq.outbox.send_queue import Priority
from qq.speaker import chat_of, member_role, shares_knowledge
from services.errors import DocumentRejected, DownloadFailed, ServiceError, code_suffix
from services.knowledge.models import IncomingFile, IngestResult, IngestStatus
from services.knowledge.service import KnowledgeService
from services.records.tables import UploadRecord
from services.roles import Action, Place, Role, lowest_role, refusal
from services.session import Session

__plugin_meta__ = PluginMetadata("收文件", "群文件自动入库", "把文件发到群里或私聊发给我", type="application")

_UPLOAD_ROLES = {"member": Role.MEMBER, "admin": Role.ADMIN, "owner": Role.OWNER}
# Some clients report one private file by a notice and by a message, and two of the bot's accounts in one group both
# receive a file. The same report from the same source again means that somebody sent the file again.
_SAME_FILE_S = 60.0
_recent: dict[tuple[int, int, str], "_Telling"] = {}
# The ids of the uploads that a task is working on.
_in_hand: set[int] = set()
# Seconds between attempts when the disk or the database fails: short at first, about two hours in total.
_RETRY_AFTER_S = (5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
_UNREADABLE = "有一个文件没有入库：QQ 客户端没有说清是哪个文件，请重新发一次。"


class _ConnectionEnded(Exception):
    """Signals that the account's connection ended during the download."""


@dataclass(slots=True)
class _Arrival:
    """A file that is being received.

    `upload` is its row in the list of unfinished files, or None until the row could be written.
    """

    self_id: str
    chat: Chat
    session: Session
    file: UploadedFile
    upload: UploadRecord | None = None


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
    # Without `busid` the adapter returns a plain notice, in which everything is among the extra fields.
    fields = event.model_dump()
    is_private = event.notice_type == "offline_file"
    user_id, group_id = _number(fields.get("user_id")), None if is_private else _number(fields.get("group_id"))
    if user_id is None or (group_id is None and not is_private):
        logger.warning(f"a file notice without sender or group: {fields}")
        return
    chat = Chat(bot.self_id, group_id) if group_id is not None else Chat(bot.self_id, None, user_id)
    data = fields.get("file")
    if not isinstance(data, dict):
        logger.warning(f"a file notice without file: {fields}")
        await outbox.send(chat, _UNREADABLE, priority=Priority.NOTICE)
        return
    await _receive(bot, chat, Session(group_id, user_id), UploadedFile.read(data), knowledge, "notice")


@private_file.handle()
async def _(bot: Bot, event: PrivateMessageEvent, knowledge: Knowledge) -> None:
    file = UploadedFile.in_message(event.message)
    if file is not None:
        await _receive(bot, chat_of(bot, event), Session(None, event.user_id), file, knowledge, "message")


@get_driver().on_bot_connect
async def _connected(bot: Bot) -> None:
    """Deliver what waited for this account, and resume the files that a stop interrupted."""
    outbox.account_connected(bot.self_id)
    _start(_resume(bot.self_id))


@get_driver().on_shutdown
async def _stop() -> None:
    """End the tasks that do not run in the handler of an event."""
    await receipts.close()
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)


_tasks: set[asyncio.Task[None]] = set()


def _start(work: Coroutine[None, None, None]) -> None:
    task = asyncio.create_task(work, name="resumed-upload")
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _resume(self_id: str) -> None:
    for wait_s in (*_RETRY_AFTER_S, None):
        try:
            uploads = await services().uploads.waiting(self_id)
        except Exception as error:  # noqa: BLE001 - any failure of the database is retried
            logger.opt(exception=error).error(f"the unfinished files of account {self_id} could not be looked up")
        else:
            for upload in uploads:
                if upload.id not in _in_hand:
                    session = Session(upload.group_id, upload.user_id)
                    file = UploadedFile.of(upload)
                    arrival = _Arrival(self_id, _chat(upload), session, file, upload)
                    _in_hand.add(upload.id)
                    _start(_take(arrival, services().knowledge))
            return
        if wait_s is None or self_id not in get_bots():
            return
        await asyncio.sleep(wait_s)


async def _receive(
    bot: Bot, chat: Chat, session: Session, file: UploadedFile, knowledge: KnowledgeService, told_by: str
) -> None:
    if _is_retold(session, file, f"{bot.self_id} {told_by}"):
        return
    if (take := expected_files.pop(session, file.name)) is not None:
        await take(bot, file)
        return
    await _take(_Arrival(bot.self_id, chat, session, file), knowledge)


def _is_retold(session: Session, file: UploadedFile, told_by: str) -> bool:
    present = time.monotonic()
    for key in [key for key, telling in _recent.items() if telling.at < present - _SAME_FILE_S]:
        del _recent[key]
    key = (session.group_id or 0, session.user_id, file.name)
    first = _recent.setdefault(key, _Telling(told_by, file.size, present))
    # Not every report contains the size.
    if first.told_by != told_by and (first.size == file.size or not (first.size and file.size)):
        return True
    _recent[key] = _Telling(told_by, file.size, present)
    return False


async def _refusal(bot: Bot, session: Session, file: UploadedFile, knowledge: KnowledgeService) -> str:
    """Return why a file should not be fetched, or an empty string if it should."""
    place = Place.PRIVATE if session.group_id is None else Place.GROUP
    action = Action.UPLOAD if place is Place.GROUP else Action.UPLOAD_PRIVATE
    needed = lowest_role(place, action, shared=shares_knowledge()) or Role.SUPERUSER
    if session.group_id is not None:
        needed = max(needed, _UPLOAD_ROLES[settings().knowledge.upload_role])
    if needed > Role.MEMBER and await _role(bot, session) < needed:
        return refusal(place, needed)
    return knowledge.refusal(file.name, file.size)


async def _role(bot: Bot, session: Session) -> Role:
    if str(session.user_id) in settings().superusers:
        return Role.SUPERUSER
    if session.group_id is None:
        return Role.MEMBER
    return await member_role(bot, session.group_id, session.user_id) or Role.MEMBER


async def _take(arrival: _Arrival, knowledge: KnowledgeService) -> None:
    """Fetch and ingest one file, and report the outcome. Only then is the file removed from the list.

    A failure that is not the file's own fault is reported once and retried. A file whose account went away stays on the
    list, which is processed when the account comes back.
    """
    try:
        result = await _settled(arrival, knowledge)
        if result is None:
            return
        delivery = await receipts.tell(arrival.chat, result)
        if result.status is IngestStatus.DEFERRED:
            final = await knowledge.outcome(result.document_id)
            removed = IngestResult(IngestStatus.REMOVED, result.name)
            delivery = await receipts.tell(arrival.chat, final or removed)
        if delivery is Delivery.SENT and arrival.upload is not None:
            await _finish(arrival.upload)
    finally:
        if arrival.upload is not None:
            _in_hand.discard(arrival.upload.id)


async def _settled(arrival: _Arrival, knowledge: KnowledgeService) -> IngestResult | None:
    """Return the outcome of a file after as many attempts as it takes, or None if it has to wait for its account."""
    name, number = arrival.file.name, secrets.token_hex(3)
    failure = ServiceError("机器人这边出了问题。")
    failures = 0
    while True:
        bot = get_bots().get(arrival.self_id)
        if isinstance(bot, Bot):
            try:
                with receipts.reading(arrival.chat, name, is_announced=failures > 0):
                    return await _attempt(bot, arrival, knowledge)
            except _ConnectionEnded:
                continue
            except Exception as error:  # noqa: BLE001 - every failure is reported and retried, so that no file is lost
                logger.opt(exception=error).error(f"failure {number}: {name!r} could not be taken in")
                if isinstance(error, ServiceError):
                    failure = error
        elif arrival.upload is not None:
            return None
        if failures == len(_RETRY_AFTER_S):
            gave_up = "试了多次都没成功，请稍后重新发一次；一直这样就把编号告诉管理员。"
            reason = gave_up + code_suffix(failure.code, number)
            return IngestResult(IngestStatus.REJECTED, name, reason=reason)
        pause = asyncio.sleep(_RETRY_AFTER_S[failures])
        if failures == 0:
            reason = failure.told(number)
            if arrival.upload is None:
                reason += "还没能记下来，机器人重启的话要重新发。"
            told = receipts.tell(arrival.chat, IngestResult(IngestStatus.DEFERRED, name, reason=reason))
            await asyncio.gather(told, pause)
        else:
            await pause
        failures += 1


async def _attempt(bot: Bot, arrival: _Arrival, knowledge: KnowledgeService) -> IngestResult:
    """Ingest one file. Raise the failure unless it is the file's own fault or sending the file again helps."""
    upload, session, file = arrival.upload, arrival.session, arrival.file
    if upload is None:
        if reason := await _refusal(bot, session, file, knowledge):
            return IngestResult(IngestStatus.REJECTED, file.name, reason=reason)
        source = file.source(arrival.chat.group_id)
        upload = await services().uploads.add(
            arrival.self_id, session.group_id, session.user_id, file.name, file.size, source
        )
        arrival.upload = upload
        _in_hand.add(upload.id)
    else:
        # A previous attempt may have registered the document.
        upload = await services().uploads.get(upload.id) or upload
    if upload.document_id is not None and (result := await knowledge.outcome(upload.document_id)) is not None:
        return result
    path = knowledge.new_incoming()
    try:
        collection = session.collection(settings().knowledge.scope).name
        async with knowledge.receiving(collection, upload.name, upload.size, upload.group_id, upload.user_id):
            await fetch(
                bot,
                file,
                session.group_id,
                session.user_id,
                path,
                knowledge.max_bytes,
                knowledge.min_bytes_per_s,
                settings().knowledge.client_file_dirs,
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
    except DocumentRejected as error:
        return IngestResult(IngestStatus.REJECTED, upload.name, reason=error.told())
    except DownloadFailed as error:
        if get_bots().get(arrival.self_id) is not bot:
            raise _ConnectionEnded from error
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ENOSPC:
            raise
        logger.warning(f"upload {upload.id} failed: {error}")
        return IngestResult(IngestStatus.REJECTED, upload.name, reason=error.told())
    finally:
        path.unlink(missing_ok=True)


async def _finish(upload: UploadRecord) -> None:
    """Remove a file from the list, and retry while the database fails.

    A file that stays on the list would be reported again after a restart.
    """
    for wait_s in (*_RETRY_AFTER_S, None):
        try:
            await services().uploads.finish(upload.id)
        except Exception as error:  # noqa: BLE001 - any failure of the database is retried
            logger.opt(exception=error).error(f"upload {upload.id} could not be taken off the list")
        else:
            return
        if wait_s is not None:
            await asyncio.sleep(wait_s)


def _chat(upload: UploadRecord) -> Chat:
    if upload.group_id is not None:
        return Chat(upload.self_id, upload.group_id)
    return Chat(upload.self_id, upload.source and upload.source.via, upload.user_id)


def _number(value: object) -> int | None:
    """Return a QQ number, which some clients write as text, or None."""
    text = str(value)
    return int(text) if not isinstance(value, bool) and text.isascii() and text.isdecimal() and len(text) < 20 else None
