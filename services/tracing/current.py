"""The request that is being processed: its id from the moment the message arrives, and its record once there is one.

Both are context variables, so that tasks and threads that a request starts belong to it, and no function has to pass
anything on.
"""

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from services.tracing.models import NUMBER_CHARS, ModelContext


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request comes from: the group or private chat (`Session.chat`), the message, and a new id."""

    chat: str = ""
    message_id: int | None = None
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))


_origin: ContextVar[Origin | None] = ContextVar("origin", default=None)
_record: ContextVar[ModelContext | None] = ContextVar("record", default=None)


def arrived(origin: Origin | None) -> None:
    """Note that the current context, and what it starts, processes the message of `origin`, or no request if None."""
    _origin.set(origin)


def current_origin() -> Origin | None:
    """Return where the current request comes from, or None outside of a request."""
    return _origin.get()


def request_number() -> str:
    """Return the short number of the current request, which its log lines carry.

    Begin a request if there is none.
    """
    origin = _origin.get()
    if origin is None:
        origin = Origin()
        _origin.set(origin)
    return origin.uuid[:NUMBER_CHARS]


def current_record() -> ModelContext | None:
    """Return the record that is being filled in, or None if there is none."""
    return _record.get()


@contextmanager
def recording(record: ModelContext) -> Generator[ModelContext]:
    """Fill in `record` during the block, also from the tasks and threads that it starts."""
    token = _record.set(record)
    try:
        yield record
    finally:
        _record.reset(token)
