"""The nodes of the graph: what happens to a question, one step each.

The nodes hand live objects to each other through the `TurnWork` in the context, and write to the state what a
checkpoint has to keep. Their names are stored in checkpoints: a review that waits for days continues at its node.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from services.errors import RecordsError, SearchIndexError
from services.faq.answers import approved_answer, choice_text
from services.faq.models import FaqBand, FaqEntry
from services.faq.service import FaqService
from services.grounding.models import Answer, AnswerKind
from services.records.reviews import Decided
from services.records.tables import now
from services.retrieval.models import Retrieval, RetrievalStatus, Strictness
from services.retrieval.retriever import Retriever, better
from services.workflows.qa.about_files import AboutFiles
from services.workflows.qa.analysis import QuestionAnalyser
from services.workflows.qa.answers import as_state, documents_of, from_state
from services.workflows.qa.choices import PendingChoices
from services.workflows.qa.classification import classify_by_rules, names_trouble
from services.workflows.qa.confidence import confidence
from services.workflows.qa.generation import AnswerGeneration
from services.workflows.qa.models import QuestionCategory
from services.workflows.qa.recording import remember
from services.workflows.qa.rewriting import exchanges, in_context, points_back
from services.workflows.qa.small_talk import small_talk_reply
from services.workflows.qa.state import ConversationState, TurnWork
from services.workflows.qa.technical import completed
from services.workflows.qa.written import says_nothing

log = logging.getLogger(__name__)

MOST_ROUNDS = 2
# An answer that is surer than this needs no hint at what else may have been meant: 9 % of the questions that are none
# of the approved ones are near one.
_SURE = 0.7
# A completed question has more words to be found by.
_ALONE_MARGIN = 0.1

GONE = "引用的文件刚刚被删除或换成了新版，请再问一次。"
CLARIFY = "没看懂想问什么，请说具体一点：是哪件事，或者哪个文件里的。"
CLARIFY_TROUBLE = "没看出是什么地方的问题。请说是哪个软件或哪一步，再把报错原文贴出来。"


@dataclass(frozen=True, slots=True)
class QAServices:
    """The services that the nodes use.

    `analyser` is None without a model. `review_below` is the confidence below which a person is asked, 0 for never.
    """

    retriever: Retriever
    about_files: AboutFiles
    generation: AnswerGeneration
    analyser: QuestionAnalyser | None
    faq: FaqService
    pending: PendingChoices
    strictness: Strictness
    review_below: float


@dataclass(frozen=True, slots=True)
class QAContext:
    """What a node gets beside the state: the services, and the turn in hand."""

    services: QAServices
    work: TurnWork


async def classify(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Find out what kind of message this is: small talk, about the files, a question, or nothing to go on.

    The rules come first, because they cost nothing. The fast model is asked about a short question that may go on from
    the one before; the same call says how it continues.
    """
    services, work = runtime.context.services, runtime.context.work
    if (chosen := services.pending.take(work.turn.session_id, work.collection, work.question.text)) is not None:
        entry = await services.faq.entry(work.collection, chosen.number) if chosen.number else None
        if entry is not None and not entry.stale:
            work.answer = approved_answer(entry)
            return _classified(None)
        # None of those: the question is searched as if there were none.
        work.question, work.is_chosen = chosen.question, True
    if reply := small_talk_reply(work.question.text, quotes=bool(work.question.material)):
        work.answer = Answer(AnswerKind.WRITTEN, reply)
        return _classified(None)
    try:
        work.file_reply = await services.about_files.reply(work.collection, work.question, work.turn, work.names)
    except SearchIndexError as error:
        return _failed(work, error)
    if work.file_reply is not None and work.file_reply.certain:
        return _classified(None)
    shown = await work.turn.history.aget_messages()
    before = exchanges(shown)
    # The weights are loaded at the first call.
    work.whole = await asyncio.to_thread(in_context, work.question, before)
    category = classify_by_rules(work.whole) if work.query is not None else None
    if services.analyser is not None and before and (work.whole != work.question or category is None):
        work.analysis = await services.analyser.analyse(work.question, work.turn.history)
        if work.analysis is not None:
            said = work.analysis.standalone_question or work.question.text
            work.whole = replace(work.question, text=said, remark=work.whole.remark)
            category = classify_by_rules(work.whole)
            if category is not None and work.analysis.confidence > category.confidence:
                category = work.analysis.category
        elif not points_back(work.question.text):
            # The model that answers is shown the conversation, so a guess of the rules would only mislead it.
            work.whole = work.question
    summary = "\n".join(message.text for message in shown if message.type == "system")
    return _classified(category) | {"conversation_summary": summary or None, "turn_count": len(before) + 1}


