"""The parse subprocess: read a request from stdin, limit itself, load one file and write JSON lines.

Every line is a list whose first item is its kind: `section` [page, heading, table, uncertain table], followed by the
section's `text` pieces and `header` pieces; or `chunk` [ordinal, text, page, heading, uncertain table, boundary,
profile], and after the last one `profile` [document type, source type, source address, tags]. The last line is `end`
[number of sections or chunks, whether hidden text was left out, number of pictures] or `rejected` [user message,
detail]. If it is missing, the process died.
"""

import json
import os
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from services.errors import DocumentRejected
from services.knowledge.chunk_metadata import profile_text
from services.knowledge.cleaning import clean_section, has_hidden_characters
from services.knowledge.inspection import ArchiveLimits, check_content, check_type
from services.knowledge.models import Omissions, Section
from services.knowledge.picture_shelf import PictureShelf
from services.knowledge.profiles import profiles_of
from services.knowledge.rejections import Rejection, rejected
from services.knowledge.splitter import split

_NICENESS = 10
# Short lines keep the reader's event loop responsive, which decodes one at a time.
_PIECE_CHARS = 32_768
_DETAIL_CHARS = 2_000
# XML_ERR_NO_MEMORY of libxml2 and XML_ERROR_NO_MEMORY of expat.
_NO_MEMORY_CODES = {"lxml.etree": 2, "xml.etree.ElementTree": 1}


@dataclass(frozen=True, slots=True)
class Request:
    """The parent's request. Field names and units are those of `ParseLimits`; `chunk_chars` 0 asks for sections.

    `name` is the sender's name for the file, which says something about its purpose. `shelf` is the directory of a
    `PictureShelf`, or empty if nothing reads pictures.
    """

    path: str
    file_type: str
    cpu_s: int
    memory_bytes: int
    output_chars: int
    archive_bytes: int
    archive_ratio: int
    archive_entries: int
    chunk_chars: int = 0
    overlap_chars: int = 0
    name: str = ""
    shelf: str = ""


def main() -> None:
    """Serve one request and exit."""
    # Output printed by libraries must not mix with the results, so everything else written to stdout goes to stderr.
    with os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace", newline="\n") as results:
        os.dup2(2, 1)
        request = Request(**json.loads(sys.stdin.buffer.readline()))
        threading.Thread(target=_end_with_parent, daemon=True).start()
        _limit(request)
        outcome = _serve(request, results)
        print(_line(outcome), file=results, flush=True)


def _line(values: list[object]) -> str:
    return json.dumps(values, ensure_ascii=False)


def _end_with_parent() -> None:
    """Exit when the pipe ends: the parent never writes again, so the end means that it is gone."""
    # Read unbuffered: holding the lock of sys.stdin here would break the interpreter's shutdown.
    os.read(0, 1)
    os._exit(1)


def _limit(request: Request) -> None:
    """Lower the priority and limit memory and CPU time.

    Windows has none of these; only the parent's wall clock limit applies there.
    """
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415  # POSIX only

    os.nice(_NICENESS)
    with suppress(OSError):
        # If the machine runs out of memory, Linux should kill this process and not the bot.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    for kind, wanted in (
        (resource.RLIMIT_AS, request.memory_bytes),
        (resource.RLIMIT_CPU, request.cpu_s),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        # macOS refuses address space limits.
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, limit if kind != resource.RLIMIT_CPU else hard))


def _serve(request: Request, results: TextIO) -> list[object]:
    """Write the sections or chunks and return the last line."""
    try:
        write = _write_chunks if request.chunk_chars else _write_sections
        omissions = Omissions(shelf=PictureShelf(Path(request.shelf)) if request.shelf else None)
        count = write(_sections(request, omissions), request, results)
        return ["end", count, omissions.hidden_text, omissions.pictures]  # noqa: TRY300  # the handlers read better below
    except DocumentRejected as rejection:
        return ["rejected", rejection.user_message, rejection.detail[:_DETAIL_CHARS]]
    except MemoryError:
        pass
    except Exception as error:  # noqa: BLE001  # libraries raise anything on a damaged file, and nothing is lost here
        if not _is_out_of_memory(error):
            damage = rejected(Rejection.CORRUPT, traceback.format_exc()[-_DETAIL_CHARS:])
            return ["rejected", damage.user_message, damage.detail]
    # Outside the handlers, because only there the traceback no longer holds the memory.
    exhausted = rejected(Rejection.OUT_OF_MEMORY)
    return ["failed", exhausted.user_message, exhausted.detail]


def _is_out_of_memory(error: Exception) -> bool:
    """Return whether memory is exhausted, which XML parsers report as a syntax error with a special code."""
    return getattr(error, "code", None) == _NO_MEMORY_CODES.get(type(error).__module__, -1)


def _sections(request: Request, omissions: Omissions) -> Iterator[Section]:
    """Yield the cleaned sections that have text, in order; reject the file if they exceed the limit on characters."""
    path = Path(request.path)
    archive = ArchiveLimits(request.archive_bytes, request.archive_ratio, request.archive_entries)
    check_content(path, request.file_type, archive)
    total, found = 0, False
    for loaded in check_type(request.file_type).loader()(path, omissions):
        omissions.hidden_text |= has_hidden_characters(loaded)
        section = clean_section(loaded)
        total += len(section.text) + len(section.header) + sum(map(len, section.heading))
        if total > request.output_chars:
            raise rejected(Rejection.TOO_MUCH_TEXT, limit=request.output_chars)
        if section.text.strip() or section.header.strip():
            found = True
            yield section
    if not found:
        raise rejected(Rejection.NO_TEXT)


def _write_chunks(sections: Iterable[Section], request: Request, results: TextIO) -> int:
    chunks = split(sections, request.chunk_chars, request.overlap_chars)
    profile, chunk_profiles = profiles_of(request.name, chunks)
    for chunk, rated in zip(chunks, chunk_profiles, strict=True):
        place = [chunk.ordinal, chunk.text, chunk.page, chunk.heading, chunk.uncertain_table]
        print(_line(["chunk", *place, chunk.boundary, profile_text(rated)]), file=results)
    print(
        _line(["profile", profile.document_type, profile.source_type, profile.source_url, profile.tags]), file=results
    )
    return len(chunks)


def _write_sections(sections: Iterable[Section], _request: Request, results: TextIO) -> int:
    count = 0
    for section in sections:
        values = [section.page, section.heading, section.table, section.uncertain_table]
        print(_line(["section", *values]), file=results)
        for name, text in (("text", section.text), ("header", section.header)):
            for start in range(0, len(text), _PIECE_CHARS):
                print(_line([name, text[start : start + _PIECE_CHARS]]), file=results)
        count += 1
    return count


if __name__ == "__main__":
    main()
