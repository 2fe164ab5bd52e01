"""Inputs and outputs of retrieval: one type for each stage."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from services.index.models import Hit
from services.reading.models import Reading
from services.text.cleaning import clean

# What stands between a question and the message it quotes, where both are shown as one text.
QUOTED = "\n引用的消息：\n> "


class RetrievalStatus(StrEnum):
    """The outcome for a question. Only USABLE comes with references."""

    USABLE = "usable"
    LOW_CONFIDENCE = "low_confidence"
    NO_RECALL = "no_recall"
    RERANK_FAILED = "rerank_failed"


class Strictness(StrEnum):
    """How strict the gate is.

    WRITTEN: somebody asked, and a model reads the passages, which can still say that they hold nothing. ASKED: somebody
    asked, and the passages are quoted as they are. UNASKED: the bot would answer without being asked.
    """

    WRITTEN = "written"
    ASKED = "asked"
    UNASKED = "unasked"


class Verdict(StrEnum):
    """Why a candidate was approved or not."""

    APPROVED = "approved"
    NOT_RERANKED = "not_reranked"
    BELOW_SIMILARITY = "below_similarity"
    BELOW_SCORE = "below_score"
    OTHER_IDENTIFIER = "other_identifier"
    OTHER_SUBJECT = "other_subject"
    TOO_FEW_QUALIFIED = "too_few_qualified"
    NEAR_DUPLICATE = "near_duplicate"
    OVER_LIMIT = "over_limit"


@dataclass(frozen=True, slots=True)
class Question:
    r"""What a person asks, and the message they replied to, if any.

    `remark` is set if they asked nothing and `text` completes it from what was asked before: only a passage with a word
    of it is quoted, or 我试试 would get the last answer again. `pictured` is the text of the pictures that they sent or
    replied to. All of these are cleaned here, before any of them reaches a search, a prompt or the log.

    >>> Question("熄灯\u202e几点？\U000e0041").text
    '熄灯几点？'
    """

    text: str
    quoted: str = ""
    remark: str = ""
    pictured: str = ""

    def __post_init__(self) -> None:
        for name in ("text", "quoted", "remark", "pictured"):
            object.__setattr__(self, name, clean(getattr(self, name)))

    @property
    def shown(self) -> str:
        r"""Return the question with the quoted message and the pictures, as the model and the history see them.

        Every line of what they contain is marked, so that it cannot go on in the name of the person who asks.

        >>> Question("这个怎么修", "ERR-4032").shown
        '这个怎么修\n引用的消息：\n> ERR-4032'
        >>> Question("", pictured="ERR-4032").shown
        '图片里的文字：\n> ERR-4032'
        """
        if not self.text and not self.pictured:
            return self.quoted
        parts = [self.text] if self.text else []
        for name, text in (("引用的消息", self.quoted), ("图片里的文字", self.pictured)):
            if text:
                parts.append("\n> ".join((f"{name}：", *text.splitlines())))
        return "\n".join(parts)

    @property
    def material(self) -> str:
        """What the question is about besides its own words: the quoted message and the text of pictures."""
        return "\n".join(part for part in (self.quoted, self.pictured) if part)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recalled chunk on its way through the stages.

    `coverage` (0 to 1) is the share of the question's words, weighted by rarity, that the chunk contains. `fused`
    orders the candidates before reranking; its scale depends on the embedding model. `rerank_score` is None if the
    chunk was not reranked, and `reading` if no reader has read it. Only `verdict` decides what the rest of the product
    does with the chunk.
    """

    hit: Hit
    coverage: float
    fused: float
    rerank_score: float | None = None
    verdict: Verdict = Verdict.NOT_RERANKED
    reading: Reading | None = None

    @property
    def place(self) -> str:
        """The location of the chunk, on one line: the file, then the page or the heading path."""
        metadata = self.hit.chunk.metadata
        page = metadata.get("page")
        known_page = page if isinstance(page, int) and page > 0 else None
        return _place(str(metadata.get("file", "")), known_page, str(metadata.get("heading", "")))


@dataclass(frozen=True, slots=True)
class Reference:
    """An approved passage with its location: the only form in which documents reach a prompt, a citation or a reply.

    `number` counts from 1 in order of rank. `page` is None if it is unknown. The passage consists of the chunks
    `first_ordinal` to `last_ordinal` of `build_id`, joined. `uncertain_table` marks the lines of a table whose rows and
    columns could not be told; such a chunk is a passage by itself.
    """

    number: int
    document_number: int
    name: str
    version: int
    page: int | None
    heading: str
    text: str
    score: float
    build_id: str = ""
    first_ordinal: int = 0
    last_ordinal: int = 0
    uncertain_table: bool = False

    @property
    def place(self) -> str:
        """The location of the passage, on one line: the file, then the page or the heading path.

        >>> Reference(1, 4, "手册.pdf", 1, 3, "", "…", 0.9).place
        '手册.pdf 第3页'
        >>> Reference(1, 4, "预算.xlsx", 1, 2, "人员", "…", 0.9).place
        '预算.xlsx · 人员'
        """
        return _place(self.name, self.page, self.heading)


@dataclass(frozen=True, slots=True)
class RetrievalMetrics:
    """The metrics of one retrieval that the specification defines.

    Counts are numbers of chunks. A value is None if nothing was measured.
    """

    recall_count: int = 0
    rerank_count: int = 0
    approved_count: int = 0
    max_vector_similarity: float | None = None
    max_rerank_score: float | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The outcome for one question.

    `references` passed the gate, best first. `nearest` names the documents that came closest, best first, to tell the
    user what there is when nothing passed. `candidates` explain the decision, best first; their texts are for the
    person who asks for the reason, and never for a prompt. `term_weights` holds the inverse document frequency of every
    term of the question in this collection. `threshold` is the lowest rerank score that passes, and `quotable` is unset
    if the passages passed only because a model would read them. `expansions` are the words that a second round searched
    in addition to the question's own. `chunk_count` is the size of the collection; 0
    means that there is no knowledge yet. `warning` is one Chinese sentence if the retrieval was incomplete, or empty.
    """

    status: RetrievalStatus
    references: tuple[Reference, ...] = ()
    nearest: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    metrics: RetrievalMetrics = RetrievalMetrics()
    term_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    threshold: float = 0.0
    quotable: bool = True
    expansions: tuple[str, ...] = ()
    chunk_count: int = 0
    warning: str = ""


def _place(name: str, page: int | None, heading: str) -> str:
    # A sheet is identified by its name, which is its heading, and not by its number.
    is_sheet = bool(heading) and name.lower().endswith(".xlsx")
    if page is not None and not is_sheet:
        return f"{name} 第{page}页"
    return f"{name} · {heading}" if heading else name
