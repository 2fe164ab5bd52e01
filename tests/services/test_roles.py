"""Permissions, checked against an independent table: every action, role and place, with and without a shared base."""

import pytest

from services.roles import ROLES, Action, Place, Role, lowest_role, may, refusal, usages

GROUP, PRIVATE = Place.GROUP, Place.PRIVATE

# One letter for each permitted role: m member, a admin, o owner, s superuser of the bot. Columns: in a group, in a
# private chat, and the same two while all groups share one knowledge base.
EXPECTED: dict[Action, tuple[str, str, str, str]] = {
    Action.HELP: ("maos", "maos", "maos", "maos"),
    Action.ASK: ("maos", "maos", "maos", "maos"),
    Action.UPLOAD: ("maos", "", "maos", ""),
    Action.UPLOAD_PRIVATE: ("", "maos", "", "s"),
    Action.KB_STATUS: ("maos", "maos", "maos", "maos"),
    Action.KB_LIST: ("maos", "maos", "maos", "maos"),
    Action.KB_SHOW: ("maos", "maos", "maos", "maos"),
    Action.KB_SEARCH: ("maos", "maos", "maos", "maos"),
    Action.KB_ADD: ("aos", "maos", "aos", "aos"),
    Action.KB_DELETE: ("aos", "maos", "s", "s"),
    Action.KB_CLEAR: ("aos", "maos", "s", "s"),
    Action.KB_REINDEX: ("aos", "maos", "s", "s"),
    Action.KB_LOAD: ("s", "s", "s", "s"),
    Action.KB_USE: ("", "maos", "", "maos"),
    Action.KB_TEST: ("aos", "maos", "aos", "aos"),
    Action.KB_SOURCE: ("maos", "maos", "maos", "maos"),
    Action.MEMORY_STATUS: ("maos", "maos", "maos", "maos"),
    Action.MEMORY_SHOW: ("maos", "maos", "maos", "maos"),
    Action.MEMORY_COMPACT: ("maos", "maos", "maos", "maos"),
    Action.MEMORY_CLEAR: ("maos", "maos", "maos", "maos"),
    Action.MEMORY_CLEAR_SHARED: ("aos", "", "aos", ""),
    Action.MEMORY_COMPACT_SHARED: ("aos", "", "aos", ""),
    Action.TRACE: ("aos", "maos", "aos", "maos"),
    Action.BOT_STATUS: ("s", "s", "s", "s"),
    Action.BOT_AUTO: ("aos", "", "aos", ""),
    Action.BOT_QUIET: ("maos", "", "maos", ""),
}
LETTERS = {"m": Role.MEMBER, "a": Role.ADMIN, "o": Role.OWNER, "s": Role.SUPERUSER}
COLUMNS = [(GROUP, False), (PRIVATE, False), (GROUP, True), (PRIVATE, True)]
CANNOT_BE_UNDONE = {Action.KB_DELETE, Action.KB_CLEAR, Action.MEMORY_CLEAR, Action.MEMORY_CLEAR_SHARED}


def test_the_table_names_every_action() -> None:
    assert set(EXPECTED) == set(Action) == set(ROLES)


@pytest.mark.parametrize("column", range(4), ids=["group", "private", "group-shared", "private-shared"])
@pytest.mark.parametrize("action", Action)
def test_who_may(action: Action, column: int) -> None:
    place, shared = COLUMNS[column]
    expected = {LETTERS[letter] for letter in EXPECTED[action][column]}
    assert {role for role in Role if may(role, place, action, shared=shared)} == expected
    assert lowest_role(place, action, shared=shared) == min(expected, default=None)


@pytest.mark.parametrize(("place", "shared"), COLUMNS)
@pytest.mark.parametrize("role", Role)
def test_help_shows_exactly_the_commands_that_one_may_give(role: Role, place: Place, shared: bool) -> None:
    lines = usages(role, place, shared=shared)
    allowed = [ROLES[action].usage for action in Action if may(role, place, action, shared=shared)]
    assert lines == [usage for usage in allowed if usage]
    assert len(set(lines)) == len(lines)


def test_every_command_is_in_somebodys_help() -> None:
    shown = {line for place in Place for line in usages(Role.SUPERUSER, place)}
    assert shown == {rule.usage for rule in ROLES.values() if rule.usage}
    for action in Action:
        # The words of a command are the beginning of its line in the help.
        if (usage := ROLES[action].usage) and action is not Action.ASK:
            assert usage.startswith(f"/{action}")


def test_what_cannot_be_undone_asks_first() -> None:
    assert {action for action, rule in ROLES.items() if rule.confirm} == CANNOT_BE_UNDONE


def test_a_refusal_says_who_may_or_where() -> None:
    assert "群管理员" in refusal(GROUP, lowest_role(GROUP, Action.KB_DELETE))
    assert "机器人管理员" in refusal(GROUP, lowest_role(GROUP, Action.KB_DELETE, shared=True))
    assert "群主" in refusal(GROUP, Role.OWNER)
    assert "只能在私聊里用" in refusal(GROUP, lowest_role(GROUP, Action.KB_USE))
    assert "只能在群里用" in refusal(PRIVATE, lowest_role(PRIVATE, Action.MEMORY_CLEAR_SHARED))
