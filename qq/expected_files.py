"""Files that a person was asked to send for another purpose than the knowledge base.

QQ cannot attach a file to a command, so the command waits for the person's next file in the same chat.
"""

import time
from collections.abc import Awaitable, Callable

from cachetools import TTLCache
from nonebot.adapters.onebot.v11 import Bot

from qq.uploaded_file import UploadedFile
from services.session import Session

WAIT_S = 600

_MOST_PEOPLE = 10_000

Taking = Callable[[Bot, UploadedFile], Awaitable[None]]


class ExpectedFiles:
    """The expected files, at most one for each person in each chat. A new one replaces the old one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._expected: TTLCache[Session, tuple[str, Taking]] = TTLCache(_MOST_PEOPLE, WAIT_S, timer=clock)

    def expect(self, session: Session, suffix: str, take: Taking) -> None:
        """Pass this person's next file in this chat whose name ends in `suffix` to `take`, for ten minutes."""
        self._expected[session] = suffix.casefold(), take

    def pop(self, session: Session, name: str) -> Taking | None:
        """Return the function that takes a file with this name, and stop expecting the file.

        Return None for any other file.
        """
        suffix, take = self._expected.get(session, ("", None))
        if take is None or not name.casefold().endswith(suffix):
            return None
        self._expected.pop(session, None)
        return take


expected_files = ExpectedFiles()
