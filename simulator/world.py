"""The state of the simulated QQ as an implementation sees it: groups, people, messages and files."""

import hashlib
import itertools
import time
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

Segment = dict[str, Any]
GroupRole = Literal["owner", "admin", "member"]


@dataclass(slots=True)
class Member:
    """A group member or a friend. `known` is whether the implementation could look the member up (see `Dialect`)."""

    user_id: int
    nickname: str
    card: str = ""
    role: GroupRole = "member"
    known: bool = True


@dataclass(slots=True)
class Group:
    """A group and its members by user id."""

    group_id: int
    name: str
    members: dict[int, Member] = field(default_factory=dict[int, Member])


@dataclass(slots=True)
class Message:
    """A message that get_msg can find.

    `group_id` is None in a private chat, and `peer` is the person that the bot chats with there. `emitted` is
    `time.perf_counter()` in seconds at the creation of the message.
    """

    message_id: int
    group_id: int | None
    user_id: int
    peer: int
    segments: list[Segment]
    sender: dict[str, Any]
    time: int = field(default_factory=lambda: int(time.time()))
    emitted: float = field(default_factory=perf_counter)


@dataclass(frozen=True, slots=True)
class ForwardNode:
    """One message of a merged forward."""

    user_id: int
    nickname: str
    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The joined text segments of the message."""
        return text_of(self.segments)


@dataclass(slots=True)
class SimulatedFile:
    """A file that was sent.

    `url` is the address at the file host, or None without a file host. `message_id` is the id of the message with the
    file segment, or None if people see no such message.
    """

    name: str
    content: bytes
    group_id: int | None
    user_id: int
    notice_id: str
    segment_id: str
    busid: int = 102
    folder_id: str = "/"
    url: str | None = None
    message_id: int | None = None
    uploaded: int = field(default_factory=lambda: int(time.time()))


def text_of(segments: tuple[Segment, ...] | list[Segment]) -> str:
    """Return the joined text segments."""
    return "".join(segment["data"]["text"] for segment in segments if segment["type"] == "text")


class World:
    """Everything that exists. `self_id` is the bot's account, a member of every group and a friend of every friend."""

    def __init__(self, self_id: int, *, signed_message_ids: bool = False, bot_nickname: str = "机器人") -> None:
        self.self_id = self_id
        self.bot = Member(self_id, bot_nickname)
        self.groups: dict[int, Group] = {}
        self.friends: dict[int, Member] = {}
        self.messages: dict[int, Message] = {}
        self.files: list[SimulatedFile] = []
        self.folders: dict[int, dict[str, str]] = {}
        self.forwards: dict[str, tuple[ForwardNode, ...]] = {}
        self._file_ids: dict[str, SimulatedFile] = {}
        self.signed_message_ids = signed_message_ids
        self._counter = itertools.count(1)

    def add_group(self, group_id: int, name: str = "测试群", *, bot_role: GroupRole = "member") -> Group:
        """Return the group, creating it with the bot as a member if it is new. An existing group is not changed."""
        if group_id not in self.groups:
            bot = Member(self.self_id, self.bot.nickname, role=bot_role)
            self.groups[group_id] = Group(group_id, name, {self.self_id: bot})
        return self.groups[group_id]

    def add_member(
        self,
        group_id: int,
        user_id: int,
        nickname: str | None = None,
        *,
        card: str = "",
        role: GroupRole = "member",
        known: bool = True,
    ) -> Member:
        """Add a person to a group, or replace the member with this id."""
        member = Member(user_id, nickname or f"用户{user_id}", card, role, known)
        self.add_group(group_id).members[user_id] = member
        return member

    def add_friend(self, user_id: int, nickname: str | None = None) -> Member:
        """Return the friend, adding them if they are new. The bot can write to friends privately."""
        return self.friends.setdefault(user_id, Member(user_id, nickname or f"用户{user_id}"))

    def member(self, group_id: int, user_id: int) -> Member:
        """Return the member. A person who is not in the group joins it."""
        members = self.add_group(group_id).members
        return members[user_id] if user_id in members else self.add_member(group_id, user_id)

    def reachable(self, user_id: int) -> bool:
        """Return whether the bot can send this person a private message: friends and members of a common group."""
        return user_id in self.friends or any(user_id in group.members for group in self.groups.values())

    def new_message_id(self) -> int:
        """Return an unused id: a hash of 31 bits, every second one negative if the dialect's ids are signed."""
        number = next(self._counter)
        value = int.from_bytes(self._digest("message", number)[:4], "big") >> 1
        return -value if self.signed_message_ids and number % 2 else value

    def new_file_id(self, kind: str) -> str:
        """Return an unused file id: hexadecimal like an MD5 digest for `notice`, otherwise like QQ's uuid paths."""
        digest = self._digest(kind, next(self._counter)).hex()
        return digest[:32] if kind == "notice" else f"/{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:40]}"

    def add_forward(self, nodes: tuple[ForwardNode, ...]) -> str:
        """Store a merged forward and return its resource id."""
        resource = f"res-{next(self._counter)}"
        self.forwards[resource] = nodes
        return resource

    def add_file(self, file: SimulatedFile, *ids: str) -> None:
        """Make the file available under `ids`, and list it if it is new."""
        if file not in self.files:
            self.files.append(file)
        for key in ids:
            self._file_ids[key] = file

    def remove_file(self, file: SimulatedFile) -> None:
        """Remove a file from the list and from all its ids."""
        self.files = [kept for kept in self.files if kept is not file]
        self._file_ids = {key: kept for key, kept in self._file_ids.items() if kept is not file}

    def file(self, file_id: str) -> SimulatedFile | None:
        """Return the file with this id, or None. A file can have several ids."""
        return self._file_ids.get(file_id)

    def forget(self) -> None:
        """Forget all message and file ids but keep the listed files, as a restart of NapCat does."""
        self.messages.clear()
        self._file_ids.clear()

    def _digest(self, kind: str, number: int) -> bytes:
        return hashlib.sha256(f"{self.self_id}/{kind}/{number}".encode()).digest()
