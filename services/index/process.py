"""The embedded index in a process of its own.

Chroma holds the interpreter lock for the whole of every write (20 to 150 ms for a few rows, seconds for many); in the
bot's own process each write would block the bot. In addition, a Chroma directory must have exactly one writer, or it is
silently damaged: this process is the writer, and holds a lock file to enforce it.
"""

import asyncio
import errno
import logging
import multiprocessing
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy
from filelock import FileLock, Timeout

from services.child_process import live_with_parent
from services.errors import DataDirectoryError, SearchIndexError, StorageError
from services.index.models import IndexCount, IndexedChunk, SearchRequest, SearchResult, Vector

log = logging.getLogger(__name__)

# A search waits for at most one write: eight vectors take about 20 ms, the words of sixteen chunks 7 to 18 ms.
_ROWS = 8
_WORD_ROWS = 16
# Looking up so many words takes 10 ms.
_SPELLINGS = 1000
# A predecessor that was killed with its parent exits within milliseconds; a busy one finishes its write first.
_LOCK_WAIT_S = 15
_CLOSED = "资料索引已经关闭。"
_BROKEN = "资料索引出错了，请稍后再试。"
_DISK_FULL = "机器人的磁盘满了，请管理员清理磁盘。"
# Calls that fail with `StorageError` when the disk is full: the additions, and the one that opens the stores.
_NEEDING_SPACE = frozenset({"add_words", "add_vectors", "collections"})


