"""Emoji that people add to messages, whichever client reports them."""

from dataclasses import dataclass
from typing import Any

from nonebot.adapters.onebot.v11 import NoticeEvent

# QQ's own faces by their numbers: 闭嘴, 咒骂, 嘘, 便便, 踩, 鄙视, 差劲, NO; then Unicode emoji, which QQ numbers by
# their code points: 👎 💩 🖕 🤫 🤐 🚫 ❌.
UNWELCOME = frozenset({"7", "31", "33", "59", "77", "105", "121", "123"}) | frozenset(
    {"128078", "128169", "128405", "129323", "129296", "128683", "10060"}
)
# 赞, 鼓掌, 抱拳, 爱心, 玫瑰, OK, 牛啊; 👍 👏 🙏 ❤ 🎉 👌.
WELCOME = frozenset({"76", "99", "118", "66", "63", "124", "285"}) | frozenset(
    {"128077", "128079", "128591", "10084", "127881", "128076"}
)
# What judges an answer: 赞, 鼓掌, OK; 👍 👏 👌; 踩, 差劲, NO; 👎 ❌. A rose or a hush says nothing about it.
_GOOD = frozenset({"76", "99", "124", "128077", "128079", "128076"})
_BAD = frozenset({"77", "121", "123", "128078", "10060"})


@dataclass(frozen=True, slots=True)
class Reaction:
    """An emoji that somebody added to a message, or took away again. `user_id` is 0 if the client does not say who."""

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

    @property
    def verdict(self) -> bool | None:
        """Whether the reaction calls an answer good or bad, or None if it does neither."""
        if self.emoji_ids & _BAD:
            return False
        return True if self.emoji_ids & _GOOD else None


def reaction_of(event: NoticeEvent) -> Reaction | None:
    """Return the reaction that a notice reports, or None for other notices and for a reaction that was removed.

    NapCat and LLOneBot send `group_msg_emoji_like` with `likes` (older versions without `is_add`). Lagrange sends
    `reaction` with `code` and `operator_id`.
    """
    return _reaction(event, is_added=True)


def removed_reaction_of(event: NoticeEvent) -> Reaction | None:
    """Return the reaction that a notice reports as removed, or None."""
    return _reaction(event, is_added=False)


def _reaction(event: NoticeEvent, *, is_added: bool) -> Reaction | None:
    data: dict[str, Any] = event.model_extra or {}
    if event.notice_type == "group_msg_emoji_like" and bool(data.get("is_add", True)) is is_added:
        likes = data.get("likes") or []
        emoji_ids = {str(like.get("emoji_id")) for like in likes if isinstance(like, dict)}
        user_id = data.get("user_id")
    elif event.notice_type == "reaction" and data.get("sub_type") == ("add" if is_added else "remove"):
        emoji_ids, user_id = {str(data.get("code"))}, data.get("operator_id")
    else:
        return None
    group_id, message_id = data.get("group_id"), data.get("message_id")
    if not isinstance(group_id, int) or not isinstance(message_id, int):
        return None
    return Reaction(group_id, user_id if isinstance(user_id, int) else 0, message_id, frozenset(emoji_ids))
