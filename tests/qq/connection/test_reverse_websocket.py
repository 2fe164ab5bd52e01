"""Tests of which frames of a client become events."""

from typing import Any

import pytest
from nonebot.adapters.onebot.v11 import GroupMessageEvent, PrivateMessageEvent
from nonebot.log import logger

from qq.connection.reverse_websocket import ReverseWebSocketAdapter

COMMON = {"time": 1, "self_id": 3889000001}
MESSAGE = COMMON | {
    "post_type": "message",
    "sub_type": "normal",
    "user_id": 10002,
    "message_id": 5,
    "message": [{"type": "text", "data": {"text": "你好"}}],
    "raw_message": "你好",
    "font": 14,
    "sender": {"user_id": 10002, "nickname": "n"},
}


def notice(notice_type: str, **fields: Any) -> dict[str, Any]:
    return COMMON | {"post_type": "notice", "notice_type": notice_type} | fields


def test_group_and_private_messages_are_heard() -> None:
    group = ReverseWebSocketAdapter.json_to_event(MESSAGE | {"message_type": "group", "group_id": 777})
    assert isinstance(group, GroupMessageEvent)
    private = ReverseWebSocketAdapter.json_to_event(MESSAGE | {"message_type": "private", "sub_type": "friend"})
    assert isinstance(private, PrivateMessageEvent)


@pytest.mark.parametrize(
    "frame",
    [
        notice("group_upload", group_id=777, user_id=10002, file={"id": "x", "name": "a.md", "size": 1, "busid": 1}),
        notice("group_upload", group_id=777, user_id=10002, file={"id": "x", "name": "a.md", "size": 1}),
        notice("offline_file", user_id=10002, file={"name": "a.md"}),
        notice("group_msg_emoji_like", group_id=777, user_id=10002, message_id=5, likes=[]),
        notice("reaction", sub_type="add", group_id=777, operator_id=10002, message_id=5, code="76"),
        notice("group_recall", group_id=777, user_id=10002, operator_id=10002, message_id=5),
        notice("friend_recall", user_id=10002, message_id=5),
        notice("notify", sub_type="poke", user_id=10002, target_id=1, group_id=777),
        COMMON | {"post_type": "meta_event", "meta_event_type": "lifecycle", "sub_type": "connect"},
        COMMON | {"post_type": "meta_event", "meta_event_type": "heartbeat", "interval": 1, "status": {"online": None}},
    ],
)
def test_known_kinds_are_heard(frame: dict[str, Any]) -> None:
    assert ReverseWebSocketAdapter.json_to_event(frame) is not None


@pytest.mark.parametrize(
    "frame",
    [
        MESSAGE | {"message_type": "guild", "guild_id": "1", "channel_id": "2"},
        MESSAGE | {"message_type": "discuss", "discuss_id": 3},
        MESSAGE | {"message_type": "group"},
        {key: value for key, value in MESSAGE.items() if key != "sub_type"} | {"message_type": "private"},
        MESSAGE | {"post_type": "message_sent", "message_type": "private"},
        notice("essence", message_id=5),
        notice("bot_offline", message="x"),
        notice("notify", sub_type="input_status", user_id=10002, group_id=0),
        COMMON | {"post_type": "something", "something_type": "else"},
    ],
)
def test_other_kinds_are_ignored_with_one_debug_line(frame: dict[str, Any]) -> None:
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), level="DEBUG", filter="qq", format="{level} {message}")
    try:
        assert ReverseWebSocketAdapter.json_to_event(frame) is None
    finally:
        logger.remove(sink)
    assert len(lines) == 1, lines
    assert lines[0].startswith("DEBUG an event of the kind ")
    assert "你好" not in lines[0]


@pytest.mark.parametrize("frame", [[], "x", None, 1, {"echo": "no call", "status": "ok"}])
def test_what_is_no_event(frame: Any) -> None:
    assert ReverseWebSocketAdapter.json_to_event(frame) is None
