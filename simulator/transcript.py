"""What was said, as people see it in their chats: kept apart from what the implementation still knows."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from simulator.world import ForwardNode, Message, Segment, UploadedFile, World

_KEPT_PER_CHAT = 1000


@dataclass(frozen=True, slots=True)
class Chat:
    """A group, or the private chat of one person with the bot.

    >>> Chat.parse("g777"), Chat(False, 10002).id
    (Chat(is_group=True, number=777), 'p10002')
    """

    is_group: bool
    number: int

    @property
    def id(self) -> str:
        """How pages and recordings name it."""
        return f"{'g' if self.is_group else 'p'}{self.number}"

    @classmethod
    def parse(cls, chat_id: str) -> "Chat":
        """From an id. Raises `ValueError`."""
        kind, digits = chat_id[:1], chat_id[1:]
        if kind not in ("g", "p") or not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
            raise ValueError(f"not a chat: {chat_id[:40]!r}")
        return cls(kind == "g", int(digits))

    @classmethod
    def of(cls, message: Message) -> "Chat":
        """Where a message was said."""
        return cls(False, message.peer) if message.group_id is None else cls(True, message.group_id)


@dataclass(slots=True)
class Entry:
    """One message in a chat. `recalled_by` is who took it back; `reactions` has who put which emoji."""

    chat: Chat
    message: Message
    file: UploadedFile | None = None
    recalled_by: int | None = None
    reactions: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    @property
    def recalled(self) -> bool:
        """Whether it was taken back."""
        return self.recalled_by is not None


class Transcript:
    """All chats, each with its last 1,000 messages."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chats: dict[Chat, deque[Entry]] = {}
        self._entries: dict[int, Entry] = {}

    def add(self, message: Message, file: UploadedFile | None = None) -> Entry:
        """A new message at the end of its chat."""
        entry = Entry(Chat.of(message), message, file)
        entries = self._chats.setdefault(entry.chat, deque())
        entries.append(entry)
        self._entries[message.message_id] = entry
        if len(entries) > _KEPT_PER_CHAT:
            oldest = entries.popleft().message.message_id
            self._entries.pop(oldest, None)
            self._world.messages.pop(oldest, None)
        return entry

    def find(self, message_id: int) -> Entry | None:
        """The message, also when it was recalled."""
        return self._entries.get(message_id)

    def entries(self, chat: Chat) -> Iterable[Entry]:
        """A chat from its beginning."""
        return self._chats.get(chat, ())

    def __iter__(self) -> Iterator[Chat]:
        return iter(self._chats)

    def frame(self, entry: Entry) -> dict[str, Any]:
        """A message as JSON for a page. What was recalled is not told any more."""
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

    def _name(self, chat: Chat, user_id: str) -> str:
        if user_id == "all":
            return "全体成员"
        group = self._world.groups.get(chat.number) if chat.is_group else None
        member = group.members.get(int(user_id)) if group and user_id.isdigit() else None
        return (member.card or member.nickname) if member else user_id


def _path(url: str) -> str:
    """The address of a hosted file without its host: the page may reach it by another name than the bot."""
    _, separator, rest = url.partition("://")
    return "/" + rest.partition("/")[2].partition("?")[0] if separator else ""
