"""Answer one question of one session: the part of this package that plugins use."""

import asyncio
import logging
from dataclasses import replace

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
from services.grounding.models import Answer, AnswerKind, CitedPassage, SourceStatus
from services.grounding.quoted import excerpt_answer
from services.memory.history import TurnHistory
from services.memory.service import MemoryService
from services.memory.turns import Turn, Turns
from services.rag import RagChain
from services.records.conversations import Source
from services.retrieval.models import Question, Retrieval, RetrievalStatus, Strictness
from services.retrieval.retriever import Retriever
from services.retrieval.wording import asks_something, follows_up
from services.session import KnowledgeCollection, chat_of
from services.tracing.models import Outcome, RequestKind
from services.tracing.service import TraceService
from services.workflows.qa.about_files import AboutFiles, FileReply, UploaderNames, by_number
from services.workflows.qa.recording import record_answer
from services.workflows.qa.small_talk import small_talk_reply
from services.workflows.qa.written import review, says_nothing

log = logging.getLogger(__name__)

_LOOK_BACK = 4
_GONE = "引用的文件刚刚被删除或换成了新版，请再问一次。"
_NOT_REMEMBERED = f"（这一轮对话没能记下来，后面可能接不上。{HistoryError.code}）"


class QuestionAnswering:
    """Answers by the model, or by quotation if there is no model, it fails or its budget is spent.

    Without `budget` the model may be called without limit.
    """

    def __init__(
        self,
        retriever: Retriever,
        chain: RagChain | None,
        turns: Turns,
        memory: MemoryService,
        traces: TraceService,
        about_files: AboutFiles,
        budget: ModelBudget | None = None,
    ) -> None:
        self._retriever = retriever
        self._about_files = about_files
        self._chain = chain
        self._turns = turns
        self._memory = memory
        self._budget = budget
        self._traces = traces
        # The sources of each group's last unasked answer, which belongs to no user's memory. They are lost on a
        # restart.
        self._unasked: dict[str, tuple[Source, ...]] = {}

    async def ask(
        self,
        session_id: str,
        user_id: int,
        collection: KnowledgeCollection,
        question: Question,
        names: UploaderNames = by_number,
    ) -> Answer:
        """Answer and remember the turn. `names` says what to call the uploader of a file, if that is asked.

        Always return something to send; raise only if the records themselves fail.
        """
        async with self._turns.begin(session_id, user_id, question.shown) as turn:
            chat = chat_of(session_id)
            with (
                charged(Charge(chat, turn.id)),
                self._traces.request(
                    RequestKind.QUESTION,
                    collection=collection.name,
                    chat=chat,
                    session_id=session_id,
                    turn_id=turn.id,
                    question=question.text,
                    quoted=question.quoted,
                ) as record,
            ):
                retrieval = None
                try:
                    reply = await self._about_files.reply(collection.name, question, turn, names)
                    if reply is not None and reply.certain:
                        retrieval = reply.passages
                        answer = await self._about_file(question, reply, turn.history)
                    else:
                        question = await _in_context(question, turn)
                        strictness = self._chain.strictness if self._chain else Strictness.ASKED
                        retrieval = await self._retriever.retrieve(collection.name, question, strictness=strictness)
                        if reply is not None and retrieval.status is not RetrievalStatus.USABLE:
                            answer = reply.answer
                        else:
                            answer = await self._answered(question, retrieval, turn.history)
                            if reply is not None and says_nothing(answer):
                                answer = reply.answer
                    # A file may be deleted while the model writes.
                    builds = {source.build_id for source in answer.sources}
                    if builds and not await self._retriever.shows(collection.name, builds):
                        answer = Answer(AnswerKind.NOTHING_FOUND, _GONE)
                except SearchIndexError as error:
                    log.exception("searching %s failed", collection.name)
                    answer = Answer(AnswerKind.FAILED, error.told())
                answer = await _remembered(turn, answer)
                record_answer(record, question, retrieval, answer)
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
        with self._traces.request(
            RequestKind.UNASKED, collection=collection.name, question=question.text, quoted=question.quoted
        ) as record:
            record.trace.outcome = Outcome.SILENT
            try:
                written = self._chain and await asyncio.to_thread(review, await self._chain.write(question, retrieval))
            except ModelError as error:
                log.warning("no unasked answer in %s: %s", collection.name, error)
                return None
            answer = written or await asyncio.to_thread(excerpt_answer, question, retrieval)
            if not answer.sources or answer.doubtful or says_nothing(answer):
                return None
            record_answer(record, question, retrieval, answer)
        self._unasked[collection.name] = answer.sources
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
        await self._turns.withdraw(session_id, user_id, question.shown)

    def schedule_summary(self, session_id: str) -> None:
        """Schedule the summary of a long history, which can wait until the reply is sent."""
        self._memory.schedule_summary(session_id)

    async def _about_file(self, question: Question, reply: FileReply, history: TurnHistory) -> Answer:
        """Return the model's summary of a document, or the reply itself if there is no model or no cited summary."""
        if self._chain is None or reply.passages is None:
            return reply.answer
        try:
            draft = await self._chain.write(question, reply.passages, history)
            answer = await asyncio.to_thread(review, draft)
        except ModelBudgetSpent:
            return _noticed(reply.answer, self._budget.notice() if self._budget else "")
        except ModelError as error:
            log.warning("no summary from the model: %s", error)
            return _noticed(reply.answer, error.told())
        return answer if answer.sources and not says_nothing(answer) else reply.answer

    async def _answered(self, question: Question, retrieval: Retrieval, history: TurnHistory) -> Answer:
        if self._chain is None:
            return await _quoted(question, retrieval)
        try:
            draft = await self._chain.write(question, retrieval, history)
            # Reviewing the longest reply takes some hundred milliseconds.
            return await asyncio.to_thread(review, draft)
        except ModelBudgetSpent:
            return _noticed(await _quoted(question, retrieval), self._budget.notice() if self._budget else "")
        except ModelError as error:
            log.warning("no answer from the model: %s", error)
            return await _without_model(question, retrieval, error)
        except RerankError as error:
            # Its sentence is the warning of the retrieval, which already has the code.
            return Answer(AnswerKind.FAILED, error.user_message)


