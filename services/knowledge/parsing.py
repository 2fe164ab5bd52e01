"""Parse files in a subprocess, so that no file can block, crash or exhaust the bot."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from services.errors import DocumentRejected, ParsingFailed
from services.knowledge.inspection import check_type
from services.knowledge.models import (
    Chunk,
    ChunkBoundary,
    DocumentProfile,
    DocumentType,
    Passages,
    Section,
    SourceType,
)
from services.knowledge.parse_process import Request
from services.knowledge.rejections import Rejection, rejected
from services.knowledge.splitter import check_sizes

_ROOT = Path(__file__).resolve().parents[2]
_READ_BYTES = 1 << 16
_LOG_BYTES = 4_096
# The child reads hostile files: it gets only what Python needs to start, and none of the bot's API keys.
_INHERITED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG", "LC_ALL")


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits for parsing one file.

    `timeout_s` is wall clock time, `cpu_s` processor time, `memory_bytes` the address space of the subprocess, and
    `output_chars` the text of the whole document. For zip-based files, `archive_bytes` limits the uncompressed size,
    `archive_ratio` the ratio of that size to the file's, and `archive_entries` the number of parts. `cpu_s` has no
    effect on Windows; `memory_bytes` has none on Windows and macOS.
    """

    timeout_s: float = 120.0
    cpu_s: int = 120
    memory_bytes: int = 2 << 30
    output_chars: int = 30_000_000
    archive_bytes: int = 400 << 20
    archive_ratio: int = 150
    archive_entries: int = 10_000


async def parse(path: Path, file_type: str, limits: ParseLimits) -> list[Section]:
    """Return the sections of a file, with cleaned text; `file_type` is its extension, in lower case and without dot.

    Raise `DocumentRejected` for every file that cannot be read, with the reason as a sentence.
    """
    parts: list[tuple[Section, dict[str, list[str]]]] = []

    def receive(name: str, *values: Any) -> None:
        if name == "section":
            page, heading, table, uncertain = values
            section = Section("", page, tuple(heading), table, uncertain_table=uncertain)
            parts.append((section, {"text": [], "header": []}))
        else:
            parts[-1][1][name].append(values[0])

    await _run(_request(path, file_type, limits), limits, receive)
    return [
        replace(section, text="".join(pieces["text"]), header="".join(pieces["header"])) for section, pieces in parts
    ]


async def parse_and_split(
    path: Path,
    file_type: str,
    limits: ParseLimits,
    chunk_chars: int,
    overlap_chars: int,
    name: str = "",
    shelf: Path | None = None,
) -> Passages:
    """Return the chunks of a file, cut in the same subprocess; see `parse` and `splitter.split`.

    `name` is the sender's name for the file; it is never used as a path, and says something about its purpose. `shelf`
    is the directory of a `PictureShelf` that receives the pictures of the file, and has the texts of those that were
    read.
    """
    check_sizes(chunk_chars, overlap_chars)
    passages = Passages([])

    def receive(kind: str, *values: Any) -> None:
        nonlocal passages
        if kind == "chunk":
            ordinal, text, page, heading, uncertain, boundary, rated = values
            passages.chunks.append(Chunk(ordinal, text, page, tuple(heading), uncertain, ChunkBoundary(boundary)))
            passages.chunk_profiles.append(rated)
        else:
            document_type, source_type, source_url, tags = values
            profile = DocumentProfile(DocumentType(document_type), SourceType(source_type), source_url, tuple(tags))
            passages = replace(passages, profile=profile)

    request = replace(_request(path, file_type, limits, chunk_chars, overlap_chars, shelf), name=name)
    _, hidden_text, pictures = await _run(request, limits, receive)
    return replace(passages, hidden_text=hidden_text, pictures=pictures)


