"""An OneBot v11 implementation of our own: it plays QQ towards the bot over a real reverse WebSocket."""

# ruff: noqa: ASYNC109 - a timeout here is how long a test waits before it fails with what the bot did

import asyncio
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from tests.e2e import cq_code
from tests.e2e.actions import ActionRefused, Actions, ForwardNode, Reaction, Sent
from tests.e2e.dialects import DIALECTS, GO_CQHTTP, LAGRANGE, LLONEBOT, NAPCAT, Dialect, Segment
from tests.e2e.file_server import FileServer
from tests.e2e.world import Member, Message, UploadedFile, World

__all__ = [
    "DIALECTS",
    "GO_CQHTTP",
    "LAGRANGE",
    "LLONEBOT",
    "NAPCAT",
    "SEND_ACTIONS",
    "ActionRefused",
    "Call",
    "Dialect",
    "ForwardNode",
    "HandshakeRefused",
    "OneBotClient",
    "Reaction",
    "Sent",
    "UploadedFile",
    "World",
]

SEND_ACTIONS = ("send_msg", "send_group_msg", "send_private_msg")
# NapCat's limit for one frame.
_MAX_FRAME_BYTES = 50 * 2**20

Found = TypeVar("Found")


class HandshakeRefused(Exception):
    """The bot answered the handshake with an HTTP error."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the bot refused the connection with HTTP {status}")
        self.status = status


@dataclass(slots=True)
class Call:
    """One action that the bot called. `response` is the envelope, None until it is answered (or for ever).

    `time` is `time.perf_counter()` in seconds.
    """

    action: str
    params: dict[str, Any]
    response: dict[str, Any] | None = None
    time: float = field(default_factory=time.perf_counter)


@dataclass(slots=True)
class _Failure:
    status: str
    retcode: int
    message: str
    remaining: int | None
    performed: bool


class OneBotClient:
    """One QQ account. As a context manager it connects, and says `lifecycle connect`.

    `heartbeat` is the interval in seconds, None for no heartbeats. Files get an address at `file_server`; without one
    links cannot be had, as when NapCat has no packet backend. The world may be filled before connecting. Events whose
    group, member or friend does not exist yet create it.
    """

    def __init__(
        self,
        url: str,
        *,
        self_id: int = 3889000001,
        token: str | None = None,
        dialect: Dialect = NAPCAT,
        file_server: FileServer | None = None,
        heartbeat: float | None = None,
        connect_timeout: float = 30.0,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.url = url
        self.self_id = self_id
        self.dialect = dialect
        self.world = World(self_id, signed_message_ids=dialect.signed_message_ids)
        self.actions = Actions(self.world, dialect, self._on_sent)
        self.calls: list[Call] = []
        self.file_server = file_server
        self._headers = {
            "X-Self-ID": str(self_id),
            "X-Client-Role": "Universal",
            **({} if token is None else {"Authorization": f"Bearer {token}"}),
            **(headers or {}),
        }
        self._heartbeat = heartbeat
        self._connect_timeout = connect_timeout
        self._socket: ClientConnection | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._errors: list[BaseException] = []
        self._failures: dict[str, _Failure] = {}
        self._delays: dict[str, float] = {}
        self._ignored: set[str] = set()
        self._unmatched_sent: list[Sent] = []
        self._unmatched_calls: list[Call] = []
        self._changed = asyncio.Event()

    # -- connection ---------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, error_type: object, *_: object) -> None:
        await self.close()
        if self._errors and error_type is None:
            raise BaseExceptionGroup("the test client failed", self._errors)

    @property
    def connected(self) -> bool:
        """Whether the socket is open."""
        return self._socket is not None and self._socket.close_code is None

    @property
    def close_code(self) -> int | None:
        """Why the socket closed (RFC 6455), None while it is open or never was."""
        return None if self._socket is None else self._socket.close_code

    @property
    def sent(self) -> list[Sent]:
        """Everything the bot made visible, oldest first."""
        return self.actions.sent

    @property
    def violations(self) -> list[str]:
        """What a correct bot never does (see Actions)."""
        return self.actions.violations

    async def connect(self, *, retry_refused: bool = False) -> None:
        """Connect, waiting for the bot to come up. Raises `HandshakeRefused`, at the end only with `retry_refused`."""
        deadline = time.monotonic() + self._connect_timeout
        while True:
            try:
                self._socket = await connect(
                    self.url,
                    additional_headers=self._headers,
                    user_agent_header="OneBot/11",
                    max_size=_MAX_FRAME_BYTES,
                    ping_interval=None,
                    compression=None,
                    proxy=None,
                )
                break
            except InvalidStatus as refused:
                if not retry_refused or time.monotonic() > deadline:
                    raise HandshakeRefused(refused.response.status_code) from refused
            except (OSError, InvalidHandshake, ConnectionClosed):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.05)
        self._start(self._receive(self._socket))
        await self.send_event(self._event("meta_event", meta_event_type="lifecycle", sub_type="connect"))
        if self._heartbeat is not None:
            self._start(self._beat(self._socket, self._heartbeat))

    async def reconnect(self) -> None:
        """Close if open, and connect again; the bot may still hold the old socket for a moment."""
        await self.close()
        await self.connect(retry_refused=True)

    async def drop(self) -> None:
        """Cut the connection without a closing handshake. Answers still owed are lost."""
        socket = self._open_socket()
        socket.transport.abort()
        await socket.wait_closed()

    async def close(self) -> None:
        """Close properly and stop everything of this connection."""
        if self._socket is not None:
            await self._socket.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def wait_closed(self, timeout: float = 10.0) -> int | None:
        """Wait until the bot's side closes, and give the close code."""
        async with asyncio.timeout(timeout):
            await self._open_socket().wait_closed()
        return self.close_code

    def freeze(self) -> None:
        """Stop reading, pings included: a half-open peer."""
        self._open_socket().transport.pause_reading()

    def thaw(self) -> None:
        """Read again."""
        self._open_socket().transport.resume_reading()

    async def send_raw(self, frame: str) -> None:
        """Send any text frame."""
        await self._open_socket().send(frame)

    async def send_event(self, event: dict[str, Any]) -> None:
        """Send one event; `time` and `self_id` are filled in where missing."""
        frame = json.dumps({"time": int(time.time()), "self_id": self.self_id} | event, ensure_ascii=False)
        # Half characters go as escapes, as JavaScript's JSON writes them.
        await self.send_raw(re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match.group()):04x}", frame))

    # -- what people do -----------------------------------------------------------------------------------------------

    async def group_message(
        self,
        group_id: int,
        user_id: int,
        content: str | list[Segment],
        *,
        at_bot: bool = False,
        reply_to: int | None = None,
    ) -> int:
        """Somebody writes in a group; `at_bot` puts an @ in front. Gives the message id."""
        member = self.world.member(group_id, user_id)
        segments = self._segments(content, reply_to)
        if at_bot:
            at = self.dialect.at(self.world.groups[group_id].members[self.self_id])
            if segments and segments[-1]["type"] == "text":
                segments[-1] = {"type": "text", "data": {"text": f" {segments[-1]['data']['text']}"}}
            segments.insert(0 if reply_to is None else 1, at)
        message = self._message(group_id, member, segments)
        await self.send_event(self.message_event(message))
        return message.message_id

    async def private_message(
        self,
        user_id: int,
        content: str | list[Segment],
        *,
        reply_to: int | None = None,
        from_group: int | None = None,
    ) -> int:
        """A friend writes; with `from_group` a stranger in a temporary chat. Gives the message id."""
        person = self.world.add_friend(user_id) if from_group is None else self.world.member(from_group, user_id)
        message = self._message(None, person, self._segments(content, reply_to))
        event = self.message_event(message)
        if from_group is not None:
            event["sub_type"] = "group"
            if self.dialect.name == "llonebot":
                event["sender"] = {**event["sender"], "group_id": from_group}
            else:
                event |= {"group_id": from_group, "temp_source": 0}
        await self.send_event(event)
        return message.message_id

    async def upload_group_file(
        self,
        group_id: int,
        user_id: int,
        name: str,
        content: bytes,
        *,
        notice_first: bool | None = None,
        notice: bool = True,
        message: bool = True,
        folder_id: str = "/",
    ) -> UploadedFile:
        """Somebody uploads a file to a group: the notice and the message with the segment, in the dialect's order."""
        member = self.world.member(group_id, user_id)
        file = self._file(name, content, group_id, user_id, folder_id)
        events: list[dict[str, Any]] = []
        if notice:
            upload = {"group_id": group_id, "user_id": user_id, "file": self.dialect.upload_notice(file)}
            events.append(self._event("notice", notice_type="group_upload", **upload))
        if message:
            stored = self._message(group_id, member, [self.dialect.file(file)])
            file.message_id = stored.message_id
            events.append(self.message_event(stored))
        first = self.dialect.notice_first if notice_first is None else notice_first
        for event in events if first else reversed(events):
            await self.send_event(event)
        return file

    async def upload_private_file(self, user_id: int, name: str, content: bytes) -> UploadedFile:
        """A friend sends a file: a message with a segment, an offline_file notice, or both, as the dialect does."""
        person = self.world.add_friend(user_id)
        file = self._file(name, content, None, user_id, "/")
        if self.dialect.private_file != "message":
            data: dict[str, Any] = {"name": name, "size": len(content), "url": file.url or ""}
            if self.dialect.file_segment == "lagrange":
                data |= {"id": file.segment_id, "hash": file.notice_id}
            await self.send_event(self._event("notice", notice_type="offline_file", user_id=user_id, file=data))
        if self.dialect.private_file != "notice":
            stored = self._message(None, person, [self.dialect.file(file)])
            file.message_id = stored.message_id
            await self.send_event(self.message_event(stored))
        return file

    def image(self, name: str, content: bytes) -> Segment:
        """An image segment for a message; the picture is at the file server and known to get_image."""
        file = self._file(name, content, None, self.self_id, "/")
        self.world.keep_file(file, name)
        data: dict[str, Any] = {"file": name, "url": file.url or "", "file_size": str(len(content)), "summary": ""}
        return {"type": "image", "data": data | {"sub_type" if self.dialect.name == "napcat" else "subType": 0}}

    async def recall(self, message_id: int, operator_id: int | None = None) -> None:
        """Somebody takes a message back; `operator_id` is the admin who did, by default the author."""
        message = self.world.messages.pop(message_id)
        data: dict[str, Any] = {"user_id": message.user_id, "message_id": message_id}
        if message.group_id is None:
            await self.send_event(self._event("notice", notice_type="friend_recall", **data))
        else:
            data |= {"group_id": message.group_id, "operator_id": operator_id or message.user_id}
            await self.send_event(self._event("notice", notice_type="group_recall", **data))

    async def react(self, user_id: int, message_id: int, emoji_id: str, *, on: bool = True) -> None:
        """Somebody puts an emoji on a group message, or takes it off. go-cqhttp does not tell of it."""
        group_id = self.world.messages[message_id].group_id
        data: dict[str, Any] = {"group_id": group_id, "message_id": message_id}
        if self.dialect.reaction == "set_msg_emoji_like":
            data |= {"user_id": user_id, "likes": [{"emoji_id": emoji_id, "count": 1}], "is_add": on}
            await self.send_event(self._event("notice", notice_type="group_msg_emoji_like", **data))
        elif self.dialect.reaction == "set_group_reaction":
            data |= {"operator_id": user_id, "code": emoji_id, "count": 1, "sub_type": "add" if on else "remove"}
            await self.send_event(self._event("notice", notice_type="reaction", **data))

    def message_event(self, message: Message) -> dict[str, Any]:
        """The event of a message, for `send_event`: for example to deliver the same one twice."""
        raw = cq_code.encode(message.segments)
        string = self.dialect.string_messages
        event = self._event(
            "message",
            time=message.time,
            user_id=message.user_id,
            message_id=message.message_id,
            message_seq=message.message_id,
            real_id=message.message_id,
            sender=message.sender,
            raw_message=raw,
            font=14,
            message_format="string" if string else "array",
            message=raw if string else message.segments,
        )
        if message.group_id is None:
            return event | {"message_type": "private", "sub_type": "friend", "target_id": self.self_id}
        return event | {"message_type": "group", "sub_type": "normal", "group_id": message.group_id}

    # -- failures -----------------------------------------------------------------------------------------------------

    def fail(
        self,
        *actions: str,
        retcode: int = 1200,
        message: str = "执行失败",
        times: int | None = None,
        status: str = "failed",
        performed: bool = False,
    ) -> None:
        """Answer with an error, `times` times or until `restore`.

        `performed`: do it all the same, as when QQ confirms a sent message too late. `status`: Lagrange puts the
        error text there, which the adapter takes for success.
        """
        for action in actions:
            self._failures[action] = _Failure(status, retcode, message, times, performed)

    def delay(self, action: str, seconds: float) -> None:
        """Do and answer everything of this kind `seconds` late."""
        self._delays[action] = seconds

    def ignore(self, *actions: str) -> None:
        """Neither do nor answer it."""
        self._ignored |= set(actions)

    def restore(self) -> None:
        """End all failures, delays and ignored actions."""
        self._failures.clear()
        self._delays.clear()
        self._ignored.clear()

    # -- what the bot did ---------------------------------------------------------------------------------------------

    async def wait_sent(self, wanted: str | Callable[[Sent], bool] = "", timeout: float = 10.0) -> Sent:
        """The oldest message, forward or file with this text in it, or for which the function is true.

        Each is returned once: the same call again waits for the next. Fails after `timeout` seconds.
        """

        def matches(sent: Sent) -> bool:
            return wanted in sent.text if isinstance(wanted, str) else wanted(sent)

        return await self._wait(self._unmatched_sent, matches, timeout, f"no message for {wanted!r}")

    async def wait_call(
        self,
        action: str,
        matches: Callable[[dict[str, Any]], bool] = lambda _: True,
        timeout: float = 10.0,
    ) -> Call:
        """The oldest call of this action whose params match. Each is returned once. Fails after `timeout` seconds."""
        return await self._wait(
            self._unmatched_calls,
            lambda call: call.action == action and matches(call.params),
            timeout,
            f"no call of {action}",
        )

    async def quiet(self, seconds: float) -> None:
        """Fail if the bot makes anything visible within `seconds` from now."""
        before = len(self.sent)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while len(self.sent) == before:
                    await self._changed.wait()
        assert len(self.sent) == before, f"not quiet: {self.sent[before:]}"

    def called(self, action: str) -> list[Call]:
        """All calls of one action."""
        return [call for call in self.calls if call.action == action]

    # -- inside -------------------------------------------------------------------------------------------------------

    def _open_socket(self) -> ClientConnection:
        assert self._socket is not None, "the client is not connected"
        return self._socket

    def _event(self, post_type: str, **data: Any) -> dict[str, Any]:
        return {"time": int(time.time()), "self_id": self.self_id, "post_type": post_type} | data

    def _segments(self, content: str | list[Segment], reply_to: int | None) -> list[Segment]:
        segments: list[Segment] = [{"type": "text", "data": {"text": content}}] if isinstance(content, str) else content
        reply: list[Segment] = [] if reply_to is None else [{"type": "reply", "data": {"id": str(reply_to)}}]
        return [*reply, *segments]

    def _message(self, group_id: int | None, member: Member, segments: list[Segment]) -> Message:
        sender = self.dialect.sender(member, in_group=group_id is not None)
        message_id = self.world.new_message_id()
        message = Message(message_id, group_id, member.user_id, member.user_id, segments, sender)
        self.world.messages[message_id] = message
        return message

    def _file(self, name: str, content: bytes, group_id: int | None, user_id: int, folder_id: str) -> UploadedFile:
        segment_id = self.world.new_file_id("segment")
        notice_id = self.world.new_file_id("notice") if self.dialect.notice_id_differs else segment_id
        url = None if self.file_server is None else self.file_server.host(name, content).url
        file = UploadedFile(name, content, group_id, user_id, notice_id, segment_id, folder_id=folder_id, url=url)
        self.world.keep_file(file, notice_id, segment_id)
        return file

    def _start(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._errors.append(error)

    async def _receive(self, socket: ClientConnection) -> None:
        # The end of the connection is visible in `connected` and `close_code`.
        with suppress(ConnectionClosed):
            async for frame in socket:
                request = json.loads(frame)
                call = Call(request["action"], request.get("params") or {})
                self.calls.append(call)
                self._unmatched_calls.append(call)
                self._notify()
                self._start(self._answer(socket, call, request))

    async def _answer(self, socket: ClientConnection, call: Call, request: dict[str, Any]) -> None:
        if call.action in self._ignored:
            return
        if call.action in self._delays:
            await asyncio.sleep(self._delays[call.action])
        envelope = await self._envelope(call)
        # The echo goes back as it came, whatever its type; a request without one is answered without.
        call.response = envelope | ({"echo": request["echo"]} if "echo" in request else {})
        self._notify()
        with suppress(ConnectionClosed):
            await socket.send(json.dumps(call.response, ensure_ascii=False))

    async def _envelope(self, call: Call) -> dict[str, Any]:
        failure = self._take_failure(call.action)
        try:
            if failure is not None and not failure.performed:
                return _failed(failure.status, failure.retcode, failure.message)
            data = await self.actions.perform(call.action, call.params)
        except ActionRefused as refused:
            as_status = self.dialect.upload_error_as_status and call.action.startswith("upload_")
            return _failed(refused.message if as_status else "failed", refused.retcode, refused.message)
        if failure is not None:
            return _failed(failure.status, failure.retcode, failure.message)
        return {"status": "ok", "retcode": 0, "data": data, "message": "", "wording": ""}

    def _take_failure(self, action: str) -> _Failure | None:
        failure = self._failures.get(action)
        if failure is not None and failure.remaining is not None:
            failure.remaining -= 1
            if failure.remaining <= 0:
                del self._failures[action]
        return failure

    async def _beat(self, socket: ClientConnection, interval: float) -> None:
        status = {"online": True, "good": True}
        with suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(interval)
                event = self._event(
                    "meta_event", meta_event_type="heartbeat", interval=int(interval * 1000), status=status
                )
                await socket.send(json.dumps(event))

    def _on_sent(self, sent: Sent) -> None:
        self._unmatched_sent.append(sent)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _wait(
        self, candidates: list[Found], matches: Callable[[Found], bool], timeout: float, failure: str
    ) -> Found:
        try:
            async with asyncio.timeout(timeout):
                while True:
                    for index, candidate in enumerate(candidates):
                        if matches(candidate):
                            return candidates.pop(index)
                    await self._changed.wait()
        except TimeoutError:
            state = "connected" if self.connected else f"not connected, code {self.close_code}"
            lines = [failure + f" after {timeout} s ({state})", *(f"  sent: {sent}" for sent in self.sent[-10:])]
            lines += [f"  call: {call}" for call in self.calls[-10:]]
            raise AssertionError("\n".join(lines)) from None


def _failed(status: str, retcode: int, message: str) -> dict[str, Any]:
    return {"status": status, "retcode": retcode, "data": None, "message": message, "wording": message}
