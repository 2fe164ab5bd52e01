"""The types of answers and their sources."""

from dataclasses import dataclass
from enum import StrEnum

from services.records.conversations import Source
from services.records.tables import AnswerKind
from services.retrieval.models import Reference


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table in an answer. `text` is what stands for it in the text; every row has as many cells as the header."""

    text: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code in an answer, as it stands in the text."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer ready for layout.

    The numbers 〔n〕 in `text` are exactly those of `sources`. `notice` holds Chinese sentences about what went wrong,
    or is empty. `doubtful` means that the documents do not confirm something in the text; the text or the notice says
    so too. `blocks` are the parts of the text that read better as pictures, in order. `turn_id` is the turn of the log
    that it answers, if any.
    """

    kind: AnswerKind
    text: str
    sources: tuple[Source, ...] = ()
    notice: str = ""
    doubtful: bool = False
    blocks: tuple[TableBlock | CodeBlock, ...] = ()
    turn_id: int | None = None


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
