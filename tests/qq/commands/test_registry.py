"""Tests of the tables themselves: what a row may say, and which word calls which row."""

import pytest

from qq.commands.models import Command, Use
from qq.commands.registry import CommandRegistry, nearest
from tests.qq.commands.tables import done, registry, table


def test_every_word_finds_its_command() -> None:
    commands = registry()
    for command in table():
        for word in command.words:
            for written in (word, word.upper(), word.title()):
                found = commands.find(written)
                assert found is not None
                assert found.word == command.word
    assert commands.find("ｋｂ") is not None
    assert commands.find("没有") is None


def test_what_everybody_may_do_comes_first() -> None:
    assert [command.word for command in registry(Command("aid", (), "帮忙", done))] == ["aid", "ask", "kb", "bot"]
    assert [use.call for use in registry().uses()] == [
        "/ask",
        "/kb status",
        "/kb list",
        "/kb delete",
        "/kb use",
        "/bot status",
    ]


@pytest.mark.parametrize("words", [("ask", ()), ("new", ("知识库",)), ("KB", ()), ("new", ("ｋｂ",)), ("a", ("a",))])
def test_no_two_commands_share_a_word(words: tuple[str, tuple[str, ...]]) -> None:
    commands = registry()
    with pytest.raises(ValueError, match="two commands are called by"):
        commands.add([Command(*words, "另一个", done)])
    assert len(list(commands)) == len(table()), "nothing of a bad table is added"


def test_rows_that_make_no_sense() -> None:
    row = Command("row", (), "一行", done)
    with pytest.raises(ValueError, match="either a handler or subcommands"):
        Command("new", (), "都没有")
    with pytest.raises(ValueError, match="either a handler or subcommands"):
        Command("new", (), "都有", done, subcommands=(row,))
    with pytest.raises(ValueError, match="cannot have subcommands"):
        Command("new", (), "太深", subcommands=(Command("deep", (), "", subcommands=(row,)),))
    with pytest.raises(ValueError, match="'row'"):
        Command("new", (), "重复", subcommands=(row, row))
    with pytest.raises(ValueError, match="shows its help"):
        Command("new", (), "挡住帮助", subcommands=(Command("info", ("帮助",), "帮助", done),))


@pytest.mark.parametrize(
    ("typed", "meant"), [("lits", "list"), ("del", "delete"), ("LSIT", "list"), ("列标", "list"), ("12345", None)]
)
def test_the_nearest_word(typed: str, meant: str | None) -> None:
    found = nearest(typed, [use.row for use in registry().uses() if use.subcommand is not None][:4])
    assert (found and found.word) == meant


def test_the_line_of_a_row() -> None:
    ask, _, kb = table()
    listing = Use(kb, kb.subcommands[1])
    assert (listing.call, listing.usage, listing.line) == ("/kb list", "/kb list [页]", "/kb list [页] 文件列表")
    assert Use(ask).line == "/ask 问题 提问"
    assert Use(kb, kb.subcommands[0]).line == "/kb status 知识库状态"
    assert list(CommandRegistry()) == []
