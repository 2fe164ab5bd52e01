"""The group or private chat that pays for the model calls of the current task."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from services.records.tables import ModelFeature


@dataclass(frozen=True, slots=True)
class Charge:
    """The group or private chat that pays (see `Session.chat`), for what, and for which turn, if any."""

    chat: str
    turn_id: int | None = None
    feature: ModelFeature = ModelFeature.ANSWER


# No default: a model call that nobody pays for is a programming error.
_present: ContextVar[Charge] = ContextVar("charge")


@contextmanager
def charged(charge: Charge) -> Generator[None]:
    """Charge every model call in the block, and in the tasks that it starts, to `charge`."""
    token = _present.set(charge)
    try:
        yield
    finally:
        _present.reset(token)


def present_charge() -> Charge:
    """Return the charge of the current task. Raise `LookupError` outside of `charged`."""
    return _present.get()
