"""The pictures of one question as text: the part of this package that plugins and workflows use."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.errors import SearchIndexError
from services.index.models import SearchIndex
from services.pictures.models import PictureText, Unread
from services.pictures.reader import PictureReader
from services.pictures.words import corrected
from services.records.documents import DocumentRecords

log = logging.getLogger(__name__)

# A question has no more pictures than this; the others are not looked at.
MOST_PICTURES = 3
# What a model reads of one picture. Of more, the beginning and the end are kept: most languages put the error last.
_MOST_CHARS, _HEAD_CHARS = 1500, 400


@dataclass(frozen=True, slots=True)
class PicturesText:
    """The text of the pictures that could be read, in order, and why the first other one could not."""

    text: str = ""
    unread: Unread | None = None


class Pictures:
    """Reads the pictures of questions, with the words of the knowledge base that is asked."""

    def __init__(self, reader: PictureReader, index: SearchIndex, documents: DocumentRecords) -> None:
        self._reader = reader
        self._index = index
        self._documents = documents

    @property
    def can_read(self) -> bool:
        """Whether there is anything that reads pictures."""
        return self._reader.can_read

    async def read(self, collection: str, images: Sequence[bytes]) -> PicturesText:
        """Return the text of up to `MOST_PICTURES` pictures. Call this within `charged`. Nothing is raised."""
        found = [await self._reader.read(image) for image in images[:MOST_PICTURES]]
        texts = [_shortened(await self._corrected(collection, picture)) for picture in found if picture.text]
        return PicturesText("\n\n".join(texts), next((each.unread for each in found if each.unread), None))

    async def _corrected(self, collection: str, picture: PictureText) -> str:
        async def vocabulary(words: Iterable[str]) -> Mapping[str, str]:
            return await self._index.spellings(collection, list(words), hidden)

        try:
            hidden = await self._documents.hidden_builds(collection)
            return await corrected(picture.text, vocabulary)
        except SearchIndexError as error:
            log.warning("a picture is used as it was read: %s", error)
            return picture.text


def _shortened(text: str) -> str:
    if len(text) <= _MOST_CHARS:
        return text
    return f"{text[:_HEAD_CHARS].rstrip()}\n…\n{text[_HEAD_CHARS - _MOST_CHARS :].lstrip()}"
