"""Load picture files, whose text is read before."""

from collections.abc import Iterator
from pathlib import Path

from services.knowledge.loaders.text import sections_of
from services.knowledge.models import Omissions, Section
from services.knowledge.rejections import Rejection, rejected


def load(path: Path, omissions: Omissions) -> Iterator[Section]:
    """Yield the sections of a picture's text.

    Raise `DocumentRejected` if nothing reads pictures, or if this one was not read or has no text.
    """
    text = omissions.text_of(path.read_bytes)
    if not text:
        raise rejected(Rejection.PICTURE if omissions.shelf is None else Rejection.ILLEGIBLE_PICTURE)
    return sections_of(text)
