"""Every command, role and kind of chat, derived from the tables of all plugins and checked against independent ones."""

import re
from pathlib import Path

import pytest

import bot
from qq.commands.help import Help
from qq.commands.models import Use, normalized
from qq.commands.registry import registry
from services.roles import Place, Role, Venue, refusal
from services.session import KnowledgeScope, SessionScope
from services.settings import Settings
from tests.plugins.conftest import Rescope
from tests.plugins.conversation import ADMIN, MEMBER, OWNER, SUPERUSER, Call, Conversation, group_files

# One letter for each permitted role: m member, a admin, o owner, s superuser of the bot. Columns: in a group, in a
# private chat, and the same two while all groups share one knowledge base.
EXPECTED: dict[str, tuple[str, str, str, str]] = {
    "/help": ("maos", "maos", "maos", "maos"),
    "/ask": ("maos", "maos", "maos", "maos"),
    "/kb status": ("maos", "maos", "maos", "maos"),
    "/kb list": ("maos", "maos", "maos", "maos"),
    "/kb show": ("maos", "maos", "maos", "maos"),
    "/kb search": ("maos", "maos", "maos", "maos"),
    "/kb add": ("aos", "maos", "aos", "aos"),
    "/kb delete": ("aos", "maos", "s", "s"),
    "/kb tag": ("aos", "maos", "s", "s"),
    "/kb type": ("aos", "maos", "s", "s"),
    "/kb clear": ("aos", "maos", "s", "s"),
    "/kb reindex": ("aos", "maos", "s", "s"),
    "/kb pull": ("aos", "", "aos", ""),
    "/kb load": ("s", "s", "s", "s"),
    "/kb use": ("", "maos", "", "maos"),
    "/kb test": ("aos", "maos", "aos", "aos"),
    "/kb source": ("maos", "maos", "maos", "maos"),
    "/faq list": ("maos", "maos", "maos", "maos"),
    "/faq show": ("maos", "maos", "maos", "maos"),
    "/faq add": ("aos", "", "s", ""),
    "/faq edit": ("aos", "", "s", ""),
    "/faq confirm": ("aos", "", "s", ""),
    "/faq delete": ("aos", "", "s", ""),
    "/faq import": ("aos", "", "s", ""),
    "/faq export": ("maos", "maos", "maos", "maos"),
    "/faq unanswered": ("aos", "", "aos", ""),
    "/memory status": ("maos", "maos", "maos", "maos"),
    "/memory show": ("maos", "maos", "maos", "maos"),
    "/memory compact": ("maos", "maos", "maos", "maos"),
    "/memory clear": ("maos", "maos", "maos", "maos"),
    "/review ask": ("maos", "", "maos", ""),
    "/review list": ("aos", "", "aos", ""),
    "/review show": ("aos", "", "aos", ""),
    "/review approve": ("aos", "", "aos", ""),
    "/review edit": ("aos", "", "aos", ""),
    "/review reject": ("aos", "", "aos", ""),
    "/review assign": ("aos", "", "aos", ""),
    "/session status": ("maos", "maos", "maos", "maos"),
    "/session end": ("maos", "maos", "maos", "maos"),
    "/session prefs": ("maos", "maos", "maos", "maos"),
    "/feedback": ("maos", "maos", "maos", "maos"),
    "/stats": ("aos", "", "aos", ""),
    "/trace": ("aos", "maos", "aos", "maos"),
    "/bot status": ("s", "s", "s", "s"),
    "/bot export": ("", "s", "", "s"),
    "/bot auto": ("aos", "", "aos", ""),
    "/bot quiet": ("maos", "", "maos", ""),
}
# The memory of a whole group (SESSION__SCOPE=group) belongs to its admins. It changes nothing else.
EXPECTED_OF_SHARED_MEMORY = {"/memory compact": "aos", "/memory clear": "aos", "/session end": "aos"}
PEOPLE = {Role.MEMBER: MEMBER, Role.ADMIN: ADMIN, Role.OWNER: OWNER, Role.SUPERUSER: SUPERUSER}
LETTERS = {Role.MEMBER: "m", Role.ADMIN: "a", Role.OWNER: "o", Role.SUPERUSER: "s"}
VENUES = [
    *(Venue(place, shares_knowledge) for place in Place for shares_knowledge in (False, True)),
    *(Venue(Place.GROUP, shares_knowledge, shares_memory=True) for shares_knowledge in (False, True)),
]
# Who may use a command in a group, in the words of the tables in the READMEs.
WHO = {
    "README.md": {Role.MEMBER: "所有人", Role.ADMIN: "群管理员", Role.SUPERUSER: "机器人管理员"},
    "README.en.md": {Role.MEMBER: "everybody", Role.ADMIN: "group admins", Role.SUPERUSER: "bot admins"},
}


