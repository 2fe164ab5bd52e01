"""Plain text files."""

from collections.abc import Iterator
from pathlib import Path

from services.knowledge.loaders.decoding import decode
from services.knowledge.models import Section


def load(path: Path) -> Iterator[Section]:
    """The whole text as one section; paragraphs are left to the splitter."""
    yield Section(decode(path.read_bytes()))
