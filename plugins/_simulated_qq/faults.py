"""Programmed failures of the actions: errors, delays, silence."""

from dataclasses import dataclass
from typing import Any

ANY = "*"


@dataclass(slots=True)
class Failure:
    """How a call fails. `performed`: it is done all the same, as when QQ confirms a sent message too late.

    `status` is what the envelope says; Lagrange puts the error text there, which the adapter takes for success.
    """

    status: str
    retcode: int
    message: str
    remaining: int | None
    performed: bool


class Faults:
    """What goes wrong from now on, by action; `ANY` stands for every action."""

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
        """Answer with an error, `times` times or until `restore`."""
        for action in actions:
            self._failures[action] = Failure(status, retcode, message, times, performed)

    def delay(self, action: str, seconds: float) -> None:
        """Do and answer everything of this kind `seconds` late."""
        self._delays[action] = seconds

    def ignore(self, *actions: str) -> None:
        """Neither do nor answer it."""
        self._ignored |= set(actions)

    def repeat(self, action: str, times: int) -> None:
        """Answer everything of this kind `times` times, as NapCat's streaming actions do."""
        self._answers[action] = times

    def answer(self, action: str, data: Any) -> None:
        """Do everything of this kind and answer with `data`, of whatever kind, instead of what it gave."""
        self._data[action] = data

    def restore(self) -> None:
        """End everything that goes wrong."""
        self._failures.clear()
        self._delays.clear()
        self._ignored.clear()
        self._answers.clear()
        self._data.clear()

    def is_ignored(self, action: str) -> bool:
        """Whether a call of this kind is lost."""
        return not self._ignored.isdisjoint((action, ANY))

    def delay_of(self, action: str) -> float:
        """Seconds before a call of this kind is done."""
        return self._delays.get(action, self._delays.get(ANY, 0.0))

    def answers_to(self, action: str) -> int:
        """Return how often a call of this kind is answered."""
        return self._answers.get(action, self._answers.get(ANY, 1))

    def data_for(self, action: str, data: Any) -> Any:
        """Return what a call of this kind is answered with; `data` is what it gave."""
        return self._data.get(action, data)

    def take_failure(self, action: str) -> Failure | None:
        """How this call fails, counted; None if it does not."""
        key = action if action in self._failures else ANY
        failure = self._failures.get(key)
        if failure is not None and failure.remaining is not None:
            failure.remaining -= 1
            if failure.remaining <= 0:
                del self._failures[key]
        return failure
