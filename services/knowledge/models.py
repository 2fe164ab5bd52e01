"""The data types of the knowledge services: parsed sections, chunks, documents and results."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from services.knowledge.picture_shelf import PictureShelf


@dataclass(frozen=True, slots=True)
class Section:
    """A run of text at one place in a document.

    `page` counts from 1 and is a PDF page, a slide or a sheet; None if the format has none. `heading` is the path of
    headings from the top. `table` marks text that consists of table rows, one per line; `header` is then the first row,
    below the title of the table if it has one, and is repeated in every chunk of the table. `complete` marks text that
    stands on its own, however short, such as a question with its answer. `uncertain_table` marks the lines of a table
    whose rows and columns could not be told: it can be found, but is not to be quoted.
    """

    text: str
    page: int | None = None
    heading: tuple[str, ...] = ()
    table: bool = False
    header: str = ""
    complete: bool = False
    uncertain_table: bool = False


@dataclass(slots=True)
class Omissions:
    """What a loader leaves out of a file while it yields the sections.

    `hidden_text` is set when the file contains text that a person who opens it does not see. `pictures` counts the
    pictures that may contain text, which is not read. `shelf` has the texts of those that were read before; None if
    nothing reads pictures.
    """

    hidden_text: bool = False
    pictures: int = 0
    shelf: PictureShelf | None = None

    def text_of(self, picture: Callable[[], bytes]) -> str:
        """Return the text of a picture, or an empty string and count it if it was not read.

        `picture` returns the image file. A picture that occurs again has no text.
        """
        found = self.shelf.text_of(picture) if self.shelf is not None else None
        if found is None:
            self.pictures += 1
        return found or ""


class ChunkBoundary(StrEnum):
    """What a chunk consists of, in the words of the specification.

    SECTION: everything under one heading of a page, or text that is complete in itself. PARAGRAPH: a part of a section,
    or text without headings. CODE_BLOCK: nothing but code. MIXED: sections under several headings, or code among prose.
    """

    PARAGRAPH = "paragraph"
    SECTION = "section"
    CODE_BLOCK = "code_block"
    MIXED = "mixed"


class SourceType(StrEnum):
    """The origin of a document, in the words of the specification."""

    OFFICIAL_DOCS = "official_docs"
    GITHUB_DOCS = "github_docs"
    QA_DATASET = "qa_dataset"
    MODEL_HUB = "model_hub"
    DATASET_HUB = "dataset_hub"
    LEARN_CENTER = "learn_center"


class DocumentType(StrEnum):
    """The purpose of a document, in the words of the specification."""

    TUTORIAL = "tutorial"
    API_DOC = "api_doc"
    FAQ = "faq"
    EXAMPLE = "example"
    GUIDE = "guide"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage cut from one document. `ordinal` counts from 0 through the whole document.

    `uncertain_table` is set as in `Section`.
    """

    ordinal: int
    text: str
    page: int | None = None
    heading: tuple[str, ...] = ()
    uncertain_table: bool = False
    boundary: ChunkBoundary = ChunkBoundary.PARAGRAPH


@dataclass(frozen=True, slots=True)
class ChunkProfile:
    """What the rules say about a chunk. `quality_score` is from 0 to 1."""

    tags: tuple[str, ...] = ()
    question_categories: tuple[str, ...] = ()
    quality_score: float = 1.0


@dataclass(frozen=True, slots=True)
class DocumentProfile:
    """What the rules say about a document. `source_url` is empty unless the document names its address."""

    document_type: DocumentType = DocumentType.GUIDE
    source_type: SourceType = SourceType.OFFICIAL_DOCS
    source_url: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passages:
    """The chunks of one file, its profile, and what was left out of it; see `Omissions`.

    `recognised` is set when pictures were read. Reading them again may give other chunks. `chunk_profiles` has the
    profile of each chunk as the text of `chunk_metadata.profile_text`: more objects would make the garbage collector
    stop the event loop for longer.
    """

    chunks: list[Chunk]
    hidden_text: bool = False
    pictures: int = 0
    recognised: bool = False
    chunk_profiles: list[str] = field(default_factory=list[str])
    profile: DocumentProfile = DocumentProfile()


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """A local file to be added to a knowledge base. `path` is handed over: the file is moved or removed.

    `name` is the sender's name for the file and is never used as a path. `group_id` is None for a private file.
    """

    collection: str
    path: Path
    name: str
    group_id: int | None
    uploader_id: int
    received_at: datetime
    upload_id: int | None = None


class IngestStatus(StrEnum):
    """The status of an ingested file."""

    INDEXED = "indexed"
    UPDATED = "updated"
    DUPLICATE = "duplicate"
    IN_PROGRESS = "in_progress"
    REJECTED = "rejected"
    DEFERRED = "deferred"
    REMOVED = "removed"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The result for one file.

    `name`, `number` and `version` are those of the document that now holds the content. `reason` is a Chinese sentence
    for REJECTED and DEFERRED; a DEFERRED document continues by itself, see `KnowledgeService.outcome`. `seconds` counts
    from the file's arrival. `hidden_text` is set when text was left out that a person does not see, and `pictures`
    counts the pictures whose text was not read.

    An INDEXED or UPDATED document with `vectors_left` is found by its words, while so many of its chunks wait for their
    vectors. `seconds_left` estimates how long that takes, None if it is unknown; `reason` is then set if a failed
    service holds them up.
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
    pictures: int = 0
    vectors_left: int = 0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a build in chunks with vectors; `total` is 0 while the file is still being read."""

    collection: str
    name: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document as shown in lists. `size` is in bytes; `group_id` is None for a private file.

    `ready` is False until its words are stored for the first time, `embedded` until all vectors are stored too.
    """

    number: int
    name: str
    version: int
    chunks: int
    size: int
    group_id: int | None
    uploader_id: int
    uploaded_at: datetime
    ready: bool
    embedded: bool


@dataclass(frozen=True, slots=True)
class KnowledgeStatus:
    """The state of one knowledge base. Sizes are in bytes.

    `indexed_chunks` and `indexed_vectors` are counted in the index itself, None if it is not available. `stale` counts
    documents that lost their vectors through a change of the embedding model.
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
