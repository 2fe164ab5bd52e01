"""Write an export: one file of JSON lines for each section, in one archive."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO

from pydantic import BaseModel

# A frame of the client's connection holds 16 MiB, and the file is sent as base64.
MOST_BYTES = 10 << 20
# So many characters are compressed in some milliseconds.
_CHUNK_CHARS = 1 << 18


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an export: its name, and what yields its rows since a moment."""

    name: str
    rows: Callable[[datetime], AsyncIterator[BaseModel]]


@dataclass(frozen=True, slots=True)
class ExportFile:
    """An archive, and the number of rows of each section in it."""

    content: bytes
    counts: tuple[tuple[str, int], ...]


class ExportTooLarge(Exception):
    """The archive would be larger than `MOST_BYTES`."""


class ExportService:
    """Exports the sections that it is given, in their order."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections

    async def export(self, since: datetime) -> ExportFile:
        """Return everything since a moment. Raise `ExportTooLarge`, and `RecordsError` if the database fails."""
        buffer = io.BytesIO()
        counts: list[tuple[str, int]] = []
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for section in self._sections:
                with archive.open(f"{section.name}.jsonl", "w") as file:
                    counts.append((section.name, await _write(section.rows(since), file, buffer)))
        return ExportFile(buffer.getvalue(), tuple(counts))


async def _write(rows: AsyncIterator[BaseModel], file: IO[bytes], buffer: io.BytesIO) -> int:
    waiting: list[str] = []
    count = size = 0
    async for row in rows:
        line = row.model_dump_json() + "\n"
        waiting.append(line)
        count, size = count + 1, size + len(line)
        if size >= _CHUNK_CHARS:
            await asyncio.to_thread(file.write, "".join(waiting).encode())
            waiting, size = [], 0
            if buffer.tell() > MOST_BYTES:
                raise ExportTooLarge
    await asyncio.to_thread(file.write, "".join(waiting).encode())
    if buffer.tell() > MOST_BYTES:
        raise ExportTooLarge
    return count
