"""The only place that turns a failure into a sentence for the user."""

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot, MessageEvent
from nonebot.message import run_postprocessor
from nonebot.plugin import PluginMetadata

from qq.depends import outbox
from qq.speaker import chat_of
from services.errors import ServiceError, code_suffix
from services.tracing.current import request_number

__plugin_meta__ = PluginMetadata("出错说明", "出错时说一句话", "自动生效", type="application")

_UNFORESEEN = "出错了，这条没处理成，请稍后再试；一直这样就把编号告诉管理员。"


@run_postprocessor
async def tell(bot: Bot, event: MessageEvent, exception: Exception | None) -> None:
    """Report a failure to the user. Every log line of the request has the number that they receive."""
    if exception is None:
        return
    if isinstance(exception, ServiceError):
        logger.warning(f"told the user: {exception}")
        text = exception.told()
    else:
        number = request_number()
        logger.opt(exception=exception).error(f"failure {number} ({ServiceError.code})")
        text = _UNFORESEEN + code_suffix(ServiceError.code, number)
    await outbox.send(chat_of(bot, event), text, event.message_id, asker=event.user_id)
