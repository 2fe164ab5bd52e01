"""Group messages in the form that the proactive mode reads, and how its answers are told apart."""

from collections.abc import Collection
from datetime import datetime

from nonebot.adapters.onebot.v11 import GroupMessageEvent, Message

from services.proactive.models import GroupMessage

# The end of every unasked answer. It also identifies one if a client has lost what the answer quotes.
MARK = "（主动回答，嫌吵发 /bot quiet）"

_READABLE = frozenset({"text", "at", "reply", "face"})


def group_message(
    event: GroupMessageEvent, accounts: Collection[str], command_start: Collection[str], at: datetime
) -> GroupMessage:
    """Return what the proactive mode needs to know about a message. `accounts` are the QQ numbers of the bot itself."""
    segments = event.original_message
    text = event.get_plaintext().strip()
    mentions = [str(segment.data.get("qq")) for segment in segments if segment.type == "at"]
    reply_to = replied_to(segments)
    author = event.reply.sender.user_id if event.reply else None
    addressed = {int(mention) for mention in mentions if mention.isdigit() and mention not in accounts}
    if author is not None and str(author) not in accounts:
        addressed.add(author)
    # A reply whose original cannot be looked up is addressed to somebody. A reply to oneself continues one's own words.
    unknown = reply_to is not None and author is None
    others = addressed - {event.user_id}
    return GroupMessage(
        group_id=event.group_id,
        user_id=event.user_id,
        message_id=event.message_id,
        text=text,
        at=at,
        addressed=frozenset(others),
        reply_to=reply_to,
        addresses_somebody=bool(others) or unknown or "all" in mentions,
        asks_bot=event.to_me
        or any(mention in accounts for mention in mentions)
        or any(prefix and text.startswith(prefix) for prefix in command_start),
        text_only=all(segment.type in _READABLE for segment in segments),
        quoted=event.reply.message.extract_plain_text().strip() if event.reply and author == event.user_id else "",
    )


def replied_to(message: Message) -> int | None:
    """Return the id of the message that this one quotes, or None."""
    ids = (str(segment.data.get("id")) for segment in message if segment.type == "reply")
    return next((int(found) for found in ids if found.removeprefix("-").isdigit()), None)


def is_unasked(message: Message) -> bool:
    """Return whether a message of the bot is an unasked answer, judged by its last line."""
    return message.extract_plain_text().rstrip().endswith(MARK)
