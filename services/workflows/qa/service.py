"""Answer one question of one session: the part of this package that plugins use."""

import asyncio
import logging
import uuid
from typing import cast

from langchain_core.messages import HumanMessage

from services.budgets.charge import Charge, charged
from services.budgets.model import ModelBudget
from services.errors import ModelError
from services.grounding.models import Answer, CitedPassage, SourceStatus
from services.grounding.quoted import excerpt_answer
from services.memory.service import MemoryService
from services.memory.turns import Turns
from services.rag import RagChain
from services.records.conversations import Source
from services.records.tables import now
from services.retrieval.models import Question, Retrieval, RetrievalStatus, Strictness
from services.retrieval.retriever import Retriever
from services.session import KnowledgeCollection, chat_of
from services.tracing.models import Outcome, RequestKind
from services.tracing.service import TraceService
from services.workflows.qa.about_files import AboutFiles, UploaderNames, by_number
from services.workflows.qa.analysis import QuestionAnalyser
from services.workflows.qa.generation import AnswerGeneration
from services.workflows.qa.graph import build_graph, thread_config
from services.workflows.qa.models import QuestionCategory
from services.workflows.qa.nodes import QAContext, QAServices
from services.workflows.qa.recording import record_answer
from services.workflows.qa.state import ConversationState, TurnWork
from services.workflows.qa.written import review, says_nothing

log = logging.getLogger(__name__)


class QuestionAnswering:
    """Answers by the model, or by quotation if there is no model, it fails or its budget is spent.

    `analyser` is None without a model. Without `budget` the model may be called without limit.
    """

    def __init__(
        self,
        retriever: Retriever,
        chain: RagChain | None,
        analyser: QuestionAnalyser | None,
        turns: Turns,
        memory: MemoryService,
        traces: TraceService,
        about_files: AboutFiles,
        budget: ModelBudget | None = None,
    ) -> None:
        self._services = QAServices(
            retriever=retriever,
            about_files=about_files,
            generation=AnswerGeneration(chain, budget),
            analyser=analyser,
            strictness=chain.strictness if chain else Strictness.ASKED,
            review_below=0.0,
        )
        self._graph = build_graph()
        self._retriever = retriever
        self._chain = chain
        self._turns = turns
        self._memory = memory
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
            work = TurnWork(collection.name, question, turn, names)
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
                state = await self._run(work)
                assert work.answer is not None  # noqa: S101
                category = state.get("classification")
                record_answer(
                    record,
                    work.question,
                    work.retrieval,
                    work.answer,
                    category=QuestionCategory.model_validate(category) if category else None,
                    confidence=state.get("confidence"),
                )
        return work.answer

    async def _run(self, work: TurnWork) -> ConversationState:
        thread_id = uuid.uuid4().hex
        state = ConversationState(
            messages=[HumanMessage(work.question.shown)],
            current_question=work.question.text,
            rewritten_question=None,
            thread_id=thread_id,
            last_updated=now().isoformat(),
            rounds=0,
            retrieved_documents=[],
            user_feedback=None,
            error=None,
        )
        context = QAContext(self._services, work)
        found = await self._graph.ainvoke(state, thread_config(thread_id), context=context)
        return cast("ConversationState", found)

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