class IndexProcess:
    """The asynchronous interface to a `LocalIndex` in a child process; an implementation of `SearchIndex`."""

    def __init__(self, directory: Path, *, lock_wait_s: float = _LOCK_WAIT_S) -> None:
        self._directory = directory
        self._lock_wait_s = lock_wait_s
        self._executor: ProcessPoolExecutor | None = None
        self._closed = False
        self._writing = asyncio.Lock()

    async def open(self) -> None:
        """Start the process and open the stores.

        Raise `SearchIndexError` if that fails, also if another process has opened them, and `DataDirectoryError` if the
        disk is full.
        """
        try:
            await self._call("collections")
        except StorageError as error:
            raise DataDirectoryError(error.user_message, error.detail) from error

    async def add_words(self, collection: str, chunks: Sequence[IndexedChunk]) -> None:
        """Store chunks by words, a few rows at a time; see `SearchIndex.add_words`."""
        for start in range(0, len(chunks), _WORD_ROWS):
            async with self._writing:
                await self._call("add_words", collection, list(chunks[start : start + _WORD_ROWS]))

    async def add_vectors(
        self, collection: str, embedding_fingerprint: str, chunks: Sequence[IndexedChunk], vectors: Sequence[Vector]
    ) -> None:
        """Store the vectors of chunks, a few rows at a time; see `SearchIndex.add_vectors`."""
        for start in range(0, len(chunks), _ROWS):
            rows = list(chunks[start : start + _ROWS])
            matrix = numpy.asarray(vectors[start : start + _ROWS], dtype=numpy.float32)
            async with self._writing:
                await self._call("add_vectors", collection, embedding_fingerprint, rows, matrix)

    async def search(self, request: SearchRequest) -> SearchResult:
        """Return the candidates of one collection; see `SearchIndex.search`."""
        return await self._call("search", request)

    async def chunk_ids(self, collection: str, embedding_fingerprint: str, build_id: str) -> set[str]:
        """Return the completely stored chunks of a build; see `SearchIndex.chunk_ids`."""
        return await self._call("chunk_ids", collection, embedding_fingerprint, build_id)

    async def builds(self, collection: str) -> dict[str, int]:
        """Return the stored builds; see `SearchIndex.builds`."""
        return await self._call("builds", collection)

    async def chunks(self, collection: str, build_id: str, start: int = 0, limit: int = 20) -> list[IndexedChunk]:
        """Return the stored chunks of a build in order."""
        return await self._call("chunks", collection, build_id, start, limit)

    async def around(
        self, collection: str, places: Sequence[tuple[str, int]], reach: int
    ) -> dict[tuple[str, int], list[IndexedChunk]]:
        """Return the neighbours of all places in one call."""
        return await self._call("around", collection, list(places), reach)

    async def aliases(self, collection: str, text: str, limit: int, hidden_builds: Collection[str] = ()) -> list[str]:
        """Return other names for what a text names; see `SearchIndex.aliases`."""
        return await self._call("aliases", collection, text, limit, list(hidden_builds))

    async def spellings(
        self, collection: str, words: Sequence[str], hidden_builds: Collection[str] = ()
    ) -> dict[str, str]:
        """Return the spellings of known words, some words at a time; see `SearchIndex.spellings`."""
        found: dict[str, str] = {}
        for start in range(0, len(words), _SPELLINGS):
            some = list(words[start : start + _SPELLINGS])
            found |= await self._call("spellings", collection, some, list(hidden_builds))
        return found

    async def delete_build(self, collection: str, build_id: str) -> None:
        """Remove a build, a few rows at a time."""
        removed = 1
        while removed:
            async with self._writing:
                removed = await self._call("delete_some", collection, build_id, _ROWS)

    async def count(self, collection: str, embedding_fingerprint: str) -> IndexCount:
        """Return how much a collection holds."""
        return await self._call("count", collection, embedding_fingerprint)

    async def embedding_fingerprints(self, collection: str) -> set[str]:
        """Return the models of the collection's vectors."""
        return await self._call("embedding_fingerprints", collection)

    async def drop_vectors(self, collection: str, embedding_fingerprint: str) -> None:
        """Remove the collection's vectors of one model."""
        async with self._writing:
            await self._call("drop_vectors", collection, embedding_fingerprint)

    async def collections(self) -> set[str]:
        """Return the names of all stored collections."""
        return await self._call("collections")

    async def close(self) -> None:
        """Finish the call in progress and end the process."""
        self._closed = True
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.to_thread(executor.shutdown, wait=True, cancel_futures=True)

    async def _call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the `LocalIndex`.

        If the process died, it is replaced and the call is repeated once: every call of an index may be repeated.
        """
        try:
            return await self._once(method, *arguments)
        except BrokenProcessPool:
            log.exception("the index process died in %s and is started again", method)
        try:
            return await self._once(method, *arguments)
        except BrokenProcessPool as error:
            raise SearchIndexError(_BROKEN, f"{method}: {error}") from error

    async def _once(self, method: str, *arguments: Any) -> Any:
        if self._closed:
            raise SearchIndexError(_CLOSED)
        executor = self._executor
        if executor is None:
            executor = self._executor = ProcessPoolExecutor(
                1,
                multiprocessing.get_context("spawn"),
                initializer=_start,
                initargs=(self._directory, self._lock_wait_s),
            )
        try:
            return await asyncio.wrap_future(executor.submit(_run, method, arguments))
        except BrokenProcessPool:
            if self._executor is executor:
                self._executor = None
            executor.shutdown(wait=False)
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if not self._closed or (task is not None and task.cancelling()):
                raise
            # `close` removed the call from the queue; its caller was not cancelled.
            raise SearchIndexError(_CLOSED) from error


# -- in the child process ---------------------------------------------------------------------------------------------

_state: dict[str, Any] = {}


def _start(directory: Path, lock_wait_s: float) -> None:
    live_with_parent()
    _state["directory"], _state["lock_wait_s"] = directory, lock_wait_s


def _run(method: str, arguments: tuple[Any, ...]) -> Any:
    # Opened on the first call and not in the initializer, whose errors never reach the parent.
    try:
        if "index" not in _state:
            _state["index"] = _open(_state["directory"], _state["lock_wait_s"])
        return getattr(_state["index"], method)(*arguments)
    except SearchIndexError:
        raise
    except Exception as error:
        # Converted here: to unpickle one of Chroma's errors, the bot's process would have to import Chroma.
        detail = f"{method}: {type(error).__name__}: {error}"
        if not _is_disk_full(error):
            raise SearchIndexError(_BROKEN, detail) from error
        kind = StorageError if method in _NEEDING_SPACE else SearchIndexError
        raise kind(_DISK_FULL, detail) from error


def _is_disk_full(error: Exception) -> bool:
    """Return whether an error means a full disk.

    Chroma's errors carry no code, only the messages of SQLite or the operating system.
    """
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return True
    text = str(error).casefold()
    return "disk is full" in text or "no space left on device" in text


def _open(directory: Path, lock_wait_s: float) -> Any:
    directory.mkdir(parents=True, exist_ok=True)
    lock = FileLock(directory / "index.lock", timeout=lock_wait_s)
    try:
        lock.acquire()
    except Timeout as error:
        raise SearchIndexError(f"另一个进程正在使用 {directory} 里的资料索引，请先停掉它。") from error
    _state["lock"] = lock
    # Importing Chroma takes a second and 77 MB, so only this process does it.
    from services.index.local import LocalIndex  # noqa: PLC0415

    return LocalIndex(directory)
