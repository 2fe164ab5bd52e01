"""What an answer is."""

from dataclasses import dataclass
from enum import StrEnum

from services.records.conversations import Source
from services.retrieval.models import Reference


class AnswerKind(StrEnum):
    """How an answer came about. GENERAL rests on nothing but what the model knows, and says so."""

    WRITTEN = "written"
    EXCERPT = "excerpt"
    GENERAL = "general"
    NOTHING_FOUND = "nothing_found"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer ready to be laid out.

    The numbers 〔n〕 in `text` are exactly those of `sources`. `notice` holds Chinese sentences about what did not go
    as it should, or is empty. `doubtful` tells that something in the text could not be confirmed by the documents; the
    text or the notice says so too.
    """

    kind: AnswerKind
    text: str
    sources: tuple[Source, ...] = ()
    notice: str = ""
    doubtful: bool = False


class SourceStatus(StrEnum):
    """What became of a passage that was cited."""

    FOUND = "found"
    UNKNOWN = "unknown"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage by its number in the last answer. `numbers` are those that the answer has, when this one is unknown."""

    status: SourceStatus
    reference: Reference | None = None
    numbers: tuple[int, ...] = ()


def source_of(reference: Reference, number: int) -> Source:
    """A reference as the source `number` of an answer."""
    return Source(
        number=number,
        place=reference.place,
        document_number=reference.document_number,
        build_id=reference.build_id,
        first_ordinal=reference.first_ordinal,
        last_ordinal=reference.last_ordinal,
    )
