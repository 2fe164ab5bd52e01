"""The addresses of the page."""

import asyncio
import logging
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from plugins.sandbox.channel import Channel, known_chat
from plugins.sandbox.evidence import collection_of, uploader_name
from plugins.sandbox.guard import LOGIN_PATH, PageGuard, PageHeaders
from plugins.sandbox.hub import Hub
from plugins.sandbox.library import Library, rejected
from plugins.sandbox.media import PATH, MediaHost, image_type
from plugins.sandbox.shell import shell
from qq.connection.login_attempts import LoginAttempts
from qq.depends import services
from simulator.player import Player, Replayed
from simulator.recording import Answered, BadRecording, Recording
from simulator.stage import Rejected
from simulator.transcript import StageChat

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
_MAX_IMAGE_BYTES = 20 << 20
_MAX_RECORDING_BYTES = 384 << 20
_MAX_LOGIN_BYTES = 4096


class Site:
    """The page as one application, and its guard.

    An empty `token` only admits this machine. `max_file_bytes` limits uploads.
    """

    def __init__(self, hub: Hub, media: MediaHost, token: str, max_file_bytes: int) -> None:
        self._hub = hub
        self._max_file_bytes = max_file_bytes
        self._replay: asyncio.Task[None] | None = None
        self._attempts = LoginAttempts()
        routes = [
            Route("/", self._index),
            Mount("/sandbox/static", StaticFiles(directory=STATIC)),
            Route(f"{PATH}{{key}}", media.serve),
            WebSocketRoute("/sandbox/ws", self._channel),
            Route("/sandbox/files", self._upload_file, methods=["POST"]),
            Route("/sandbox/images", self._upload_image, methods=["POST"]),
            Route("/sandbox/recording", self._recording),
            Route("/sandbox/replay", self._start_replay, methods=["POST"]),
            Route(LOGIN_PATH, self._log_in, methods=["POST"]),
            *Library("/sandbox/library", self._collection, partial(uploader_name, hub.stage.client.world)).routes,
        ]
        self.guard = PageGuard(token)
        self.application = Starlette(
            routes=routes, middleware=[Middleware(PageHeaders)], exception_handlers={Rejected: rejected}
        )

    async def close(self) -> None:
        """Stop a replay that is running."""
        if self._replay is not None:
            self._replay.cancel()
            await asyncio.gather(self._replay, return_exceptions=True)

    async def _index(self, request: Request) -> Response:
        if not self.guard.knows(request.headers):
            return FileResponse(STATIC / "login.html", 401)
        return shell("本机试用", "/sandbox/static", "page.js")

    async def _log_in(self, request: Request) -> Response:
        fields = parse_qs((await _body(request, _MAX_LOGIN_BYTES)).decode("utf-8", "replace"))
        address = request.client.host if request.client else ""
        # Nothing is awaited from here on, so that parallel attempts are counted one after the other.
        if wait_s := self._attempts.wait_s(address):
            return RedirectResponse(f"/?wait={wait_s}", 303)
        cookie = self.guard.admit("".join(fields.get("token", [])))
        if cookie is None:
            self._attempts.failed(address)
            return RedirectResponse("/?wrong=1", 303)
        self._attempts.succeeded(address)
        response = RedirectResponse("/", 303)
        response.set_cookie(PageGuard.COOKIE, cookie, httponly=True, samesite="lax")
        return response

    async def _collection(self, request: Request) -> str:
        """Return the knowledge base of a chat of the page. Real groups must not be reachable from here."""
        chat = known_chat(self._hub.stage, request.query_params.get("chat", ""))
        if services().access.shares_knowledge:
            raise Rejected("shared_documents", "")
        return collection_of(chat).name

    async def _channel(self, socket: WebSocket) -> None:
        await Channel(socket, self._hub).run()

    async def _upload_file(self, request: Request) -> Response:
        chat, speaker = _place(request)
        name = _name(request)
        content = await _body(request, self._max_file_bytes)
        if not content:
            raise Rejected("empty_file", name)
        await self._hub.stage.send_file(chat, speaker, name, content)
        return Response(status_code=204)

    async def _upload_image(self, request: Request) -> Response:
        chat, speaker = _place(request)
        content = await _body(request, _MAX_IMAGE_BYTES)
        if not image_type(content):
            raise Rejected("bad_image", _name(request))
        given = request.query_params
        reply_to = given.get("reply_to", "")
        await self._hub.stage.say(
            chat,
            speaker,
            given.get("text", ""),
            at_bot=given.get("at") == "1",
            reply_to=_number(reply_to) if reply_to else None,
            image=(_name(request), content),
        )
        return Response(status_code=204)

    async def _recording(self, request: Request) -> Response:
        recording = self._hub.stage.recording()
        if chat := request.query_params.get("chat"):
            recording = recording.of_chat(known_chat(self._hub.stage, chat).id)
        content = await asyncio.to_thread(recording.write)
        disposition = 'attachment; filename="qunzhi-conversation.json"'
        return Response(content, media_type="application/json", headers={"content-disposition": disposition})

    async def _start_replay(self, request: Request) -> Response:
        content = await _body(request, _MAX_RECORDING_BYTES)
        try:
            recording = await asyncio.to_thread(Recording.read, content)
        except BadRecording as error:
            raise Rejected("bad_recording", str(error)) from error
        player = Player(self._hub.stage, recording)
        player.admit()
        # A new replay ends the wait for the answers of the previous one.
        await self.close()
        self._replay = asyncio.create_task(self._play(player, len(recording.steps)), name="replay")
        return Response(status_code=202)

    async def _play(self, player: Player, total: int) -> None:
        def report(number: int, replayed: Replayed) -> None:
            step = replayed.step
            self._hub.publish(
                {
                    "type": "replay",
                    "step": number,
                    "of": total,
                    "running": True,
                    "kind": step.kind,
                    "chat": getattr(step, "chat", ""),
                    "recorded": step.text if isinstance(step, Answered) else None,
                    "said": replayed.said,
                    "problem": replayed.problem,
                    "as_recorded": replayed.as_recorded,
                }
            )

        try:
            self._hub.publish_stage()
            await player.play(report)
        except Exception as error:  # this is a task of its own, so nobody else would learn of the error
            log.exception("the replay broke off")
            self._hub.publish({"type": "error", "code": "replay_broken", "detail": type(error).__name__})
        finally:
            self._hub.publish({"type": "replay", "step": total, "of": total, "running": False})


async def _body(request: Request, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise Rejected("file_too_large", f"{limit >> 20} MB")
        pieces.append(piece)
    return b"".join(pieces)


def _place(request: Request) -> tuple[StageChat, int]:
    try:
        return StageChat.parse(request.query_params.get("chat", "")), _number(request.query_params.get("speaker", ""))
    except ValueError as error:
        raise Rejected("bad_request", str(error)) from error


def _name(request: Request) -> str:
    """Return a file name as QQ would pass it on: one line without a path."""
    name = request.query_params.get("name", "").replace("\\", "/").rpartition("/")[2]
    return "".join(character for character in name if character.isprintable())[:200] or "file"


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
        raise Rejected("bad_request", text[:40])
    return int(text)
