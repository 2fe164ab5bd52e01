"""Roles, and the rights that depend on them. What each command requires is in the table of its plugin."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Role(IntEnum):
    """A person's role in the chat they write in, in ascending order."""

    MEMBER = 1
    ADMIN = 2
    OWNER = 3
    SUPERUSER = 4


class Place(StrEnum):
    """The kind of chat."""

    GROUP = "group"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class Venue:
    """A chat as far as rights depend on it.

    `shares_knowledge` tells whether all groups share one knowledge base (KNOWLEDGE__SCOPE=global), and `shares_memory`
    whether the conversation's memory belongs to a whole group (SESSION__SCOPE=group).
    """

    place: Place
    shares_knowledge: bool = False
    shares_memory: bool = False


@dataclass(frozen=True, slots=True)
class Rights:
    """The lowest role that may do something in a group and in a private chat, or None if it is unavailable there.

    `shared_knowledge` and `shared_memory` are the lowest roles where these are shared, because one person must not
    change what belongs to many.
    """

    group: Role | None = Role.MEMBER
    private: Role | None = Role.MEMBER
    shared_knowledge: Role = Role.MEMBER
    shared_memory: Role = Role.MEMBER

    def lowest(self, venue: Venue) -> Role | None:
        """Return the lowest role that has these rights in this chat, or None if nobody has them there."""
        lowest = self.group if venue.place is Place.GROUP else self.private
        if lowest is None:
            return None
        return max(
            lowest,
            self.shared_knowledge if venue.shares_knowledge else Role.MEMBER,
            self.shared_memory if venue.shares_memory else Role.MEMBER,
        )

    def allow(self, role: Role, venue: Venue) -> bool:
        """Return whether a person with this role has these rights in this chat."""
        lowest = self.lowest(venue)
        return lowest is not None and role >= lowest


EVERYBODY = Rights()

_NAMES: Mapping[Role, str] = {Role.ADMIN: "群管理员", Role.OWNER: "群主", Role.SUPERUSER: "机器人管理员"}


def refusal(place: Place, lowest: Role | None) -> str:
    """Return the sentence for a person whose role is below `lowest`.

    `lowest` is None if what they asked for is unavailable in this chat.
    """
    if lowest is None:
        return "这个命令只能在私聊里用。" if place is Place.GROUP else "这个命令只能在群里用。"
    return f"需要管理员：这件事要由{_NAMES[lowest]}来做。"
