"""Query expansion: other words for a question whose own words found nothing, for one second round and no third."""

import logging
from collections.abc import Collection

from langchain_core.prompts import ChatPromptTemplate
from pydantic import BaseModel, Field

from services.errors import ModelError
from services.index.models import SearchIndex
from services.llm import ChatModel
from services.retrieval.query import Query

log = logging.getLogger(__name__)

_MAX_WORDS = 5
_MAX_WORD_CHARS = 40


class Synonyms(BaseModel):
    """Words that documents may use for the same things, as given by the fast model."""

    words: list[str] = Field(default_factory=list, max_length=20)


class QueryExpansion:
    """Synonyms that the group's own documents define, or else those that the fast model knows."""

    def __init__(self, index: SearchIndex, model: ChatModel | None, prompt: ChatPromptTemplate) -> None:
        self._index = index
        self._model = model
        self._prompt = prompt

    async def words(self, collection: str, query: Query, hidden_builds: Collection[str]) -> list[str]:
        """Return up to five words that are not in the question.

        A model that fails adds no words. Raise `SearchIndexError` if the index fails.
        """
        found = await self._index.aliases(collection, query.text, _MAX_WORDS, hidden_builds)
        if not found and self._model is not None:
            found = await self._ask(self._model, query)
        lowered = query.text.lower()
        words = dict.fromkeys(" ".join(word.split())[:_MAX_WORD_CHARS] for word in found)
        return [word for word in words if word and word.lower() not in lowered][:_MAX_WORDS]

    async def _ask(self, model: ChatModel, query: Query) -> list[str]:
        try:
            answer = await model.structured(await self._prompt.ainvoke({"question": query.text}), Synonyms)
        except ModelError as error:
            log.warning("no synonyms from the fast model: %s", error)
            return []
        return answer.words
