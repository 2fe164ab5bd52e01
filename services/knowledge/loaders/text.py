"""Load plain text files."""

import re
from collections.abc import Iterator
from pathlib import Path

from services.knowledge.loaders.decoding import decode
from services.knowledge.loaders.outline import Outline
from services.knowledge.loaders.wrapped_lines import unwrapped
from services.knowledge.models import Omissions, Section
from services.text.sentences import ENDS, PAUSES

_TITLE_LEVEL, _TITLE_CHARS = 10, 40
# People write headings as in Markdown in any file.
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(\S.*?)\s*#*")


def load(path: Path, _omissions: Omissions) -> Iterator[Section]:
    """Return the sections of a file; see `sections_of`."""
    return sections_of(decode(path.read_bytes()))


def sections_of(text: str) -> Iterator[Section]:
    """Yield sections by the headings in lines of text; a short first line before an empty one is the title."""
    lines = unwrapped(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    outline = Outline()
    start = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    if _is_title(lines[start : start + 2]) and not _HEADING.match(lines[start]):
        yield from outline.heading(_TITLE_LEVEL, lines[start])
        start += 1
    for line in lines[start:]:
        if heading := _HEADING.fullmatch(line):
            yield from outline.heading(len(heading[1]), heading[2])
        else:
            yield from outline.prose(line)
    yield from outline.close()


def _is_title(lines: list[str]) -> bool:
    if len(lines) < 2 or lines[1].strip():
        return False
    title = lines[0].strip()
    return len(title) <= _TITLE_CHARS and title[-1] not in f"{ENDS}{PAUSES}."
