"""Setup of every child process, so that it never outlives, slows down or interrupts the bot."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from pathlib import Path

_LOWEST_PRIORITY = 19
# BELOW_NORMAL_PRIORITY_CLASS of SetPriorityClass.
_WINDOWS_BELOW_NORMAL = 0x4000


def live_with_parent() -> None:
    """End this process when its parent process ends for any reason, and ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("not a child process")

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(0)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def run_apart(function: Callable[[Path], object], directory: Path) -> None:
    """Call a function in a process of its own and wait for it: this process would never give its memory back.

    Raise what the function raises. It must be picklable.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=live_with_parent) as pool:
        pool.submit(function, directory).result()


def yield_to_others() -> None:
    """Use processor time only when no other process needs it."""
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 - `windll` exists there only

        kernel32 = ctypes.windll.kernel32
        kernel32.GetCurrentProcess.restype = ctypes.c_void_p
        kernel32.SetPriorityClass(ctypes.c_void_p(kernel32.GetCurrentProcess()), _WINDOWS_BELOW_NORMAL)
    else:
        os.nice(_LOWEST_PRIORITY)