def _name(venue: Venue) -> str:
    return f"{venue.place}{'-knowledge' * venue.shares_knowledge}{'-memory' * venue.shares_memory}"


pytestmark = pytest.mark.usefixtures("loaded")


def _letters(use: Use, venue: Venue) -> str:
    if venue.shares_memory and use.call in EXPECTED_OF_SHARED_MEMORY:
        return EXPECTED_OF_SHARED_MEMORY[use.call]
    return EXPECTED[use.call][(2 if venue.shares_knowledge else 0) + (venue.place is Place.PRIVATE)]


def _allowed(use: Use, role: Role, venue: Venue) -> bool:
    # Groups have admins, private chats do not.
    is_member = venue.place is Place.PRIVATE and role is not Role.SUPERUSER
    return LETTERS[Role.MEMBER if is_member else role] in _letters(use, venue)


def _written(use: Use) -> list[str]:
    """Return the ways to call a command: each of its words, each of its second word, a wide slash, and capitals."""
    second = use.subcommand.words if use.subcommand else ("",)
    ways = [f"/{first} {second[0]}" for first in use.command.words] + [f"/{use.command.word} {word}" for word in second]
    aliases = f"／{use.command.words[-1]} {second[-1]}"
    return [way.rstrip() for way in dict.fromkeys([*ways, aliases, f" {use.call.upper()}"])]


async def _say(person: Conversation, use: Use, text: str, *, allowed: bool) -> str:
    """Say something that calls a command, and return the reply. What it asks of the client is empty."""
    calls: list[Call] = []
    if use.call == "/kb pull" and allowed:
        calls.append(group_files(person, {"files": [], "folders": []}))
    return await person.say(text, *calls, "")


def _place(conversation: Conversation, role: Role, venue: Venue, rescope: Rescope) -> Conversation:
    rescope(
        KnowledgeScope.GLOBAL if venue.shares_knowledge else KnowledgeScope.GROUP,
        SessionScope.GROUP if venue.shares_memory else SessionScope.MEMBER,
    )
    person = conversation.by(PEOPLE[role])
    return person.in_private() if venue.place is Place.PRIVATE else person


def test_the_tables_have_every_command() -> None:
    assert {use.call for use in registry.uses()} == set(EXPECTED)


@pytest.mark.parametrize("venue", VENUES, ids=_name)
@pytest.mark.parametrize("role", Role)
async def test_who_may(role: Role, venue: Venue, conversation: Conversation, rescope: Rescope) -> None:
    person = _place(conversation, role, venue, rescope)
    for use in registry.uses():
        allowed = _allowed(use, role, venue)
        reply = await _say(person, use, use.call, allowed=allowed)
        refused = reply.startswith(("需要管理员：", "这个命令只能在"))
        assert refused is not allowed, (use.call, reply)
        if not allowed:
            lowest = next((each for each in Role if LETTERS[each] in _letters(use, venue)), None)
            assert reply == refusal(venue.place, lowest)


async def _pages(person: Conversation, call: str) -> list[str]:
    """Say something that calls the help, and return all its pages."""
    pages = [await person.say(call, "")]
    while "下一页：" in pages[-1]:
        pages.append(await person.say(pages[-1].rpartition("下一页：")[2], ""))
    return pages


