"""The rows of an export, with the fields that the data model of the specification names."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from services.records.reviews import Decided, ReviewReason
from services.records.tables import ContentType, DialogueStatus, Resolution, ReviewState


class ExportedRow(BaseModel):
    """One line of an export."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DialogueSession(ExportedRow):
    """One spell of conversation. `session_id` is its UUID, `user_id` the QQ number of who began it."""

    session_id: str
    user_id: str
    created_at: datetime
    last_updated: datetime
    turn_count: int = Field(ge=0)
    total_tokens: int = Field(ge=0)
    status: DialogueStatus
    summary: str | None
    feedback_score: float | None = Field(ge=1, le=5)
    is_resolved: bool | None


class MessageRecord(ExportedRow):
    """A question (`role` user) or its answer (assistant).

    `token_count` of a question is an estimate, that of an answer is what the models wrote for it. An entry of
    `retrieved_doc_ids` names chunks of a build of a document: `build:first-last`.
    """

    message_id: str
    session_id: str
    role: str = Field(pattern="^(user|assistant|system)$")
    content_type: ContentType
    content: str
    timestamp: datetime
    token_count: int = Field(ge=0)
    retrieved_doc_ids: tuple[str, ...] = ()
    tool_calls: tuple[str, ...] = ()
    confidence_score: float | None = Field(default=None, ge=0, le=1)


class UserFeedback(ExportedRow):
    """A rating of an answer, which `message_id` names."""

    feedback_id: str
    message_id: str
    session_id: str
    helpful_score: int = Field(ge=1, le=5)
    resolution_status: Resolution
    comment: str
    submitted_at: datetime


class ExportedFaq(ExportedRow):
    """One version of an approved answer of a knowledge base. 〔n〕 in `answer` is the n-th of `references`."""

    collection: str
    number: int
    version: int
    source_type: str = "qa_dataset"
    question: str
    answer: str
    references: tuple[str, ...]
    origin: str
    approved_by: str
    approved_at: datetime
    is_current: bool


class ExportedReview(ExportedRow):
    """A question that a person decided on, or still has to. `number` counts the reviews of a group."""

    group_id: str
    number: int
    user_id: str
    question: str
    draft: str
    reason: ReviewReason
    confidence_score: float | None = Field(ge=0, le=1)
    state: ReviewState
    decision: Decided | None
    answer: str
    decided_by: str | None
    opened_at: datetime
    decided_at: datetime | None
