"""The messages as people see them in their chats, separate from the messages that the implementation still knows."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from simulator.world import ForwardNode, Message, Segment, SimulatedFile, World

_KEPT_PER_CHAT = 1000


@dataclass(frozen=True, slots=True)
class StageChat:
    """A group, or the private chat of one person with the bot.

    >>> StageChat.parse("g777"), StageChat(False, 10002).id
    (StageChat(is_group=True, number=777), 'p10002')
    """

    is_group: bool
    number: int

    @property
    def id(self) -> str:
        """The id of the chat on pages and in recordings."""
        return f"{'g' if self.is_group else 'p'}{self.number}"

    @classmethod
    def parse(cls, chat_id: str) -> "StageChat":
        """Return the chat with this id. Raise `ValueError` if the id is not valid."""
        kind, digits = chat_id[:1], chat_id[1:]
        if kind not in ("g", "p") or not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
            raise ValueError(f"not a chat: {chat_id[:40]!r}")
        return cls(kind == "g", int(digits))

    @classmethod
    def of(cls, message: Message) -> "StageChat":
        """Return the chat of a message."""
        return cls(False, message.peer) if message.group_id is None else cls(True, message.group_id)


@dataclass(slots=True)
class Entry:
    """A message in a chat. `recalled_by` is the person who recalled it. `reactions` maps emoji ids to user ids."""

    chat: StageChat
    message: Message
    file: SimulatedFile | None = None
    recalled_by: int | None = None
    reactions: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    @property
    def recalled(self) -> bool:
        """Whether the message was recalled."""
        return self.recalled_by is not None


class Transcript:
    """All chats with their last 1,000 messages each."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chats: dict[StageChat, deque[Entry]] = {}
        self._entries: dict[int, Entry] = {}

    def add(self, message: Message, file: SimulatedFile | None = None) -> Entry:
        """Append a message to its chat and return the entry. Drop the oldest message of a full chat."""
        entry = Entry(StageChat.of(message), message, file)
        entries = self._chats.setdefault(entry.chat, deque())
        entries.append(entry)
        self._entries[message.message_id] = entry
        if len(entries) > _KEPT_PER_CHAT:
            oldest = entries.popleft().message.message_id
            self._entries.pop(oldest, None)
            self._world.messages.pop(oldest, None)
        return entry

    def find(self, message_id: int) -> Entry | None:
        """Return the entry of a message, recalled or not, or None if there is none."""
        return self._entries.get(message_id)

    def entries(self, chat: StageChat) -> Iterable[Entry]:
        """Return the entries of a chat, oldest first."""
        return self._chats.get(chat, ())

    def __iter__(self) -> Iterator[StageChat]:
        return iter(self._chats)

    def frame(self, entry: Entry) -> dict[str, Any]:
        """Return a message as JSON for a page. The content of a recalled message is left out."""
        message = entry.message
        return {
            "id": str(message.message_id),
            "chat": entry.chat.id,
            "sender": str(message.user_id),
            "time": message.time,
            "recalled": entry.recalled,
            "recalled_by": str(entry.recalled_by or ""),
            "parts": [] if entry.recalled else self._parts(entry, message.segments),
            "reactions": [
                {"emoji": emoji, "people": sorted(str(person) for person in people)}
                for emoji, people in sorted(entry.reactions.items())
                if people
            ],
        }

    def _parts(self, entry: Entry, segments: Iterable[Segment]) -> list[dict[str, Any]]:
        return [self._part(entry, segment["type"], segment["data"]) for segment in segments]

    def _part(self, entry: Entry, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        match kind:
            case "text":
                return {"kind": "text", "text": data["text"]}
            case "at":
                return {"kind": "at", "id": str(data["qq"]), "name": self._name(entry.chat, str(data["qq"]))}
            case "reply":
                return {"kind": "reply", "id": str(data["id"])}
            case "image":
                return {"kind": "image", "name": str(data.get("file", "")), "url": _path(str(data.get("url", "")))}
            case "file" if entry.file is not None:
                file = entry.file
                return {"kind": "file", "name": file.name, "size": len(file.content), "url": _path(file.url or "")}
            case "forward" if str(data.get("id")) in self._world.forwards:
                nodes = self._world.forwards[str(data["id"])]
                return {"kind": "forward", "nodes": [self._node(entry, node) for node in nodes]}
            case _:
                return {"kind": "other", "name": kind}

    def _node(self, entry: Entry, node: ForwardNode) -> dict[str, Any]:
        return {"sender": str(node.user_id), "name": node.nickname, "parts": self._parts(entry, node.segments)}

    def _name(self, chat: StageChat, user_id: str) -> str:
        if user_id == "all":
            return "全体成员"
        group = self._world.groups.get(chat.number) if chat.is_group else None
        member = group.members.get(int(user_id)) if group and user_id.isdigit() else None
        return (member.card or member.nickname) if member else user_id


def _path(url: str) -> str:
    """Return the path of a hosted file's address: the page may reach the host under another name than the bot does."""
    _, separator, rest = url.partition("://")
    return "/" + rest.partition("/")[2].partition("?")[0] if separator else ""
