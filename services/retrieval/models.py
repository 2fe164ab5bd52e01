"""What retrieval takes and gives: one type for each stage."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from services.cleaning import clean
from services.index.models import Hit


class RetrievalStatus(StrEnum):
    """What became of a question. Only with USABLE are there references."""

    USABLE = "usable"
    LOW_CONFIDENCE = "low_confidence"
    NO_RECALL = "no_recall"
    RERANK_FAILED = "rerank_failed"


class Strictness(StrEnum):
    """How sure the gate must be: somebody asked the bot, or the bot would speak up unasked."""

    ASKED = "asked"
    UNASKED = "unasked"


class Verdict(StrEnum):
    """Why a candidate was approved or not."""

    APPROVED = "approved"
    NOT_RERANKED = "not_reranked"
    BELOW_SIMILARITY = "below_similarity"
    BELOW_SCORE = "below_score"
    TOO_FEW_QUALIFIED = "too_few_qualified"
    NEAR_DUPLICATE = "near_duplicate"
    OVER_LIMIT = "over_limit"


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody wrote, the message that they replied to, if any, and what they asked before in this conversation.

    All three are cleaned here, before any of them reaches a search, a prompt or the log.

    >>> Question("熄灯\\u202e几点？\\U000e0041").text
    '熄灯几点？'
    """

    text: str
    quoted: str = ""
    previous: str = ""

    def __post_init__(self) -> None:
        for name in ("text", "quoted", "previous"):
            object.__setattr__(self, name, clean(getattr(self, name)))

    @property
    def shown(self) -> str:
        """Both, as the model and the history see them.

        >>> Question("这个怎么修", "ERR-4032").shown
        '这个怎么修\\n（引用的消息：ERR-4032）'
        """
        if not self.quoted:
            return self.text
        return f"{self.text}\n（引用的消息：{self.quoted}）" if self.text else self.quoted


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recalled chunk on its way through the stages.

    `coverage` (0 to 1) is the share of the question's words, weighted by rarity, that the chunk contains. `fused`
    orders candidates before reranking; its scale is that of the embedding model. `rerank_score` is None where the
    reranker was not asked about the chunk. The rest of the product decides by `verdict` alone.
    """

    hit: Hit
    coverage: float
    fused: float
    rerank_score: float | None = None
    verdict: Verdict = Verdict.NOT_RERANKED


@dataclass(frozen=True, slots=True)
class Reference:
    """An approved passage with its place: the only form in which documents reach a prompt, a citation or a reply.

    `number` counts from 1 in order of rank; `page` is None where unknown. The passage is the chunks `first_ordinal` to
    `last_ordinal` of `build_id`, neighbours joined.
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

    @property
    def place(self) -> str:
        """Where the passage stands, on one line: file, then page or heading path.

        >>> Reference(1, 4, "手册.pdf", 1, 3, "", "…", 0.9).place
        '手册.pdf 第3页'
        >>> Reference(1, 4, "预算.xlsx", 1, 2, "人员", "…", 0.9).place
        '预算.xlsx · 人员'
        """
        # A sheet is known by its name, which is its heading; nobody counts sheets.
        is_sheet = bool(self.heading) and self.name.lower().endswith(".xlsx")
        if self.page is not None and not is_sheet:
            return f"{self.name} 第{self.page}页"
        return f"{self.name} · {self.heading}" if self.heading else self.name


@dataclass(frozen=True, slots=True)
class RetrievalMetrics:
    """The specification's figures of one retrieval. Counts are of chunks; None where nothing was measured."""

    recall_count: int = 0
    rerank_count: int = 0
    approved_count: int = 0
    max_vector_similarity: float | None = None
    max_rerank_score: float | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The outcome for one question.

    `references` passed the gate, best first. `nearest` names the documents that came closest, best first, for saying
    what there is when nothing passed. `candidates` explain the decision, best first; their texts are for the person
    who asks why and never for a prompt. `term_weights` gives the inverse document frequency of every term of the
    question within this collection. `threshold` is the lowest rerank score that passed here. `expansions` are the
    words that a second round searched besides the question's own. `chunk_count` is the size of the collection; 0 means
    that there is no knowledge yet. `warning` is one Chinese sentence when only a part could be done, or empty.
    """

    status: RetrievalStatus
    references: tuple[Reference, ...] = ()
    nearest: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    metrics: RetrievalMetrics = RetrievalMetrics()
    term_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    threshold: float = 0.0
    expansions: tuple[str, ...] = ()
    chunk_count: int = 0
    warning: str = ""
