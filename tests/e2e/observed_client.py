"""The simulated OneBot client for tests, which records everything that the bot does and can wait for it."""

# ruff: noqa: ASYNC109 - a timeout here is how long a test waits before it fails and shows what the bot did

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from simulator.client import SEND_ACTIONS, FileHost, HandshakeRefused, OneBotClient
from simulator.dialects import DIALECTS, GO_CQHTTP, LAGRANGE, LLONEBOT, NAPCAT, Dialect
from simulator.observer import Call, EmojiReaction, Sent
from simulator.parameters import ActionRefused
from simulator.world import ForwardNode, Message, SimulatedFile, World

__all__ = [
    "DIALECTS",
    "GO_CQHTTP",
    "LAGRANGE",
    "LLONEBOT",
    "NAPCAT",
    "SEND_ACTIONS",
    "ActionRefused",
    "Call",
    "Dialect",
    "EmojiReaction",
    "ForwardNode",
    "HandshakeRefused",
    "ObservedClient",
    "Sent",
    "SimulatedFile",
    "World",
]

Found = TypeVar("Found")


class RecordingObserver:
    """An observer that records everything and signals each change."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.visible: list[Sent] = []
        self.reactions: list[EmojiReaction] = []
        self.typing: list[int] = []
        self.violations: list[str] = []
        self.errors: list[BaseException] = []
        self.unmatched_sent: list[Sent] = []
        self.unmatched_calls: list[Call] = []
        self.changed = asyncio.Event()

    def called(self, call: Call) -> None:
        self.calls.append(call)
        self.unmatched_calls.append(call)
        self._notify()

    def answered(self, call: Call) -> None:
        self._notify()

    def sent(self, sent: Sent) -> None:
        self.visible.append(sent)
        self.unmatched_sent.append(sent)
        self._notify()

    def reacted(self, reaction: EmojiReaction) -> None:
        self.reactions.append(reaction)

    def typed(self, user_id: int) -> None:
        self.typing.append(user_id)

    def recalled(self, message: Message) -> None:
        """Do nothing: the call is already in `calls`."""

    def violated(self, rule: str) -> None:
        self.violations.append(rule)

    def failed(self, error: BaseException) -> None:
        self.errors.append(error)

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class ObservedClient(OneBotClient):
    """A client that can wait for actions of the bot. As a context manager it raises errors of the client itself."""

    def __init__(self, url: str, *, file_host: FileHost | None = None, **options: Any) -> None:
        self.observer = RecordingObserver()
        super().__init__(url, self.observer, file_host=file_host, **options)

    async def __aexit__(self, error_type: object, *others: object) -> None:
        await super().__aexit__(error_type, *others)
        if self.observer.errors and error_type is None:
            raise BaseExceptionGroup("the test client failed", self.observer.errors)

    @property
    def sent(self) -> list[Sent]:
        """Everything that the bot made visible, oldest first."""
        return self.observer.visible

    @property
    def calls(self) -> list[Call]:
        """Every action that the bot called, oldest first."""
        return self.observer.calls

    @property
    def violations(self) -> list[str]:
        """Violations of the protocol, which a correct bot never causes."""
        return self.observer.violations

    def called(self, action: str) -> list[Call]:
        """Return all calls of an action."""
        return [call for call in self.calls if call.action == action]

    async def wait_sent(self, wanted: str | Callable[[Sent], bool] = "", timeout: float = 10.0) -> Sent:
        """Wait for a message, forward or file that contains this text or matches this function, and return the oldest.

        Each is returned once, so that the same call again waits for the next. Fail after `timeout` seconds.
        """

        def matches(sent: Sent) -> bool:
            return wanted in sent.text if isinstance(wanted, str) else wanted(sent)

        return await self._wait(self.observer.unmatched_sent, matches, timeout, f"no message for {wanted!r}")

    async def wait_call(
        self,
        action: str,
        matches: Callable[[dict[str, Any]], bool] = lambda _: True,
        timeout: float = 10.0,
    ) -> Call:
        """Wait for a call of an action with matching parameters, and return the oldest.

        Each is returned once. Fail after `timeout` seconds.
        """
        return await self._wait(
            self.observer.unmatched_calls,
            lambda call: call.action == action and matches(call.params),
            timeout,
            f"no call of {action}",
        )

    async def quiet(self, seconds: float) -> None:
        """Fail if the bot makes anything visible within `seconds` from now."""
        before = len(self.sent)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while len(self.sent) == before:
                    await self.observer.changed.wait()
        assert len(self.sent) == before, f"not quiet: {self.sent[before:]}"

    async def _wait(
        self, candidates: list[Found], matches: Callable[[Found], bool], timeout: float, failure: str
    ) -> Found:
        try:
            async with asyncio.timeout(timeout):
                while True:
                    for index, candidate in enumerate(candidates):
                        if matches(candidate):
                            return candidates.pop(index)
                    await self.observer.changed.wait()
        except TimeoutError:
            state = "connected" if self.connected else f"not connected, code {self.close_code}"
            lines = [failure + f" after {timeout} s ({state})", *(f"  sent: {sent}" for sent in self.sent[-10:])]
            lines += [f"  call: {call}" for call in self.calls[-10:]]
            raise AssertionError("\n".join(lines)) from None
