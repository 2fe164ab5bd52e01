"""Decisions on reviews, their outcomes, and what a chat program does for the queue."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from services.grounding.models import Answer
from services.memory.turns import Turn
from services.records.reviews import Notice, Review


@dataclass(frozen=True, slots=True)
class Approved:
    """The draft goes out as it is."""


@dataclass(frozen=True, slots=True)
class Edited:
    """This text goes out instead of the draft."""

    text: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """Nothing goes out but that there is no answer, and the reason, which may be empty."""

    reason: str = ""


Decision = Approved | Edited | Rejected


@dataclass(frozen=True, slots=True)
class Reviewer:
    """The person who decides, with the name that the group knows them by, or an empty one."""

    user_id: int
    name: str = ""


class DecisionStatus(StrEnum):
    """The outcome of a decision.

    TAKEN means that the review was decided or withdrawn before, and EMPTY that there is no draft to approve.
    """

    DECIDED = "decided"
    TAKEN = "taken"
    EMPTY = "empty"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """The outcome of a decision, with the review as it is now; None if there is no review of that number."""

    status: DecisionStatus
    review: Review | None = None


class SendStatus(StrEnum):
    """The outcome of sending an answer. Only UNCONFIRMED leaves open whether it arrived."""

    SENT = "sent"
    UNCONFIRMED = "unconfirmed"
    REFUSED = "refused"
    AWAY = "away"
    RECALLED = "recalled"


@dataclass(frozen=True, slots=True)
class Sending:
    """The outcome of sending an answer, and the message that it became, if QQ said so."""

    status: SendStatus
    message_id: int | None = None


class Missing(StrEnum):
    """Why an answer was not found in a chat: it is certainly not there, or the chat cannot be looked through."""

    ABSENT = "absent"
    UNKNOWN = "unknown"


class ReviewMessenger(Protocol):
    """A chat program in which admins are told about reviews and askers are answered."""

    def is_connected(self, account: str) -> bool:
        """Return whether an account can send now."""
        ...

    async def answer(self, review: Review, answer: Answer) -> Sending:
        """Answer the asker, quoting the question."""
        ...

    async def find(self, review: Review) -> int | Missing:
        """Look for the answer to a review in its chat, and return its message id."""
        ...

    async def announce(self, reviews: Sequence[Review]) -> Sequence[Notice] | None:
        """Tell the admins of a group about open reviews in one message each.

        Return the messages that QQ made of it, or None if nobody was told because the account is away.
        """
        ...


# Answers a review from the stored state of the workflow that waits for it. None means that this state is gone.
Continuation = Callable[[Review, Turn], Awaitable[Answer | None]]
# Is passed every approved or edited review, possibly again after a crash.
OnApproved = Callable[[Review], Awaitable[None]]
