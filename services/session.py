"""Session ids and collection names, which are only built here."""

from dataclasses import dataclass
from enum import StrEnum


class SessionScope(StrEnum):
    """Whether each member of a group has their own conversation memory, or the whole group shares one."""

    MEMBER = "member"
    GROUP = "group"


class KnowledgeScope(StrEnum):
    """Whether each group has its own knowledge base, or all groups share one."""

    GROUP = "group"
    GLOBAL = "global"


GLOBAL_COLLECTION = "global"


@dataclass(frozen=True, slots=True)
class KnowledgeCollection:
    """The knowledge base of one group, of one private chat, or of everybody."""

    name: str

    @classmethod
    def of_group(cls, group_id: int, scope: KnowledgeScope) -> "KnowledgeCollection":
        """Return the knowledge base that the members of a group share."""
        return cls(GLOBAL_COLLECTION) if scope is KnowledgeScope.GLOBAL else cls(f"group_{_number(group_id)}")

    @classmethod
    def of_private(cls, user_id: int, scope: KnowledgeScope) -> "KnowledgeCollection":
        """Return the knowledge base of one person's private chat with the bot."""
        return cls(GLOBAL_COLLECTION) if scope is KnowledgeScope.GLOBAL else cls(f"private_{_number(user_id)}")


@dataclass(frozen=True, slots=True)
class Session:
    """One person in one chat.

    `group_id` is None in a private chat. Both ids are QQ numbers.

    >>> Session(group_id=777, user_id=10002).session_id(SessionScope.MEMBER)
    'group_777_10002'
    """

    group_id: int | None
    user_id: int

    @property
    def chat(self) -> str:
        """Return the key of the whole group or private chat, which pays for what its members ask.

        >>> Session(group_id=777, user_id=10002).chat
        'group_777'
        """
        if self.group_id is None:
            return f"private_{_number(self.user_id)}"
        return f"group_{_number(self.group_id)}"

    def session_id(self, scope: SessionScope) -> str:
        """Return the key of this conversation's memory."""
        if self.group_id is None or scope is SessionScope.GROUP:
            return self.chat
        return f"{self.chat}_{_number(self.user_id)}"

    def collection(self, scope: KnowledgeScope) -> KnowledgeCollection:
        """Return the knowledge base of this chat."""
        if self.group_id is None:
            return KnowledgeCollection.of_private(self.user_id, scope)
        return KnowledgeCollection.of_group(self.group_id, scope)


def chat_of(session_id: str) -> str:
    """Return the group or private chat that a conversation belongs to.

    >>> chat_of("group_777_10002"), chat_of("group_777"), chat_of("private_10002")
    ('group_777', 'group_777', 'private_10002')
    """
    return "_".join(session_id.split("_")[:2])


def group_of(session_id: str) -> int | None:
    """Return the group that a conversation belongs to, or None for a private chat.

    >>> group_of("group_777_10002"), group_of("private_10002")
    (777, None)
    """
    kind, number, *_ = session_id.split("_")
    return int(number) if kind == "group" else None


def _number(qq: int) -> int:
    # A bool is an int too, and a str would allow arbitrary text in the names of files and collections.
    if type(qq) is not int or qq < 0:
        raise ValueError(f"a QQ number must be a non-negative integer, got {qq!r}")
    return qq
