"""Guards for routes that programs use. The page and the reverse WebSocket have guards of their own."""

from starlette.datastructures import Headers
from starlette.types import Scope

from qq.connection import entrance
from qq.connection.routes import Refusal

_ELSEWHERE = Refusal("不接受别的网页发来的请求。")


class NeighbourGuard:
    """Admits every program that reaches the port, for what strangers may know.

    Without ONEBOT_ACCESS_TOKEN the bot is for this machine, so only its names are served.
    """

    def __init__(self, *, has_access_token: bool) -> None:
        self._has_access_token = has_access_token

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused, or None if it may pass."""
        headers = Headers(scope=scope)
        if entrance.is_from_page_elsewhere(headers):
            return _ELSEWHERE
        if not self._has_access_token and not entrance.is_for_this_machine(headers):
            return Refusal("没有设置 ONEBOT_ACCESS_TOKEN 时，只接受 127.0.0.1、localhost 和 [::1] 这几个名字。")
        return None


class BearerGuard:
    """Admits programs that send a token in their `Authorization` header. `setting` names the token to the operator.

    Raise `ValueError` for an empty token, which every request without the header would match.
    """

    def __init__(self, setting: str, token: str) -> None:
        if not token:
            raise ValueError(f"{setting} is empty")
        self._setting = setting
        self._token = token

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused, or None if it may pass."""
        headers = Headers(scope=scope)
        if entrance.is_from_page_elsewhere(headers):
            return _ELSEWHERE
        if not entrance.is_same_secret(entrance.bearer_token(headers), self._token):
            return Refusal(f"请求头 Authorization 里要有 {self._setting}。", 401, {"www-authenticate": "Bearer"})
        return None
