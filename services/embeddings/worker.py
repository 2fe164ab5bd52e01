"""Child process that embeds documents, so that they do not take processor time from the bot's event loop."""

import asyncio
import logging
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from services.child_process import live_with_parent, yield_to_others
from services.errors import EmbeddingError

_FAILED = "文字转向量时出错，这次没有完成，请稍后再试一次。"
_CLOSED = "机器人正在退出，请等它重新启动后再试。"
# A call is sent in slices that take the child one to three seconds each, so that a cancelled call delays the next one
# no longer than that.
_SLICE_TEXTS = 64
_SLICE_CHARACTERS = 12_000
_LOGGER = logging.getLogger(__name__)


class Encoder(Protocol):
    """A loaded model.

    Both methods return unit vectors as float32 of shape (texts, dimension), and may be slow.
    """

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages."""
        ...


class DocumentWorker:
    """One child process, started on first use and closed after `idle_s` seconds without work.

    Calls are processed one at a time, in order. The child process has the lowest priority, ignores Ctrl-C, and ends
    when this process ends for any reason. A child process that dies is replaced once per call.
    """

    def __init__(self, open_encoder: Callable[[], Encoder], idle_s: float) -> None:
        """Create the worker without starting the child process.

        `open_encoder` is called in the child process and must be picklable.
        """
        self._open_encoder = open_encoder
        self._idle_s = idle_s
        self._turn = asyncio.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False

    async def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of at least one passage.

        Raise `EmbeddingError` if the child process fails twice, or after `aclose`.
        """
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            try:
                return np.concatenate([await self._embed_slice(part) for part in _slices(texts)])
            finally:
                if not self._closed:
                    self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._release)

    async def aclose(self) -> None:
        """Stop the child process. A running call fails. This method may be called more than once."""
        self._closed = True
        if self._idle is not None:
            self._idle.cancel()
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)

    async def _embed_slice(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            return await self._submit(texts)
        except BrokenProcessPool as error:
            _LOGGER.warning("the embedding process died, starting another: %s", error)
            self._release()
        try:
            return await self._submit(texts)
        except BrokenProcessPool as error:
            self._release()
            raise EmbeddingError(_FAILED, f"the embedding process died twice: {error}") from error

    async def _submit(self, texts: list[str]) -> NDArray[np.float32]:
        if self._closed:
            raise EmbeddingError(_CLOSED, "the embedding process is closed")
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_start,
                initargs=(self._open_encoder,),
            )
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _embed, texts)
        except (BrokenProcessPool, EmbeddingError):
            raise
        except Exception as error:
            raise EmbeddingError(_FAILED, f"{type(error).__name__}: {error}") from error

    def _release(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def _slices(texts: Sequence[str]) -> list[list[str]]:
    slices: list[list[str]] = [[]]
    characters = 0
    for text in texts:
        if slices[-1] and (len(slices[-1]) == _SLICE_TEXTS or characters + len(text) > _SLICE_CHARACTERS):
            slices.append([])
            characters = 0
        slices[-1].append(text)
        characters += len(text)
    return slices


class _Child:
    """The state of the child process: the executor has no other way to pass it from the initializer to the calls."""

    open_encoder: ClassVar[list[Callable[[], Encoder]]] = []
    encoder: ClassVar[list[Encoder]] = []


def _start(open_encoder: Callable[[], Encoder]) -> None:
    live_with_parent()
    yield_to_others()
    _Child.open_encoder[:] = [open_encoder]


def _embed(texts: list[str]) -> NDArray[np.float32]:
    # Opened here, not in `_start`, so that an error reaches the caller and does not break the pool.
    if not _Child.encoder:
        _Child.encoder.append(_Child.open_encoder[0]())
    return _Child.encoder[0].embed_passages(texts)
