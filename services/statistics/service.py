"""Put together the statistics of one chat."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from services.records.statistics import DocumentCount, StatisticsRecords, TurnCounts
from services.records.tables import ModelFeature, now
from services.records.usage import ModelUsage
from services.statistics.topics import Topic, topics

MOST_DAYS = 365
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Statistics:
    """The last `days` days of one chat. Times are in seconds, None without any answer.

    `never_cited` is the number of documents that no answer of the chat cites, `never_cited_first` the oldest of them.
    """

    days: int
    turns: TurnCounts
    categories: Sequence[tuple[str, int]]
    topics: Sequence[Topic]
    most_cited: Sequence[DocumentCount]
    never_cited: int
    never_cited_first: Sequence[DocumentCount]
    usage: Mapping[ModelFeature | None, ModelUsage]
    median_s: float | None
    p95_s: float | None


class StatisticsService:
    """The statistics of every chat, each computed from its own records only."""

    def __init__(self, records: StatisticsRecords) -> None:
        self._records = records

    async def report(self, chat: str, collection: str, days: int) -> Statistics:
        """Return the statistics of a chat (`Session.chat`) with its knowledge base. `days` is 1 to 365."""
        since: datetime = now() - timedelta(days=days)
        records = self._records
        seconds = await records.seconds(chat, since)
        questions = await records.unresolved(chat, since)
        never_cited, first = await records.never_cited(chat, collection, since, _LISTED)
        return Statistics(
            days=days,
            turns=await records.turns(chat, since),
            categories=await records.categories(chat, since),
            # Comparing 200 questions takes some milliseconds.
            topics=await asyncio.to_thread(topics, questions, _LISTED),
            most_cited=await records.most_cited(chat, collection, since, _LISTED),
            never_cited=never_cited,
            never_cited_first=first,
            usage=await records.usage(chat, since),
            median_s=percentile(seconds, 0.5),
            p95_s=percentile(seconds, 0.95),
        )


def percentile(ascending: Sequence[float], share: float) -> float | None:
    """Return the value below or at which this share of the values lies (nearest rank), or None without values.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5), percentile([1.0, 2.0, 3.0, 4.0], 0.95)
    (2.0, 4.0)
    """
    if not ascending:
        return None
    return ascending[max(0, math.ceil(len(ascending) * share) - 1)]
