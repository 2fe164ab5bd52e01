"""The retrieval-augmented chain of the specification: a prompt and a model, with the history of the session.

It is the only file that uses RunnableWithMessageHistory.

approved references ─► {context} ┐
session history ─► {chat_history} ├─► prompt ─► model ─► draft
question ──────────────► {input} ┘

Retrieval comes before and review after it. Nothing that failed the gate is in here: the chain reads only the
references of a retrieval.
"""

import datetime
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, merge_message_runs
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from services.budgets.day import today
from services.llm import ChatModel
from services.llm.structured import Structured
from services.memory.history import TurnHistory, is_doubtful
from services.prompts import FENCE_BEGIN, Prompts, new_fence
from services.retrieval.models import Question, Reference, Retrieval, RetrievalStatus, Strictness
from services.tracing.stages import stage

# What the prompt tells the model to write if it has nothing to say, and before mere conversation.
NOTHING_MARK = "【资料里没有】"
CHAT_MARK = "【闲聊】"

_WEEKDAYS = "一二三四五六日"


@dataclass(frozen=True, slots=True)
class Draft:
    """The text that the model wrote, and everything that it was given.

    `history` holds the messages that it was shown, as text, without answers that were doubtful. `general` tells whether
    it was allowed to answer from general knowledge. `instructions` is what the product told it: the system message
    without the fenced part and the date, which is `today`. `results` are what tools other than the search returned;
    figures may come from them. `tool_calls` names the tools that were called, in order.
    """

    text: str
    truncated: bool
    question: Question
    retrieval: Retrieval
    history: tuple[str, ...]
    general: bool
    instructions: str = ""
    today: str = ""
    results: tuple[str, ...] = ()
    tool_calls: tuple[str, ...] = ()


class _Basis(StrEnum):
    """What an answer may be based on, and so the prompt that asks for it."""

    REFERENCES = "references"
    STRUCTURE = "structure"
    GENERAL = "general"
    CONVERSATION = "conversation"


