"""The stages of the current request, timed where they happen."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from services.tracing.current import current_record


@contextmanager
def stage(name: str) -> Generator[None]:
    """Add the time of the block to the stage `name` of the current record, even if the block raises.

    Do nothing if there is no record.
    """
    record = current_record()
    start = time.perf_counter()
    try:
        yield
    finally:
        if record is not None:
            record.add_stage(name, time.perf_counter() - start)
