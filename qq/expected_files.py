"""Files that a person was asked to send for another purpose than the knowledge base.

QQ cannot attach a file to a command, so the command waits for the person's next file in the same chat.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nonebot.adapters.onebot.v11 import Bot

from qq.files import UploadedFile
from services.session import Session

WAIT_S = 600

Taking = Callable[[Bot, UploadedFile], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Expected:
    suffix: str
    take: Taking
    expires_at: float


class ExpectedFiles:
    """The expected files, at most one for each person in each chat. A new one replaces the old one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._expected: dict[Session, _Expected] = {}

    def expect(self, session: Session, suffix: str, take: Taking) -> None:
        """Pass this person's next file in this chat whose name ends in `suffix` to `take`, for ten minutes."""
        self._expected = {key: item for key, item in self._expected.items() if item.expires_at > self._clock()}
        self._expected[session] = _Expected(suffix.casefold(), take, self._clock() + WAIT_S)

    def pop(self, session: Session, name: str) -> Taking | None:
        """Return the function that takes a file with this name, and stop expecting the file.

        Return None for any other file.
        """
        expected = self._expected.get(session)
        if expected is None or expected.expires_at <= self._clock() or not name.casefold().endswith(expected.suffix):
            return None
        del self._expected[session]
        return expected.take


expected_files = ExpectedFiles()
