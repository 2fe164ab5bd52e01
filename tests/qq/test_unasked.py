"""Tests of messages and reactions of every client as the proactive mode reads them, and of its status text."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from nonebot.adapters.onebot.v11 import Adapter, Event, GroupMessageEvent, Message, MessageSegment, NoticeEvent
from nonebot.adapters.onebot.v11.event import Reply
from nonebot.compat import type_validate_python

from qq.reactions import UNWELCOME, WELCOME, reaction_of, removed_reaction_of
from qq.reports.proactive import status_text
from qq.unasked import MARK, group_message, is_unasked, replied_to
from services.proactive.models import Decision, GroupMessage, GroupStatus, Reason

BOT, OUR_OTHER, ASKER, HELPER = "3889000001", "3889000002", 10002, 10003
AT = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def read(message: Message, *, reply_of: int | None = None, to_me: bool = False) -> GroupMessage:
    """Return a message as the adapter leaves it. A reply that could be looked up is taken out of `message`."""
    data: dict[str, Any] = {
        "time": int(time.time()),
        "self_id": int(BOT),
        "post_type": "message",
        "message_type": "group",
        "sub_type": "normal",
        "group_id": 777,
        "user_id": ASKER,
        "message_id": -5,
        "message": message,
        "raw_message": str(message),
        "font": 14,
        "sender": {"user_id": ASKER, "nickname": "n"},
    }
    event = type_validate_python(GroupMessageEvent, data)
    event.to_me = to_me
    if reply_of is not None:
        event.message = Message(segment for segment in event.message if segment.type != "reply")
        event.reply = type_validate_python(
            Reply,
            {
                "time": 1,
                "message_type": "group",
                "message_id": 9,
                "real_id": 9,
                "sender": {"user_id": reply_of},
                "message": Message(MessageSegment.text("原来的话")),
            },
        )
    return group_message(event, (BOT, OUR_OTHER), ("/", "／", ""), AT)


def text(content: str = "怎么安装") -> MessageSegment:
    return MessageSegment.text(content)


def test_a_plain_message() -> None:
    assert read(Message(text(" 怎么安装 "))) == GroupMessage(777, ASKER, -5, "怎么安装", AT)


def test_somebody_is_addressed() -> None:
    message = read(MessageSegment.at(HELPER) + text())
    assert (message.addressed, message.addresses_somebody, message.asks_bot) == ({HELPER}, True, False)
    assert read(MessageSegment.at("all") + text()).addresses_somebody
    assert not read(MessageSegment.at(ASKER) + text()).addresses_somebody


def test_a_reply_to_somebody() -> None:
    message = read(MessageSegment.reply(9) + text(), reply_of=HELPER)
    assert (message.reply_to, message.addressed, message.addresses_somebody) == (9, {HELPER}, True)
    assert (message.text, message.quoted) == ("怎么安装", "")


def test_a_reply_whose_original_is_lost_is_to_somebody() -> None:
    message = read(MessageSegment.reply(-9) + text())
    assert (message.reply_to, message.addressed, message.addresses_somebody) == (-9, frozenset(), True)


def test_a_reply_to_oneself_goes_on() -> None:
    message = read(MessageSegment.reply(9) + text(), reply_of=ASKER)
    assert (message.addresses_somebody, message.quoted) == (False, "原来的话")


@pytest.mark.parametrize(
    ("message", "to_me"),
    [
        (Message(text()), True),
        (MessageSegment.at(OUR_OTHER) + text(), False),
        (Message(text("/weather 北京天气")), False),
        (Message(text("／天气")), False),
    ],
    ids=["to me", "our other account", "another bot's command", "full width"],
)
def test_what_asks_a_bot(message: Message, to_me: bool) -> None:
    assert read(message, to_me=to_me).asks_bot


def test_pictures_cannot_be_read() -> None:
    assert not read(text() + MessageSegment.image("a.png")).text_only
    assert read(text() + MessageSegment.face(14)).text_only


def notice(**data: Any) -> NoticeEvent:
    """Return an event as the adapter creates it."""
    event = Adapter.json_to_event({"time": 1, "self_id": int(BOT), "post_type": "notice", "group_id": 777} | data)
    assert isinstance(event, NoticeEvent)
    return event


def napcat(emoji_id: str, **data: Any) -> NoticeEvent:
    likes = [{"emoji_id": emoji_id, "count": 1}]
    return notice(notice_type="group_msg_emoji_like", user_id=HELPER, message_id=-5, likes=likes, **data)


def lagrange(code: str, sub_type: str) -> NoticeEvent:
    return notice(notice_type="reaction", sub_type=sub_type, operator_id=HELPER, message_id=-5, code=code, count=1)


@pytest.mark.parametrize("emoji_id", sorted(UNWELCOME))
def test_unwelcome_in_every_dialect(emoji_id: str) -> None:
    for event in (napcat(emoji_id, is_add=True), napcat(emoji_id), lagrange(emoji_id, "add")):
        reaction = reaction_of(event)
        assert reaction is not None
        assert (reaction.group_id, reaction.user_id, reaction.message_id) == (777, HELPER, -5)
        assert reaction.is_unwelcome


@pytest.mark.parametrize(("emoji_id", "welcome"), [*((each, True) for each in sorted(WELCOME)), ("424", False)])
def test_friendly_reactions(emoji_id: str, welcome: bool) -> None:
    for event in (napcat(emoji_id, is_add=True), lagrange(emoji_id, "add")):
        reaction = reaction_of(event)
        assert reaction is not None
        assert not reaction.is_unwelcome
        assert reaction.is_welcome is welcome


@pytest.mark.parametrize(
    "event",
    [
        napcat("77", is_add=False),
        lagrange("77", "remove"),
        notice(notice_type="essence", message_id=1),
        notice(notice_type="group_msg_emoji_like", message_id="x", likes=[]),
    ],
    ids=["taken back", "taken back at Lagrange", "another notice", "malformed"],
)
def test_no_reaction(event: Event) -> None:
    assert isinstance(event, NoticeEvent)
    assert reaction_of(event) is None


def test_a_reaction_that_is_taken_back() -> None:
    for event in (napcat("77", is_add=False), lagrange("77", "remove")):
        reaction = removed_reaction_of(event)
        assert reaction is not None
        assert (reaction.group_id, reaction.user_id, reaction.message_id) == (777, HELPER, -5)
    for event in (napcat("77", is_add=True), napcat("77"), lagrange("77", "add"), notice(notice_type="essence")):
        assert removed_reaction_of(event) is None


@pytest.mark.parametrize(
    ("emoji_id", "verdict"),
    [("76", True), ("128077", True), ("77", False), ("128078", False), ("66", None), ("31", None), ("424", None)],
)
def test_what_a_reaction_says_about_an_answer(emoji_id: str, verdict: bool | None) -> None:
    reaction = reaction_of(napcat(emoji_id, is_add=True))
    assert reaction is not None
    assert reaction.verdict is verdict


def test_likes_that_are_missing_or_malformed_are_no_objection() -> None:
    for likes in (None, [], ["77"], [{}]):
        event = notice(notice_type="group_msg_emoji_like", user_id=1, message_id=2, likes=likes)
        reaction = reaction_of(event)
        assert reaction is not None
        assert not reaction.is_unwelcome


def test_an_unasked_answer_is_known_by_what_it_quotes_and_by_its_last_line() -> None:
    sent = MessageSegment.reply(-5) + text(f"先装依赖。\n\n{MARK}")
    assert (replied_to(sent), is_unasked(sent)) == (-5, True)
    assert (replied_to(Message(text("先装依赖。"))), is_unasked(Message(text("先装依赖。")))) == (None, False)


def test_status_fits_a_phone_screen_and_knows_every_reason() -> None:
    for reason in Reason:
        decisions = [Decision(number, "这是一条很长很长很长很长的消息", reason, AT, 0.417) for number in range(5)]
        lines = status_text(GroupStatus(on=True, quiet_until=AT, answered=2, per_hour=6, decisions=decisions)).split(
            "\n"
        )
        assert len(lines) <= 10
        assert lines[:3] == [
            "主动回答：开",
            "安静到 11-21 17:00，现在恢复：/bot quiet 0",
            "最近一小时主动答了 2 次，最多 6 次",
        ]
        assert lines[4].startswith("17:00「")
        assert lines[4].endswith("（得分 0.42）")
    assert "/bot auto on" in status_text(GroupStatus(on=False))