async def clarify(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Ask back, because the message does not say what it is about."""
    work = runtime.context.work
    said = CLARIFY_TROUBLE if names_trouble(work.question.text) else CLARIFY
    work.answer = Answer(AnswerKind.CLARIFIED, said)
    return _generated(work, None)


async def rewrite(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Complete a question that goes on from the one before; leave any other untouched.

    What is written here is searched and answered.
    """
    work = runtime.context.work
    if work.whole is not None:
        # 班长电话 after another question may be a new one. Only its search shows that.
        work.alone = None if work.analysis or points_back(work.question.text) else work.question
        work.question = work.whole
    return {"rewritten_question": work.question.text}


async def look_up(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Look for an answer to this question that the group has approved."""
    services, work = runtime.context.services, runtime.context.work
    if work.is_chosen:
        return {}
    try:
        match = await services.faq.look_up(work.collection, work.alone or work.question)
    except RecordsError:
        log.exception("approved answers of %s could not be looked up", work.collection)
        return {}
    if match.band is FaqBand.DIRECT and match.entry is not None:
        work.answer = approved_answer(match.entry)
        return _generated(work, None)
    work.choices = match.choices
    return {}


async def retrieve(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Search the group's files, in a second round with other words, too."""
    services, work = runtime.context.services, runtime.context.work
    try:
        found = await services.retriever.retrieve(
            work.collection, work.question, strictness=services.strictness, words=work.words
        )
        if work.alone is not None:
            alone = await services.retriever.retrieve(work.collection, work.alone, strictness=services.strictness)
            if _answers_as_well(alone, found):
                work.question, found = work.alone, alone
    except SearchIndexError as error:
        return _failed(work, error)
    work.retrieval = better(work.retrieval, found) if work.retrieval is not None else found
    return {"retrieved_documents": documents_of(work.retrieval), "rounds": state.get("rounds", 0) + 1}


async def expand(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Look for other words: those that the documents define, otherwise those that the fast model knows."""
    services, work = runtime.context.services, runtime.context.work
    try:
        words = await services.retriever.aliases(work.collection, work.question)
    except SearchIndexError as error:
        return _failed(work, error)
    if not words and services.analyser is not None:
        if work.analysis is None:
            work.analysis = await services.analyser.analyse(work.question, work.turn.history)
        words = work.analysis.other_words if work.analysis is not None else []
    work.words = tuple(words)
    return {}


async def generate(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Write or quote the answer, and say how sure it is."""
    services, work = runtime.context.services, runtime.context.work
    history, reply = work.turn.history, work.file_reply
    if reply is not None and reply.certain:
        work.retrieval = reply.passages
        work.answer = await services.generation.summary(work.question, reply, history)
        return _generated(work, None)
    if work.retrieval is None:
        raise RuntimeError("nothing was retrieved before an answer")
    if reply is not None and work.retrieval.status is not RetrievalStatus.USABLE:
        work.answer = reply.answer
        return _generated(work, None)
    if work.query is not None:
        work.retrieval = replace(work.retrieval, references=work.retrieval.references[: work.query.max_results])
    written = await services.generation.answer(
        work.question,
        work.retrieval,
        history,
        category_of(state),
        collection=work.collection,
        role=work.role,
        include_code=work.query is None or work.query.include_code,
    )
    work.answer, work.retrieval = written.answer, written.retrieval or work.retrieval
    work.turn.details = replace(work.turn.details, tool_calls=written.tool_calls)
    if reply is not None and says_nothing(work.answer):
        work.answer = reply.answer
    builds = {source.build_id for source in work.answer.sources}
    if builds and not await services.retriever.shows(work.collection, builds):
        # A file may be deleted while the model writes.
        work.answer = Answer(AnswerKind.NOTHING_FOUND, GONE)
    sure = confidence(work.answer, work.retrieval)
    if work.choices and (sure is None or sure < _SURE):
        work.answer = _with_choices(work.answer, work.choices)
        services.pending.offer(work.turn.session_id, work.collection, work.question, work.choices)
    work.technical = written.technical and completed(written.technical, work.answer.sources, sure)
    return _generated(work, sure)


async def review(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Wait for a person's decision about the answer. Nothing may happen here before it, because the node runs again."""
    decision: dict[str, Any] = interrupt({"confidence": state.get("confidence")})
    return {"decision": decision}


async def answer(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Settle what is sent: the answer as it stands, or as a person decided."""
    work, decision = runtime.context.work, state.get("decision")
    drafted = state.get("generated_answer")
    if decision is not None and drafted is not None:
        work.answer = _decided(from_state(drafted), decision)
    elif work.answer is None:
        raise RuntimeError("no answer at the end of a turn")
    return {
        "messages": [AIMessage(work.answer.text)],
        "generated_answer": as_state(work.answer, work.technical),
        "last_updated": now().isoformat(),
    }


async def collect_feedback(state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
    """Store the exchange, to which a rating can refer from now on.

    The queue of reviews stores what a person decided, because it also does so if no checkpoint is left.
    """
    if state.get("decision") is not None:
        return {}
    work = runtime.context.work
    if work.answer is None:
        raise RuntimeError("no answer to store")
    work.answer = await remember(
        work.turn,
        work.answer,
        category=category_of(state),
        confidence=state.get("confidence"),
        retrieval=work.retrieval,
    )
    return {"user_feedback": None}


def _decided(drafted: Answer, decision: dict[str, Any]) -> Answer:
    """Return the draft if a person approved it as it is, and otherwise what they decided instead."""
    if decision["kind"] == Decided.APPROVED:
        return replace(drafted, kind=AnswerKind.REVIEWED, notice="", doubtful=False)
    return replace(from_state(decision["answer"]), kind=AnswerKind.REVIEWED)


def category_of(state: ConversationState) -> QuestionCategory | None:
    """Return the category of the question, or None for what is no question."""
    stored = state.get("classification")
    return QuestionCategory.model_validate(stored) if stored else None


def goes_on(work: TurnWork) -> bool:
    """Return whether a question goes on from the ones before it, and is rewritten."""
    return work.whole is not None and work.whole != work.question


def _answers_as_well(alone: Retrieval, whole: Retrieval) -> bool:
    """Return whether a question finds by itself what may be quoted, and hardly anything better as it was completed."""
    if alone.status is not RetrievalStatus.USABLE or not alone.quotable:
        return False
    return (alone.metrics.max_rerank_score or 0.0) >= (whole.metrics.max_rerank_score or 0.0) - _ALONE_MARGIN


def _with_choices(found: Answer, choices: Sequence[FaqEntry]) -> Answer:
    """Return the question which approved one is meant, or the answer with a hint at those that are near."""
    if found.kind is AnswerKind.NOTHING_FOUND:
        return Answer(AnswerKind.CLARIFIED, choice_text(choices))
    if found.kind is AnswerKind.FAILED:
        return found
    names = " ".join(f"{number}.「{entry.question}」" for number, entry in enumerate(choices, start=1))
    return replace(found, notice=f"{found.notice}（群里确认过相近的问题：{names}，回复数字看回答）")


def _classified(category: QuestionCategory | None) -> dict[str, Any]:
    if category is None:
        return {"question_category": None, "classification": None}
    return {
        "question_category": category.main_category.value,
        "classification": category.model_dump(mode="json"),
    }


def _generated(work: TurnWork, sure: float | None) -> dict[str, Any]:
    assert work.answer is not None  # noqa: S101
    return {"generated_answer": as_state(work.answer, work.technical), "confidence": sure}


def _failed(work: TurnWork, error: SearchIndexError) -> dict[str, Any]:
    work.answer = Answer(AnswerKind.FAILED, error.told())
    return {"error": str(error)}
