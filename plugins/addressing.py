"""Recognition of messages that are meant for the bot. It repairs what the adapter misses before commands are parsed."""

from typing import Any

from cachetools import TTLCache
from nonebot import get_bots, logger
from nonebot.adapters.onebot.v11 import Bot, Event, GroupMessageEvent, Message, MessageEvent, NoticeEvent
from nonebot.adapters.onebot.v11.event import Reply
from nonebot.exception import IgnoredException
from nonebot.message import event_preprocessor
from nonebot.plugin import PluginMetadata

from qq.connection.own_accounts import own_accounts
from services.text.cleaning import without_surrogates

__plugin_meta__ = PluginMetadata("听", "听懂谁在叫机器人", "自动生效", type="application")

_CLAIM_S, _MOST_CLAIMS = 10.0, 10_000
_claims: TTLCache[tuple[int, int, str], str] = TTLCache(_MOST_CLAIMS, _CLAIM_S)
# The field that names the author of a notice. Lagrange uses another field for reactions.
_DOERS = {
    "group_upload": "user_id",
    "offline_file": "user_id",
    "group_msg_emoji_like": "user_id",
    "reaction": "operator_id",
}


@event_preprocessor
async def ignore_own_accounts(bot: Bot, event: Event) -> None:
    """Ignore messages, files and reactions of the bot's own accounts.

    Otherwise two of them would talk to each other endlessly. Some clients report an account's own messages to it too.
    """
    author = None
    if isinstance(event, MessageEvent):
        author = event.user_id
    elif isinstance(event, NoticeEvent) and event.notice_type in _DOERS:
        author = getattr(event, _DOERS[event.notice_type], None)
    if author is not None and (str(author) in (bot.self_id, str(event.self_id)) or author in own_accounts):
        raise IgnoredException("one of our accounts")


@event_preprocessor
async def make_storable(event: MessageEvent) -> None:
    """Remove lone surrogates, which JSON can carry, but which cannot be stored, sent or shown."""
    quoted = event.reply.message if event.reply is not None else ()
    for segment in (*event.message, *quoted):
        if segment.type == "text":
            segment.data["text"] = without_surrogates(str(segment.data.get("text", "")))


@event_preprocessor
async def notice_at(bot: Bot, event: GroupMessageEvent) -> None:
    """Recognise an @ anywhere in the sentence, and also after a reply whose original could not be looked up."""
    message = event.message
    mine = [segment for segment in message if segment.type == "at" and str(segment.data.get("qq")) == bot.self_id]
    if not mine:
        return
    event.to_me = True
    kept = [segment for segment in message if segment not in mine and segment.type != "reply"]
    if kept and kept[0].type == "text":
        kept[0].data["text"] = str(kept[0].data["text"]).lstrip()
    event.message = Message(kept)


@event_preprocessor
async def quotes_from_elsewhere(event: MessageEvent) -> None:
    """Drop a quoted message unless the client says that it was sent in the same chat.

    A client answers for the id of any message in any chat. With a made-up id, somebody could have the words of another
    group read, shown or downloaded here.
    """
    if event.reply is not None and not _is_from_here(event, event.reply):
        logger.warning(f"message {event.message_id} quotes {event.reply.message_id}, which is not from this chat")
        event.reply = None


def _is_from_here(event: MessageEvent, quoted: Reply) -> bool:
    told: dict[str, Any] = quoted.model_extra or {}
    if isinstance(event, GroupMessageEvent):
        return quoted.message_type == "group" and str(told.get("group_id")) == str(event.group_id)
    author = quoted.sender.user_id
    to_him = author == event.self_id and str(told.get("target_id")) == str(event.user_id)
    return quoted.message_type != "group" and (author == event.user_id or to_him)


@event_preprocessor
async def nickname_alone(event: GroupMessageEvent) -> None:
    """Do not take 「群知识」 and 「群知道」 for a call, although they begin with the default nickname."""
    text = event.original_message.extract_plain_text().lstrip()
    called = any(segment.type in ("at", "reply") for segment in event.original_message)
    if event.to_me and not called and text.startswith(("群知识", "群知道")):
        event.to_me = False
        event.message = event.original_message.copy()


@event_preprocessor
async def one_of_us_answers(bot: Bot, event: GroupMessageEvent) -> None:
    """Let the first of several accounts in a group that receives a message answer it if it addresses none of them."""
    addressed = any(segment.type in ("at", "reply") for segment in event.original_message)
    if len(get_bots()) < 2 or addressed:
        return
    key = (event.group_id, event.user_id, event.get_plaintext())
    owner = _claims.setdefault(key, bot.self_id)
    if owner != bot.self_id:
        raise IgnoredException("another of our accounts answers")
