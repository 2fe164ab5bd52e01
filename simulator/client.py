"""The OneBot client of one QQ account: it connects to the bot, sends events and answers actions."""

import asyncio
import json
import re
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Protocol, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from simulator import events
from simulator.actions import Actions
from simulator.dialects import NAPCAT, Dialect
from simulator.faults import Faults
from simulator.observer import Call, Observer
from simulator.parameters import ActionRefused
from simulator.world import Member, Message, Segment, SimulatedFile, World

SEND_ACTIONS = ("send_msg", "send_group_msg", "send_private_msg")
# NapCat's limit for one frame.
_MAX_FRAME_BYTES = 50 * 2**20


class HandshakeRefused(Exception):
    """The bot answered the handshake with an HTTP error."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the bot refused the connection with HTTP {status}")
        self.status = status


class NotConnected(Exception):
    """There is no open connection to send over."""


class HostedFile(Protocol):
    """A file that can be downloaded."""

    @property
    def url(self) -> str:
        """The download address. It ends in `?fname=`, as NapCat's and Lagrange's links do."""
        ...


class FileHost(Protocol):
    """QQ's media host, which serves files at an address."""

    def host(self, name: str, content: bytes) -> HostedFile:
        """Make a file available at a new address."""
        ...


class OneBotClient:
    """The OneBot client of one QQ account. As a context manager it connects and closes.

    `world` may be filled before connecting. Methods that send an event create its group, member or friend if they do
    not exist.

    Args:
        url: The address of the bot's reverse WebSocket.
        observer: Receives everything that the bot does.
        self_id: The QQ number of the account.
        token: The access token, or None to send none.
        dialect: The implementation to simulate.
        file_host: Where files get their address. Without it there are no download links, as when NapCat has no packet
            backend.
        heartbeat: Seconds between heartbeats, or None for no heartbeats.
        connect_timeout: Seconds to keep trying to connect.
        headers: Further headers of the handshake.
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
        """The close code of the connection (RFC 6455), or None while it is open or if there was none."""
        return None if self._socket is None else self._socket.close_code

    async def connect(self, *, retry_refused: bool = False) -> None:
        """Connect and send `lifecycle connect`. Keep trying for `connect_timeout` seconds until the bot is up.

        Raise `HandshakeRefused` if the bot refuses the handshake, with `retry_refused` only after the timeout.
        """
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
        """Close an open connection and connect again. Retry while the bot still holds the old connection."""
        await self.close()
        await self.connect(retry_refused=True)

    async def drop(self) -> None:
        """Drop the connection without a closing handshake. Pending responses are lost."""
        socket = self._open_socket()
        socket.transport.abort()
        await socket.wait_closed()

    async def close(self) -> None:
        """Close the connection with a closing handshake and cancel its tasks."""
        if self._socket is not None:
            await self._socket.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def wait_closed(self) -> int | None:
        """Wait until the connection is closed and return the close code."""
        await self._open_socket().wait_closed()
        return self.close_code

    def freeze(self) -> None:
        """Stop reading, so that pings are not answered either, as with a half-open connection."""
        self._open_socket().transport.pause_reading()

    def thaw(self) -> None:
        """Resume reading after `freeze`."""
        self._open_socket().transport.resume_reading()

    def set_dialect(self, dialect: Dialect) -> None:
        """Simulate another implementation from now on. Call this while not connected."""
        self.dialect = dialect
        self.world.signed_message_ids = dialect.signed_message_ids
        self.actions = Actions(self.world, dialect, self._observer)

    async def send_raw(self, frame: str) -> None:
        """Send a text frame. Raise `NotConnected` if there is no open connection."""
        try:
            await self._open_socket().send(frame)
        except ConnectionClosed as error:
            raise NotConnected from error

    async def send_event(self, event: events.Event) -> None:
        """Send an event, adding a missing `time` and `self_id`. Raise `NotConnected` if there is no open connection."""
        await self.send_raw(_frame({"time": int(time.time()), "self_id": self.self_id} | event))

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
        """Send a member's message to a group and return its id. `at_bot` puts an @ of the bot in front."""
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
        """Send a friend's private message and return its id.

        With `from_group` the sender is a stranger who opened a temporary chat from that group.
        """
        person = self.world.add_friend(user_id) if from_group is None else self.world.member(from_group, user_id)
        message = self._message(None, person, _segments(content, reply_to))
        event = self.message_event(message)
        if from_group is not None:
            event = events.temporary_chat(self.dialect, event, from_group)
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
    ) -> SimulatedFile:
        """Upload a member's file to a group: send the notice and the message with the segment, in the dialect's order.

        `notice_first` overrides the order. `notice` and `message` select which of the two events are sent.
        """
        member = self.world.member(group_id, user_id)
        file = self._file(name, content, group_id, user_id, folder_id)
        pending: list[events.Event] = []
        if notice:
            pending.append(events.group_upload(self.self_id, self.dialect, file))
        if message:
            pending.append(self.message_event(self._file_message(file, member)))
        first = self.dialect.notice_first if notice_first is None else notice_first
        for event in pending if first else reversed(pending):
            await self.send_event(event)
        return file

    async def upload_private_file(self, user_id: int, name: str, content: bytes) -> SimulatedFile:
        """Send a friend's file as the dialect does: a message with a segment, an offline_file notice, or both."""
        person = self.world.add_friend(user_id)
        file = self._file(name, content, None, user_id, "/")
        message = self._file_message(file, person)
        if self.dialect.private_file != "message":
            await self.send_event(events.offline_file(self.self_id, self.dialect, file))
        if self.dialect.private_file != "notice":
            await self.send_event(self.message_event(message))
        return file

    def image(self, name: str, content: bytes) -> Segment:
        """Return an image segment for a message. The image is on the file host and available to get_image."""
        file = self._file(name, content, None, self.self_id, "/")
        self.world.add_file(file, name)
        data: dict[str, Any] = {"file": name, "url": file.url or "", "file_size": str(len(content)), "summary": ""}
        return {"type": "image", "data": data | {"sub_type" if self.dialect.name == "napcat" else "subType": 0}}

    async def recall(self, message_id: int, operator_id: int | None = None) -> None:
        """Recall a message. `operator_id` is the admin who recalls it, by default the author."""
        message = self.world.messages.pop(message_id)
        await self.send_event(events.recall(self.self_id, message, operator_id or message.user_id))

    async def react(self, user_id: int, message_id: int, emoji_id: str, *, on: bool = True) -> None:
        """Add a person's emoji to a group message, or remove it. The go-cqhttp dialect sends no event for this."""
        message = self.world.messages[message_id]
        event = events.reaction(self.self_id, self.dialect, message, user_id, emoji_id, on=on)
        if event is not None:
            await self.send_event(event)

    def message_event(self, message: Message) -> events.Event:
        """Return the event of a message, for example to deliver it twice with `send_event`."""
        return events.message_event(self.self_id, self.dialect, message)

    # -- internals ----------------------------------------------------------------------------------------------------

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

    def _file_message(self, file: SimulatedFile, member: Member) -> Message:
        message = self._message(file.group_id, member, [self.dialect.file(file)])
        file.message_id = message.message_id
        return message

    def _file(self, name: str, content: bytes, group_id: int | None, user_id: int, folder_id: str) -> SimulatedFile:
        segment_id = self.world.new_file_id("segment")
        notice_id = self.world.new_file_id("notice") if self.dialect.notice_id_differs else segment_id
        url = None if self.file_host is None else self.file_host.host(name, content).url
        file = SimulatedFile(name, content, group_id, user_id, notice_id, segment_id, folder_id=folder_id, url=url)
        self.world.add_file(file, notice_id, segment_id)
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
        # `connected` and `close_code` show that the connection is closed.
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
        # Return the echo unchanged, whatever its type. A request without an echo gets a response without one.
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
