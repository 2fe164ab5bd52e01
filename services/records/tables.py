"""The tables. Times are UTC, sizes are bytes, QQ numbers are integers."""

from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import BigInteger, DateTime, ForeignKey, Index, LargeBinary, String, Text, TypeDecorator
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from services.records.stored_values import (
    JSONColumn,
    StoredBasis,
    StoredMessage,
    StoredPassages,
    StoredProfile,
    StoredSources,
    StoredTags,
    StoredToolCalls,
    UploadSource,
)


class UTCDateTime(TypeDecorator[datetime]):
    """An aware UTC time on every database, including those that store times without a zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a value for the database."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a value from the database."""
        return None if value is None else value.replace(tzinfo=UTC) if value.tzinfo is None else value


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class Base(DeclarativeBase):
    """The base class of all tables."""

    type_annotation_map = {datetime: UTCDateTime}  # noqa: RUF012


class DocumentState(StrEnum):
    """The visibility of a document. A deleted document has no row."""

    PENDING = "pending"
    READY = "ready"


class CollectionRecord(Base):
    """A knowledge base and the number of its next document. Numbers are never reused."""

    __tablename__ = "collections"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    next_number: Mapped[int] = mapped_column(default=1)


class DocumentRecord(Base):
    """One version of one document, with its original stored as `stored_name`.

    It is visible exactly while `state` is READY, and then through the chunks of `build_id`. `target_build_id` names a
    build in progress: the first one of a PENDING document, or the one that will replace the visible build. `revision`
    counts the requested rebuilds. `embedding_fingerprint` is the model that made the vectors of the visible build, or
    empty while some are missing; the build is then found by its words and by the vectors it has. `in_group_files` means
    that the file was once among the files of its group.

    `profile` is what the rules say about the visible build, None if an earlier release made it. `chosen_type` and
    `chosen_tags` are what an admin said instead, at `edited_at`; None if none did. They and `first_uploaded_at` pass on
    to the next version.
    """

    __tablename__ = "documents"
    __table_args__ = (
        Index("documents_content", "collection", "content_hash", unique=True),
        Index("documents_number", "collection", "number"),
        # An id is part of its builds' ids, and so of names in the index: it must never be reused.
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    collection: Mapped[str] = mapped_column(ForeignKey("collections.name"))
    number: Mapped[int]
    name: Mapped[str] = mapped_column(Text)
    version: Mapped[int]
    content_hash: Mapped[str] = mapped_column(String(64))
    size: Mapped[int] = mapped_column(BigInteger)
    file_type: Mapped[str] = mapped_column(String(16))
    stored_name: Mapped[str] = mapped_column(String(64))
    group_id: Mapped[int | None] = mapped_column(BigInteger)
    uploader_id: Mapped[int] = mapped_column(BigInteger)
    uploaded_at: Mapped[datetime]
    state: Mapped[DocumentState] = mapped_column(String(16))
    build_id: Mapped[str] = mapped_column(String(64), default="", index=True)
    target_build_id: Mapped[str] = mapped_column(String(64), default="")
    revision: Mapped[int] = mapped_column(default=0)
    embedding_fingerprint: Mapped[str] = mapped_column(String(64), default="")
    chunk_count: Mapped[int] = mapped_column(default=0)
    in_group_files: Mapped[bool] = mapped_column(default=False)
    profile: Mapped[StoredProfile | None] = mapped_column(JSONColumn(StoredProfile))
    chosen_type: Mapped[str | None] = mapped_column(String(16))
    chosen_tags: Mapped[StoredTags | None] = mapped_column(JSONColumn(StoredTags))
    first_uploaded_at: Mapped[datetime] = mapped_column(default=now)
    edited_at: Mapped[datetime | None]


class RetiredRecord(Base):
    """Chunks and a file that belong to no document any more; the row is deleted when they have been removed."""

    __tablename__ = "retired"

    id: Mapped[int] = mapped_column(primary_key=True)
    collection: Mapped[str] = mapped_column(String(64), index=True)
    build_id: Mapped[str] = mapped_column(String(64), default="")
    stored_name: Mapped[str] = mapped_column(String(64), default="")


class UploadRecord(Base):
    """A file that arrived and whose outcome has not been reported; the row is deleted when it has been.

    `source` is what is needed to fetch it again; None if the stored value is damaged. `document_id` is set once its
    content is stored here.

    A file of a pull (`pull_id`) belongs to the uploader and has the time that the group's list names. It keeps its
    `outcome`, an `IngestStatus`, and the `reason` of a failure until the whole pull is reported.
    """

    __tablename__ = "uploads"

    id: Mapped[int] = mapped_column(primary_key=True)
    self_id: Mapped[str] = mapped_column(String(32), index=True)
    group_id: Mapped[int | None] = mapped_column(BigInteger)
    user_id: Mapped[int] = mapped_column(BigInteger)
    name: Mapped[str] = mapped_column(Text)
    size: Mapped[int] = mapped_column(BigInteger)
    source: Mapped[UploadSource | None] = mapped_column(JSONColumn(UploadSource), nullable=False)
    document_id: Mapped[int | None]
    received_at: Mapped[datetime]
    pull_id: Mapped[int | None] = mapped_column(index=True)
    outcome: Mapped[str | None] = mapped_column(String(16))
    reason: Mapped[str] = mapped_column(Text, default="")


class PullRecord(Base):
    """Files of a group that are taken in together; the row is deleted when their outcomes have been reported.

    `present` is the number of files that were already there when it started. Each group has at most one.
    """

    __tablename__ = "pulls"

    id: Mapped[int] = mapped_column(primary_key=True)
    self_id: Mapped[str] = mapped_column(String(32), index=True)
    group_id: Mapped[int] = mapped_column(BigInteger, index=True, unique=True)
    present: Mapped[int]
    stopped: Mapped[bool] = mapped_column(default=False)
    started_at: Mapped[datetime]


class ConversationRecord(Base):
    """The state of one session: which turns it still remembers, which group's files a private chat asks, preferences.

    `include_code` tells whether answers may show code. `max_results` is how many passages an answer uses at most, None
    for the setting.
    """

    __tablename__ = "conversations"

    session_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    forgotten_turn_id: Mapped[int] = mapped_column(default=0)
    knowledge_group_id: Mapped[int | None] = mapped_column(BigInteger)
    include_code: Mapped[bool] = mapped_column(default=True)
    max_results: Mapped[int | None]


class TurnState(StrEnum):
    """The state of a question. A WAITING turn waits for a person's decision."""

    PENDING = "pending"
    WAITING = "waiting"
    ANSWERED = "answered"
    FAILED = "failed"


class AnswerKind(StrEnum):
    """How an answer came about.

    GENERAL is based only on what the model knows, and says so. CLARIFIED asks back. REVIEWED is what a person decided.
    """

    WRITTEN = "written"
    EXCERPT = "excerpt"
    GENERAL = "general"
    NOTHING_FOUND = "nothing_found"
    CLARIFIED = "clarified"
    REVIEWED = "reviewed"
    FAILED = "failed"


class ContentType(StrEnum):
    """What a question consists of. IMAGE and CODE include questions with some words beside them."""

    TEXT = "text"
    CODE = "code"
    IMAGE = "image"


class TurnRecord(Base):
    """The append-only log: a question, who asked it, and what was answered. The texts are never edited.

    `sources` tells which passages the numbers in the answer name, but not their text; None if the answer cites nothing.
    `checkpoint_id` names the state of `workflow` at which the turn last waited for a person; None if it never did.
    `retrieved` are the passages that were approved for the answer, cited or not. `confidence` is 0 to 1. Turns of
    releases that did not record an outcome have None.
    """

    __tablename__ = "turns"
    __table_args__ = (Index("turns_asked_at", "asked_at"), Index("turns_dialogue", "dialogue_id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[str] = mapped_column(String(64), index=True)
    user_id: Mapped[int] = mapped_column(BigInteger)
    question: Mapped[str] = mapped_column(Text)
    answer: Mapped[str] = mapped_column(Text, default="")
    state: Mapped[TurnState] = mapped_column(String(16))
    asked_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    sources: Mapped[StoredSources | None] = mapped_column(JSONColumn(StoredSources))
    workflow: Mapped[str | None] = mapped_column(String(32))
    checkpoint_id: Mapped[str | None] = mapped_column(String(64))
    dialogue_id: Mapped[int | None]
    content_type: Mapped[ContentType] = mapped_column(String(8), default=ContentType.TEXT)
    outcome: Mapped[AnswerKind | None] = mapped_column(String(16))
    category: Mapped[str] = mapped_column(String(32), default="")
    sub_category: Mapped[str] = mapped_column(String(32), default="")
    confidence: Mapped[float | None]
    retrieved: Mapped[StoredPassages | None] = mapped_column(JSONColumn(StoredPassages))
    tool_calls: Mapped[StoredToolCalls | None] = mapped_column(JSONColumn(StoredToolCalls))


class ModelFeature(StrEnum):
    """What a model was called for."""

    ANSWER = "answer"
    UNASKED = "unasked"
    SUMMARY = "summary"
    TRIAL = "trial"


class ModelCallRecord(Base):
    """One call of a model: who pays for it, its turn and its tokens, but no text.

    `chat` is the group or private chat (`Session.chat`). `turn_id` is None for a summary, a trial or an unasked answer.
    `feature` is None for calls of releases that did not record it, except those of a turn.
    `estimated` means that the service did not report the number of tokens. `cost` is in millionths of a yuan, None if
    the price of the model is unknown.
    """

    __tablename__ = "model_calls"
    __table_args__ = (
        Index("model_calls_called_at", "called_at"),
        Index("model_calls_chat", "chat", "called_at"),
        Index("model_calls_turn", "turn_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    chat: Mapped[str] = mapped_column(String(64))
    turn_id: Mapped[int | None] = mapped_column(ForeignKey("turns.id", ondelete="SET NULL"))
    model: Mapped[str] = mapped_column(Text)
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    estimated: Mapped[bool]
    called_at: Mapped[datetime]
    provider: Mapped[str] = mapped_column(String(32), default="")
    cost: Mapped[int | None] = mapped_column(BigInteger)
    feature: Mapped[ModelFeature | None] = mapped_column(String(16))


class HistoryRecord(Base):
    """The working history: the messages that the model is shown, oldest first by `position`.

    `message` is None if the stored value is damaged. Ids are never reused, so those above the id of a summary belong to
    messages added after it was written.
    """

    __tablename__ = "history"
    __table_args__ = (
        Index("history_order", "session_id", "position", unique=True),
        # A summary in progress names the messages it will replace by id: after a clear it must find none of them.
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[str] = mapped_column(String(64))
    position: Mapped[int]
    message: Mapped[StoredMessage | None] = mapped_column(JSONColumn(StoredMessage), nullable=False)


class GroupRecord(Base):
    """The preferences of a group: whether the bot also answers unasked, and until when it pauses."""

    __tablename__ = "groups"

    group_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    auto: Mapped[bool] = mapped_column(default=False)
    quiet_until: Mapped[datetime | None]


class UnaskedAnswerRecord(Base):
    """A question that the bot took up unasked; the row is deleted after a day.

    `message_id` is the question, `text` its normalised form; `build_id` and the ordinals are its first reference.
    `fruitless` means that nothing was worth saying, `objected` that somebody did not want the answer, `welcomed` that
    somebody did.
    """

    __tablename__ = "unasked_answers"

    id: Mapped[int] = mapped_column(primary_key=True)
    group_id: Mapped[int] = mapped_column(BigInteger, index=True)
    message_id: Mapped[int] = mapped_column(BigInteger)
    collection: Mapped[str] = mapped_column(String(64))
    text: Mapped[str] = mapped_column(Text)
    build_id: Mapped[str] = mapped_column(String(64))
    first_ordinal: Mapped[int]
    last_ordinal: Mapped[int]
    rerank_score: Mapped[float]
    fruitless: Mapped[bool] = mapped_column(default=False)
    objected: Mapped[bool] = mapped_column(default=False)
    welcomed: Mapped[bool] = mapped_column(default=False)
    answered_at: Mapped[datetime]


class GateFeedbackRecord(Base):
    """An opinion on an answer that passed the gate with `rerank_score`."""

    __tablename__ = "gate_feedback"

    id: Mapped[int] = mapped_column(primary_key=True)
    collection: Mapped[str] = mapped_column(String(64), index=True)
    rerank_score: Mapped[float]
    helpful: Mapped[bool]
    created_at: Mapped[datetime]
    source: Mapped[str] = mapped_column(String(16))


class TraceRecord(Base):
    """The record of one request (see `services.tracing`), as JSON.

    `record` holds no text of people, documents or models; `texts` does, and is None once they are erased. `size` is
    that of both in bytes.
    """

    __tablename__ = "traces"
    __table_args__ = (Index("traces_chat", "chat", "id"), Index("traces_started_at", "started_at"))

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36))
    chat: Mapped[str] = mapped_column(String(64))
    session_id: Mapped[str] = mapped_column(String(64), index=True)
    turn_id: Mapped[int | None]
    message_id: Mapped[int | None] = mapped_column(BigInteger)
    started_at: Mapped[datetime]
    record: Mapped[str] = mapped_column(Text)
    texts: Mapped[str | None] = mapped_column(Text)
    size: Mapped[int]


class TraceDocumentRecord(Base):
    """A document that the texts of a trace may repeat. Ids of documents are never reused."""

    __tablename__ = "trace_documents"

    trace_id: Mapped[int] = mapped_column(ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True)
    document_id: Mapped[int] = mapped_column(primary_key=True, index=True)


class ReviewState(StrEnum):
    """The state of a review, from the question to the moment when its asker has the answer.

    A DECIDED review is not sent yet. SENDING was written before the answer was handed to QQ. QQ did not confirm an
    UNCONFIRMED one, and did not accept an UNDELIVERED one. A WITHDRAWN one belongs to a recalled question.
    """

    OPEN = "open"
    DECIDED = "decided"
    SENDING = "sending"
    UNCONFIRMED = "unconfirmed"
    ANSWERED = "answered"
    UNDELIVERED = "undelivered"
    WITHDRAWN = "withdrawn"


class ReviewRecord(Base):
    """A question that a person decides on, with everything that is needed to answer it.

    `chat` is the group (`Session.chat`) whose admins decide, and `number` counts its reviews. `question_id` and
    `answer_id` are QQ messages: the question, and the answer that is in doubt. `passages` are what the draft was
    written from, and `sources` what it cites. `answer` is the text that was decided, or why there is none; with
    `continued`, it is what the workflow made of that. `attempts` counts how often it was handed to QQ, `sent_at` is the
    last time, and `sent_id` the message that QQ made of it. `announced` means that the admins were told, and `learnt`
    that the approved answer was passed on.
    """

    __tablename__ = "reviews"
    __table_args__ = (
        Index("reviews_number", "chat", "number", unique=True),
        Index("reviews_state", "state"),
        Index("reviews_turn", "turn_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    chat: Mapped[str] = mapped_column(String(64))
    number: Mapped[int]
    collection: Mapped[str] = mapped_column(String(64))
    self_id: Mapped[str] = mapped_column(String(32))
    group_id: Mapped[int] = mapped_column(BigInteger)
    session_id: Mapped[str] = mapped_column(String(64))
    asker_id: Mapped[int] = mapped_column(BigInteger)
    question_id: Mapped[int | None] = mapped_column(BigInteger)
    answer_id: Mapped[int | None] = mapped_column(BigInteger)
    turn_id: Mapped[int | None]
    question: Mapped[str] = mapped_column(Text)
    draft: Mapped[str] = mapped_column(Text)
    sources: Mapped[StoredSources | None] = mapped_column(JSONColumn(StoredSources))
    passages: Mapped[StoredSources | None] = mapped_column(JSONColumn(StoredSources))
    confidence: Mapped[float | None]
    reason: Mapped[str] = mapped_column(String(16))
    note: Mapped[str] = mapped_column(Text, default="")
    requested_by: Mapped[int | None] = mapped_column(BigInteger)
    opened_at: Mapped[datetime]
    announced: Mapped[bool] = mapped_column(default=False)
    state: Mapped[ReviewState] = mapped_column(String(16))
    assignee_id: Mapped[int | None] = mapped_column(BigInteger)
    decision: Mapped[str | None] = mapped_column(String(16))
    answer: Mapped[str] = mapped_column(Text, default="")
    decided_by: Mapped[int | None] = mapped_column(BigInteger)
    decided_by_name: Mapped[str] = mapped_column(Text, default="")
    decided_at: Mapped[datetime | None]
    continued: Mapped[bool] = mapped_column(default=False)
    learnt: Mapped[bool] = mapped_column(default=False)
    attempts: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
    sent_id: Mapped[int | None] = mapped_column(BigInteger)


class ReviewNoticeRecord(Base):
    """A QQ message that told admins about a review, in the group or, with `user_id`, in private."""

    __tablename__ = "review_notices"
    __table_args__ = (Index("review_notices_message", "self_id", "message_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    review_id: Mapped[int] = mapped_column(ForeignKey("reviews.id", ondelete="CASCADE"))
    self_id: Mapped[str] = mapped_column(String(32))
    group_id: Mapped[int] = mapped_column(BigInteger)
    user_id: Mapped[int | None] = mapped_column(BigInteger)
    message_id: Mapped[int] = mapped_column(BigInteger)


class DialogueStatus(StrEnum):
    """The life of a dialogue. It is COMPLETED when its speaker ends it, and ABANDONED after a silence."""

    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class DialogueRecord(Base):
    """One spell of conversation of one session. Each session has at most one that is ACTIVE.

    `user_id` is who began it. `summary` is the summary of the working history that was written during it.
    """

    __tablename__ = "dialogues"
    __table_args__ = (Index("dialogues_session", "session_id", "id"), Index("dialogues_status", "status", "updated_at"))

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    session_id: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[int] = mapped_column(BigInteger)
    status: Mapped[DialogueStatus] = mapped_column(String(16))
    started_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    summary: Mapped[str | None] = mapped_column(Text)


class SentAnswerRecord(Base):
    """A QQ message that is the answer of a turn, or a part of it; the row is deleted after some months.

    `chat` is the group or private chat (`Session.chat`), `self_id` the account that sent the message and that knows it
    by `message_id`.
    """

    __tablename__ = "sent_answers"

    self_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    chat: Mapped[str] = mapped_column(String(64), primary_key=True)
    message_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    turn_id: Mapped[int] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"), index=True)
    sent_at: Mapped[datetime] = mapped_column(index=True)


class FaqState(StrEnum):
    """Whether a version of an approved answer is in use. A deleted entry keeps its number and nothing else."""

    CURRENT = "current"
    REPLACED = "replaced"
    DELETED = "deleted"


class FaqRecord(Base):
    """One version of an approved answer to a question. Numbers are counted for each collection and never reused.

    `normal` is the question in the form in which equal ones are the same. `basis` names the documents that the answer
    rests on. `vector` is that of the question as little-endian float32 by the model `fingerprint`, or None while it is
    missing.
    """

    __tablename__ = "faq_entries"
    __table_args__ = (Index("faq_versions", "collection", "number", "version", unique=True),)

    id: Mapped[int] = mapped_column(primary_key=True)
    collection: Mapped[str] = mapped_column(String(64))
    number: Mapped[int]
    version: Mapped[int]
    state: Mapped[FaqState] = mapped_column(String(16))
    question: Mapped[str] = mapped_column(Text)
    normal: Mapped[str] = mapped_column(Text)
    answer: Mapped[str] = mapped_column(Text)
    sources: Mapped[StoredSources | None] = mapped_column(JSONColumn(StoredSources))
    basis: Mapped[StoredBasis | None] = mapped_column(JSONColumn(StoredBasis))
    origin: Mapped[str] = mapped_column(String(16))
    approver_id: Mapped[int] = mapped_column(BigInteger)
    approver_name: Mapped[str] = mapped_column(Text)
    approved_at: Mapped[datetime]
    vector: Mapped[bytes | None] = mapped_column(LargeBinary)
    fingerprint: Mapped[str] = mapped_column(String(64), default="")


class Resolution(StrEnum):
    """Whether an answer solved the problem, as a member says."""

    RESOLVED = "resolved"
    PARTIALLY_RESOLVED = "partially_resolved"
    UNRESOLVED = "unresolved"


class FeedbackSource(StrEnum):
    """How a rating was given: in words, or as an emoji under the answer."""

    COMMAND = "command"
    REACTION = "reaction"


class FeedbackRecord(Base):
    """A member's rating of an answer, at most one of each member for each turn.

    `score` is 1 to 5. `collection` and `passage_score` are those of the best passage that was approved for the answer:
    empty and None if there was none.
    """

    __tablename__ = "feedback"
    __table_args__ = (
        Index("feedback_member", "turn_id", "user_id", unique=True),
        Index("feedback_collection", "collection", "submitted_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    turn_id: Mapped[int] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(BigInteger)
    score: Mapped[int]
    resolution: Mapped[Resolution] = mapped_column(String(20))
    comment: Mapped[str] = mapped_column(Text)
    source: Mapped[FeedbackSource] = mapped_column(String(16))
    collection: Mapped[str] = mapped_column(String(64))
    passage_score: Mapped[float | None]
    submitted_at: Mapped[datetime]


class CitationRecord(Base):
    """A document that the answer of a turn cites, by its number in its knowledge base."""

    __tablename__ = "citations"
    __table_args__ = (Index("citations_document", "collection", "document_number"),)

    turn_id: Mapped[int] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True)
    collection: Mapped[str] = mapped_column(String(64), primary_key=True)
    document_number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
