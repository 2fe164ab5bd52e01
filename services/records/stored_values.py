"""The values that a column holds as JSON: typed, validated when they are read, and with the version of their shape.

A value that is damaged, or that a newer release wrote, is absent: the row is served without it, and the log says so.
A change of a shape takes a new version and a migration that rewrites the rows; readers know one version only.
"""

import logging
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import JSON, TypeDecorator
from sqlalchemy.engine import Dialect

from services.errors import DamagedRecord

log = logging.getLogger(__name__)


class StoredValue(BaseModel):
    """The base class of values in a column. `version` belongs to the shape of each subclass."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1


class StoredMessage(StoredValue):
    """A message of the working history: who spoke, in LangChain's words, and the text without our notices.

    What a `doubtful` answer states is not known to be true, although it was said.
    """

    version: Literal[2] = 2  # pyright: ignore[reportIncompatibleVariableOverride]
    type: Literal["human", "ai", "system"]
    text: str
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """The target of a number 〔n〕 in an answer: chunks `first_ordinal` to `last_ordinal` of a build of a document.

    `place` is what the list of sources shows. The text is not kept: it belongs to the document and is deleted with it.
    """

    number: int
    place: str
    document_number: int = 0
    build_id: str = ""
    first_ordinal: int = 0
    last_ordinal: int = 0


class StoredSources(StoredValue):
    """The sources of one answer."""

    sources: tuple[Source, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A passage that was approved for an answer: chunks `first_ordinal` to `last_ordinal` of a build, and its score."""

    build_id: str
    first_ordinal: int
    last_ordinal: int
    score: float


class StoredPassages(StoredValue):
    """The passages that were approved for one answer, best first."""

    passages: tuple[RetrievedPassage, ...] = Field(min_length=1)


class StoredToolCalls(StoredValue):
    """The names of the tools that were called for one answer, in order."""

    names: tuple[str, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class BasisDocument:
    """A document as it was when an answer that rests on it was approved.

    `content_hash` is empty if it had changed by then, so that no document is like it.
    """

    number: int
    name: str
    version: int
    content_hash: str
    chunk_count: int


class StoredBasis(StoredValue):
    """The documents that an approved answer rests on."""

    documents: tuple[BasisDocument, ...] = Field(min_length=1)


class StoredProfile(StoredValue):
    """What the rules say about a document, in the words of `knowledge.models`."""

    document_type: Literal["tutorial", "api_doc", "faq", "example", "guide"]
    source_type: Literal["official_docs", "github_docs", "qa_dataset", "model_hub", "dataset_hub", "learn_center"]
    source_url: str
    tags: tuple[str, ...]


class StoredTags(StoredValue):
    """The tags that an admin gave to a document."""

    tags: tuple[str, ...]


class UploadSource(StoredValue):
    """What is needed, beside its name and size, to fetch a file again.

    `file_id`, `busid` and `url` are the client's, as `qq.files.UploadedFile` has them. `via` is the group through which
    a stranger wrote in private.
    """

    file_id: str
    busid: int
    url: str
    via: int | None


_Value = TypeVar("_Value", bound=StoredValue)


def read_value(kind: type[_Value], content: object) -> _Value:
    """Return the value that a column holds as JSON text.

    Raise `DamagedRecord` if it is not of this kind and version. Its detail says where and why, but repeats no text.
    """
    try:
        value = kind.model_validate_json(content if isinstance(content, str | bytes) else "")
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _damaged(kind, f"{place}: {first['msg']}" if place else first["msg"]) from None
    if "version" not in value.model_fields_set:
        raise _damaged(kind, "without version")
    return value


def _damaged(kind: type[StoredValue], detail: str) -> DamagedRecord:
    return DamagedRecord("机器人的一条记录读不出来，已跳过。", f"{kind.__name__}: {detail}")


class JSONColumn(TypeDecorator[Any]):
    """A column of one kind of value, which reads as None where the value is absent or damaged."""

    impl = JSON
    cache_ok = True

    def __init__(self, kind: type[StoredValue]) -> None:
        super().__init__(none_as_null=True)
        self.kind = kind

    def bind_processor(self, dialect: Dialect) -> Any:
        """Return the function that writes a value."""

        def write(value: StoredValue | None) -> str | None:
            return None if value is None else value.model_dump_json()

        return write

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that reads a value."""

        def read(value: object) -> StoredValue | None:
            if value is None:
                return None
            try:
                return read_value(self.kind, value)
            except DamagedRecord as error:
                log.error("a record is skipped: %s", error)  # noqa: TRY400  # the detail says it all
                return None

        return read
