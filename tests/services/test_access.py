"""Tests of who may ask, inspect and change which knowledge base, and who may send files to it."""

from dataclasses import dataclass, field

import pytest

from services.access import Access, AskedKnowledge
from services.roles import Role
from services.session import KnowledgeCollection, Session
from services.settings import KnowledgeSettings

SUPERUSER, ASKER = 10001, 10002
PRIVATE, GROUP, OTHER_GROUP = Session(None, ASKER), Session(777, ASKER), Session(778, ASKER)


@dataclass
class Chosen:
    """The choices of private chats, by session id."""

    groups: dict[str, int] = field(default_factory=dict[str, int])

    async def knowledge_group(self, session_id: str) -> int | None:
        return self.groups.get(session_id)


@dataclass
class Members:
    """The members of groups, which can be looked up, and what was asked."""

    roles: dict[tuple[int, int], Role] = field(default_factory=dict[tuple[int, int], Role])
    asked: list[tuple[int, int, bool]] = field(default_factory=list[tuple[int, int, bool]])

    async def __call__(self, group_id: int, user_id: int, *, fresh: bool = False) -> Role | None:
        self.asked.append((group_id, user_id, fresh))
        return self.roles.get((group_id, user_id))


def access(chosen: Chosen | None = None, **settings: str) -> Access:
    return Access(chosen or Chosen(), KnowledgeSettings.model_validate(settings), {SUPERUSER})


async def test_a_group_asks_its_own_files_and_a_private_chat_its_own() -> None:
    # The choice of the private chat says nothing about the same person's questions in a group.
    chosen, members = Chosen({"group_778_10002": 777, "group_778": 777}), Members()
    for session, name in ((GROUP, "group_777"), (OTHER_GROUP, "group_778"), (PRIVATE, "private_10002")):
        asked = await access(chosen).asked(session, members)
        assert asked == AskedKnowledge(KnowledgeCollection(name))
    assert not members.asked


async def test_a_chosen_group_is_asked_while_its_member_can_be_found() -> None:
    members = Members({(777, ASKER): Role.MEMBER})
    deciding = access(Chosen({"private_10002": 777}))
    assert await deciding.asked(PRIVATE, members) == AskedKnowledge(KnowledgeCollection("group_777"), 777)
    members.roles.clear()
    asked = await deciding.asked(PRIVATE, members)
    # A caller that overlooks the refusal still does not reach the group's files.
    assert asked.collection.name == "private_10002"
    assert asked.refusal == "现在无法确认你在群 777 里，没有查那个群的资料。发 /kb use 0 改查自己的资料。"
    assert members.asked == [(777, ASKER, True)] * 2, "membership is looked up every time, and not in a cache"


async def test_a_shared_knowledge_base_is_everybodys() -> None:
    deciding, members = access(Chosen({"private_10002": 777}), scope="global"), Members()
    for session in (PRIVATE, GROUP):
        assert await deciding.asked(session, members) == AskedKnowledge(KnowledgeCollection("global"))
        assert await deciding.change_refusal(session) == ""
    assert not members.asked


async def test_a_group_is_chosen_by_its_members_only() -> None:
    members = Members({(777, ASKER): Role.MEMBER})
    assert await access().choice_refusal(PRIVATE, 777, members) == ""
    assert "无法确认你在群 778 里" in await access().choice_refusal(PRIVATE, 778, members)
    # Superusers see what the bot may tell them about a group, but only as its members.
    assert "无法确认" in await access().choice_refusal(Session(None, SUPERUSER), 777, members)
    assert all(fresh for _, _, fresh in members.asked)


@pytest.mark.parametrize(
    ("user", "role", "refused"),
    [
        (ASKER, None, True),
        (ASKER, Role.MEMBER, True),
        (ASKER, Role.ADMIN, False),
        (ASKER, Role.OWNER, False),
        (SUPERUSER, Role.MEMBER, False),
    ],
)
async def test_a_groups_knowledge_is_inspected_in_private_by_its_admins(
    user: int, role: Role | None, refused: bool
) -> None:
    members = Members({} if role is None else {(777, user): role})
    asked = AskedKnowledge(KnowledgeCollection("group_777"), 777)
    sentence = await access().inspection_refusal(Session(None, user), asked, members)
    assert ("需要管理员" in sentence) is refused
    own = AskedKnowledge(KnowledgeCollection(f"private_{user}"))
    assert await access().inspection_refusal(Session(None, user), own, members) == ""
    unsure = AskedKnowledge(own.collection, 777, "无法确认。")
    assert await access().inspection_refusal(Session(None, user), unsure, members) == "无法确认。"


async def test_nothing_is_changed_while_the_numbers_are_those_of_a_group() -> None:
    chosen = Chosen({"private_10002": 777})
    assert "群 777 的资料" in await access(chosen).change_refusal(PRIVATE)
    for session in (GROUP, Session(None, SUPERUSER)):
        assert await access(chosen).change_refusal(session) == ""


@pytest.mark.parametrize(
    ("upload_role", "lowest"), [("member", Role.MEMBER), ("admin", Role.ADMIN), ("owner", Role.OWNER)]
)
@pytest.mark.parametrize("scope", ["group", "global"])
async def test_who_may_send_files_to_a_group(scope: str, upload_role: str, lowest: Role) -> None:
    deciding = access(scope=scope, upload_role=upload_role)
    for role in (Role.MEMBER, Role.ADMIN, Role.OWNER):
        sentence = await deciding.upload_refusal(GROUP, Members({(777, ASKER): role}))
        assert (sentence == "") is (role >= lowest), role
        assert not sentence or sentence.startswith("需要管理员：")
    # Who cannot be looked up counts as a member, and a superuser needs no look-up.
    assert (await deciding.upload_refusal(GROUP, Members()) == "") is (lowest is Role.MEMBER)
    members = Members()
    assert await deciding.upload_refusal(Session(777, SUPERUSER), members) == ""
    assert not members.asked


async def test_who_may_send_files_in_private() -> None:
    assert await access(upload_role="owner").upload_refusal(PRIVATE, Members()) == ""
    shared = access(scope="global")
    assert "机器人管理员" in await shared.upload_refusal(PRIVATE, Members())
    assert await shared.upload_refusal(Session(None, SUPERUSER), Members()) == ""


async def test_roles() -> None:
    members = Members({(777, ASKER): Role.ADMIN, (777, SUPERUSER): Role.MEMBER})
    deciding = access()
    assert await deciding.role(GROUP, members) is Role.ADMIN
    assert await deciding.role(OTHER_GROUP, members) is Role.MEMBER
    assert await deciding.role(PRIVATE, members) is Role.MEMBER
    assert await deciding.role(Session(777, SUPERUSER), members) is Role.SUPERUSER
