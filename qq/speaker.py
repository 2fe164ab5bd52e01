"""The sender of a message and what they may do: the bridge from OneBot events to sessions, roles and chats."""

from functools import partial
from typing import Annotated

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot, GroupMessageEvent, MessageEvent
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError
from nonebot.params import Depends

from qq.chat import Chat
from qq.depends import outbox, receipts, services, settings
from qq.outbox.delivery import Posted
from qq.outbox.replies import Reply
from services.access import AskedKnowledge, MemberLookup
from services.knowledge.models import DocumentEntry
from services.roles import Place, Rights, Role, Venue, refusal
from services.session import KnowledgeCollection, Session, SessionScope
from services.text.cleaning import clean
from services.workflows.qa.about_files import UploaderNames

_CARD_CHARS = 20
_ROLES = {"member": Role.MEMBER, "admin": Role.ADMIN, "owner": Role.OWNER}


class Speaker:
    """A person in a group or private chat, and the message that they just sent there.

    This is a plain class, because NoneBot validates injected values with pydantic, which inspects a dataclass and fails
    on its fields.
    """

    def __init__(self, bot: Bot, session: Session, chat: Chat, message_id: int, claimed_role: str) -> None:
        self.bot = bot
        self.session = session
        self.chat = chat
        self.message_id = message_id
        self._claimed_role = claimed_role

    @property
    def place(self) -> Place:
        """The kind of place: a group or a private chat."""
        return Place.PRIVATE if self.session.group_id is None else Place.GROUP

    @property
    def venue(self) -> Venue:
        """The chat as far as rights depend on it."""
        return Venue(self.place, shares_knowledge(), self.shares_memory)

    @property
    def session_id(self) -> str:
        """The key of the conversation's memory."""
        return self.session.session_id(settings().session.scope)

    @property
    def shares_memory(self) -> bool:
        """Whether the conversation's memory belongs to a whole group."""
        return self.place is Place.GROUP and settings().session.scope is SessionScope.GROUP

    @property
    def own_collection(self) -> KnowledgeCollection:
        """The knowledge base that belongs to this place."""
        return self.session.collection(settings().knowledge.scope)

    async def role(self) -> Role:
        """Return the person's role here.

        If the message does not contain it, which NapCat may leave out, ask the client.
        """
        return await services().access.role(self.session, self._claimed_or_looked_up)

    async def _claimed_or_looked_up(self, group_id: int, user_id: int, *, fresh: bool = False) -> Role | None:
        claimed = None if fresh else _ROLES.get(self._claimed_role)
        return claimed or await member_role(self.bot, group_id, user_id, fresh=fresh)

    async def refusal(self, rights: Rights) -> str:
        """Return why the person does not have these rights here, or an empty string if they have them."""
        lowest = rights.lowest(self.venue)
        if lowest is not None and (lowest is Role.MEMBER or await self.role() >= lowest):
            return ""
        return refusal(self.place, lowest)

    async def reply(self, reply: Reply) -> Posted:
        """Reply to the message, quoting it, and return what became of the reply."""
        return await outbox.post(self.chat, reply, self.message_id, asker=self.session.user_id)


def shares_knowledge() -> bool:
    """Return whether all groups share one knowledge base."""
    return services().access.shares_knowledge


async def member_role(bot: Bot, group_id: int, user_id: int, *, fresh: bool = False) -> Role | None:
    """Return a person's role in a group as the client knows it.

    Return None if they are not a member or if it cannot be determined.
    """
    try:
        info = await bot.call_api("get_group_member_info", group_id=group_id, user_id=user_id, no_cache=fresh)
    except (ActionFailed, NetworkError, ApiNotAvailable) as error:
        logger.warning(f"cannot look up member {user_id} of group {group_id}: {error!r}")
        return None
    # A client may respond with anything, or with nothing.
    if not isinstance(info, dict) or info.get("user_id") != user_id:
        return None
    return _ROLES.get(str(info.get("role")), Role.MEMBER)


def member_lookup(bot: Bot) -> MemberLookup:
    """Return the look-up of group members through one account."""
    return partial(member_role, bot)


async def asked_knowledge(speaker: Speaker) -> AskedKnowledge:
    """Return where this person's questions go. Membership of a chosen group is verified on every call."""
    return await services().access.asked(speaker.session, member_lookup(speaker.bot))


def uploader_names(speaker: Speaker, asked: AskedKnowledge) -> UploaderNames:
    """Return the look-up of uploaders as this chat knows them.

    Only members of the group that asks, or that a private chat chose, are looked up: the card of another group is
    nobody else's business. Anybody else is told by their number.
    """
    group_id = speaker.session.group_id or asked.group_id

    async def name(entry: DocumentEntry) -> str:
        if entry.uploader_id == speaker.session.user_id:
            return "你"
        card = ""
        if group_id is not None and entry.group_id == group_id:
            card = await member_card(speaker.bot, group_id, entry.uploader_id)
        return f"{card}（{entry.uploader_id}）" if card else str(entry.uploader_id)

    return name


async def member_card(bot: Bot, group_id: int, user_id: int) -> str:
    """Return the name that a member has in a group, on one line, or an empty string if the client does not know it."""
    try:
        info = await bot.call_api("get_group_member_info", group_id=group_id, user_id=user_id, no_cache=False)
    except (ActionFailed, NetworkError, ApiNotAvailable) as error:
        logger.warning(f"cannot look up member {user_id} of group {group_id}: {error!r}")
        return ""
    if not isinstance(info, dict) or info.get("user_id") != user_id:
        return ""
    name = clean(str(info.get("card") or info.get("nickname") or ""))
    return " ".join(name.split())[:_CARD_CHARS]


def reading_count(speaker: Speaker, collection: KnowledgeCollection) -> int:
    """Return how many files of a knowledge base cannot be found yet, as far as this chat may know about them."""
    arriving = receipts.reading_count(speaker.chat) if collection == speaker.own_collection else 0
    # Files that are still being downloaded are not documents yet, and documents may also come from the server or from
    # another account.
    return max(arriving, services().knowledge.reading(collection.name))


async def _speaker(bot: Bot, event: MessageEvent) -> Speaker:
    group_id = event.group_id if isinstance(event, GroupMessageEvent) else None
    return Speaker(
        bot=bot,
        session=Session(group_id, event.user_id),
        chat=chat_of(bot, event),
        message_id=event.message_id,
        claimed_role=event.sender.role or "",
    )


def chat_of(bot: Bot, event: MessageEvent) -> Chat:
    """Return the chat in which to answer this message."""
    if isinstance(event, GroupMessageEvent):
        return Chat(bot.self_id, event.group_id)
    extra = event.model_extra or {}
    # A temporary chat can only be answered by naming the group through which it was opened.
    through = extra.get("group_id") or (event.sender.model_extra or {}).get("group_id")
    return Chat(bot.self_id, int(through) if through else None, event.user_id)


Speaking = Annotated[Speaker, Depends(_speaker)]
