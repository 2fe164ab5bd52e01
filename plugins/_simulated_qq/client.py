"""One QQ account that is connected to the bot: sends events, answers actions."""

import asyncio
import json
import re
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Protocol, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from plugins._simulated_qq import events
from plugins._simulated_qq.actions import Actions
from plugins._simulated_qq.deeds import Call, Observer
from plugins._simulated_qq.dialects import NAPCAT, Dialect
from plugins._simulated_qq.faults import Faults
from plugins._simulated_qq.parameters import ActionRefused
from plugins._simulated_qq.world import Member, Message, Segment, UploadedFile, World

SEND_ACTIONS = ("send_msg", "send_group_msg", "send_private_msg")
# NapCat's limit for one frame.
_MAX_FRAME_BYTES = 50 * 2**20


class HandshakeRefused(Exception):
    """The bot answered the handshake with an HTTP error."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the bot refused the connection with HTTP {status}")
        self.status = status


class NotConnected(Exception):
    """There is no connection to send anything over."""


class HostedFile(Protocol):
    """A file that can be fetched."""

    @property
    def url(self) -> str:
        """Its address. It ends in `?fname=`, as NapCat's and Lagrange's links do."""
        ...


class FileHost(Protocol):
    """QQ's media host: gives files an address."""

    def host(self, name: str, content: bytes) -> HostedFile:
        """Put bytes under a fresh address."""
        ...


