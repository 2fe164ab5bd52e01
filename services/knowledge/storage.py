"""Store the original files on disk under generated names, so that no text of a sender becomes a path."""

import asyncio
import hashlib
import os
import shutil
import uuid
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path

from services.errors import StorageError
from services.records.tables import now

_BLOCK = 1 << 20
# Disk space reserved for the records and the index, which must be able to write while files are refused.
_RESERVE_BYTES = 200 << 20
_RESERVE_SHARE = 0.02


class FileStore:
    """The folders of original files.

    `<data>/files` holds the originals of documents, and `<data>/incoming` the files that are still arriving.
    `<data>/set-aside` holds originals that had no record at a start. Nothing is ever deleted there.
    """

    def __init__(self, data_dir: Path, *, reserve_bytes: int | None = None) -> None:
        """Keep `reserve_bytes` of the disk free; by default 200 MB, or 2 % of the disk if that is less."""
        self._data_dir = data_dir
        self._files = data_dir / "files"
        self._incoming = data_dir / "incoming"
        self._set_aside = data_dir / "set-aside"
        self._reserve_bytes = reserve_bytes

    async def open(self) -> None:
        """Create the folders and remove files that a killed process received only in part."""
        await asyncio.to_thread(self._prepare)

    def new_incoming(self) -> Path:
        """Return a path for a file that is about to arrive."""
        return self._incoming / uuid.uuid4().hex

    def path(self, stored_name: str) -> Path:
        """Return the path of an original."""
        return self._files / stored_name

    async def check_space(self, size: int) -> None:
        """Raise `StorageError` when a file of `size` bytes would leave less than the reserve on the disk."""
        usage = await asyncio.to_thread(shutil.disk_usage, self._data_dir)
        reserve = self._reserve_bytes
        if reserve is None:
            reserve = min(_RESERVE_BYTES, int(usage.total * _RESERVE_SHARE))
        if usage.free - size < reserve:
            raise StorageError(
                f"机器人的磁盘只剩 {usage.free >> 20} MB，放不下这个文件，请管理员清理磁盘后再发。",
                f"{usage.free} bytes free, {size} bytes wanted, {reserve} bytes kept free",
            )

    async def write_text(self, text: str) -> Path:
        """Write a text in UTF-8 and return the path of the new incoming file. Raise `StorageError` when that fails."""
        path = self.new_incoming()
        await asyncio.to_thread(self._write_text, path, text)
        return path

    async def copy(self, source: Path) -> Path:
        """Copy `source` and return the path of the new incoming file. Raise `StorageError` when that fails."""
        path = self.new_incoming()
        await asyncio.to_thread(self._copy, source, path)
        return path

    async def keep(self, incoming: Path, file_type: str) -> tuple[str, str, int]:
        """Move an arrived file to the originals, durably, and return its stored name, SHA-256 and size in bytes.

        Raise `StorageError` when that fails.
        """
        return await asyncio.to_thread(self._keep, incoming, file_type)

    async def remove(self, stored_name: str) -> None:
        """Delete an original; it may already be gone."""
        await asyncio.to_thread(self.path(stored_name).unlink, missing_ok=True)

    async def set_aside(self, known: Collection[str]) -> list[Path]:
        """Move originals without a record to a new folder below `set-aside`, and return their new paths.

        Either the process died between storing a file and recording it, or the records were lost. The two cases look
        the same, so nothing is deleted.
        """
        return await asyncio.to_thread(self._move_unknown, known)

    async def take_back(self, known: Collection[str]) -> int:
        """Move originals that have a record back from `set-aside`, and return how many there were.

        This happens after the records were restored from a backup.
        """
        return await asyncio.to_thread(self._move_back, known)

    def _prepare(self) -> None:
        self._files.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._incoming, ignore_errors=True)
        self._incoming.mkdir(parents=True, exist_ok=True)

    def _write_text(self, path: Path, text: str) -> None:
        with _kept(path):
            path.write_text(text, encoding="utf-8", errors="ignore")

    def _copy(self, source: Path, path: Path) -> None:
        with _kept(path):
            shutil.copyfile(source, path)

    def _keep(self, incoming: Path, file_type: str) -> tuple[str, str, int]:
        digest = hashlib.sha256()
        size = 0
        stored_name = f"{uuid.uuid4().hex}.{file_type}"
        with _kept(self.path(stored_name)):
            with incoming.open("r+b") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
                os.fsync(file.fileno())
            incoming.replace(self.path(stored_name))
            if os.name == "posix":
                # The record that follows is durable, so the directory entry that it points to must be too.
                folder = os.open(self._files, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        return stored_name, digest.hexdigest(), size

    def _move_unknown(self, known: Collection[str]) -> list[Path]:
        unknown = [path for path in sorted(self._files.iterdir()) if path.name not in known]
        if not unknown:
            return []
        folder = self._set_aside / f"{now():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:4]}"
        folder.mkdir(parents=True)
        return [path.replace(folder / path.name) for path in unknown]

    def _move_back(self, known: Collection[str]) -> int:
        moved = 0
        for path in sorted(self._set_aside.glob("*/*")):
            if path.name in known and not self.path(path.name).exists():
                path.replace(self.path(path.name))
                moved += 1
        return moved


@contextmanager
def _kept(path: Path) -> Generator[None]:
    """Remove `path` when writing it fails, and turn the `OSError` into a `StorageError`."""
    try:
        yield
    except OSError as error:
        path.unlink(missing_ok=True)
        raise StorageError("文件没能存下来，可能是机器人的磁盘满了，请联系管理员清理后再发。", str(error)) from error
