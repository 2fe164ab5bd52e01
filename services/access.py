"""Who may ask, inspect and change which knowledge base, and who may send files to it.

What each command needs is a table of its own; this is what holds for every way into the bot. Refusals are sentences
for the person, and an empty string means that nothing is refused.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Protocol

from services.roles import Place, Role, refusal
from services.session import KnowledgeCollection, KnowledgeScope, Session, SessionScope
from services.settings import KnowledgeSettings, UploadRole

_UPLOAD_ROLES: Mapping[UploadRole, Role] = {"member": Role.MEMBER, "admin": Role.ADMIN, "owner": Role.OWNER}


class MemberLookup(Protocol):
    """Looks people up in the groups of a chat program."""

    async def __call__(self, group_id: int, user_id: int, *, fresh: bool = False) -> Role | None:
        """Return a person's role in a group, or None if they are not a member or if it cannot be determined.

        `fresh` forbids an answer from a cache, which may be hours old.
        """
        ...


class ChosenGroups(Protocol):
    """The groups that private chats chose to ask, `services.records.conversations.ConversationRecords`."""

    async def knowledge_group(self, session_id: str) -> int | None:
        """Return the group whose files a private chat asks, or None for its own files."""
        ...


@dataclass(frozen=True, slots=True)
class AskedKnowledge:
    """The knowledge base that questions go to. `group_id` is set if a private chat asks that of a group."""

    collection: KnowledgeCollection
    group_id: int | None = None
    refusal: str = ""


class Access:
    """Decides about people and knowledge bases. `superusers` may do everything everywhere."""

    def __init__(self, chosen: ChosenGroups, settings: KnowledgeSettings, superusers: Set[int]) -> None:
        self._chosen = chosen
        self._settings = settings
        self._superusers = superusers

    @property
    def shares_knowledge(self) -> bool:
        """Whether all groups share one knowledge base."""
        return self._settings.scope is KnowledgeScope.GLOBAL

    async def role(self, session: Session, lookup: MemberLookup) -> Role:
        """Return a person's role in their chat. Who cannot be looked up is a member."""
        if session.user_id in self._superusers:
            return Role.SUPERUSER
        if session.group_id is None:
            return Role.MEMBER
        return await lookup(session.group_id, session.user_id) or Role.MEMBER

    async def asked(self, session: Session, lookup: MemberLookup) -> AskedKnowledge:
        """Return where this person's questions go. Membership of a chosen group is verified on every call."""
        own = session.collection(self._settings.scope)
        group_id = await self._chosen_group(session)
        if group_id is None:
            return AskedKnowledge(own)
        if await lookup(group_id, session.user_id, fresh=True) is None:
            sentence = f"现在无法确认你在群 {group_id} 里，没有查那个群的资料。发 /kb use 0 改查自己的资料。"
            return AskedKnowledge(own, group_id, sentence)
        return AskedKnowledge(KnowledgeCollection.of_group(group_id, self._settings.scope), group_id)

    async def choice_refusal(self, session: Session, group_id: int, lookup: MemberLookup) -> str:
        """Return why a private chat may not ask the knowledge base of a group from now on."""
        if await lookup(group_id, session.user_id, fresh=True) is None:
            return f"无法确认你在群 {group_id} 里，不能查那个群的资料。"
        return ""

    async def inspection_refusal(self, session: Session, asked: AskedKnowledge, lookup: MemberLookup) -> str:
        """Return why this person may not see raw candidates and scores of the knowledge base that they ask.

        In a private chat, those of a group are only for its admins.
        """
        if asked.refusal or asked.group_id is None or session.user_id in self._superusers:
            return asked.refusal
        role = await lookup(asked.group_id, session.user_id)
        return "" if role is not None and role >= Role.ADMIN else refusal(Place.GROUP, Role.ADMIN)

    async def change_refusal(self, session: Session) -> str:
        """Return why nothing may be changed while a private chat asks the files of a group.

        The numbers that the private chat sees are then those of the group.
        """
        group_id = await self._chosen_group(session)
        if group_id is None:
            return ""
        return f"现在查的是群 {group_id} 的资料，要改请到群里去；发 /kb use 0 换回自己的资料再改。"

    async def upload_refusal(self, session: Session, lookup: MemberLookup) -> str:
        """Return why this person's files are not taken into the knowledge base of their chat."""
        if session.group_id is not None:
            place, needed = Place.GROUP, _UPLOAD_ROLES[self._settings.upload_role]
        else:
            # Nobody should add a private file by accident to a knowledge base that every group reads.
            place, needed = Place.PRIVATE, Role.SUPERUSER if self.shares_knowledge else Role.MEMBER
        if needed is Role.MEMBER or await self.role(session, lookup) >= needed:
            return ""
        return refusal(place, needed)

    async def _chosen_group(self, session: Session) -> int | None:
        """Return the group that a private chat chose to ask, or None if questions go to the chat's own files."""
        if session.group_id is not None or self.shares_knowledge:
            return None
        # A private chat has one conversation, whatever the scope of sessions is.
        return await self._chosen.knowledge_group(session.session_id(SessionScope.MEMBER))