def _request(
    path: Path,
    file_type: str,
    limits: ParseLimits,
    chunk_chars: int = 0,
    overlap_chars: int = 0,
    shelf: Path | None = None,
) -> Request:
    check_type(file_type)
    costs = asdict(limits)
    del costs["timeout_s"]
    return Request(
        str(path.absolute()),
        file_type,
        **costs,
        chunk_chars=chunk_chars,
        overlap_chars=overlap_chars,
        shelf=str(shelf or ""),
    )


async def _run(request: Request, limits: ParseLimits, receive: Callable[..., None]) -> list[Any]:
    """Run the subprocess, pass each result line to `receive`, and return the values of the `end` line.

    The subprocess is gone when this returns or raises.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.knowledge.parse_process",
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=_ROOT,
        env={name: os.environ[name] for name in _INHERITED if name in os.environ} | {"PYTHONUTF8": "1"},
        # A separate process group, so that processes started by a library die with it.
        start_new_session=True,
    )
    assert process.stdin and process.stdout and process.stderr  # noqa: S101  # all three are pipes
    log = asyncio.create_task(_tail(process.stderr))
    try:
        async with asyncio.timeout(limits.timeout_s):
            # The pipe stays open: its end tells the child that this process is gone.
            process.stdin.write(json.dumps(asdict(request)).encode() + b"\n")
            outcome = await _read(process.stdout, 16 * limits.output_chars + (1 << 20), limits, receive)
            await log
            await process.wait()
    except TimeoutError as error:
        raise rejected(Rejection.TIMEOUT, "wall clock", limit=f"{limits.timeout_s:g}") from error
    finally:
        await _end(process, process.stdout, log)
    if not outcome:
        raise _death(process.returncode, log.result(), limits)
    if outcome[0] == "rejected":
        raise DocumentRejected(outcome[1], outcome[2])
    if outcome[0] == "failed":
        raise ParsingFailed(outcome[1], outcome[2])
    return outcome[1:]


async def _read(
    stdout: asyncio.StreamReader, most_bytes: int, limits: ParseLimits, receive: Callable[..., None]
) -> list[Any]:
    """Pass on result lines until the pipe ends, and return the last line, or [] if it never came."""
    outcome: list[Any] = []
    rest, total = b"", 0
    while block := await stdout.read(_READ_BYTES):
        total += len(block)
        if total > most_bytes:
            raise rejected(Rejection.TOO_MUCH_TEXT, "output of the subprocess", limit=limits.output_chars)
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            values = json.loads(line)
            if values[0] in ("end", "rejected", "failed"):
                outcome = values
            else:
                receive(*values)
    return outcome


async def _tail(stderr: asyncio.StreamReader) -> str:
    """Return the end of the child's log; read all of it, so that the child never blocks on the pipe."""
    tail = b""
    while block := await stderr.read(_READ_BYTES):
        tail = (tail + block)[-_LOG_BYTES:]
    return tail.decode("utf-8", errors="replace")


async def _end(process: Process, stdout: asyncio.StreamReader, log: "asyncio.Task[str]") -> None:
    """Kill the process group if the child still runs, and wait for the child."""
    if process.returncode is None:
        if sys.platform == "win32":
            process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    # asyncio reports the exit only after the pipes have been read to their end.
    while await stdout.read(_READ_BYTES):
        pass
    await asyncio.wait([log])
    await process.wait()


def _death(returncode: int | None, log: str, limits: ParseLimits) -> DocumentRejected:
    """Return the rejection for a child that ended without a last line."""
    detail = f"exit {returncode}: {log}"
    if sys.platform != "win32" and returncode == -signal.SIGXCPU:
        return rejected(Rejection.TIMEOUT, detail, limit=limits.cpu_s)
    # This process did not kill it, so the system did, for lack of memory.
    if (sys.platform != "win32" and returncode == -signal.SIGKILL) or "MemoryError" in log:
        return rejected(Rejection.OUT_OF_MEMORY, detail)
    return rejected(Rejection.CRASHED, detail)
