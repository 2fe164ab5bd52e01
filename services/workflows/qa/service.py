"""Answer one question of one session: the part of this package that plugins use."""

import asyncio
import logging
import uuid
from dataclasses import dataclass, replace
from typing import cast

from langchain_core.messages import HumanMessage
from langgraph.types import Command
from pydantic import ValidationError

from services.agent.layer import AgentLayer
from services.budgets.charge import Charge, charged
from services.budgets.model import ModelBudget
from services.errors import ModelError
from services.faq.service import FaqService
from services.grounding.models import Answer, AnswerKind, CitedPassage, SourceStatus
from services.grounding.quoted import excerpt_answer
from services.memory.service import MemoryService
from services.memory.turns import Turn, Turns
from services.rag import RagChain
from services.records.conversations import Source
from services.records.reviews import Review, ReviewReason, ReviewRequest
from services.records.tables import now
from services.retrieval.models import Question, Retrieval, RetrievalStatus, Strictness
from services.retrieval.retriever import Retriever
from services.reviews.answers import reviewed_answer, waiting_text
from services.reviews.queue import ReviewQueue
from services.roles import Role
from services.session import KnowledgeCollection, chat_of
from services.tracing.models import Outcome, RequestKind
from services.tracing.service import TraceService
from services.workflows.qa.about_files import AboutFiles, UploaderNames, by_number
from services.workflows.qa.analysis import QuestionAnalyser
from services.workflows.qa.answers import as_state
from services.workflows.qa.checkpoints import Checkpoints
from services.workflows.qa.choices import PendingChoices
from services.workflows.qa.generation import AnswerGeneration
from services.workflows.qa.graph import build_graph, thread_config
from services.workflows.qa.models import MAX_QUESTION_CHARS, MOST_RESULTS, UserQuery
from services.workflows.qa.nodes import QAContext, QAServices, category_of
from services.workflows.qa.recording import content_type_of, details_of_answer, record_answer
from services.workflows.qa.state import ConversationState, TurnWork
from services.workflows.qa.written import review, says_nothing

log = logging.getLogger(__name__)


# Where LangGraph says in its result that a run waits for a person.
INTERRUPTED = "__interrupt__"
# The name of this workflow at a waiting turn.
WORKFLOW = "qa"


@dataclass(frozen=True, slots=True)
class QuestionPlace:
    """Where in QQ a question was asked, and so where its answer goes if it comes later."""

    self_id: str
    group_id: int
    asker_id: int
    message_id: int


@dataclass(frozen=True, slots=True)
class Reviewing:
    """What is needed to have people decide about answers whose confidence is less than `below`."""

    queue: ReviewQueue
    checkpoints: Checkpoints
    below: float
    shows_draft: bool