async def _quoted(question: Question, retrieval: Retrieval) -> Answer:
    """Return the answer without a model. Chatter is answered as such, even if it has words of the files."""
    if reply := small_talk_reply(question.text, quotes=bool(question.quoted)):
        return Answer(AnswerKind.WRITTEN, reply)
    if retrieval.status is RetrievalStatus.RERANK_FAILED:
        return Answer(AnswerKind.FAILED, retrieval.warning)
    # Choosing among the parts of long passages takes up to 20 ms.
    return await asyncio.to_thread(excerpt_answer, question, retrieval)


async def _without_model(question: Question, retrieval: Retrieval, error: ModelError) -> Answer:
    """Return the answer after a model failure: one sentence, and what the files themselves say, if anything."""
    notice = error.told() + retrieval.warning
    if not retrieval.references or not retrieval.quotable:
        return Answer(AnswerKind.FAILED, notice)
    excerpt = await asyncio.to_thread(excerpt_answer, question, retrieval)
    return Answer(AnswerKind.FAILED, excerpt.text, excerpt.sources, notice)


async def _remembered(turn: Turn, answer: Answer) -> Answer:
    """Store the exchange and return the answer, with a notice if it could not be stored. A failure is not stored."""
    if answer.kind is AnswerKind.FAILED:
        turn.shown_sources = answer.sources
        return answer
    try:
        await turn.complete(answer.text, answer.sources)
    except (HistoryError, RecordsError):
        log.exception("turn %s of %s could not be stored", turn.id, turn.session_id)
        return _noticed(answer, _NOT_REMEMBERED)
    return answer


async def _in_context(question: Question, turn: Turn) -> Question:
    """Return the question together with the last complete one before it, if it refers to that."""
    if not follows_up(question.text):
        return question
    asked = await turn.history.last_questions(_LOOK_BACK)
    previous = next((text for text in asked if not follows_up(text) and asks_something(text)), "")
    return replace(question, previous=previous)


def _noticed(answer: Answer, notice: str) -> Answer:
    return replace(answer, notice=answer.notice + notice)
