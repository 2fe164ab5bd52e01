"""The types of the proactive mode."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.records.groups import UnaskedAnswer
from services.retrieval.models import Question, Retrieval
from services.session import KnowledgeCollection


@dataclass(frozen=True, slots=True)
class GroupMessage:
    """One message of a group.

    `at` is when it was heard, in UTC; `quoted` is the text by its own author that it quotes. `addressed` are the
    members that it mentions (@) or replies to, `reply_to` is the message that it replies to. `addresses_somebody` means
    that it addresses anybody other than the bot, whether or not it is known whom. `asks_bot` means that it is a command
    or addresses the bot. `text_only` means that it contains no picture or the like, which the bot cannot see.
    """

    group_id: int
    user_id: int
    message_id: int
    text: str
    at: datetime
    addressed: frozenset[int] = frozenset()
    reply_to: int | None = None
    addresses_somebody: bool = False
    asks_bot: bool = False
    text_only: bool = True
    quoted: str = ""


class Reason(StrEnum):
    """The reason why a message was answered or not, in the order of the checks."""

    ANSWERED = "answered"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    NOT_TEXT = "not_text"
    NO_QUESTION = "no_question"
    QUIET = "quiet"
    ADDRESSED = "addressed"
    CONVERSATION = "conversation"
    HOURLY_LIMIT = "hourly_limit"
    REPEATED = "repeated"
    SWITCHED_OFF = "switched_off"
    RECALLED = "recalled"
    SETTLED = "settled"
    TAKEN_UP = "taken_up"
    ASKED_DIRECTLY = "asked_directly"
    NO_RECALL = "no_recall"
    LOW_CONFIDENCE = "low_confidence"
    RERANK_FAILED = "rerank_failed"
    NOTHING_TO_SAY = "nothing_to_say"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one message. `score` is the best rerank score, or None if none was computed."""

    message_id: int
    text: str
    reason: Reason
    at: datetime
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """A message that may be answered from `retrieval`. Its receiver must end it (see `ProactiveService`)."""

    message: GroupMessage
    collection: KnowledgeCollection
    question: Question
    retrieval: Retrieval
    answer: UnaskedAnswer


class UnaskedOutcome(StrEnum):
    """The outcome of an approval."""

    SENT = "sent"
    NOTHING_TO_SAY = "nothing_to_say"
    FAILED = "failed"


class OpinionSource(StrEnum):
    """How somebody expressed an opinion about an answer."""

    REACTION = "reaction"
    REPLY = "reply"


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The proactive mode of one group. `decisions` are the latest since the bot started, oldest first."""

    on: bool
    quiet_until: datetime | None = None
    answered: int = 0
    per_hour: int = 0
    decisions: Sequence[Decision] = ()
