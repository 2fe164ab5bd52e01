"""Approved questions that members were offered, until their next message."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachetools import TTLCache

from services.faq.answers import chosen_number
from services.faq.models import FaqEntry
from services.retrieval.models import Question

_SESSIONS, _SECONDS = 2000, 600


@dataclass(frozen=True, slots=True)
class Choice:
    """The number of the entry that a member chose, 0 for none of those offered, and what they had asked."""

    number: int
    question: Question


@dataclass(frozen=True, slots=True)
class _Offer:
    collection: str
    question: Question
    numbers: tuple[int, ...]


class PendingChoices:
    """The offers of all sessions, for ten minutes at most. A restart ends them, too."""

    def __init__(self) -> None:
        self._offers: TTLCache[str, _Offer] = TTLCache(_SESSIONS, _SECONDS)

    def offer(self, session_id: str, collection: str, question: Question, choices: Sequence[FaqEntry]) -> None:
        """Remember what a session was offered for a question."""
        self._offers[session_id] = _Offer(collection, question, tuple(entry.number for entry in choices))

    def awaits(self, session_id: str, text: str) -> bool:
        """Return whether a message chooses among what its session was offered."""
        offer = self._offers.get(session_id)
        return offer is not None and chosen_number(text, len(offer.numbers)) is not None

    def take(self, session_id: str, collection: str, text: str) -> Choice | None:
        """Return what a message chooses, or None if it chooses nothing. The offer ends with any message."""
        offer = self._offers.pop(session_id, None)
        if offer is None or offer.collection != collection:
            return None
        number = chosen_number(text, len(offer.numbers))
        if number is None:
            return None
        return Choice(offer.numbers[number - 1] if number else 0, offer.question)
