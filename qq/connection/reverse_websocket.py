"""The entrance for QQ clients: OneBot v11 over the reverse WebSocket, and nothing else."""

import re
from dataclasses import replace
from typing import Any

from nonebot import logger
from nonebot.adapters import Bot as AnyBot
from nonebot.adapters.onebot.v11 import (
    Adapter,
    Event,
    GroupMessageEvent,
    MessageEvent,
    MetaEvent,
    NoticeEvent,
    NotifyEvent,
    PrivateMessageEvent,
    RequestEvent,
)
from nonebot.drivers import Driver, Request
from nonebot.drivers.fastapi import FastAPIWebSocket
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.routing import WebSocketRoute
from starlette.types import Scope
from starlette.websockets import WebSocket

from qq.connection import entrance
from qq.connection.own_accounts import own_accounts
from qq.connection.result_store import SingleResultStore
from qq.connection.routes import Refusal, route_table
from qq.connection.shutdown import shutdown
from services.session import Session
from services.tracing.current import Origin, arrived, current_origin

# Clients may be configured with any of these.
PATHS = ("/onebot/v11/", "/onebot/v11/ws", "/onebot/v11/ws/")
# The form of QQ numbers. The longest in use, those of the local page, have 12 digits.
_SELF_ID = re.compile(r"[1-9][0-9]{0,19}")
# Notices for which the adapter has no class, and files without `busid`, which it does not recognise as files.
_NOTICES = frozenset({"group_upload", "offline_file", "group_msg_emoji_like", "reaction"})


class ReverseWebSocketAdapter(Adapter):
    """The OneBot adapter without its HTTP entrances, which accept events from anybody.

    `token` is what clients send in their `Authorization` header. An empty token only admits programs on this machine.
    """

    _result_store = SingleResultStore()

    def __init__(self, driver: Driver, *, token: str) -> None:
        self._token = token
        super().__init__(driver)

    def _setup(self) -> None:
        application = Starlette(routes=[WebSocketRoute(path, self._connected) for path in PATHS])
        route_table.add(ClientGuard(self._token), application)
        self.driver.on_shutdown(self._stop)

    def bot_connect(self, bot: AnyBot) -> None:
        """Announce an account, which counts as one of the bot's own from then on."""
        own_accounts.add(bot.self_id)
        super().bot_connect(bot)

    @classmethod
    def json_to_event(cls, json_data: Any) -> Event | None:
        """Return the event in a frame, or None for the response to a call and for events that the bot ignores.

        While the bot stops, it ignores all events.

        The adapter turns an event of an unknown kind into a general event, and the handlers of messages would take a
        guild message for a private one.
        """
        event = super().json_to_event(json_data)
        if event is None and isinstance(json_data, dict) and "post_type" in json_data:
            logger.warning("an event is ignored because it cannot be parsed; at LOG_LEVEL=DEBUG the log has its text")
        if event is None or shutdown.requested:
            return None
        if _is_known(event):
            # The adapter handles the event in a task that it starts from this context.
            arrived(_origin(event))
            return event
        kind = json_data.get(f"{json_data['post_type']}_type", "")
        logger.debug(f"an event of the kind {json_data['post_type']} {kind} is ignored")
        return None

    async def _connected(self, websocket: WebSocket) -> None:
        # Do not use a dictionary, because a header that is sent twice must be seen twice.
        headers = list(websocket.headers.items())
        request = Request("GET", str(websocket.url), headers=headers, version=websocket.scope["http_version"])
        await self._handle_ws(NumberedFrames(request=request, websocket=websocket))


class NumberedFrames(FastAPIWebSocket):
    """A connection on which every frame has an id of its own from the moment it is received."""

    async def receive(self) -> str | bytes:
        """Return the next frame. While nothing is received, the connection belongs to no request."""
        arrived(None)
        frame = await super().receive()
        arrived(Origin())
        return frame


class ClientGuard:
    """Admits QQ clients that send the token. An empty `token` only admits programs on this machine."""

    def __init__(self, token: str) -> None:
        self._token = token

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why a client may not connect, or None if it may."""
        reason = self._reason(Headers(scope=scope))
        return Refusal(reason) if reason else None

    def _reason(self, headers: Headers) -> str:
        if shutdown.requested:
            return "the bot is stopping"
        if entrance.is_from_page_elsewhere(headers):
            return "it comes from a web page"
        if not self._token and not entrance.is_for_this_machine(headers):
            return "without ONEBOT_ACCESS_TOKEN only 127.0.0.1, localhost and ::1 are served"
        if self._token and not entrance.is_same_secret(entrance.bearer_token(headers), self._token):
            return "the Authorization header does not hold ONEBOT_ACCESS_TOKEN"
        self_ids = headers.getlist("x-self-id")
        if len(self_ids) != 1 or not _SELF_ID.fullmatch(self_ids[0]):
            return "the X-Self-ID header is not a QQ number"
        return ""


def _origin(event: Event) -> Origin:
    """Return the message that an event is about, with the id of its frame for everything that handling it causes."""
    frame = current_origin() or Origin()
    if not isinstance(event, MessageEvent):
        return frame
    group_id = event.group_id if isinstance(event, GroupMessageEvent) else None
    return replace(frame, chat=Session(group_id, event.user_id).chat, message_id=event.message_id)


def _is_known(event: Event) -> bool:
    if isinstance(event, NoticeEvent):
        return type(event) not in (NoticeEvent, NotifyEvent) or event.notice_type in _NOTICES
    return isinstance(event, (GroupMessageEvent, PrivateMessageEvent, MetaEvent, RequestEvent))