class RagChain:
    """Writes answers from what was retrieved."""

    def __init__(self, model: ChatModel, prompts: Prompts, *, general_knowledge: bool = False) -> None:
        self._model = model
        self._persona = prompts.persona
        self._general_knowledge = general_knowledge
        self._prompts: Mapping[_Basis, ChatPromptTemplate] = {
            _Basis.REFERENCES: prompts.answer,
            _Basis.STRUCTURE: prompts.technical,
            _Basis.GENERAL: prompts.general,
            _Basis.CONVERSATION: prompts.conversation,
        }
        self._instructions = {basis: self._instructions_of(basis) for basis in _Basis}

    @property
    def model_name(self) -> str:
        """The name of the model that writes."""
        return self._model.name

    @property
    def uses_general_knowledge(self) -> bool:
        """Whether the model may answer from what it knows, if the files say nothing."""
        return self._general_knowledge

    @property
    def strictness(self) -> Strictness:
        """How strict the gate is before this chain.

        A model that may use general knowledge would use it where an uncertain passage holds nothing.
        """
        return Strictness.ASKED if self._general_knowledge else Strictness.WRITTEN

    async def write(self, question: Question, retrieval: Retrieval, history: TurnHistory | None = None) -> Draft:
        """Return what the model writes about a question from a retrieval. Nothing is stored.

        Without `history` the model is shown no earlier conversation. Raise `ModelError` if the model fails.
        """
        return await self._draft(self._basis(retrieval), self._model.reply, question, retrieval, history)

    async def fill(
        self, schema: type[Structured], question: Question, retrieval: Retrieval, history: TurnHistory
    ) -> tuple[Structured, Draft]:
        """Return the object of `schema` that the model fills in from the references, and the draft that it came as.

        Raise `ModelError` if the model fails, also if what it writes does not fit after one repair.
        """

        async def filled(prompt: Sequence[BaseMessage]) -> AIMessage:
            return AIMessage((await self._model.structured(prompt, schema)).model_dump_json())

        draft = await self._draft(_Basis.STRUCTURE, filled, question, retrieval, history)
        return schema.model_validate_json(draft.text), draft

    async def _draft(
        self,
        basis: _Basis,
        reply: Callable[[Sequence[BaseMessage]], Awaitable[AIMessage]],
        question: Question,
        retrieval: Retrieval,
        history: TurnHistory | None,
    ) -> Draft:
        fence, date = new_fence(), today_text(today())
        references = format_references(retrieval.references, fence)

        async def prompt(messages: list[BaseMessage]) -> list[BaseMessage]:
            *shown, asked = messages
            return self._prompt(basis, fence, references, shown, asked.text, date)

        async def written(messages: list[BaseMessage]) -> AIMessage:
            with stage("model"):
                return await reply(messages)

        chain: Runnable[list[BaseMessage], AIMessage] = RunnableLambda(prompt) | RunnableLambda(written)
        asked: list[BaseMessage] = [HumanMessage(question.shown)]
        shown: list[BaseMessage] = []
        if history is None:
            message = await chain.ainvoke(asked)
        else:
            message = await _with_history(chain, history).ainvoke(asked)
            shown = await history.aget_messages()
        return Draft(
            text=message.text,
            truncated=message.response_metadata.get("finish_reason") == "length",
            question=question,
            retrieval=retrieval,
            history=tuple(message.text for message in shown if not is_doubtful(message)),
            general=basis is _Basis.GENERAL,
            instructions=self._instructions[basis],
            today=date,
        )

    def _basis(self, retrieval: Retrieval) -> _Basis:
        if retrieval.references:
            return _Basis.REFERENCES
        # After a failed reranking it is unknown what the documents say.
        if self._general_knowledge and retrieval.status is not RetrievalStatus.RERANK_FAILED:
            return _Basis.GENERAL
        return _Basis.CONVERSATION

    def _prompt(
        self, basis: _Basis, fence: str, references: str, shown: Sequence[BaseMessage], question: str, date: str
    ) -> list[BaseMessage]:
        # Summaries are within the fence; several services accept only one system message, at the very beginning.
        summary = "\n".join(message.text for message in shown if message.type == "system")
        spoken = [message for message in shown if message.type != "system"]
        context = "\n".join(part for part in (format_summary(summary, fence), references) if part)
        return self._filled(basis, fence, context, spoken, question, date)

    def _filled(
        self, basis: _Basis, fence: str, context: str, spoken: Sequence[BaseMessage], question: str, date: str
    ) -> list[BaseMessage]:
        prompt = self._prompts[basis].invoke(
            {
                "persona": self._persona,
                "today": date,
                "fence": fence,
                "context": context,
                "nothing": NOTHING_MARK,
                "chat": CHAT_MARK,
                "chat_history": list(spoken),
                "input": question,
            }
        )
        return merge_message_runs(prompt.to_messages())

    def _instructions_of(self, basis: _Basis) -> str:
        return without_fenced(self._filled(basis, FENCE_BEGIN, "", (), "", ""))


def _with_history(
    chain: Runnable[list[BaseMessage], AIMessage], history: TurnHistory
) -> Runnable[list[BaseMessage], AIMessage]:
    """Return the chain with the messages of `history` before its input."""
    with warnings.catch_warnings():
        # Deprecated, to be removed in langchain-core 2.0, which the lock excludes; the specification names it.
        warnings.simplefilter("ignore", DeprecationWarning)
        return RunnableWithMessageHistory(chain, lambda: history)


def today_text(day: datetime.date) -> str:
    """Return a day as the model reads it.

    >>> today_text(datetime.date(2026, 11, 22))
    '2026年11月22日，星期日'
    """
    return f"{day.year}年{day.month}月{day.day}日，星期{_WEEKDAYS[day.weekday()]}"


def without_fenced(prompt: Sequence[BaseMessage]) -> str:
    """Return the system messages of a prompt without the lines between the first and the last fence."""
    kept: list[str] = []
    for message in prompt:
        if message.type == "system":
            lines = message.text.split("\n")
            fences = [place for place, line in enumerate(lines) if line.startswith(FENCE_BEGIN)]
            kept += lines[: fences[0]] + lines[fences[-1] + 1 :] if fences else lines
    return "\n".join(kept)


def format_summary(summary: str, fence: str) -> str:
    """Return the summary of the earlier conversation as the model sees it, empty if there is none.

    It begins with the fence, so that no text can pose as it.
    """
    return f"{fence} 更早对话的摘要\n{summary}" if summary else ""


def format_references(references: Sequence[Reference], fence: str) -> str:
    """Return the references as the model sees them. Each begins with the fence, so that no text can pose as one."""
    return "\n".join(
        f"{fence} 资料〔{reference.number}〕 {reference.place}\n{reference.text}" for reference in references
    )
