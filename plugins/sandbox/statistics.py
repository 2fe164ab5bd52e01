"""The statistics of a group, for the operator's page."""

from dataclasses import asdict
from typing import Any

from services.records.statistics import DocumentCount
from services.statistics.service import Statistics


def statistics_json(statistics: Statistics) -> dict[str, Any]:
    """Return statistics as the page shows them. Costs are in yuan, times in seconds."""
    return {
        "days": statistics.days,
        "turns": asdict(statistics.turns),
        "categories": [{"name": name, "count": count} for name, count in statistics.categories],
        "topics": [{"name": topic.question, "count": topic.count} for topic in statistics.topics],
        "most_cited": [_document(document) for document in statistics.most_cited],
        "never_cited": statistics.never_cited,
        "never_cited_first": [_document(document) for document in statistics.never_cited_first],
        "usage": [
            {
                "feature": feature or "other",
                "calls": usage.calls,
                "tokens": usage.tokens,
                "cost": usage.cost / 1_000_000,
            }
            for feature, usage in statistics.usage.items()
        ],
        "median_s": statistics.median_s,
        "p95_s": statistics.p95_s,
    }


def _document(document: DocumentCount) -> dict[str, Any]:
    return {"name": document.name, "count": document.count}
