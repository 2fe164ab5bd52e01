"""Child process that reads pictures. Its memory never shrinks, so it ends when it has nothing to do."""

import asyncio
import faulthandler
import logging
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import ClassVar, Protocol

from services.child_process import live_with_parent, yield_to_others
from services.llm.images import image_type
from services.pictures.models import MAX_BYTES, PictureText, Unread
from services.pictures.ocr import TextRecognition

# An ordinary screenshot takes a second; loading the models another one, and a busy machine several times as long.
LIMIT_S = 60.0
_IDLE_S = 60.0
# Address space. Reading the largest picture takes 1.6 GB.
_MEMORY_BYTES = 3 << 30
_LOGGER = logging.getLogger(__name__)


class Recognition(Protocol):
    """Loaded models that read one picture at a time."""

    def read(self, data: bytes) -> PictureText:
        """Return the text of a picture. May take seconds, and may raise anything."""
        ...


class PictureWorker:
    """One child process, started for the first picture and ended after `idle_s` seconds without one.

    Pictures are read one at a time, in order. The child process has the lowest priority and ends when this process ends
    for any reason. If it dies, it is replaced once for each picture; if it takes longer than `limit_s`, it is ended.
    """

    def __init__(
        self,
        open_recognition: Callable[[], Recognition] = TextRecognition,
        *,
        idle_s: float = _IDLE_S,
        limit_s: float = LIMIT_S,
    ) -> None:
        """Create the worker without starting the child process.

        `open_recognition` is called in the child process and must be picklable.
        """
        self._open_recognition = open_recognition
        self._idle_s = idle_s
        self._limit_s = limit_s
        self._turn = asyncio.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False
        # The child ends when this end of a pipe is closed.
        self._life: Connection | None = None

    async def read(self, image: bytes) -> PictureText:
        """Return the text of a picture, or why there is none. Nothing is raised."""
        if not image_type(image):
            return PictureText(unread=Unread.NOT_A_PICTURE)
        if len(image) > MAX_BYTES:
            return PictureText(unread=Unread.TOO_LARGE)
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            try:
                return await self._read(image)
            finally:
                if not self._closed:
                    self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._release)

    async def aclose(self) -> None:
        """End the child process. A picture that is being read stays unread. May be called more than once."""
        self._closed = True
        if self._idle is not None:
            self._idle.cancel()
        pool, self._pool = self._pool, None
        if pool is not None:
            # The child ends at once: a picture may take a minute, and nobody waits for it any more.
            self._close_life()
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)

    async def _read(self, image: bytes) -> PictureText:
        for _ in range(2):
            began = time.monotonic()
            try:
                return await self._submit(image)
            except BrokenProcessPool as error:
                self._release()
                _LOGGER.warning("the picture process died: %s", error)
            except _Unreadable as error:
                _LOGGER.warning("a picture of %d bytes could not be read: %s", len(image), error)
                break
            if self._closed or time.monotonic() - began >= self._limit_s:
                break
        return PictureText(unread=Unread.UNREADABLE)

    async def _submit(self, image: bytes) -> PictureText:
        if self._closed:
            return PictureText(unread=Unread.UNREADABLE)
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            watched, self._life = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(
                1,
                mp_context=context,
                initializer=_start,
                initargs=(self._open_recognition, self._limit_s, watched),
            )
        return await asyncio.get_running_loop().run_in_executor(self._pool, _read, image)

    def _release(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            self._close_life()
            pool.shutdown(wait=False, cancel_futures=True)

    def _close_life(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            life.close()


class _Unreadable(Exception):
    """Raised by the child for a picture that it cannot read."""


class _Child:
    """The state of the child process: the executor has no other way to pass it from the initializer to the calls."""

    open_recognition: ClassVar[list[Callable[[], Recognition]]] = []
    recognition: ClassVar[list[Recognition]] = []
    limit_s: ClassVar[float] = LIMIT_S


def _start(open_recognition: Callable[[], Recognition], limit_s: float, life: Connection) -> None:
    live_with_parent()
    threading.Thread(target=_end_with, args=(life,), name="life-watch", daemon=True).start()
    yield_to_others()
    _limit_memory()
    _Child.open_recognition[:] = [open_recognition]
    _Child.limit_s = limit_s


def _end_with(life: Connection) -> None:
    wait([life])
    os._exit(0)


def _limit_memory() -> None:
    """Limit the memory of this process, and let it be the first one that Linux kills when the machine runs out of it.

    Windows and macOS have no such limit; the number of pixels bounds the memory there.
    """
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - POSIX only

    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _read(image: bytes) -> PictureText:
    # This watchdog needs no interpreter lock, which a decoder may hold.
    with Path(os.devnull).open("w") as nowhere:
        faulthandler.dump_traceback_later(_Child.limit_s, exit=True, file=nowhere)
        try:
            if not _Child.recognition:
                _Child.recognition.append(_Child.open_recognition[0]())
            return _Child.recognition[0].read(image)
        except Exception as error:  # noqa: BLE001 - raised again, as an error that the parent can read
            # The libraries raise anything on a damaged picture. The bot's process would have to import them to unpickle
            # that.
            raise _Unreadable(f"{type(error).__name__}: {error}") from None
        finally:
            faulthandler.cancel_dump_traceback_later()
