"""What every child process of the bot does first, so that none outlives it or dies of the operator's Ctrl-C."""

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait

_LOWEST_PRIORITY = 19


def live_with_parent() -> None:
    """End this process when the one that started it ends, however it ends, and leave Ctrl-C to that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("not a child process")

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def yield_to_others() -> None:
    """Take processor time only when nobody else wants it. Windows has no such call here and keeps the priority."""
    if hasattr(os, "nice"):
        os.nice(_LOWEST_PRIORITY)
