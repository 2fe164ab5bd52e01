"""Tests of rights: the lowest role in each kind of chat, and the sentence for everybody below it."""

import pytest

from services.roles import EVERYBODY, Place, Rights, Role, Venue, refusal

GROUP, PRIVATE = Venue(Place.GROUP), Venue(Place.PRIVATE)
SHARED_KNOWLEDGE = Venue(Place.GROUP, shares_knowledge=True)
SHARED_MEMORY = Venue(Place.GROUP, shares_memory=True)
SHARED_BOTH = Venue(Place.GROUP, shares_knowledge=True, shares_memory=True)


@pytest.mark.parametrize(
    ("rights", "lowest"),
    [
        (EVERYBODY, [Role.MEMBER] * 5),
        (Rights(group=None), [None, Role.MEMBER, None, None, None]),
        (Rights(private=None), [Role.MEMBER, None, Role.MEMBER, Role.MEMBER, Role.MEMBER]),
        (
            Rights(group=Role.ADMIN, shared_knowledge=Role.SUPERUSER),
            [Role.ADMIN, Role.MEMBER, Role.SUPERUSER, Role.ADMIN, Role.SUPERUSER],
        ),
        (Rights(shared_memory=Role.ADMIN), [Role.MEMBER, Role.MEMBER, Role.MEMBER, Role.ADMIN, Role.ADMIN]),
        # A shared base never lowers what a command requires.
        (
            Rights(group=Role.SUPERUSER, shared_knowledge=Role.ADMIN),
            [Role.SUPERUSER, Role.MEMBER, *[Role.SUPERUSER] * 3],
        ),
    ],
)
def test_the_lowest_role(rights: Rights, lowest: list[Role | None]) -> None:
    for venue, expected in zip((GROUP, PRIVATE, SHARED_KNOWLEDGE, SHARED_MEMORY, SHARED_BOTH), lowest, strict=True):
        assert rights.lowest(venue) == expected
        allowed = {role for role in Role if rights.allow(role, venue)}
        assert allowed == {role for role in Role if expected is not None and role >= expected}


def test_a_refusal_says_who_may_or_where() -> None:
    assert refusal(Place.GROUP, Role.ADMIN) == "需要管理员：这件事要由群管理员来做。"
    assert "群主" in refusal(Place.GROUP, Role.OWNER)
    assert "机器人管理员" in refusal(Place.PRIVATE, Role.SUPERUSER)
    assert refusal(Place.GROUP, None) == "这个命令只能在私聊里用。"
    assert refusal(Place.PRIVATE, None) == "这个命令只能在群里用。"
