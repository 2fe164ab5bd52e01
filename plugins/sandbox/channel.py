"""The connection of one open page: frames to the page, and commands from the person at it."""

import asyncio
import json
import logging
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from plugins.sandbox.evidence import knowledge_frame, progress
from plugins.sandbox.hub import Hub
from plugins.sandbox.scenario import SAMPLES
from services.errors import ServiceError
from simulator.stage import Frame, Rejected, Stage
from simulator.transcript import StageChat
from simulator.troubles import Trouble

log = logging.getLogger(__name__)

_FAST_S, _SLOW_S = 0.4, 5.0
# QQ accepts about 5,000 characters. Allow more than the bot accepts, so that its refusal can be tried too.
_MAX_TEXT_CHARS = 10_000

ChatId = Annotated[str, Field(pattern=r"^[gp][0-9]{1,15}$")]
PersonId = Annotated[str, Field(pattern=r"^[0-9]{1,15}$")]
MessageId = Annotated[str, Field(pattern=r"^-?[0-9]{1,15}$")]


def _storable(text: Any) -> Any:
    # A truncated emoji leaves a lone surrogate, which cannot be encoded as JSON or in a file.
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


class _Command(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Watch(_Command):
    """Select the chat that the page shows."""

    type: Literal["watch"]
    chat: ChatId


class Say(_Command):
    """Send a message."""

    type: Literal["say"]
    chat: ChatId
    speaker: PersonId
    text: Annotated[str, BeforeValidator(_storable), Field(max_length=_MAX_TEXT_CHARS)]
    at: bool = False
    reply_to: MessageId | None = None


class Recall(_Command):
    """Recall a message."""

    type: Literal["recall"]
    message: MessageId
    operator: PersonId


class React(_Command):
    """Add an emoji to a message, or remove it."""

    type: Literal["react"]
    message: MessageId
    speaker: PersonId
    emoji: str = Field(pattern=r"^[0-9]{1,7}$")
    on: bool = True


class SendSamples(_Command):
    """Send the sample documents."""

    type: Literal["samples"]
    chat: ChatId
    speaker: PersonId


class SetTrouble(_Command):
    """Switch a trouble on or off."""

    type: Literal["trouble"]
    name: Trouble
    on: bool


class ChangeDialect(_Command):
    """Simulate another implementation."""

    type: Literal["dialect"]
    name: str = Field(max_length=20)


class CutConnection(_Command):
    """Cut the connection of the simulated client."""

    type: Literal["cut"]


class StartStorm(_Command):
    """Start a storm of messages."""

    type: Literal["storm"]
    chat: ChatId


Command = Annotated[
    Watch | Say | Recall | React | SendSamples | SetTrouble | ChangeDialect | CutConnection | StartStorm,
    Field(discriminator="type"),
]
_COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)


class Channel:
    """The WebSocket of one page."""

    def __init__(self, socket: WebSocket, hub: Hub) -> None:
        self._socket = socket
        self._hub = hub
        self._queue = hub.subscribe()
        self._watched: StageChat | None = None
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Serve the page until it disconnects or is too slow."""
        await self._socket.accept()
        tasks = [
            asyncio.create_task(work, name="sandbox-page")
            for work in (self._receive_commands(), self._send_frames(), self._watch_knowledge())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.unsubscribe(self._queue)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            if not task.cancelled() and (error := task.exception()) and not isinstance(error, WebSocketDisconnect):
                raise error

    async def _send_frames(self) -> None:
        while (frame := await self._queue.get()) is not None:
            await self._socket.send_text(json.dumps(frame, ensure_ascii=True))
            if frame["type"] == "message" and self._is_of_bot(frame):
                self._changed.set()
        await self._socket.close(1013)

    def _is_of_bot(self, frame: Frame) -> bool:
        return frame["message"]["sender"] == str(self._hub.stage.client.self_id)

    async def _receive_commands(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                command = _COMMANDS.validate_python(json.loads(message.get("text") or ""))
                if isinstance(command, Watch):
                    self._watched = known_chat(self._hub.stage, command.chat)
                    self._changed.set()
                else:
                    await perform(self._hub.stage, command)
            except (json.JSONDecodeError, RecursionError) as error:
                self._reject(Rejected("bad_request", str(error)))
            except ValidationError as error:
                first = error.errors(include_input=False)[0]
                self._reject(Rejected("bad_request", f"{'.'.join(map(str, first['loc']))}: {first['msg']}"))
            except Rejected as rejected:
                self._reject(rejected)

    def _reject(self, rejected: Rejected) -> None:
        self._queue.put_nowait({"type": "error", "code": rejected.code, "detail": rejected.detail})

    async def _watch_knowledge(self) -> None:
        """Send the state of the watched knowledge base, more often while files are being ingested."""
        shown: Frame | None = None
        refresh = False
        while True:
            chat = self._watched
            in_progress = progress(chat) if chat else []
            if chat is not None:
                if (
                    not refresh
                    and shown is not None
                    and shown["chat"] == chat.id
                    and _shown_names(shown) == _names(in_progress) != []
                ):
                    frame = {**shown, "knowledge": {**shown["knowledge"], "progress": in_progress}}
                else:
                    frame = await self._knowledge(chat)
                if frame is not None and frame != shown:
                    shown = frame
                    self._queue.put_nowait(frame)
            try:
                async with asyncio.timeout(_FAST_S if in_progress else _SLOW_S):
                    refresh = await self._changed.wait()
            except TimeoutError:
                refresh = False
            self._changed.clear()

    async def _knowledge(self, chat: StageChat) -> Frame | None:
        try:
            return await knowledge_frame(chat, self._hub.stage.client.world)
        except ServiceError as error:
            log.warning("the knowledge of %s cannot be shown: %s", chat.id, error)
            return None


def _shown_names(frame: Frame) -> list[str]:
    return _names(frame["knowledge"]["progress"])


def _names(in_progress: list[dict[str, str]]) -> list[str]:
    return [item["name"] for item in in_progress]


def known_chat(stage: Stage, chat_id: str) -> StageChat:
    """Return the chat of the stage with this id. Raise `Rejected` if there is none."""
    try:
        chat = StageChat.parse(chat_id)
    except ValueError as error:
        raise Rejected("bad_request", str(error)) from error
    if not stage.has(chat):
        raise Rejected("bad_request", chat_id)
    return chat


async def perform(stage: Stage, command: Command) -> None:
    """Perform a command on the stage. Raise `Rejected` if it cannot be performed."""
    match command:
        case Say():
            reply_to = None if command.reply_to is None else int(command.reply_to)
            await stage.say(
                StageChat.parse(command.chat), int(command.speaker), command.text, at_bot=command.at, reply_to=reply_to
            )
        case Recall():
            await stage.recall(int(command.message), int(command.operator))
        case React():
            await stage.react(int(command.message), int(command.speaker), command.emoji, on=command.on)
        case SendSamples():
            for path in SAMPLES:
                content = await asyncio.to_thread(path.read_bytes)
                await stage.send_file(StageChat.parse(command.chat), int(command.speaker), path.name, content)
        case SetTrouble():
            stage.set_trouble(command.name, on=command.on)
        case ChangeDialect():
            await stage.change_dialect(command.name)
        case CutConnection():
            await stage.cut_connection()
        case StartStorm():
            stage.start_storm(StageChat.parse(command.chat))
        case Watch():
            raise AssertionError("a page watches for itself")
