"""What the bot does to QQ, as whoever plays QQ sees it."""

import time
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from simulator.dialects import Segment
from simulator.world import ForwardNode, Message


@dataclass(slots=True)
class Call:
    """One action that the bot called. `response` is the envelope, None until it is answered (or for ever).

    `time` is `time.perf_counter()` in seconds.
    """

    action: str
    params: dict[str, Any]
    response: dict[str, Any] | None = None
    time: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True, slots=True)
class Sent:
    """Something that the bot made visible in QQ.

    `group_id` is None in a private chat; both are set in a temporary chat that came through a group. `text` joins the
    text segments, of all nodes for a forward, and is the file's name for a file. `reply_id` is the quoted message.
    `time` is `time.perf_counter()` in seconds.
    """

    kind: Literal["message", "forward", "file"]
    action: str
    group_id: int | None
    user_id: int | None
    message_id: int
    text: str
    segments: tuple[Segment, ...] = ()
    reply_id: int | None = None
    nodes: tuple[ForwardNode, ...] = ()
    content: bytes | None = None
    time: float = field(default_factory=time.perf_counter)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Who was @-ed, as QQ numbers or "all"."""
        return tuple(str(segment["data"]["qq"]) for segment in self.segments if segment["type"] == "at")


@dataclass(frozen=True, slots=True)
class EmojiReaction:
    """An emoji put on, or with `on` False taken from, a message."""

    message_id: int
    emoji_id: str
    on: bool


class Observer(Protocol):
    """Who is told what the bot does, in the order in which it happens."""

    def called(self, call: Call) -> None:
        """An action was called and is not answered yet."""
        ...

    def answered(self, call: Call) -> None:
        """The call has its response."""
        ...

    def sent(self, sent: Sent) -> None:
        """A message, a merged forward or a file became visible."""
        ...

    def reacted(self, reaction: EmojiReaction) -> None:
        """An emoji was put on a message, or taken off."""
        ...

    def typed(self, user_id: int) -> None:
        """A friend sees that the bot is typing."""
        ...

    def recalled(self, message: Message) -> None:
        """The bot took a message back."""
        ...

    def violated(self, rule: str) -> None:
        """Something that a correct bot never does.

        Parameters that fail validation, and messages given as a string, which implementations read for CQ codes.
        """
        ...

    def failed(self, error: BaseException) -> None:
        """The implementation itself failed, not the bot."""
        ...
