"""Group messages and reactions in the form that the proactive mode reads, whichever client reports them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nonebot.adapters.onebot.v11 import GroupMessageEvent, Message, NoticeEvent

from services.proactive.models import GroupMessage

# The end of every unasked answer. It also identifies one if a client has lost what the answer quotes.
MARK = "（主动回答，嫌吵发 /bot quiet）"

_READABLE = frozenset({"text", "at", "reply", "face"})
# QQ's own faces by their numbers: 闭嘴, 咒骂, 嘘, 便便, 踩, 鄙视, 差劲, NO; then Unicode emoji, which QQ numbers by
# their code points: 👎 💩 🖕 🤫 🤐 🚫 ❌.
UNWELCOME = frozenset({"7", "31", "33", "59", "77", "105", "121", "123"}) | frozenset(
    {"128078", "128169", "128405", "129323", "129296", "128683", "10060"}
)
# 赞, 鼓掌, 抱拳, 爱心, 玫瑰, OK, 牛啊; 👍 👏 🙏 ❤ 🎉 👌.
WELCOME = frozenset({"76", "99", "118", "66", "63", "124", "285"}) | frozenset(
    {"128077", "128079", "128591", "10084", "127881", "128076"}
)


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


@dataclass(frozen=True, slots=True)
class Reaction:
    """An emoji that somebody added to a message."""

    group_id: int
    user_id: int
    message_id: int
    emoji_ids: frozenset[str]

    @property
    def is_unwelcome(self) -> bool:
        """Whether the reaction says that the message is unwelcome."""
        return bool(self.emoji_ids & UNWELCOME)

    @property
    def is_welcome(self) -> bool:
        """Whether the reaction says that the message is liked."""
        return not self.is_unwelcome and bool(self.emoji_ids & WELCOME)


def reaction_of(event: NoticeEvent) -> Reaction | None:
    """Return the reaction that a notice reports, or None for other notices and for a reaction that was removed.

    NapCat and LLOneBot send `group_msg_emoji_like` with `likes` (older versions without `is_add`). Lagrange sends
    `reaction` with `code` and `operator_id`.
    """
    data: dict[str, Any] = event.model_extra or {}
    if event.notice_type == "group_msg_emoji_like" and data.get("is_add", True):
        likes = data.get("likes") or []
        emoji_ids = {str(like.get("emoji_id")) for like in likes if isinstance(like, dict)}
        user_id = data.get("user_id")
    elif event.notice_type == "reaction" and data.get("sub_type") == "add":
        emoji_ids, user_id = {str(data.get("code"))}, data.get("operator_id")
    else:
        return None
    group_id, message_id = data.get("group_id"), data.get("message_id")
    if not isinstance(group_id, int) or not isinstance(message_id, int):
        return None
    return Reaction(group_id, user_id if isinstance(user_id, int) else 0, message_id, frozenset(emoji_ids))
