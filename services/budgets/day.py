"""The calendar day of the daily budgets."""

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from services.records.tables import now

# The users of QQ live in one time zone; the server may be in another.
ZONE = ZoneInfo("Asia/Shanghai")


def today() -> date:
    """Return the calendar day in Shanghai."""
    return now().astimezone(ZONE).date()


def beginning_of(day: date) -> datetime:
    """Return the moment at which `day` begins in Shanghai.

    >>> beginning_of(date(2026, 11, 21)).isoformat()
    '2026-11-21T00:00:00+08:00'
    """
    return datetime.combine(day, time(), ZONE)
