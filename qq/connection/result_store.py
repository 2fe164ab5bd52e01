"""Results of API calls, matched to the calls that wait for them."""

from typing import Any

from nonebot.adapters.onebot.store import ResultStore

# The adapter numbers its calls from 1. A longer number is not one of its echoes, and too many digits raise an error in
# `int`.
_ECHO_DIGITS = 19


class SingleResultStore(ResultStore):
    """Keeps the first result of each call and drops all others.

    The adapter's own store raises `InvalidStateError` in the receive loop, which closes the account's WebSocket, in
    three cases: a result arrives between the cancellation or timeout of its call and the end of the waiting task, a
    client answers twice, or many frames answer one call, as NapCat's streaming actions do.
    """

    def add_result(self, result: dict[str, Any]) -> None:
        """Pass a result to the call that waits for it, if there still is one."""
        echo = result.get("echo")
        if not (isinstance(echo, str) and echo.isdecimal() and len(echo) <= _ECHO_DIGITS):
            return
        future = self._futures.get(int(echo))
        if future is not None and not future.done():
            # The adapter passes the fields of a failure as keyword arguments to a method, where `self` would clash.
            future.set_result({key: value for key, value in result.items() if key != "self"})
