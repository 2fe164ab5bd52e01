"""The record of one request: `ModelContext` of the specification, with a part of our own for what it leaves open.

The fields of `ModelContext` have the names of the specification, including the misspelt `retriver_chunks`. Fields that
a newer version added are kept when a record is read and written again.
"""

import time
import uuid
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

VERSION = 1
NUMBER_CHARS = 6


class RequestKind(StrEnum):
    """What was requested: a question to the bot, or an answer that it gives unasked."""

    QUESTION = "question"
    UNASKED = "unasked"


class Outcome(StrEnum):
    """How a request ended if not with an answer; answers have the values of `AnswerKind`.

    SILENT is an unasked answer that was not given, CANCELLED a question that was recalled or interrupted by a stop,
    ERROR a failure that nobody expected.
    """

    SILENT = "silent"
    CANCELLED = "cancelled"
    ERROR = "error"


class Part(BaseModel):
    """A part of a record. Unknown fields survive."""

    model_config = ConfigDict(extra="allow")


class StageTime(Part):
    """One stage and its total time in milliseconds over all rounds. Stages may overlap."""

    stage: str
    milliseconds: float


class ModelCallTrace(Part):
    """One call of a model. `estimated` means that the service did not report the number of tokens."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    milliseconds: float


class CandidateTrace(Part):
    """A chunk that the gate judged, with its scores.

    `build_id` and `ordinal` are its place in the index. `label` (file and page or heading), `text` and `matched` (words
    of the question that it contains) are not stored.
    """

    build_id: str
    ordinal: int
    cosine: float | None = None
    coverage: float = 0.0
    fused: float = 0.0
    score: float | None = None
    verdict: str = ""
    label: str = ""
    text: str = ""
    matched: list[str] = []


class PassageTrace(Part):
    """An approved passage: the chunks `first_ordinal` to `last_ordinal` of a build.

    `number` is its number in the prompt, `cited_as` that in the answer, or None if the answer does not cite it. `label`
    and `text` are not stored.
    """

    number: int
    build_id: str
    first_ordinal: int
    last_ordinal: int
    document_number: int = 0
    version: int = 1
    score: float = 0.0
    cited_as: int | None = None
    label: str = ""
    text: str = ""


class GateTrace(Part):
    """The decision of the gate.

    `recall`, `rerank` and `approved` are numbers of chunks; `chunk_count` is the size of the collection. `candidates`
    are the best ones, best first. `warning` is one Chinese sentence if the retrieval was incomplete.
    """

    status: str
    threshold: float = 0.0
    chunk_count: int = 0
    recall: int = 0
    rerank: int = 0
    approved: int = 0
    warning: str = ""
    candidates: list[CandidateTrace] = []
    passages: list[PassageTrace] = []


class QuestionTrace(Part):
    """What belongs to the question.

    `quoted` is the message that it replies to and the text of its pictures, `rewritten` the question with what it
    leaves out of the earlier ones, if it goes on from these. `searched` is what was searched, `expansions` are the
    words that a second round added. `category` and `sub_category` are those of `services.workflows.qa.models`, empty
    for what is no question.
    """

    quoted: str = ""
    rewritten: str = ""
    searched: str = ""
    expansions: list[str] = []
    category: str = ""
    sub_category: str = ""

    @property
    def own(self) -> "QuestionTrace":
        """What repeats no other message: nothing at all if another message was searched along."""
        return QuestionTrace() if self.quoted or self.rewritten else self


class RequestTrace(Part):
    """Our own part of the record: who asked where, what happened, and how long it took.

    `chat` is the group or private chat (`Session.chat`) to which alone the record belongs. `session_id` is empty for
    what the bot does unasked. `turn_id` is the entry in the log of turns, `message_id` the message in QQ. `notice` is
    what the answer says about failures. `confidence` is the estimated probability that the answer is right. `erased`
    means that the texts were removed since.
    """

    kind: str
    chat: str = ""
    session_id: str = ""
    collection: str = ""
    turn_id: int | None = None
    message_id: int | None = None
    outcome: str = ""
    notice: str = ""
    confidence: float | None = None
    erased: bool = False
    question: QuestionTrace = Field(default_factory=QuestionTrace)
    gate: GateTrace | None = None
    model_calls: list[ModelCallTrace] = []
    stages: list[StageTime] = []


class ModelContext(Part):
    """The record of one request, filled in while it is processed.

    `sequence` counts the records of one request from 1. `timestamp` is the start in milliseconds since 1970.
    `retriver_chunks` are the texts of the approved passages. `prompts` holds the messages to models with `role` and
    `content`, without the texts of documents and of the earlier conversation. `tool_config` are the settings of the
    tool.
    """

    version: int = VERSION
    sequence: int = 1
    timestamp: int = Field(default_factory=lambda: time.time_ns() // 1_000_000)
    raw_question: str = ""
    retriver_chunks: list[str] = []
    prompts: list[dict[str, str]] = []
    response: str = ""
    uuid: str = Field(default_factory=lambda: str(uuid.uuid4()))
    tool_name: str = ""
    tool_config: dict[str, Any] = {}
    trace: RequestTrace

    @property
    def number(self) -> str:
        """The short number that a person quotes: the first six digits of `uuid`."""
        return self.uuid[:NUMBER_CHARS]

    @property
    def build_ids(self) -> set[str]:
        """The builds of the documents whose text the answer may repeat."""
        return {passage.build_id for passage in self.trace.gate.passages} if self.trace.gate else set()

    def add_stage(self, stage: str, seconds: float) -> None:
        """Add time to a stage."""
        for known in self.trace.stages:
            if known.stage == stage:
                known.milliseconds += seconds * 1000
                return
        self.trace.stages.append(StageTime(stage=stage, milliseconds=seconds * 1000))

    def erase(self) -> None:
        """Remove everything that people, documents or models wrote."""
        self.raw_question = self.response = ""
        self.prompts, self.retriver_chunks = [], []
        self.trace.question = QuestionTrace()
        self.trace.erased = True
        if self.trace.gate is not None:
            for item in (*self.trace.gate.candidates, *self.trace.gate.passages):
                item.label = item.text = ""
            for candidate in self.trace.gate.candidates:
                candidate.matched = []
