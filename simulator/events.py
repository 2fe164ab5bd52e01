"""Events in the dialect of an implementation."""

import time
from typing import Any

from simulator import cq_code
from simulator.dialects import Dialect
from simulator.world import Message, SimulatedFile

Event = dict[str, Any]


def event(self_id: int, post_type: str, **data: Any) -> Event:
    """Return an event with the current time, unless `data` has a `time`."""
    return {"time": int(time.time()), "self_id": self_id, "post_type": post_type} | data


def message_event(self_id: int, dialect: Dialect, message: Message) -> Event:
    """Return the event of a message."""
    raw = cq_code.encode(message.segments)
    common = event(
        self_id,
        "message",
        time=message.time,
        user_id=message.user_id,
        message_id=message.message_id,
        message_seq=message.message_id,
        real_id=message.message_id,
        sender=message.sender,
        raw_message=raw,
        font=14,
        message_format="string" if dialect.string_messages else "array",
        message=raw if dialect.string_messages else message.segments,
    )
    if message.group_id is None:
        return common | {"message_type": "private", "sub_type": "friend", "target_id": self_id}
    return common | {"message_type": "group", "sub_type": "normal", "group_id": message.group_id}


def temporary_chat(dialect: Dialect, private: Event, group_id: int) -> Event:
    """Return a private message event as that of a stranger who opened a temporary chat from a group."""
    private = {**private, "sub_type": "group"}
    if dialect.name == "llonebot":
        return {**private, "sender": {**private["sender"], "group_id": group_id}}
    return {**private, "group_id": group_id, "temp_source": 0}


def group_upload(self_id: int, dialect: Dialect, file: SimulatedFile) -> Event:
    """Return the notice of a file uploaded to a group."""
    upload = {"group_id": file.group_id, "user_id": file.user_id, "file": dialect.upload_notice(file)}
    return event(self_id, "notice", notice_type="group_upload", **upload)


def offline_file(self_id: int, dialect: Dialect, file: SimulatedFile) -> Event:
    """Return the notice of a file that a friend sent."""
    data: dict[str, Any] = {"name": file.name, "size": len(file.content), "url": file.url or ""}
    if dialect.file_segment == "lagrange":
        data |= {"id": file.segment_id, "hash": file.notice_id}
    return event(self_id, "notice", notice_type="offline_file", user_id=file.user_id, file=data)


def recall(self_id: int, message: Message, operator_id: int) -> Event:
    """Return the notice of a message recalled by its author or an admin."""
    data: dict[str, Any] = {"user_id": message.user_id, "message_id": message.message_id}
    if message.group_id is None:
        return event(self_id, "notice", notice_type="friend_recall", **data)
    data |= {"group_id": message.group_id, "operator_id": operator_id}
    return event(self_id, "notice", notice_type="group_recall", **data)


def reaction(
    self_id: int, dialect: Dialect, message: Message, user_id: int, emoji_id: str, *, on: bool
) -> Event | None:
    """Return the notice of an emoji added to or removed from a message, or None if the dialect has no such notice."""
    data: dict[str, Any] = {"group_id": message.group_id, "message_id": message.message_id}
    match dialect.reaction:
        case "set_msg_emoji_like":
            data |= {"user_id": user_id, "likes": [{"emoji_id": emoji_id, "count": 1}], "is_add": on}
            return event(self_id, "notice", notice_type="group_msg_emoji_like", **data)
        case "set_group_reaction":
            data |= {"operator_id": user_id, "code": emoji_id, "count": 1, "sub_type": "add" if on else "remove"}
            return event(self_id, "notice", notice_type="reaction", **data)
        case None:
            return None


def lifecycle(self_id: int) -> Event:
    """Return the first event on a new connection."""
    return event(self_id, "meta_event", meta_event_type="lifecycle", sub_type="connect")


def heartbeat(self_id: int, interval_s: float) -> Event:
    """Return a heartbeat event."""
    status = {"online": True, "good": True}
    return event(self_id, "meta_event", meta_event_type="heartbeat", interval=int(interval_s * 1000), status=status)
