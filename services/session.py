"""Who is talking where: the only source of session ids and collection names."""

from dataclasses import dataclass
from enum import StrEnum


class SessionScope(StrEnum):
    """Whose memory a group conversation is: each member's own, or the whole group's."""

    MEMBER = "member"
    GROUP = "group"


class KnowledgeScope(StrEnum):
    """Whether each group has a knowledge base of its own, or all share one."""

    GROUP = "group"
    GLOBAL = "global"


GLOBAL_COLLECTION = "global"


@dataclass(frozen=True, slots=True)
class Collection:
    """The knowledge base of one group, of one private chat, or of everybody."""

    name: str

    @classmethod
    def of_group(cls, group_id: int, scope: KnowledgeScope) -> "Collection":
        """The knowledge base that members of a group share."""
        return cls(GLOBAL_COLLECTION) if scope is KnowledgeScope.GLOBAL else cls(f"group_{_number(group_id)}")

    @classmethod
    def of_private(cls, user_id: int, scope: KnowledgeScope) -> "Collection":
        """The knowledge base of one person's private chat with the bot."""
        return cls(GLOBAL_COLLECTION) if scope is KnowledgeScope.GLOBAL else cls(f"private_{_number(user_id)}")


@dataclass(frozen=True, slots=True)
class Session:
    """One person in one place. `group_id` is None in a private chat. Both are QQ numbers.

    >>> Session(group_id=777, user_id=10002).session_id(SessionScope.MEMBER)
    'group_777_10002'
    """

    group_id: int | None
    user_id: int

    @property
    def chat(self) -> str:
        """The group or private chat as a whole, which pays for what its members ask.

        >>> Session(group_id=777, user_id=10002).chat
        'group_777'
        """
        if self.group_id is None:
            return f"private_{_number(self.user_id)}"
        return f"group_{_number(self.group_id)}"

    def session_id(self, scope: SessionScope) -> str:
        """The key of this conversation's memory."""
        if self.group_id is None or scope is SessionScope.GROUP:
            return self.chat
        return f"{self.chat}_{_number(self.user_id)}"

    def collection(self, scope: KnowledgeScope) -> Collection:
        """The knowledge base of this place."""
        if self.group_id is None:
            return Collection.of_private(self.user_id, scope)
        return Collection.of_group(self.group_id, scope)


def chat_of(session_id: str) -> str:
    """Return the group or private chat that a conversation belongs to.

    >>> chat_of("group_777_10002"), chat_of("group_777"), chat_of("private_10002")
    ('group_777', 'group_777', 'private_10002')
    """
    return "_".join(session_id.split("_")[:2])


def _number(qq: int) -> int:
    # bool is an int, and a str would let text into names of files and collections.
    if type(qq) is not int or qq < 0:
        raise ValueError(f"a QQ number must be a non-negative integer, got {qq!r}")
    return qq
