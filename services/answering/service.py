"""Answering one question of one session: the only thing of this package that a plugin sees."""

import logging
from dataclasses import replace

from services.answering.courtesy import courtesy
from services.answering.models import Answer, AnswerKind, CitedPassage, SourceStatus
from services.answering.quoted import excerpt_answer
from services.answering.written import says_nothing
from services.errors import ModelError, RerankError, SearchIndexError
from services.memory.service import MemoryService, Turn
from services.rag import RagChain
from services.records.conversations import Source
from services.retrieval.models import Question, Retrieval, RetrievalStatus
from services.retrieval.retriever import Retriever
from services.retrieval.wording import asks_something, follows_up
from services.session import Collection

log = logging.getLogger(__name__)

_LOOK_BACK = 4
_NOT_REMEMBERED = "（这一轮对话没能记下来，后面可能接不上。）"


class QuestionAnswering:
    """Answers by the model where there is one, by quotation where there is none or it fails."""

    def __init__(self, retriever: Retriever, chain: RagChain[Answer] | None, memory: MemoryService) -> None:
        self._retriever = retriever
        self._chain = chain
        self._memory = memory
        # The sources of the last unasked answer of each group, which is nobody's memory; gone with the process.
        self._unasked: dict[str, tuple[Source, ...]] = {}

    async def ask(self, session_id: str, user_id: int, collection: Collection, question: Question) -> Answer:
        """Answer and remember. Always gives something to send; raises only when the records themselves fail."""
        async with self._memory.turn(session_id, user_id, question.shown) as turn:
            try:
                question = await _in_context(question, turn)
                if self._chain is None:
                    return await self._quote(collection, question, turn)
                return await self._write(self._chain, collection, question, turn)
            except ModelError as error:
                return await self._without_model(collection, question, turn, error)
            except RerankError as error:
                return Answer(AnswerKind.FAILED, error.user_message)
            except SearchIndexError as error:
                log.exception("searching %s failed", collection.name)
                return Answer(AnswerKind.FAILED, error.user_message)

    async def answer_unasked(self, collection: Collection, question: Question, retrieval: Retrieval) -> Answer | None:
        """An answer to what nobody asked the bot, from passages approved already; nobody's memory is read or written.

        None where the model fails, finds nothing, or does not show where every figure of its answer stands.
        """
        if retrieval.status is not RetrievalStatus.USABLE or not retrieval.references:
            return None
        try:
            written = self._chain and await self._chain.write(question, retrieval)
        except ModelError as error:
            log.warning("no unasked answer in %s: %s", collection.name, error)
            return None
        answer = written or excerpt_answer(question, retrieval)
        if not answer.sources or answer.doubtful or says_nothing(answer):
            return None
        self._unasked[collection.name] = answer.sources
        return answer

    async def source(self, session_id: str, collection: Collection, number: int) -> CitedPassage:
        """The passage that 〔number〕 named in the session's last answer with citations, else in the last unasked one.

        `collection` is the one that the session may ask now: a passage of any other is GONE. Raises `SearchIndexError`.
        """
        sources = await self._memory.sources(session_id)
        known = (*sources, *self._unasked.get(collection.name, ()))
        source = next((source for source in known if source.number == number), None)
        if source is None:
            return CitedPassage(SourceStatus.UNKNOWN, numbers=tuple(source.number for source in sources))
        reference = await self._retriever.passage(
            collection.name, source.build_id, source.first_ordinal, source.last_ordinal
        )
        return CitedPassage(SourceStatus.GONE if reference is None else SourceStatus.FOUND, reference)

    def tidy(self, session_id: str) -> None:
        """What can wait until the reply is out: summarising a long history."""
        self._memory.tidy(session_id)

    async def _write(self, chain: RagChain[Answer], collection: Collection, question: Question, turn: Turn) -> Answer:
        answer = await chain.answer(collection.name, question, turn.history)
        return answer if turn.history.stored else _noticed(answer, _NOT_REMEMBERED)

    async def _quote(self, collection: Collection, question: Question, turn: Turn) -> Answer:
        retrieval = await self._retriever.retrieve(collection.name, question)
        if retrieval.status is RetrievalStatus.RERANK_FAILED:
            return Answer(AnswerKind.FAILED, retrieval.warning)
        reply = courtesy(question.text) if retrieval.status is not RetrievalStatus.USABLE else None
        answer = Answer(AnswerKind.WRITTEN, reply) if reply else excerpt_answer(question, retrieval)
        await turn.complete(answer.text, answer.sources)
        return answer

    async def _without_model(self, collection: Collection, question: Question, turn: Turn, error: ModelError) -> Answer:
        """The model failed: one sentence, and what the files themselves say, if anything."""
        try:
            retrieval = await self._retriever.retrieve(collection.name, question, expand=False)
        except SearchIndexError:
            log.exception("searching %s failed", collection.name)
            return Answer(AnswerKind.FAILED, error.user_message)
        if not retrieval.references:
            return Answer(AnswerKind.FAILED, error.user_message + retrieval.warning)
        excerpt = excerpt_answer(question, retrieval)
        turn.history.sources = excerpt.sources
        return Answer(AnswerKind.FAILED, excerpt.text, excerpt.sources, error.user_message + retrieval.warning)


async def _in_context(question: Question, turn: Turn) -> Question:
    """With the last question that says something alone, where this one does not."""
    if not follows_up(question.text):
        return question
    asked = await turn.history.last_questions(_LOOK_BACK)
    previous = next((text for text in asked if not follows_up(text) and asks_something(text)), "")
    return replace(question, previous=previous)


def _noticed(answer: Answer, notice: str) -> Answer:
    return Answer(answer.kind, answer.text, answer.sources, answer.notice + notice, answer.doubtful)
