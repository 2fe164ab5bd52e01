"""Answer one question of one session: the part of this package that plugins use."""

import logging
from dataclasses import replace

from services.answering.models import Answer, AnswerKind, CitedPassage, SourceStatus
from services.answering.quoted import excerpt_answer
from services.answering.small_talk import small_talk_reply
from services.answering.trace import AnswerTrace, AnswerTraces
from services.answering.written import says_nothing
from services.budgets.charge import Charge, charged
from services.budgets.model import ModelBudget
from services.errors import (
    HistoryError,
    ModelBudgetSpent,
    ModelError,
    RecordsError,
    RerankError,
    SearchIndexError,
)
from services.memory.service import MemoryService, Turn
from services.rag import RagChain
from services.records.conversations import Source
from services.retrieval.models import Question, Retrieval, RetrievalStatus
from services.retrieval.retriever import Retriever
from services.retrieval.wording import asks_something, follows_up
from services.session import KnowledgeCollection, chat_of
from services.tracing.stages import StageTime, recorded_stages, stage

log = logging.getLogger(__name__)

_LOOK_BACK = 4
_NOT_REMEMBERED = f"（这一轮对话没能记下来，后面可能接不上。{HistoryError.code}）"


class QuestionAnswering:
    """Answers by the model, or by quotation if there is no model, it fails or its budget is spent.

    Without `budget` the model may be called without limit.
    """

    def __init__(
        self,
        retriever: Retriever,
        chain: RagChain[Answer] | None,
        memory: MemoryService,
        budget: ModelBudget | None = None,
    ) -> None:
        self._retriever = retriever
        self._chain = chain
        self._memory = memory
        self._budget = budget
        self.traces = AnswerTraces()
        # The sources of each group's last unasked answer, which belongs to no user's memory. They are lost on a
        # restart.
        self._unasked: dict[str, tuple[Source, ...]] = {}

    async def ask(self, session_id: str, user_id: int, collection: KnowledgeCollection, question: Question) -> Answer:
        """Answer and remember the turn.

        Always return something to send; raise only if the records themselves fail.
        """
        async with self._memory.turn(session_id, user_id, question.shown) as turn:
            with recorded_stages() as stages, stage("total"), charged(Charge(chat_of(session_id), turn.id)):
                question = await _in_context(question, turn)
                answer, retrieval = await self._answered(collection, question, turn)
        self._trace(session_id, collection, question, retrieval, answer, stages.times)
        return answer

    async def answer_unasked(
        self, collection: KnowledgeCollection, question: Question, retrieval: Retrieval
    ) -> Answer | None:
        """Answer a message that was not addressed to the bot, from passages that are already approved.

        No user's memory is read or written. Call this within `charged`. Return None if the model fails, finds nothing,
        or does not cite a source for every figure of its answer.
        """
        if retrieval.status is not RetrievalStatus.USABLE or not retrieval.references:
            return None
        try:
            with recorded_stages() as stages, stage("total"):
                written = self._chain and await self._chain.write(question, retrieval)
        except ModelError as error:
            log.warning("no unasked answer in %s: %s", collection.name, error)
            return None
        answer = written or excerpt_answer(question, retrieval)
        if not answer.sources or answer.doubtful or says_nothing(answer):
            return None
        self._unasked[collection.name] = answer.sources
        self._trace("", collection, question, retrieval, answer, stages.times)
        return answer

    async def source(self, session_id: str, collection: KnowledgeCollection, number: int) -> CitedPassage:
        """Return the passage that 〔number〕 named in the session's last answer with citations.

        If that answer has no such number, look in the last unasked answer. `collection` is the one that the session may
        ask now: a passage of any other is GONE. Raise `SearchIndexError` if the index fails.
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

    async def withdraw(self, session_id: str, user_id: int, question: Question) -> None:
        """Forget a question that its author recalled before it was answered."""
        await self._memory.withdraw(session_id, user_id, question.shown)

    def schedule_summary(self, session_id: str) -> None:
        """Schedule the summary of a long history, which can wait until the reply is sent."""
        self._memory.schedule_summary(session_id)

    async def _answered(
        self, collection: KnowledgeCollection, question: Question, turn: Turn
    ) -> tuple[Answer, Retrieval | None]:
        try:
            if self._chain is None:
                return await self._quote(collection, question, turn)
            try:
                return await self._write(self._chain, collection, question, turn)
            except ModelBudgetSpent:
                answer, retrieval = await self._quote(collection, question, turn)
                return _noticed(answer, self._budget.notice() if self._budget else ""), retrieval
        except ModelError as error:
            return await self._without_model(collection, question, turn, error)
        except RerankError as error:
            # Its sentence is the warning of the retrieval, which already has the code.
            return Answer(AnswerKind.FAILED, error.user_message), None
        except SearchIndexError as error:
            log.exception("searching %s failed", collection.name)
            return Answer(AnswerKind.FAILED, error.told()), None

    async def _write(
        self,
        chain: RagChain[Answer],
        collection: KnowledgeCollection,
        question: Question,
        turn: Turn,
    ) -> tuple[Answer, Retrieval]:
        # Checked first: without an answer to write, the retrieval would be wasted.
        if self._budget is not None:
            self._budget.require()
        written = await chain.answer(collection.name, question, turn.history)
        answer = written.reviewed
        return answer if turn.history.stored else _noticed(answer, _NOT_REMEMBERED), written.retrieval

    async def _quote(self, collection: KnowledgeCollection, question: Question, turn: Turn) -> tuple[Answer, Retrieval]:
        retrieval = await self._retriever.retrieve(collection.name, question)
        if retrieval.status is RetrievalStatus.RERANK_FAILED:
            return Answer(AnswerKind.FAILED, retrieval.warning), retrieval
        reply = small_talk_reply(question.text) if retrieval.status is not RetrievalStatus.USABLE else None
        answer = Answer(AnswerKind.WRITTEN, reply) if reply else excerpt_answer(question, retrieval)
        try:
            await turn.complete(answer.text, answer.sources)
        except (HistoryError, RecordsError):
            log.exception("an answer of %s could not be stored", collection.name)
            return _noticed(answer, _NOT_REMEMBERED), retrieval
        return answer, retrieval

    async def _without_model(
        self, collection: KnowledgeCollection, question: Question, turn: Turn, error: ModelError
    ) -> tuple[Answer, Retrieval | None]:
        """Return the answer after a model failure: one sentence, and what the files themselves say, if anything."""
        try:
            retrieval = await self._retriever.retrieve(collection.name, question, expand=False)
        except SearchIndexError:
            log.exception("searching %s failed", collection.name)
            return Answer(AnswerKind.FAILED, error.told()), None
        if not retrieval.references:
            return Answer(AnswerKind.FAILED, error.told() + retrieval.warning), retrieval
        excerpt = excerpt_answer(question, retrieval)
        turn.history.sources = excerpt.sources
        notice = error.told() + retrieval.warning
        return Answer(AnswerKind.FAILED, excerpt.text, excerpt.sources, notice), retrieval

    def _trace(
        self,
        session_id: str,
        collection: KnowledgeCollection,
        question: Question,
        retrieval: Retrieval | None,
        answer: Answer,
        times: tuple[StageTime, ...],
    ) -> None:
        is_written = answer.kind in (AnswerKind.WRITTEN, AnswerKind.GENERAL)
        model = self._chain.model_name if self._chain and is_written else ""
        self.traces.keep(AnswerTrace(session_id, collection.name, question, retrieval, answer, model, times))


async def _in_context(question: Question, turn: Turn) -> Question:
    """Return the question together with the last complete one before it, if it refers to that."""
    if not follows_up(question.text):
        return question
    asked = await turn.history.last_questions(_LOOK_BACK)
    previous = next((text for text in asked if not follows_up(text) and asks_something(text)), "")
    return replace(question, previous=previous)


def _noticed(answer: Answer, notice: str) -> Answer:
    return Answer(answer.kind, answer.text, answer.sources, answer.notice + notice, answer.doubtful)
