"""The end of the process: asked for by a signal at any moment, and over within ten seconds."""

import asyncio
import os
import sys
import threading
import time

# Service managers and `docker stop` wait ten seconds before they kill.
_LONGEST_S = 9.0
_POLL_S = 0.05


class Shutdown:
    """Whether the process has been asked to end."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether the end has been asked for. Nothing new is begun from then on."""
        return self._asked.is_set()

    def request(self) -> None:
        """Ask for the end. Safe in a signal handler; asking again changes nothing."""
        self._asked.set()

    async def wait(self) -> None:
        """Return when the end is asked for."""
        while not self.requested:  # noqa: ASYNC110 - a signal handler sets it, outside of the event loop
            await asyncio.sleep(_POLL_S)

    def watch(self) -> None:
        """Start a thread that ends the process if that takes longer than nine seconds after the request.

        Whatever is under way then is what a power failure would interrupt, and is taken up at the next start. Child
        processes end with this one.
        """
        threading.Thread(target=self._end_in_time, name="shutdown-watch", daemon=True).start()

    def _end_in_time(self) -> None:
        self._asked.wait()
        time.sleep(_LONGEST_S)
        sys.stdout.flush()
        sys.stderr.write(f"停止用了 {_LONGEST_S:.0f} 秒还没做完，现在直接退出；没做完的下次启动会接着做。\n")
        sys.stderr.flush()
        os._exit(0)


shutdown = Shutdown()