class QuestionAnswering:
    """Answers by the model, or by quotation if there is no model, it fails or its budget is spent.

    `analyser` is None without a model. Without `budget` the model may be called without limit.
    With `reviewing` an uncertain answer may wait for a person, with `agent` the model may use tools.
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
        faq: FaqService,
        budget: ModelBudget | None = None,
        reviewing: Reviewing | None = None,
        agent: AgentLayer | None = None,
    ) -> None:
        self._services = QAServices(
            retriever=retriever,
            about_files=about_files,
            generation=AnswerGeneration(chain, budget, agent),
            analyser=analyser,
            strictness=chain.strictness if chain else Strictness.ASKED,
            faq=faq,
            pending=PendingChoices(),
            review_below=reviewing.below if reviewing else 0.0,
        )
        self._graph = build_graph()
        self._reviewing = reviewing
        self._waiting_graph = build_graph(reviewing.checkpoints.saver) if reviewing else None
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
        role: Role = Role.MEMBER,
        *,
        place: QuestionPlace | None = None,
    ) -> Answer:
        """Answer and remember the turn. `names` says what to call the uploader of a file, if that is asked.

        `role` is that of the person who asks, and decides which tools an agent has.
        If the answer is too uncertain for the group's settings, a person decides about it first, for which `place` says
        where the question was asked. The answer is then that it will take a while.

        Always return something to send; raise only if the records themselves fail.
        """
        query = await self._query(session_id, question)
        async with self._turns.begin(session_id, user_id, question.shown) as turn:
            chat = chat_of(session_id)
            can_wait = place is not None and turn.id is not None
            work = TurnWork(collection.name, question, turn, query, names, role, can_wait)
            with (
                charged(Charge(chat, turn.id)),
                self._traces.request(
                    RequestKind.QUESTION,
                    collection=collection.name,
                    chat=chat,
                    session_id=session_id,
                    turn_id=turn.id,
                    question=question.text,
                    quoted=question.material,
                ) as record,
            ):
                turn.details = replace(turn.details, content_type=content_type_of(question))
                thread_id = uuid.uuid4().hex
                state = await self._run(work, thread_id)
                if INTERRUPTED in state and place is not None and turn.id is not None:
                    answer = await self._ask_people(work, state, place, thread_id, turn.id)
                elif work.answer is not None:
                    answer = work.answer
                else:
                    raise RuntimeError("a turn ended without an answer")
                record_answer(
                    record,
                    work.question,
                    work.retrieval,
                    answer,
                    category=category_of(state),
                    confidence=state.get("confidence"),
                )
        return answer

    async def _query(self, session_id: str, question: Question) -> UserQuery | None:
        """Return the question with the preferences of its session, or None if it has no content."""
        preferences = await self._memory.preferences(session_id)
        try:
            return UserQuery(
                question=question.shown[:MAX_QUESTION_CHARS],
                include_code=preferences.include_code,
                max_results=preferences.max_results or min(self._retriever.most_passages, MOST_RESULTS),
            )
        except ValidationError:
            return None

    async def resume(self, review: Review, turn: Turn) -> Answer | None:
        """Continue a turn that waited for this review. Return None if its checkpoint is gone.

        `ReviewQueue` calls this once a decision is stored, and ends the turn with the answer.
        """
        if self._waiting_graph is None or self._reviewing is None or review.decision is None:
            return None
        if not await self._reviewing.checkpoints.has(turn.checkpoint_id):
            return None
        decision = {"kind": review.decision.value, "answer": as_state(reviewed_answer(review))}
        question = Question(review.request.question)
        work = TurnWork(review.request.collection, question, turn, await self._query(turn.session_id, question))
        await self._waiting_graph.ainvoke(
            Command(resume=decision),
            thread_config(turn.checkpoint_id),
            context=QAContext(self._services, work),
            durability="exit",
        )
        await self._reviewing.checkpoints.finish(turn.checkpoint_id)
        return work.answer

    async def _run(self, work: TurnWork, thread_id: str) -> ConversationState:
        """Run the graph. A turn that may wait for a person leaves a checkpoint, any other leaves nothing."""
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
        context, config = QAContext(self._services, work), thread_config(thread_id)
        work.can_wait = work.can_wait and self._services.review_below > 0
        if self._waiting_graph is None or self._reviewing is None or not work.can_wait:
            return cast("ConversationState", await self._graph.ainvoke(state, config, context=context))
        found = await self._waiting_graph.ainvoke(state, config, context=context, durability="exit")
        if INTERRUPTED not in found:
            await self._reviewing.checkpoints.finish(thread_id)
        return cast("ConversationState", found)

    async def _ask_people(
        self, work: TurnWork, state: ConversationState, place: QuestionPlace, thread_id: str, turn_id: int
    ) -> Answer:
        """Put the draft into the group's queue, and return what the asker is told meanwhile."""
        reviewing, draft = self._reviewing, work.answer
        if reviewing is None or draft is None:
            raise RuntimeError("a turn waits, but nobody decides")
        work.turn.details = details_of_answer(
            work.turn.details, draft, category_of(state), state.get("confidence"), work.retrieval
        )
        await reviewing.queue.open(
            ReviewRequest(
                chat=chat_of(work.turn.session_id),
                collection=work.collection,
                self_id=place.self_id,
                group_id=place.group_id,
                session_id=work.turn.session_id,
                asker_id=place.asker_id,
                question=work.question.shown,
                draft=draft.text,
                reason=ReviewReason.LOW_CONFIDENCE,
                question_id=place.message_id,
                turn_id=turn_id,
                sources=draft.sources,
                passages=draft.sources,
                confidence=state.get("confidence"),
            )
        )
        # After the review, which is answered even if the process is killed before this.
        await work.turn.wait(WORKFLOW, thread_id)
        return Answer(
            AnswerKind.CLARIFIED, waiting_text(draft.text, shows_draft=reviewing.shows_draft), turn_id=turn_id
        )

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
            RequestKind.UNASKED, collection=collection.name, question=question.text, quoted=question.material
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

    def awaits_choice(self, session_id: str, text: str) -> bool:
        """Return whether a message answers 你是不是想问, so that it needs no other sign that the bot is meant."""
        return self._services.pending.awaits(session_id, text)

    async def withdraw(self, session_id: str, user_id: int, question: Question) -> None:
        """Forget a question that its author recalled before it was answered."""
        await self._turns.withdraw(session_id, user_id, question.shown)

    def schedule_summary(self, session_id: str) -> None:
        """Schedule the summary of a long history, which can wait until the reply is sent."""
        self._memory.schedule_summary(session_id)
