"""Results of API calls, matched to the calls that wait for them."""

from typing import Any

from nonebot.adapters.onebot.store import ResultStore

# The adapter counts calls from 1; more digits than these are no echo of ours, and too many raise in `int`.
_ECHO_DIGITS = 19


class SingleResultStore(ResultStore):
    """Keeps the first result of each call and drops every other.

    The adapter's own store raises `InvalidStateError` in the receive loop, which closes the account's WebSocket, when
    a result arrives between the cancellation or timeout of its call and the end of the waiting task, when a client
    answers twice, and when one call is answered by many frames, as NapCat's streaming actions are.
    """

    def add_result(self, result: dict[str, Any]) -> None:
        """Hand a result to the call that waits for it, if there still is one."""
        echo = result.get("echo")
        if not (isinstance(echo, str) and echo.isdecimal() and len(echo) <= _ECHO_DIGITS):
            return
        future = self._futures.get(int(echo))
        if future is not None and not future.done():
            # The adapter passes the fields of a failure on as keyword arguments of a method.
            future.set_result({key: value for key, value in result.items() if key != "self"})
