"""Parse files together with the text of their pictures, which OCR reads between two times of parsing."""

import asyncio
import logging
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from services.errors import DocumentRejected, ParsingFailed
from services.knowledge.models import Passages
from services.knowledge.parsing import ParseLimits, parse_and_split
from services.knowledge.picture_shelf import PictureShelf
from services.pictures.models import Ocr, Unread

log = logging.getLogger(__name__)


async def parse_with_pictures(
    path: Path,
    file_type: str,
    limits: ParseLimits,
    chunk_chars: int,
    overlap_chars: int,
    name: str,
    ocr: Ocr,
    place: Callable[[], AbstractAsyncContextManager[None]],
) -> Passages:
    """Return the chunks of a file with those of its pictures; see `parse_and_split`.

    Each parsing waits for a `place`; reading the pictures in between needs none. Raise `DocumentRejected` for a file
    that cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="qunzhi-pictures-") as made:
        directory = Path(made)

        async def parsed() -> Passages:
            async with place():
                return await parse_and_split(path, file_type, limits, chunk_chars, overlap_chars, name, directory)

        try:
            found = await parsed()
        except ParsingFailed:
            raise
        except DocumentRejected:
            # A file of nothing but pictures has no text before they are read.
            if not await _read(PictureShelf(directory), ocr):
                raise
        else:
            if not found.pictures or not await _read(PictureShelf(directory), ocr):
                return found
        return replace(await parsed(), recognised=True)


async def _read(shelf: PictureShelf, ocr: Ocr) -> bool:
    """Read the pictures of a shelf and put their texts there. Return whether there are any."""
    texts: dict[str, str] = {}
    waiting = shelf.names()
    for name in waiting:
        read = await ocr.read(await asyncio.to_thread(shelf.picture, name))
        if read.text or read.unread is Unread.NO_TEXT:
            texts[name] = read.text
    if waiting:
        log.info("%d of %d pictures were read", len(texts), len(waiting))
    await asyncio.to_thread(shelf.put_texts, texts)
    return bool(texts)
