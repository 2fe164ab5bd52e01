"""Access to the page: only for programs on this machine or people who know the token, and for no other web page."""

import secrets
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qq.connection import entrance
from qq.connection.routes import Refusal

LOGIN_PATH = "/sandbox/login"
# These are reachable without a cookie: the page's own files, and downloads, whose addresses cannot be guessed.
_OPEN_PATHS = ("/sandbox/static/", "/sandbox/files/", LOGIN_PATH)
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    # With a stricter policy, the browser would send the login form with the origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class PageGuard:
    """The guard of the whole page.

    Without a token, the page only answers under a name of this machine. Otherwise a foreign web page could reach it
    under a domain name of its own that points here. With a token, the page requires a cookie that `admit` issued. A
    request that changes something must come from the page itself.
    """

    COOKIE = "qunzhi_sandbox"

    def __init__(self, token: str) -> None:
        self._token = token
        self._cookies: set[str] = set()

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused, or None if it may pass."""
        headers, path = Headers(scope=scope), str(scope["path"])
        if not self._token and not entrance.is_for_this_machine(headers):
            return Refusal("请用 http://127.0.0.1 加端口打开；要从别处打开，请设置 SANDBOX__TOKEN。")
        if _changes_something(scope) and not entrance.is_from_own_page(headers):
            return Refusal("这个请求不是从试用网页发出的。")
        # The index shows the login form to visitors without a cookie.
        if not self.knows(headers) and path != "/" and not path.startswith(_OPEN_PATHS):
            return Refusal("请先打开首页输入口令。")
        return None

    def admit(self, token: str) -> str | None:
        """Return a new cookie if the token is right, or else None."""
        if not self._token or not entrance.is_same_secret(token, self._token):
            return None
        cookie = secrets.token_urlsafe(32)
        self._cookies.add(cookie)
        return cookie

    def knows(self, headers: Headers) -> bool:
        """Return whether a request may see everything."""
        if not self._token:
            return True
        cookie = SimpleCookie()
        try:
            cookie.load(headers.get("cookie", ""))
        except CookieError:
            return False
        return self.COOKIE in cookie and cookie[self.COOKIE].value in self._cookies


def _changes_something(scope: Scope) -> bool:
    return scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")


class PageHeaders:
    """Middleware that adds the page's security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._application = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._application(scope, receive, sending)
