"""Questions grouped by what they are about."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from services.index.tokens import query_terms

# Two questions are about the same if they share this part of all their terms.
_SAME = 0.5


@dataclass(slots=True)
class Topic:
    """Questions about the same thing: one of them, and their number."""

    question: str
    count: int = 1
    terms: frozenset[str] = field(default=frozenset(), repr=False)


def topics(questions: Iterable[str], limit: int) -> list[Topic]:
    """Return at most `limit` topics, the most frequent first, each with the first of its questions.

    Each question is compared with the first one of each topic, so 200 questions take some milliseconds.

    >>> [(topic.question, topic.count) for topic in topics(["几点熄灯？", "宿舍几点熄灯", "食堂在哪"], 5)]
    [('几点熄灯？', 2), ('食堂在哪', 1)]
    """
    found: list[Topic] = []
    for question in questions:
        terms = frozenset(query_terms(question))
        for topic in found:
            shared = len(terms & topic.terms)
            if terms and shared >= _SAME * len(terms | topic.terms):
                topic.count += 1
                break
        else:
            found.append(Topic(question, terms=terms))
    return sorted(found, key=lambda topic: -topic.count)[:limit]