@pytest.mark.parametrize("venue", VENUES, ids=_name)
@pytest.mark.parametrize("role", Role)
async def test_help_shows_exactly_what_one_may_use(
    role: Role, venue: Venue, conversation: Conversation, rescope: Rescope
) -> None:
    person = _place(conversation, role, venue, rescope)
    shown = await _pages(person, "/help")
    overview = "\n".join(shown)
    for command in registry:
        if f"/{command.word} " in overview:
            shown += await _pages(person, f"/help {command.word}")
    lines = {line for page in shown for line in page.split("\n")}
    for use in registry.uses():
        assert (use.line in lines) is _allowed(use, role, venue), use.call
    assert all(len(page.split("\n")) <= 10 for page in shown)


async def test_every_way_to_write_a_command_reaches_it(conversation: Conversation) -> None:
    person = conversation.by(SUPERUSER)
    for use in registry.uses():
        # The figures in a reply may change.
        expected = re.sub(r"[\d.]+", "0", await _say(person, use, use.call, allowed=True))
        for written in _written(use):
            assert re.sub(r"[\d.]+", "0", await _say(person, use, written, allowed=True)) == expected, written


def test_no_two_commands_share_a_word() -> None:
    words = [normalized(word) for command in registry for word in command.words]
    assert len(words) == len(set(words))
    for command in registry:
        words = [normalized(word) for use in command.uses() if use.subcommand for word in use.subcommand.words]
        assert len(words) == len(set(words)), command.word


def test_every_command_has_a_chinese_word_and_an_example_of_its_arguments() -> None:
    for use in registry.uses():
        for row in (use.command, use.row):
            assert any("一" <= character <= "龥" for word in row.aliases for character in word), row.word
        assert bool(use.row.arguments) is bool(use.row.example), use.call


@pytest.mark.parametrize("name", WHO)
def test_the_readme_lists_the_commands(name: str) -> None:
    text = (Path(bot.ROOT) / name).read_text("utf-8")
    rows = re.findall(r"^\| `(/[^`]+)` \| .+ \| (.+) \|$", text, re.MULTILINE)
    uses = {use.usage if name == "README.md" else use.call: use for use in registry.uses()}
    assert len(rows) == len(uses)
    for written, who in rows:
        call = next((call for call in uses if written == call or written.startswith(f"{call} ")), None)
        assert call is not None, written
        if name == "README.md":
            assert written == call
        rights = uses[call].row.rights
        if rights.group is None:
            assert re.search(r"私聊|private", who), call
            continue
        assert who.startswith(WHO[name][rights.group]), call
        assert bool(re.search(r"只在群里|groups only", who)) is (rights.private is None), call


async def test_the_help_of_a_command_is_also_its_subcommand(conversation: Conversation) -> None:
    for command in registry:
        if command.subcommands:
            shown = await conversation.say(f"/help {command.word}", "")
            assert shown == await conversation.say(f"/{command.word} help", "")
            assert shown == await conversation.say(f"/{command.aliases[0]} 帮助", "")


async def test_a_misspelt_command_names_the_nearest(conversation: Conversation, loaded: Settings) -> None:
    reply = "没有 /kb lits 这个命令，是不是 /kb list？发 /help kb 看全部。"
    assert await conversation.say("/kb lits 2", "") == reply
    # A member is not led to what they may not use.
    assert "/kb delete" not in await conversation.say("/kb delte 1", "没有 /kb delte 这个命令")
    assert "/kb delete" in await conversation.by(ADMIN).say("/kb delte 1", "")
    assert "是不是 /memory？" in await conversation.say("/memroy clear", "没有 /memroy 这个命令", to_me=True)
    # Among other people's messages, an unknown command may be for another bot.
    assert await conversation.say("/memroy clear") == ""
    assert Help(registry, Role.MEMBER, Venue(Place.GROUP)).about("memroy").startswith("没有 memroy 这个命令，是不是")
