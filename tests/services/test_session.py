"""Session ids and collection names: unique for each place and person, and valid in every store."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.session import GLOBAL_COLLECTION, KnowledgeCollection, KnowledgeScope, Session, SessionScope

# Small numbers collide if an id is put together carelessly; QQ may assign large ones one day.
NUMBERS = st.integers(0, 30) | st.integers(0, 2**63 - 1)
SESSIONS = st.builds(Session, group_id=st.none() | NUMBERS, user_id=NUMBERS)
STORABLE = re.compile(r"[a-z0-9_]{1,64}")
NOT_NUMBERS: list[Any] = ["777", "777'; --", "", True, False, -1, 7.0, None, b"7"]


@given(SESSIONS, SESSIONS)
def test_two_people_or_places_never_share_a_members_memory(one: Session, other: Session) -> None:
    same = one.session_id(SessionScope.MEMBER) == other.session_id(SessionScope.MEMBER)
    assert same == (one == other)


def test_no_two_ids_of_small_numbers_are_the_same() -> None:
    """Every pair is checked, since chance hardly meets 1 and 23 against 12 and 3."""
    sessions = [Session(group, user) for group in (None, *range(130)) for user in range(130)]
    assert len({session.session_id(SessionScope.MEMBER) for session in sessions}) == len(sessions)
    collections = {session.collection(KnowledgeScope.GROUP) for session in sessions}
    assert len(collections) == 130 + 130


@given(SESSIONS, SESSIONS)
def test_a_groups_memory_is_shared_by_its_members_only(one: Session, other: Session) -> None:
    same = one.session_id(SessionScope.GROUP) == other.session_id(SessionScope.GROUP)
    if one.group_id is None or other.group_id is None:
        assert same == (one == other)
    else:
        assert same == (one.group_id == other.group_id)


@given(SESSIONS, SESSIONS)
def test_ids_of_the_two_scopes_never_meet_in_a_group(one: Session, other: Session) -> None:
    if one.group_id is not None:
        assert one.session_id(SessionScope.MEMBER) != other.session_id(SessionScope.GROUP)


@given(SESSIONS, SESSIONS)
def test_two_places_never_share_a_collection(one: Session, other: Session) -> None:
    same = one.collection(KnowledgeScope.GROUP) == other.collection(KnowledgeScope.GROUP)
    if one.group_id is None or other.group_id is None:
        assert same == (one == other)
    else:
        assert same == (one.group_id == other.group_id)
    assert one.collection(KnowledgeScope.GROUP).name != GLOBAL_COLLECTION


@given(SESSIONS)
def test_the_global_collection_is_everybodys(session: Session) -> None:
    assert session.collection(KnowledgeScope.GLOBAL) == KnowledgeCollection(GLOBAL_COLLECTION)


@given(SESSIONS, st.sampled_from(SessionScope), st.sampled_from(KnowledgeScope))
def test_every_name_can_be_stored_anywhere(session: Session, memory: SessionScope, knowledge: KnowledgeScope) -> None:
    assert STORABLE.fullmatch(session.session_id(memory))
    assert STORABLE.fullmatch(session.collection(knowledge).name)


@pytest.mark.parametrize("number", NOT_NUMBERS)
def test_what_is_no_qq_number_is_refused(number: Any) -> None:
    calls = [
        lambda: Session(None, number).session_id(SessionScope.MEMBER),
        lambda: Session(7, number).session_id(SessionScope.MEMBER),
        lambda: Session(None, number).collection(KnowledgeScope.GROUP),
        lambda: KnowledgeCollection.of_group(number, KnowledgeScope.GROUP),
        lambda: KnowledgeCollection.of_private(number, KnowledgeScope.GROUP),
    ]
    if number is not None:
        calls += [
            lambda: Session(number, 7).session_id(SessionScope.MEMBER),
            lambda: Session(number, 7).session_id(SessionScope.GROUP),
            lambda: Session(number, 7).collection(KnowledgeScope.GROUP),
        ]
    for call in calls:
        with pytest.raises(ValueError, match="QQ number"):
            call()
