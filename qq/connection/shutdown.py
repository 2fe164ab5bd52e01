"""The shutdown of the process, which a signal may request at any moment and which takes less than ten seconds."""

import asyncio
import os
import sys
import threading
import time

# Service managers and `docker stop` wait ten seconds before they kill the process.
_LONGEST_S = 9.0
_POLL_S = 0.05


class Shutdown:
    """The state of the shutdown, which may be requested at any moment."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether the shutdown was requested. No new work is started from then on."""
        return self._asked.is_set()

    def request(self) -> None:
        """Request the shutdown. This is safe in a signal handler, and further requests have no effect."""
        self._asked.set()

    async def wait(self) -> None:
        """Wait until the shutdown is requested."""
        while not self.requested:  # noqa: ASYNC110 - a signal handler sets it, outside of the event loop
            await asyncio.sleep(_POLL_S)

    def watch(self) -> None:
        """Start a thread that ends the process if the shutdown takes longer than nine seconds after the request.

        Work in progress is then interrupted as by a power failure, and is resumed at the next start. Child processes
        end together with this one.
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
