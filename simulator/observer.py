"""The observer of a simulated QQ, and the records of the bot's actions that it receives."""

import time
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from simulator.dialects import Segment
from simulator.world import ForwardNode, Message, SimulatedFile


@dataclass(slots=True)
class Call:
    """An action that the bot called.

    `response` is the response envelope. It is None until the call is answered, and stays None if the call is ignored.
    `time` is `time.perf_counter()` in seconds.
    """

    action: str
    params: dict[str, Any]
    response: dict[str, Any] | None = None
    time: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message, merged forward or file that the bot made visible in QQ.

    `group_id` is None in a private chat. Both `group_id` and `user_id` are set in a temporary chat that was opened from
    a group. `text` is the joined text segments: for a forward those of all its nodes, for a file the file name.
    `reply_id` is the id of the quoted message. `images` are those of the image segments, in order. `time` is
    `time.perf_counter()` in seconds.
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
    images: tuple[SimulatedFile, ...] = ()
    time: float = field(default_factory=time.perf_counter)

    @property
    def mentions(self) -> tuple[str, ...]:
        """The accounts that the message mentions with @, as QQ numbers or "all"."""
        return tuple(str(segment["data"]["qq"]) for segment in self.segments if segment["type"] == "at")


@dataclass(frozen=True, slots=True)
class EmojiReaction:
    """An emoji added to a message, or removed from it if `on` is False."""

    message_id: int
    emoji_id: str
    on: bool


class Observer(Protocol):
    """A receiver of everything that the bot does, in the order in which it happens."""

    def called(self, call: Call) -> None:
        """Receive a call that is not answered yet."""
        ...

    def answered(self, call: Call) -> None:
        """Receive a call that now has its response."""
        ...

    def sent(self, sent: Sent) -> None:
        """Receive a message, merged forward or file that became visible."""
        ...

    def reacted(self, reaction: EmojiReaction) -> None:
        """Receive an emoji that the bot added to a message or removed from it."""
        ...

    def typed(self, user_id: int) -> None:
        """Receive a typing status that the bot shows to a friend."""
        ...

    def recalled(self, message: Message) -> None:
        """Receive a message that the bot recalled."""
        ...

    def violated(self, rule: str) -> None:
        """Receive the description of something that a correct bot never does.

        This is a call whose parameters fail validation, or a message given as a string, which implementations parse for
        CQ codes.
        """
        ...

    def failed(self, error: BaseException) -> None:
        """Receive an error of the simulated implementation itself, not of the bot."""
        ...
