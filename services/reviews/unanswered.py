"""What a group asked in vain, by topic."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from services.index.tokens import normalise
from services.records.tables import now
from services.records.unanswered import UnansweredQuestion, UnansweredRecords
from services.retrieval.wording import content_terms

PAGE_SIZE = 8
_SINCE = timedelta(days=90)
_MOST_QUESTIONS = 500
# Separates 北京住宿标准 from 上海住宿标准 (0.43), but not from 住宿标准 (0.6), as for the same question asked twice.
_OVERLAP = 0.5
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Topic:
    """Questions that ask the same. `question` is the latest of them, and `count` how many there are."""

    question: str
    count: int
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class UnansweredPage:
    """One page of the topics of a group, the most frequent first, and how many topics there are."""

    topics: tuple[Topic, ...]
    total: int


class Unanswered:
    """The questions that nothing was found for, of the last 90 days and at most 500 of each group."""

    def __init__(self, records: UnansweredRecords) -> None:
        self._records = records

    async def page(self, chat: str, page: int) -> UnansweredPage:
        """Return one page, counted from 1, of what the group `chat` (`Session.chat`) asked in vain."""
        questions = await self._records.latest(chat, now() - _SINCE, _MOST_QUESTIONS)
        topics = await asyncio.to_thread(by_topic, questions)
        return UnansweredPage(tuple(topics[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]), len(topics))


@dataclass(slots=True)
class _Group:
    latest: UnansweredQuestion
    terms: frozenset[str]
    numbers: frozenset[str]
    count: int = 1


def by_topic(questions: Sequence[UnansweredQuestion]) -> list[Topic]:
    """Group questions, newest first, by the words that say what they are about. Other numbers are another topic."""
    groups: list[_Group] = []
    for question in questions:
        normal = normalise(question.question)
        terms, numbers = content_terms(normal) or frozenset({normal}), frozenset(_NUMBER.findall(normal))
        same = next((group for group in groups if group.numbers == numbers and _alike(group.terms, terms)), None)
        if same is None:
            groups.append(_Group(question, terms, numbers))
        else:
            same.count += 1
    groups.sort(key=lambda group: (-group.count, -group.latest.turn_id))
    return [Topic(group.latest.question, group.count, group.latest.asked_at) for group in groups]


def _alike(first: frozenset[str], second: frozenset[str]) -> bool:
    return len(first & second) >= _OVERLAP * len(first | second)
