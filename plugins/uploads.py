"""Files that are sent to a group or in private: they go to the intake, or to the command that waits for them."""

import asyncio
import time
from dataclasses import dataclass

from nonebot import get_driver, logger, on_message, on_notice
from nonebot.adapters.onebot.v11 import Bot, NoticeEvent, PrivateMessageEvent
from nonebot.plugin import PluginMetadata

from qq.arrivals import arrival_in, messenger
from qq.chat import Chat
from qq.depends import FileIntake, outbox, receipts, services
from qq.expected_files import expected_files
from qq.outbox.send_queue import Priority
from qq.speaker import chat_of
from qq.uploaded_file import UploadedFile
from services.knowledge.intake import Intake
from services.session import Session

__plugin_meta__ = PluginMetadata("收文件", "群文件自动入库", "把文件发到群里或私聊发给我", type="application")

# Some clients report one private file by a notice and by a message, and two of the bot's accounts in one group both
# receive a file. The same report from the same source again means that somebody sent the file again.
_SAME_FILE_S = 60.0
_recent: dict[tuple[int, int, str], "_Telling"] = {}
_UNREADABLE = "有一个文件没有入库：QQ 客户端没有说清是哪个文件，请重新发一次。"


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
async def _(bot: Bot, event: NoticeEvent, intake: FileIntake) -> None:
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
    await _receive(bot, chat, Session(group_id, user_id), UploadedFile.read(data), intake, "notice")


@private_file.handle()
async def _(bot: Bot, event: PrivateMessageEvent, intake: FileIntake) -> None:
    file = UploadedFile.in_message(event.message)
    if file is not None:
        await _receive(bot, chat_of(bot, event), Session(None, event.user_id), file, intake, "message")


@get_driver().on_bot_connect
async def _connected(bot: Bot) -> None:
    """Deliver what waited for this account, and resume the files that a stop interrupted."""
    outbox.account_connected(bot.self_id)
    task = asyncio.create_task(_resume(bot.self_id), name="resumed-uploads")
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


@get_driver().on_shutdown
async def _stop() -> None:
    """End the tasks that do not run in the handler of an event."""
    await receipts.close()
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)


_tasks: set[asyncio.Task[None]] = set()


async def _resume(account: str) -> None:
    await asyncio.gather(services().intake.resume(account, messenger), services().pulls.resume(account, messenger))


async def _receive(bot: Bot, chat: Chat, session: Session, file: UploadedFile, intake: Intake, told_by: str) -> None:
    if _is_retold(session, file, f"{bot.self_id} {told_by}"):
        return
    if (take := expected_files.pop(session, file.name)) is not None:
        await take(bot, file)
        return
    await intake.receive(arrival_in(chat, session, file), messenger)


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


def _number(value: object) -> int | None:
    """Return a QQ number, which some clients write as text, or None."""
    text = str(value)
    return int(text) if not isinstance(value, bool) and text.isascii() and text.isdecimal() and len(text) < 20 else None
