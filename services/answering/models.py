"""The types of answers and their sources."""

from dataclasses import dataclass
from enum import StrEnum

from services.records.conversations import Source
from services.retrieval.models import Reference


class AnswerKind(StrEnum):
    """How an answer came about. GENERAL is based only on what the model knows, and says so."""

    WRITTEN = "written"
    EXCERPT = "excerpt"
    GENERAL = "general"
    NOTHING_FOUND = "nothing_found"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer ready for layout.

    The numbers 〔n〕 in `text` are exactly those of `sources`. `notice` holds Chinese sentences about what went wrong,
    or is empty. `doubtful` means that the documents do not confirm something in the text; the text or the notice says
    so too.
    """

    kind: AnswerKind
    text: str
    sources: tuple[Source, ...] = ()
    notice: str = ""
    doubtful: bool = False


class SourceStatus(StrEnum):
    """The outcome of looking up a cited passage."""

    FOUND = "found"
    UNKNOWN = "unknown"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage, looked up by its number in the last answer.

    If the number is unknown, `numbers` are those that the answer does have.
    """

    status: SourceStatus
    reference: Reference | None = None
    numbers: tuple[int, ...] = ()


def source_of(reference: Reference, number: int) -> Source:
    """Return a reference as the source `number` of an answer."""
    return Source(
        number=number,
        place=reference.place,
        document_number=reference.document_number,
        build_id=reference.build_id,
        first_ordinal=reference.first_ordinal,
        last_ordinal=reference.last_ordinal,
    )