class OneBotClient:
    """One QQ account. As a context manager it connects, and says `lifecycle connect`.

    `heartbeat` is the interval in seconds, None for no heartbeats. Files get an address at `file_host`; without one
    links cannot be had, as when NapCat has no packet backend. The world may be filled before connecting. Events whose
    group, member or friend does not exist yet create it. `observer` is told what the bot does.
    """

    def __init__(
        self,
        url: str,
        observer: Observer,
        *,
        self_id: int = 3889000001,
        token: str | None = None,
        dialect: Dialect = NAPCAT,
        file_host: FileHost | None = None,
        heartbeat: float | None = None,
        connect_timeout: float = 30.0,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.url = url
        self.self_id = self_id
        self.dialect = dialect
        self.world = World(self_id, signed_message_ids=dialect.signed_message_ids)
        self.actions = Actions(self.world, dialect, observer)
        self.faults = Faults()
        self.file_host = file_host
        self._observer = observer
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

    # -- connection ---------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, error_type: object, *_: object) -> None:
        await self.close()

    @property
    def connected(self) -> bool:
        """Whether the socket is open."""
        return self._socket is not None and self._socket.close_code is None

    @property
    def close_code(self) -> int | None:
        """Why the socket closed (RFC 6455), None while it is open or never was."""
        return None if self._socket is None else self._socket.close_code

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
        await self.send_event(events.lifecycle(self.self_id))
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

    async def wait_closed(self) -> int | None:
        """Wait until the connection ends, and give the close code."""
        await self._open_socket().wait_closed()
        return self.close_code

    def freeze(self) -> None:
        """Stop reading, pings included: a half-open peer."""
        self._open_socket().transport.pause_reading()

    def thaw(self) -> None:
        """Read again."""
        self._open_socket().transport.resume_reading()

    def speak(self, dialect: Dialect) -> None:
        """Change the implementation that is played; for a clean change, while not connected."""
        self.dialect = dialect
        self.world.signed_message_ids = dialect.signed_message_ids
        self.actions = Actions(self.world, dialect, self._observer)

    async def send_raw(self, frame: str) -> None:
        """Send any text frame. Raises `NotConnected`."""
        try:
            await self._open_socket().send(frame)
        except ConnectionClosed as error:
            raise NotConnected from error

    async def send_event(self, told: events.Event) -> None:
        """Send one event; `time` and `self_id` are filled in where missing. Raises `NotConnected`."""
        await self.send_raw(_frame({"time": int(time.time()), "self_id": self.self_id} | told))

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
        segments = _segments(content, reply_to)
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
        message = self._message(None, person, _segments(content, reply_to))
        told = self.message_event(message)
        if from_group is not None:
            told = events.temporary_chat(self.dialect, told, from_group)
        await self.send_event(told)
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
        told: list[events.Event] = []
        if notice:
            told.append(events.group_upload(self.self_id, self.dialect, file))
        if message:
            told.append(self.message_event(self._file_message(file, member)))
        first = self.dialect.notice_first if notice_first is None else notice_first
        for event in told if first else reversed(told):
            await self.send_event(event)
        return file

    async def upload_private_file(self, user_id: int, name: str, content: bytes) -> UploadedFile:
        """A friend sends a file: a message with a segment, an offline_file notice, or both, as the dialect does."""
        person = self.world.add_friend(user_id)
        file = self._file(name, content, None, user_id, "/")
        message = self._file_message(file, person)
        if self.dialect.private_file != "message":
            await self.send_event(events.offline_file(self.self_id, self.dialect, file))
        if self.dialect.private_file != "notice":
            await self.send_event(self.message_event(message))
        return file

    def image(self, name: str, content: bytes) -> Segment:
        """An image segment for a message; the picture is at the file host and known to get_image."""
        file = self._file(name, content, None, self.self_id, "/")
        self.world.keep_file(file, name)
        data: dict[str, Any] = {"file": name, "url": file.url or "", "file_size": str(len(content)), "summary": ""}
        return {"type": "image", "data": data | {"sub_type" if self.dialect.name == "napcat" else "subType": 0}}

    async def recall(self, message_id: int, operator_id: int | None = None) -> None:
        """Somebody takes a message back; `operator_id` is the admin who did, by default the author."""
        message = self.world.messages.pop(message_id)
        await self.send_event(events.recall(self.self_id, message, operator_id or message.user_id))

    async def react(self, user_id: int, message_id: int, emoji_id: str, *, on: bool = True) -> None:
        """Somebody puts an emoji on a group message, or takes it off. go-cqhttp does not tell of it."""
        message = self.world.messages[message_id]
        told = events.reaction(self.self_id, self.dialect, message, user_id, emoji_id, on=on)
        if told is not None:
            await self.send_event(told)

    def message_event(self, message: Message) -> events.Event:
        """The event of a message, for `send_event`: for example to deliver the same one twice."""
        return events.message_event(self.self_id, self.dialect, message)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _open_socket(self) -> ClientConnection:
        if self._socket is None:
            raise NotConnected
        return self._socket

    def _message(self, group_id: int | None, member: Member, segments: list[Segment]) -> Message:
        sender = self.dialect.sender(member, in_group=group_id is not None)
        message_id = self.world.new_message_id()
        message = Message(message_id, group_id, member.user_id, member.user_id, segments, sender)
        self.world.messages[message_id] = message
        return message

    def _file_message(self, file: UploadedFile, member: Member) -> Message:
        message = self._message(file.group_id, member, [self.dialect.file(file)])
        file.message_id = message.message_id
        return message

    def _file(self, name: str, content: bytes, group_id: int | None, user_id: int, folder_id: str) -> UploadedFile:
        segment_id = self.world.new_file_id("segment")
        notice_id = self.world.new_file_id("notice") if self.dialect.notice_id_differs else segment_id
        url = None if self.file_host is None else self.file_host.host(name, content).url
        file = UploadedFile(name, content, group_id, user_id, notice_id, segment_id, folder_id=folder_id, url=url)
        self.world.keep_file(file, notice_id, segment_id)
        return file

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._observer.failed(error)

    async def _receive(self, socket: ClientConnection) -> None:
        # The end of the connection is visible in `connected` and `close_code`.
        with suppress(ConnectionClosed):
            async for frame in socket:
                request = json.loads(frame)
                call = Call(request["action"], request.get("params") or {})
                self._observer.called(call)
                self._start(self._answer(socket, call, request))

    async def _answer(self, socket: ClientConnection, call: Call, request: dict[str, Any]) -> None:
        if self.faults.is_ignored(call.action):
            return
        if delay := self.faults.delay_of(call.action):
            await asyncio.sleep(delay)
        envelope = await self._envelope(call)
        # The echo goes back as it came, whatever its type; a request without one is answered without.
        call.response = envelope | ({"echo": request["echo"]} if "echo" in request else {})
        self._observer.answered(call)
        with suppress(ConnectionClosed):
            for _ in range(self.faults.answers_to(call.action)):
                await socket.send(_frame(call.response))

    async def _envelope(self, call: Call) -> dict[str, Any]:
        failure = self.faults.take_failure(call.action)
        try:
            if failure is not None and not failure.performed:
                return _failed(failure.status, failure.retcode, failure.message)
            data = await self.actions.perform(call.action, call.params)
        except ActionRefused as refused:
            as_status = self.dialect.upload_error_as_status and call.action.startswith("upload_")
            return _failed(refused.message if as_status else "failed", refused.retcode, refused.message)
        if failure is not None:
            return _failed(failure.status, failure.retcode, failure.message)
        data = self.faults.data_for(call.action, data)
        return {"status": "ok", "retcode": 0, "data": data, "message": "", "wording": ""}

    async def _beat(self, socket: ClientConnection, interval: float) -> None:
        with suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(interval)
                await socket.send(json.dumps(events.heartbeat(self.self_id, interval)))


def _segments(content: str | list[Segment], reply_to: int | None) -> list[Segment]:
    segments: list[Segment] = [{"type": "text", "data": {"text": content}}] if isinstance(content, str) else content
    reply: list[Segment] = [] if reply_to is None else [{"type": "reply", "data": {"id": str(reply_to)}}]
    return [*reply, *segments]


def _frame(content: dict[str, Any]) -> str:
    """JSON with half characters as escapes, as JavaScript writes it."""
    frame = json.dumps(content, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match.group()):04x}", frame)


def _failed(status: str, retcode: int, message: str) -> dict[str, Any]:
    return {"status": status, "retcode": retcode, "data": None, "message": message, "wording": message}
