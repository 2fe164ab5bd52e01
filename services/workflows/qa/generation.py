"""The answer from what was retrieved: written by the model and reviewed, or quoted."""

import asyncio
import logging
from dataclasses import dataclass, replace

from services.agent.layer import AgentLayer
from services.budgets.model import ModelBudget
from services.errors import ModelBudgetSpent, ModelError, ModelTimeout, ModelUnavailable, RerankError, SearchIndexError
from services.grounding.models import Answer, AnswerKind
from services.grounding.quoted import excerpt_answer, nothing_found
from services.memory.history import TurnHistory
from services.rag import RagChain
from services.retrieval.models import Question, Retrieval, RetrievalStatus
from services.retrieval.wording import asks_something
from services.roles import Role
from services.workflows.qa.about_files import FileReply
from services.workflows.qa.models import QuestionCategory, TechnicalAnswer
from services.workflows.qa.small_talk import small_talk_reply
from services.workflows.qa.technical import technical_text, wants_structure
from services.workflows.qa.written import is_request, review, says_nothing

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Written:
    """An answer, with the structured one that it was written from, if any.

    If an agent wrote it, `tool_calls` names the tools that it used, and `retrieval` is everything that it found.
    """

    answer: Answer
    technical: TechnicalAnswer | None = None
    tool_calls: tuple[str, ...] = ()
    retrieval: Retrieval | None = None


class AnswerGeneration:
    """Answers by the model, or by quotation if there is none, it fails or its budget is spent."""

    def __init__(
        self, chain: RagChain | None, budget: ModelBudget | None = None, agent: AgentLayer | None = None
    ) -> None:
        self._chain = chain
        self._budget = budget
        self._agent = agent

    async def answer(
        self,
        question: Question,
        retrieval: Retrieval,
        history: TurnHistory,
        category: QuestionCategory | None = None,
        *,
        collection: str,
        role: Role = Role.MEMBER,
        include_code: bool = True,
    ) -> Written:
        """Return the answer to a question. `category` decides its shape.

        If nothing was found, the model is called only for what it may answer without sources. An agent may search
        `collection` once more, with the tools of `role`.
        """
        if self._chain is None:
            return Written(await _quoted(question, retrieval))
        if (
            not retrieval.references
            and self._agent is None
            and not await self._may_converse(self._chain, question, retrieval, history)
        ):
            return Written(_nothing(question, retrieval))
        try:
            if self._agent is not None and retrieval.status is not RetrievalStatus.RERANK_FAILED:
                draft = await self._agent.write(question, collection, history, role, retrieval)
                answer = await asyncio.to_thread(review, draft)
                return Written(answer, tool_calls=draft.tool_calls, retrieval=draft.retrieval)
            if retrieval.references and retrieval.quotable and wants_structure(category):
                found = await self._structured(self._chain, question, retrieval, history, include_code=include_code)
                if found is not None:
                    return found
            draft = await self._chain.write(question, retrieval, history)
            # Reviewing the longest reply takes some hundred milliseconds.
            return Written(await asyncio.to_thread(review, draft))
        except ModelBudgetSpent:
            return Written(_noticed(await _quoted(question, retrieval), self._spent()))
        except ModelError as error:
            log.warning("no answer from the model: %s", error)
            return Written(await _without_model(question, retrieval, error))
        except SearchIndexError as error:
            log.exception("a search of the agent failed")
            return Written(Answer(AnswerKind.FAILED, error.told()))
        except RerankError as error:
            # Its sentence is the warning of the retrieval, which already has the code.
            return Written(Answer(AnswerKind.FAILED, error.user_message))

    async def summary(self, question: Question, reply: FileReply, history: TurnHistory) -> Answer:
        """Return the model's summary of a document, or the reply itself if there is no model or no cited summary."""
        if self._chain is None or reply.passages is None:
            return reply.answer
        try:
            draft = await self._chain.write(question, reply.passages, history)
            answer = await asyncio.to_thread(review, draft)
        except ModelBudgetSpent:
            return _noticed(reply.answer, self._spent())
        except ModelError as error:
            log.warning("no summary from the model: %s", error)
            return _noticed(reply.answer, error.told())
        return answer if answer.sources and not says_nothing(answer) else reply.answer

    async def _structured(
        self, chain: RagChain, question: Question, retrieval: Retrieval, history: TurnHistory, *, include_code: bool
    ) -> Written | None:
        """Return a technical answer in its structure, or None if the model cannot fill it in.

        Its text goes through the same review as any other. Raise `ModelError` if the model cannot be called.
        """
        try:
            technical, draft = await chain.fill(TechnicalAnswer, question, retrieval, history)
            text = technical_text(technical, include_code=include_code)
            answer = await asyncio.to_thread(review, replace(draft, text=text))
        except (ModelBudgetSpent, ModelTimeout, ModelUnavailable):
            raise
        except ModelError as error:
            log.warning("a plain answer instead of a structured one: %s", error)
            return None
        return Written(answer, None if says_nothing(answer) else technical)

    async def _may_converse(
        self, chain: RagChain, question: Question, retrieval: Retrieval, history: TurnHistory
    ) -> bool:
        """Return whether the model may answer although nothing was found."""
        if _chat_reply(question) or retrieval.status is RetrievalStatus.RERANK_FAILED:
            return False
        if chain.uses_general_knowledge or not retrieval.chunk_count:
            return True
        # A question that the files do not answer may be about the conversation, if there is one.
        return not (asks_something(question.text) or is_request(question)) or bool(await history.aget_messages())

    def _spent(self) -> str:
        return self._budget.notice() if self._budget else ""


async def _quoted(question: Question, retrieval: Retrieval) -> Answer:
    """Return the answer without a model. Chatter is answered as such, even if it has words of the files."""
    if _chat_reply(question) or retrieval.status is RetrievalStatus.RERANK_FAILED:
        return _nothing(question, retrieval)
    # Choosing among the parts of long passages takes up to 20 ms.
    return await asyncio.to_thread(excerpt_answer, question, retrieval)


def _nothing(question: Question, retrieval: Retrieval) -> Answer:
    """Return what is said if there is nothing to answer from."""
    if reply := _chat_reply(question):
        return Answer(AnswerKind.WRITTEN, reply)
    if retrieval.status is RetrievalStatus.RERANK_FAILED:
        return Answer(AnswerKind.FAILED, retrieval.warning)
    return nothing_found(retrieval)


async def _without_model(question: Question, retrieval: Retrieval, error: ModelError) -> Answer:
    """Return the answer after a model failure: one sentence, and what the files themselves say, if anything."""
    notice = error.told() + retrieval.warning
    if not retrieval.references or not retrieval.quotable:
        return Answer(AnswerKind.FAILED, notice)
    excerpt = await asyncio.to_thread(excerpt_answer, question, retrieval)
    return Answer(AnswerKind.FAILED, excerpt.text, excerpt.sources, notice)


def _chat_reply(question: Question) -> str | None:
    """Return the reply to small talk. 求助 with a picture is none."""
    return small_talk_reply(question.text, quotes=bool(question.material))


def _noticed(answer: Answer, notice: str) -> Answer:
    return replace(answer, notice=answer.notice + notice)
