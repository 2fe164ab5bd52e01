"""Originals on disk: files under names of our own making, so that no sender's text becomes a path."""

import asyncio
import hashlib
import os
import shutil
import uuid
from collections.abc import Collection
from pathlib import Path

_BLOCK = 1 << 20


class FileStore:
    """`<data>/files` holds originals of documents, `<data>/incoming` what is still arriving."""

    def __init__(self, data_dir: Path) -> None:
        self._files = data_dir / "files"
        self._incoming = data_dir / "incoming"

    async def open(self) -> None:
        """Create the folders and remove what a killed process left half-received."""
        await asyncio.to_thread(self._prepare)

    def new_incoming(self) -> Path:
        """A path for a file about to arrive."""
        return self._incoming / uuid.uuid4().hex

    def path(self, stored_name: str) -> Path:
        """Where an original lies."""
        return self._files / stored_name

    async def write_text(self, text: str) -> Path:
        """A new incoming file with this text, in UTF-8."""
        path = self.new_incoming()
        await asyncio.to_thread(path.write_text, text, encoding="utf-8", errors="ignore")
        return path

    async def copy(self, source: Path) -> Path:
        """A new incoming file with the content of `source`."""
        path = self.new_incoming()
        await asyncio.to_thread(shutil.copyfile, source, path)
        return path

    async def keep(self, incoming: Path, file_type: str) -> tuple[str, str, int]:
        """Move an arrived file among the originals, durably. Gives its stored name, SHA-256 and size in bytes."""
        return await asyncio.to_thread(self._keep, incoming, file_type)

    async def remove(self, stored_name: str) -> None:
        """Delete an original; one that is gone already is fine."""
        await asyncio.to_thread(self.path(stored_name).unlink, missing_ok=True)

    async def sweep(self, wanted: Collection[str]) -> None:
        """Delete originals that no record knows: the process died between the move and the record."""
        await asyncio.to_thread(self._sweep, wanted)

    def _prepare(self) -> None:
        self._files.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._incoming, ignore_errors=True)
        self._incoming.mkdir(parents=True, exist_ok=True)

    def _keep(self, incoming: Path, file_type: str) -> tuple[str, str, int]:
        digest = hashlib.sha256()
        size = 0
        with incoming.open("r+b") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
            os.fsync(file.fileno())
        stored_name = f"{uuid.uuid4().hex}.{file_type}"
        incoming.replace(self.path(stored_name))
        if os.name == "posix":
            # The record that follows is durable; so must be the name it points to.
            folder = os.open(self._files, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        return stored_name, digest.hexdigest(), size

    def _sweep(self, wanted: Collection[str]) -> None:
        for path in self._files.iterdir():
            if path.name not in wanted:
                path.unlink(missing_ok=True)
