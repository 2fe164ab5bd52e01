"""Check a file before a library opens it: type, signature, archive totals and XML entities."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from services.knowledge.loaders import LOADERS, Format
from services.knowledge.rejections import Rejection, rejected

OLD_OFFICE = {"doc": "docx", "wps": "docx", "rtf": "docx", "xls": "xlsx", "et": "xlsx", "ppt": "pptx", "dps": "pptx"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_KNOWN_BINARIES = (_OLE, b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"Rar!", b"7z\xbc\xaf")
_HEAD_BYTES = 1024
_READ_BYTES = 1 << 20
# Below this size the ratio is meaningless: an almost empty document consists mostly of its style sheet.
_SMALL_ARCHIVE_BYTES = 1 << 16

# Images and embedded pages may legitimately declare a document type; no loader reads them.
_NOT_PARSED = {".svg", ".html", ".htm", ".xhtml", ".mht", ".mhtml"}
_DECLARATION = re.compile(rb"<!(DOCTYPE|ENTITY)")
# Office Open XML allows UTF-8 and UTF-16 (ECMA-376 part 2, 8.1.4). Other encodings could hide a declaration from the
# search.
_ENCODING = re.compile(rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_PLAIN_ENCODINGS = re.compile(
    rb"utf-?(8|16(le|be)?)|us-ascii|ascii|iso-8859-\d+|gbk?(2312|18030)?|windows-125\d", re.IGNORECASE
)
_EBCDIC_XML = b"\x4c\x6f\xa7\x94"


def check_type(file_type: str) -> Format:
    """Return the format of an extension (lower case, no dot).

    Raise `DocumentRejected` when there is no loader for it.
    """
    if file_type in OLD_OFFICE:
        raise rejected(Rejection.OLD_OFFICE, file_type, modern=OLD_OFFICE[file_type])
    if file_type not in LOADERS:
        raise rejected(Rejection.UNSUPPORTED, file_type, supported="、".join(supported_types()))
    return LOADERS[file_type]


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of a zip-based file: total uncompressed bytes, their ratio to the file's size, and the number of parts."""

    total_bytes: int
    ratio: int
    entries: int


def supported_types() -> list[str]:
    """Return one extension of each format, as shown to users."""
    return list({known: name for name, known in reversed(LOADERS.items())}.values())[::-1]


def check_content(path: Path, file_type: str, limits: ArchiveLimits) -> None:
    """Raise `DocumentRejected` when the file is empty, does not match its extension, or is an archive bomb.

    `zipfile` reads each part of an archive only up to the size in its directory, so the sums of the directory are real
    bounds.
    """
    expected = check_type(file_type)
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if not head:
            raise rejected(Rejection.EMPTY)
        if expected.archive_folder and head.startswith(_OLE):
            raise _ole_rejection(head + file.read(), file_type)
    if expected.signatures and not any(signature in head for signature in expected.signatures):
        raise rejected(Rejection.MISMATCH, f"none of {expected.signatures!r}", file_type=file_type)
    if expected.archive_folder:
        _check_archive(path, file_type, expected.archive_folder, limits)
    elif not expected.signatures and head.startswith(_KNOWN_BINARIES):
        raise rejected(Rejection.MISMATCH, f"begins with {head[:8]!r}", file_type=file_type)


def _ole_rejection(data: bytes, file_type: str) -> Exception:
    """Return the rejection of an OLE container, which holds encrypted documents as well as the old binary formats."""
    if _ENCRYPTED_STREAM in data:
        return rejected(Rejection.ENCRYPTED, "EncryptedPackage")
    return rejected(Rejection.OLD_OFFICE, "OLE container", modern=file_type)


def _check_archive(path: Path, file_type: str, folder: str, limits: ArchiveLimits) -> None:
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            is_truncated = file.read(4) == b"PK\x03\x04"
        reason = Rejection.CORRUPT if is_truncated else Rejection.MISMATCH
        raise rejected(reason, "not a zip archive", file_type=file_type)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            total = sum(part.file_size for part in parts)
            most = min(limits.total_bytes, limits.ratio * max(path.stat().st_size, _SMALL_ARCHIVE_BYTES))
            if total > most or len(parts) > limits.entries:
                raise rejected(Rejection.ARCHIVE_BOMB, f"{len(parts)} parts, {total} bytes")
            if any(part.flag_bits & 1 for part in parts):
                raise rejected(Rejection.ENCRYPTED, "encrypted zip entries")
            if not any(part.filename.startswith(folder) for part in parts):
                raise rejected(Rejection.MISMATCH, f"no {folder} in archive", file_type=file_type)
            for part in parts:
                if PurePosixPath(part.filename).suffix.lower() not in _NOT_PARSED:
                    with archive.open(part) as stream:
                        _check_entities(stream, part.filename)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
        raise rejected(Rejection.CORRUPT, repr(error)) from error


def _check_entities(stream: IO[bytes], name: str) -> None:
    """Raise `DocumentRejected` when an XML part declares a document type, in any encoding of ASCII characters."""
    first = True
    for block in _overlapping_blocks(stream):
        # Without their NUL bytes, the ASCII characters of UTF-16 and UTF-32 read as ASCII.
        plain = block.replace(b"\0", b"")
        if first:
            if block.startswith(_EBCDIC_XML):
                raise rejected(Rejection.XML_ENTITIES, f"EBCDIC in {name}")
            start = plain.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
            if not start:
                continue
            if not start.startswith(b"<"):
                return
            encoding = _ENCODING.search(plain[:200])
            if encoding and not _PLAIN_ENCODINGS.fullmatch(encoding[1]):
                raise rejected(Rejection.XML_ENTITIES, f"encoding {encoding[1]!r} in {name}")
            first = False
        if _DECLARATION.search(plain):
            raise rejected(Rejection.XML_ENTITIES, f"document type in {name}")


def _overlapping_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a stream, each preceded by the end of the last one, so that no match across two is missed."""
    tail = b""
    while block := stream.read(_READ_BYTES):
        yield tail + block
        tail = block[-64:]
