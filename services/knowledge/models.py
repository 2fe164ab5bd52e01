"""What knowledge services pass around: parsed sections, chunks, documents and outcomes."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Section:
    """A run of text of one document with one place in it.

    `page` counts from 1 and means a PDF page, a slide or a sheet; None where the format has none. `heading` is the
    path of headings from the top. `table` marks text that is rows of a table, one a line; `header` is then its first
    row, repeated in every chunk that the table is cut into. `complete` marks text that says all by itself, however
    short: a question with its answer.
    """

    text: str
    page: int | None = None
    heading: tuple[str, ...] = ()
    table: bool = False
    header: str = ""
    complete: bool = False


@dataclass(slots=True)
class Omissions:
    """What a loader leaves out of a file while it yields the sections.

    `hidden_text` is set when the file has text that a person who opens it does not see.
    """

    hidden_text: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage cut from one document. `ordinal` counts from 0 through the whole document."""

    ordinal: int
    text: str
    page: int | None = None
    heading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passages:
    """The chunks of one file, and whether text that a person does not see was left out."""

    chunks: list[Chunk]
    hidden_text: bool = False


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """A file on our disk that wants to enter a knowledge base. `path` is handed over: it is moved or removed.

    `name` is what its sender called it and is never used as a path. `group_id` is None for a private file.
    """

    collection: str
    path: Path
    name: str
    group_id: int | None
    uploader_id: int
    received_at: datetime
    upload_id: int | None = None


class IngestStatus(StrEnum):
    """How taking in a file ended."""

    INDEXED = "indexed"
    UPDATED = "updated"
    DUPLICATE = "duplicate"
    IN_PROGRESS = "in_progress"
    REJECTED = "rejected"
    DEFERRED = "deferred"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The outcome for one file.

    `name`, `number` and `version` are those of the document that now holds the content. `reason` is a Chinese sentence
    for REJECTED and DEFERRED; a DEFERRED document goes on by itself, see `KnowledgeService.outcome`. `seconds` runs
    from the file's arrival. `hidden_text` says that text which a person does not see was left out.
    """

    status: IngestStatus
    name: str
    document_id: int = 0
    number: int = 0
    version: int = 1
    chunks: int = 0
    seconds: float = 0.0
    reason: str = ""
    hidden_text: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """A document being built: chunks done of all; `total` is 0 while it is still being read."""

    collection: str
    name: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document as lists show it. `ready` is False while its first build is under way."""

    number: int
    name: str
    version: int
    chunks: int
    size: int
    uploader_id: int
    uploaded_at: datetime
    ready: bool


@dataclass(frozen=True, slots=True)
class KnowledgeStatus:
    """The state of one knowledge base. Sizes in bytes.

    `indexed_chunks` and `indexed_vectors` are counted in the index itself, None where it could not be asked; `stale`
    counts documents that a change of embedding model left without vectors.
    """

    documents: int
    chunks: int
    size: int
    progress: tuple[Progress, ...]
    indexed_chunks: int | None
    indexed_vectors: int | None
    stale: int
    embedding: str
    degraded: str
