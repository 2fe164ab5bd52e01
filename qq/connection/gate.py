"""The gate in front of the port: what is not in the table of routes does not exist, and no route lacks its guard."""

import logging

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from qq.connection.routes import Refusal, RouteTable

log = logging.getLogger(__name__)

_POLICY_VIOLATION = 1008
_UNKNOWN = Refusal("没有这个地址。", 404)
_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


class Gate:
    """Middleware that serves the table of routes instead of the routes of the application behind it.

    That application only gets the lifespan events. A route that an adapter or a library adds to it has no guard, so it
    is not reachable.
    """

    def __init__(self, application: ASGIApp, routes: RouteTable) -> None:
        self._application = application
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to its route, or refuse it."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        group = self._routes.find(scope)
        refusal = _UNKNOWN if group is None else group.guard.refusal(scope)
        if group is not None and refusal is None:
            await group.application(scope, receive, send)
        elif refusal is not None:
            await _refuse(refusal, is_known=group is not None)(scope, receive, send)


def _refuse(refusal: Refusal, *, is_known: bool) -> ASGIApp:
    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            if is_known:
                log.warning("a connection to %s was refused: %s", scope["path"], refusal.reason)
            # Closing before the handshake is accepted becomes HTTP 403.
            await WebSocketClose(_POLICY_VIOLATION, refusal.reason)(scope, receive, send)
        else:
            response = PlainTextResponse(refusal.reason, refusal.status, {**_HEADERS, **refusal.headers})
            await response(scope, receive, send)

    return respond
