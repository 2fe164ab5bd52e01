"""One event for the loaded plugins, and the calls that the bot has to make because of it."""

import itertools
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from nonebot.adapters.onebot.v11 import Adapter, Bot, Event, Message, MessageEvent
from nonebug import App

SELF_ID, MEMBER, ADMIN, OWNER, SUPERUSER = 3889000001, 10002, 10003, 10004, 10001

_EVENTS = Path(__file__).parent / "events"
_ROLES = {ADMIN: "admin", OWNER: "owner"}
_message_ids = itertools.count(1)


@dataclass(frozen=True)
class Call:
    """A call that the bot has to make, with what the client answers: data, or an exception."""

    action: str
    parameters: dict[str, Any]
    result: Any = None


@dataclass(eq=False)
class _Sent:
    """Compares equal to a message that contains `fragment`, and remembers its text."""

    fragment: str
    reply_to: int | None = None
    text: str = ""

    def __eq__(self, message: object) -> bool:
        if not isinstance(message, Message):
            return False
        self.text = message.extract_plain_text()
        quoted = next((int(segment.data["id"]) for segment in message if segment.type == "reply"), None)
        return self.fragment in self.text and quoted == self.reply_to

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"a message with {self.fragment!r} that quotes {self.reply_to}"


def event_of(name: str, **data: Any) -> Event:
    """Return the event in a file of `events/`, as the adapter reads it, with some fields replaced."""
    content = json.loads((_EVENTS / f"{name}.json").read_text("utf-8"))
    event = Adapter.json_to_event(content | data)
    assert event is not None
    return event


@dataclass(frozen=True)
class Conversation:
    """What one person says in a group, or in private if `group_id` is None.

    `claimed_role` is the role that the message states; None leaves it out, as NapCat sometimes does.
    """

    app: App
    group_id: int | None
    user_id: int = MEMBER
    claimed_role: str | None = field(default="member")

    def by(self, user_id: int) -> "Conversation":
        """Return the same chat with another person."""
        return replace(self, user_id=user_id, claimed_role=_ROLES.get(user_id, "member"))

    def in_private(self) -> "Conversation":
        """Return the private chat with the same person."""
        return replace(self, group_id=None)

    def message(self, *segments: str | dict[str, Any], to_me: bool = False) -> MessageEvent:
        """Return the event of a message. A text stands for its segment."""
        content = [
            {"type": "text", "data": {"text": segment}} if isinstance(segment, str) else segment for segment in segments
        ]
        sender: dict[str, Any] = {"user_id": self.user_id, "nickname": "小王"}
        data: dict[str, Any] = {"user_id": self.user_id, "message_id": next(_message_ids), "message": content}
        if self.group_id is None:
            event = event_of("private_message", **data, sender=sender)
        else:
            sender |= {} if self.claimed_role is None else {"role": self.claimed_role}
            event = event_of("group_message", **data, sender=sender, group_id=self.group_id)
        assert isinstance(event, MessageEvent)
        event.to_me = to_me or self.group_id is None
        return event

    def notice(self, name: str, **data: Any) -> Event:
        """Return the event of a notice about this person, by the name of its file."""
        return event_of(name, group_id=self.group_id, user_id=self.user_id, **data)

    async def say(self, text: str, *expected: str | Call, to_me: bool = False, error: str = "") -> str:
        """Say something and return the reply. See `send`."""
        return await self.send(self.message(text, to_me=to_me), *expected, error=error)

    async def send(self, event: Event, *expected: str | Call, error: str = "") -> str:
        """Pass an event to the plugins. Fail unless the bot makes exactly the expected calls, in this order.

        A text expects something said here that contains it, and that quotes the message if the event is one. `error` is
        a part of the error that ends the handler, which nonebug reports as a failure. Return the last text that the bot
        said.
        """
        quoted = event.message_id if isinstance(event, MessageEvent) else None
        sent: list[_Sent] = []
        failure = pytest.raises(pytest.fail.Exception, match=error) if error else nullcontext()
        with failure:
            await self._receive(event, quoted, expected, sent)
        assert not any(each.text == "" for each in sent), sent
        return sent[-1].text if sent else ""

    async def _receive(
        self, event: Event, quoted: int | None, expected: Sequence[str | Call], sent: list[_Sent]
    ) -> None:
        async with self.app.test_matcher() as context:
            bot = context.create_bot(base=Bot, self_id=str(SELF_ID))
            context.receive_event(bot, event)
            for each in expected:
                if isinstance(each, str):
                    sent.append(_Sent(each, quoted))
                    call = Call("send_msg", {"message": sent[-1], **self._target()}, {"message_id": 1})
                else:
                    call = each
                exception = call.result if isinstance(call.result, Exception) else None
                context.should_call_api(call.action, call.parameters, call.result, exception)

    def _target(self) -> dict[str, Any]:
        if self.group_id is None:
            return {"message_type": "private", "user_id": self.user_id}
        return {"message_type": "group", "group_id": self.group_id}


def group_files(conversation: Conversation, result: Any) -> Call:
    """Return the call that lists the top of a group's files."""
    parameters = {"group_id": conversation.group_id, "file_count": 500, "_timeout": 60}
    return Call("get_group_root_files", parameters, result)
