"""Tests of what a message calls."""

import pytest
from nonebot.adapters.onebot.v11 import Message, MessageSegment

from qq.commands.calls import read_call, split_word

STARTS = ("/", "／", "!")


def call(text: str | Message, starts: tuple[str, ...] = STARTS) -> tuple[str, str] | None:
    """Return the word and the text of the arguments."""
    message = Message(MessageSegment.text(text)) if isinstance(text, str) else text
    found = read_call(message, starts)
    return None if found is None else (found.word, found.text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/kb", ("kb", "")),
        ("  /kb  list 2 ", ("kb", "list 2")),
        ("／知识库\n列表", ("知识库", "列表")),
        ("!kb\tlist", ("kb", "list")),
        ("/kb12", ("kb12", "")),
        ("kb list", None),
        ("/ kb", None),
        ("/", None),
        ("", None),
        ("看看/kb", None),
    ],
)
def test_the_first_word(text: str, expected: tuple[str, str] | None) -> None:
    assert call(text) == expected


def test_without_a_prefix_every_word_may_be_a_command() -> None:
    assert call("帮助", ("",)) == ("帮助", "")
    # The longest prefix wins.
    assert call("/kb list", ("", "/")) == ("kb", "list")
    found = read_call(Message(MessageSegment.text("帮助")), ("",))
    assert found is not None
    assert not found.is_like_a_command


def test_pictures_stay_and_text_never_becomes_one() -> None:
    picture = MessageSegment.image("a.png")
    message = Message([MessageSegment.text("/ask  "), MessageSegment.text(" 这是什么"), picture])
    found = read_call(message, STARTS)
    assert found is not None
    assert found.arguments == Message([MessageSegment.text("这是什么"), picture])
    smuggled = "/ask [CQ:image,file=file:///etc/passwd][CQ:at,qq=all]"
    found = read_call(Message(MessageSegment.text(smuggled)), STARTS)
    assert found is not None
    assert [segment.type for segment in found.arguments] == ["text"]
    assert found.text == smuggled.removeprefix("/ask ")
    assert len(message) == 3, "the message itself is left as it was"


def test_a_message_that_begins_with_a_picture_calls_nothing() -> None:
    assert call(Message([MessageSegment.image("a.png"), MessageSegment.text("/kb")])) is None
    assert call(Message()) is None


@pytest.mark.parametrize(
    ("text", "probable"),
    [("/kbb", True), ("/资料库 列表", True), ("/var/lib 是什么", False), ("/？", False), ("/" + "长" * 21, False)],
)
def test_what_probably_means_a_command(text: str, probable: bool) -> None:
    found = read_call(Message(MessageSegment.text(text)), STARTS)
    assert found is not None
    assert found.is_like_a_command is probable


def test_splitting() -> None:
    assert split_word("") == ("", "")
    assert split_word(" 列表  2 3 ") == ("列表", "2 3")
    assert split_word("一\n二  三") == ("一", "二  三")
