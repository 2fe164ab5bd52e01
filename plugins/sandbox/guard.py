"""Who may see the page: programs of this machine, or people who know the token, and no other page for them."""

import secrets
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from plugins import _entrance

LOGIN_PATH = "/sandbox/login"
# Reached without a cookie: the page's own files, and downloads, whose addresses cannot be guessed.
_OPEN_PATHS = ("/sandbox/static/", "/sandbox/files/", LOGIN_PATH)
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    # Stricter, and the browser would send the login form with the origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class Guard:
    """Middleware before everything of the page.

    Without a token the page answers only under a name of this machine, or a web page elsewhere could reach it under a
    name of its own that points here. With one it wants a cookie that `admit` gave. Whatever changes something must come
    from the page itself.
    """

    COOKIE = "qunzhi_sandbox"

    def __init__(self, application: ASGIApp, token: str) -> None:
        self._application = application
        self._token = token
        self._cookies: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if reason := self._refusal(scope):
            if scope["type"] == "websocket":
                await WebSocketClose(1008, reason)(scope, receive, send)
            else:
                await PlainTextResponse(reason, 403)(scope, receive, _with_headers(send))
            return
        await self._application(scope, receive, _with_headers(send))

    def admit(self, token: str) -> str | None:
        """A cookie for who knows the token; None for who does not."""
        if not self._token or not _entrance.is_same_secret(token, self._token):
            return None
        cookie = secrets.token_urlsafe(32)
        self._cookies.add(cookie)
        return cookie

    def knows(self, headers: Headers) -> bool:
        """Whether a request may see everything."""
        if not self._token:
            return True
        cookie = SimpleCookie()
        try:
            cookie.load(headers.get("cookie", ""))
        except CookieError:
            return False
        return self.COOKIE in cookie and cookie[self.COOKIE].value in self._cookies

    def _refusal(self, scope: Scope) -> str:
        headers, path = Headers(scope=scope), str(scope["path"])
        if not self._token and not _entrance.is_for_this_machine(headers):
            return "请用 http://127.0.0.1 加端口打开；要从别处打开，请设置 SANDBOX__TOKEN。"
        if _changes_something(scope) and not _entrance.is_from_own_page(headers):
            return "这个请求不是从试用网页发出的。"
        # The index shows the login to who has no cookie.
        if not self.knows(headers) and path != "/" and not path.startswith(_OPEN_PATHS):
            return "请先打开首页输入口令。"
        return ""


def _changes_something(scope: Scope) -> bool:
    return scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
