"""Fault injection for the actions: errors, delays and missing responses."""

from dataclasses import dataclass
from typing import Any

ANY = "*"


@dataclass(slots=True)
class Failure:
    """How a call fails.

    `status` is the status in the envelope. Lagrange puts the error text there, which the adapter takes for success.
    `remaining` is how many more calls fail, or None for all. `performed` is whether the action is performed all the
    same, as when QQ confirms a sent message too late.
    """

    status: str
    retcode: int
    message: str
    remaining: int | None
    performed: bool


class Faults:
    """The faults that are injected, by action. `ANY` stands for every action."""

    def __init__(self) -> None:
        self._failures: dict[str, Failure] = {}
        self._delays: dict[str, float] = {}
        self._ignored: set[str] = set()
        self._answers: dict[str, int] = {}
        self._data: dict[str, Any] = {}

    def fail(
        self,
        *actions: str,
        retcode: int = 1200,
        message: str = "执行失败",
        times: int | None = None,
        status: str = "failed",
        performed: bool = False,
    ) -> None:
        """Answer calls of these actions with an error, `times` times or until `restore`."""
        for action in actions:
            self._failures[action] = Failure(status, retcode, message, times, performed)

    def delay(self, action: str, seconds: float) -> None:
        """Perform and answer calls of this action `seconds` late."""
        self._delays[action] = seconds

    def ignore(self, *actions: str) -> None:
        """Neither perform nor answer calls of these actions."""
        self._ignored |= set(actions)

    def repeat(self, action: str, times: int) -> None:
        """Answer everything of this kind `times` times, as NapCat's streaming actions do."""
        self._answers[action] = times

    def answer(self, action: str, data: Any) -> None:
        """Do everything of this kind and answer with `data`, of whatever kind, instead of what it gave."""
        self._data[action] = data

    def restore(self) -> None:
        """Remove all faults."""
        self._failures.clear()
        self._delays.clear()
        self._ignored.clear()
        self._answers.clear()
        self._data.clear()

    def is_ignored(self, action: str) -> bool:
        """Return whether calls of this action are ignored."""
        return not self._ignored.isdisjoint((action, ANY))

    def delay_of(self, action: str) -> float:
        """Return the seconds to wait before performing a call of this action."""
        return self._delays.get(action, self._delays.get(ANY, 0.0))

    def answers_to(self, action: str) -> int:
        """Return how often a call of this kind is answered."""
        return self._answers.get(action, self._answers.get(ANY, 1))

    def data_for(self, action: str, data: Any) -> Any:
        """Return what a call of this kind is answered with; `data` is what it gave."""
        return self._data.get(action, data)

    def take_failure(self, action: str) -> Failure | None:
        """Return how this call fails, or None if it does not. Count the call against the failure's `times`."""
        key = action if action in self._failures else ANY
        failure = self._failures.get(key)
        if failure is not None and failure.remaining is not None:
            failure.remaining -= 1
            if failure.remaining <= 0:
                del self._failures[key]
        return failure
