"""One open page: what it is told, and what its person does."""

import asyncio
import json
import logging
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from plugins._simulated_qq.stage import Frame, Rejected, Stage
from plugins._simulated_qq.transcript import Chat
from plugins._simulated_qq.troubles import Trouble
from plugins.sandbox.evidence import knowledge_frame, progress
from plugins.sandbox.hub import Hub
from plugins.sandbox.story import SAMPLES
from services.errors import ServiceError

log = logging.getLogger(__name__)

_FAST_S, _SLOW_S = 0.4, 5.0
# QQ takes about 5,000 characters; more than the bot takes can be sent, to see what it says of it.
_MAX_TEXT_CHARS = 10_000

ChatId = Annotated[str, Field(pattern=r"^[gp][0-9]{1,15}$")]
PersonId = Annotated[str, Field(pattern=r"^[0-9]{1,15}$")]
MessageId = Annotated[str, Field(pattern=r"^-?[0-9]{1,15}$")]


def _storable(text: Any) -> Any:
    # A cut emoji leaves half a character, which neither the next JSON nor a file can hold.
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


class _Command(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Watch(_Command):
    """The page shows this chat now."""

    type: Literal["watch"]
    chat: ChatId


class Say(_Command):
    """Somebody writes."""

    type: Literal["say"]
    chat: ChatId
    speaker: PersonId
    text: Annotated[str, BeforeValidator(_storable), Field(max_length=_MAX_TEXT_CHARS)]
    at: bool = False
    reply_to: MessageId | None = None


class Recall(_Command):
    """Somebody takes a message back."""

    type: Literal["recall"]
    message: MessageId
    operator: PersonId


class React(_Command):
    """Somebody puts an emoji on a message, or takes it off."""

    type: Literal["react"]
    message: MessageId
    speaker: PersonId
    emoji: str = Field(pattern=r"^[0-9]{1,7}$")
    on: bool = True


class Samples(_Command):
    """Send the sample documents."""

    type: Literal["samples"]
    chat: ChatId
    speaker: PersonId


class MakeTrouble(_Command):
    """Begin or end a trouble."""

    type: Literal["trouble"]
    name: Trouble
    on: bool


class Speak(_Command):
    """Play another implementation."""

    type: Literal["dialect"]
    name: str = Field(max_length=20)


class CutSocket(_Command):
    """Cut the socket."""

    type: Literal["cut"]


class RaiseStorm(_Command):
    """Everybody talks at once."""

    type: Literal["storm"]
    chat: ChatId


Command = Annotated[
    Watch | Say | Recall | React | Samples | MakeTrouble | Speak | CutSocket | RaiseStorm, Field(discriminator="type")
]
_COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)


class Channel:
    """The WebSocket of one page."""

    def __init__(self, socket: WebSocket, hub: Hub) -> None:
        self._socket = socket
        self._hub = hub
        self._queue = hub.subscribe()
        self._watched: Chat | None = None
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Serve the page until it is gone."""
        await self._socket.accept()
        tasks = [asyncio.create_task(work, name="sandbox-page") for work in (self._hear(), self._tell(), self._watch())]
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

    async def _tell(self) -> None:
        while (frame := await self._queue.get()) is not None:
            await self._socket.send_text(json.dumps(frame, ensure_ascii=True))
            if frame["type"] == "message" and self._is_of_bot(frame):
                self._changed.set()
        await self._socket.close(1013)

    def _is_of_bot(self, frame: Frame) -> bool:
        return frame["message"]["sender"] == str(self._hub.stage.client.self_id)

    async def _hear(self) -> None:
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
                self._refuse(Rejected("bad_request", str(error)))
            except ValidationError as error:
                first = error.errors(include_input=False)[0]
                self._refuse(Rejected("bad_request", f"{'.'.join(map(str, first['loc']))}: {first['msg']}"))
            except Rejected as rejected:
                self._refuse(rejected)

    def _refuse(self, rejected: Rejected) -> None:
        self._queue.put_nowait({"type": "error", "code": rejected.code, "detail": rejected.detail})

    async def _watch(self) -> None:
        """Keep the page informed of the watched knowledge base: often while something is being taken in."""
        told: Frame | None = None
        wanted = False
        while True:
            chat = self._watched
            under_way = progress(chat) if chat else []
            if chat is not None:
                if not wanted and told is not None and told["chat"] == chat.id and _names(told) == _of(under_way) != []:
                    frame = {**told, "knowledge": {**told["knowledge"], "progress": under_way}}
                else:
                    frame = await self._knowledge(chat)
                if frame is not None and frame != told:
                    told = frame
                    self._queue.put_nowait(frame)
            try:
                async with asyncio.timeout(_FAST_S if under_way else _SLOW_S):
                    wanted = await self._changed.wait()
            except TimeoutError:
                wanted = False
            self._changed.clear()

    async def _knowledge(self, chat: Chat) -> Frame | None:
        try:
            return await knowledge_frame(chat, self._hub.stage.client.world)
        except ServiceError as error:
            log.warning("the knowledge of %s cannot be shown: %s", chat.id, error)
            return None


def _names(frame: Frame) -> list[str]:
    return _of(frame["knowledge"]["progress"])


def _of(under_way: list[dict[str, str]]) -> list[str]:
    return [item["name"] for item in under_way]


def known_chat(stage: Stage, chat_id: str) -> Chat:
    """A chat of the stage by its id. Raises `Rejected` for any other."""
    try:
        chat = Chat.parse(chat_id)
    except ValueError as error:
        raise Rejected("bad_request", str(error)) from error
    if not stage.has(chat):
        raise Rejected("bad_request", chat_id)
    return chat


async def perform(stage: Stage, command: Command) -> None:
    """Do on the stage what a person did on the page. Raises `Rejected`."""
    match command:
        case Say():
            reply_to = None if command.reply_to is None else int(command.reply_to)
            await stage.say(
                Chat.parse(command.chat), int(command.speaker), command.text, at_bot=command.at, reply_to=reply_to
            )
        case Recall():
            await stage.recall(int(command.message), int(command.operator))
        case React():
            await stage.react(int(command.message), int(command.speaker), command.emoji, on=command.on)
        case Samples():
            for path in SAMPLES:
                content = await asyncio.to_thread(path.read_bytes)
                await stage.send_file(Chat.parse(command.chat), int(command.speaker), path.name, content)
        case MakeTrouble():
            stage.trouble(command.name, on=command.on)
        case Speak():
            await stage.speak(command.name)
        case CutSocket():
            await stage.cut()
        case RaiseStorm():
            stage.storm(Chat.parse(command.chat))
        case Watch():
            raise AssertionError("a page watches for itself")
