"""Recalls of questions, which are then not answered and of which no trace keeps the text."""

from nonebot import logger, on_notice
from nonebot.adapters.onebot.v11 import Bot, NoticeEvent
from nonebot.plugin import PluginMetadata

from qq.chat import Chat
from qq.depends import is_open, recalls, services
from services.session import Session

__plugin_meta__ = PluginMetadata("撤回", "撤回的问题不再回答", "自动生效", type="application")


async def _is_recall(event: NoticeEvent) -> bool:
    return event.notice_type in ("group_recall", "friend_recall")


recall = on_notice(rule=_is_recall, priority=1, block=False)


@recall.handle()
async def _(bot: Bot, event: NoticeEvent) -> None:
    # A notice in which a client omits a field becomes a plain notice.
    fields = event.model_dump()
    user_id, group_id, message_id = fields.get("user_id"), fields.get("group_id"), fields.get("message_id")
    if not isinstance(message_id, int):
        logger.warning(f"a recall notice without a message: {fields}")
    elif event.notice_type == "group_recall" and isinstance(group_id, int):
        recalls.add(Chat(bot.self_id, group_id), message_id)
        await _erase(Session(group_id, 0), message_id)
    elif event.notice_type == "friend_recall" and isinstance(user_id, int):
        recalls.add(Chat(bot.self_id, None, user_id), message_id)
        await _erase(Session(None, user_id), message_id)


async def _erase(session: Session, message_id: int) -> None:
    """Erase what the traces and open reviews keep of a recalled message."""
    if is_open():
        await services().traces.erase_message(session.chat, message_id)
        await services().reviews.withdraw(session.chat, message_id)
        if session.group_id is not None:
            services().suggestions.forget(session.group_id, message_id)
