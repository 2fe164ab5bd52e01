"""Group messages for tests, numbered in order of creation."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from services.proactive.models import GroupMessage

GROUP = 777
START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
_ids = itertools.count(1)


def said(user_id: int, text: str = "今天天气不错啊", after_s: float = 0.0, **values: Any) -> GroupMessage:
    """Return a message that is sent `after_s` seconds after START."""
    addressed = frozenset(values.pop("addressed", ()))
    values.setdefault("addresses_somebody", bool(addressed))
    values.setdefault("message_id", next(_ids))
    at = values.pop("at", START + timedelta(seconds=after_s))
    return GroupMessage(
        group_id=values.pop("group_id", GROUP), user_id=user_id, text=text, at=at, addressed=addressed, **values
    )
