"""Reading one picture: by the vision model if there is one, else by OCR."""

import logging

from langchain_core.prompts import ChatPromptTemplate

from services.errors import ModelError
from services.llm import ChatModel
from services.llm.images import image_message, image_type
from services.pictures.models import MAX_BYTES, MAX_CHARS, Ocr, PictureText, Unread
from services.text.cleaning import clean

log = logging.getLogger(__name__)


class PictureReader:
    """Reads the pictures of questions.

    `vision` is the model of LLM__VISION_MODEL, which gets `prompt` with the picture. Its calls are metered: call `read`
    within `charged`. `ocr` is None if the optional package is not installed; it is also used when the model fails or
    its budget is spent.
    """

    def __init__(self, vision: ChatModel | None, prompt: ChatPromptTemplate, ocr: Ocr | None) -> None:
        self._vision = vision
        self._prompt = prompt
        self._ocr = ocr

    @property
    def can_read(self) -> bool:
        """Whether there is anything that reads pictures."""
        return self._vision is not None or self._ocr is not None

    async def read(self, image: bytes) -> PictureText:
        """Return the text of a picture, cleaned, or why there is none. Nothing is raised."""
        if not self.can_read:
            return PictureText(unread=Unread.NO_READER)
        if not image_type(image):
            return PictureText(unread=Unread.NOT_A_PICTURE)
        if len(image) > MAX_BYTES:
            return PictureText(unread=Unread.TOO_LARGE)
        found = PictureText(unread=Unread.UNREADABLE)
        if self._vision is not None:
            found = await self._seen(self._vision, image)
        if found.unread and self._ocr is not None:
            found = await self._ocr.read(image)
        text = clean(found.text).strip()[:MAX_CHARS]
        return PictureText(text) if text else PictureText(unread=found.unread or Unread.NO_TEXT)

    async def _seen(self, vision: ChatModel, image: bytes) -> PictureText:
        *before, asked = self._prompt.format_messages()
        try:
            reply = await vision.reply([*before, image_message(asked.text, [image])])
        except ModelError as error:
            log.warning("the vision model did not read a picture: %s", error)
            return PictureText(unread=Unread.UNREADABLE)
        return PictureText(reply.text)
