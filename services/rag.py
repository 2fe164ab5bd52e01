"""The retrieval-augmented chain of the specification: a prompt and a model, with the history of the session.

It is the only file that uses RunnableWithMessageHistory.

approved references ─► {context} ┐
session history ─► {chat_history} ├─► prompt ─► model ─► draft
question ──────────────► {input} ┘

Retrieval comes before and review after it. Nothing that failed the gate is in here: the chain reads only the
references of a retrieval.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, merge_message_runs
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from services.llm import ChatModel
from services.memory.history import TurnHistory
from services.prompts import FENCE_BEGIN, Prompts, new_fence
from services.retrieval.models import Question, Reference, Retrieval, RetrievalStatus, Strictness
from services.tracing.stages import stage

# What the prompt tells the model to write if it has nothing to say, and before mere conversation.
NOTHING_MARK = "【资料里没有】"
CHAT_MARK = "【闲聊】"


@dataclass(frozen=True, slots=True)
class Draft:
    """The text that the model wrote, and everything that it was given.

    `history` holds the messages that it was shown, as text. `general` tells whether it was allowed to answer from
    general knowledge. `instructions` is what the product told it: the system message without the fenced part.
    `results` are what tools other than the search returned; figures may come from them. `tool_calls` names the tools
    that were called, in order.
    """

    text: str
    truncated: bool
    question: Question
    retrieval: Retrieval
    history: tuple[str, ...]
    general: bool
    instructions: str = ""
    results: tuple[str, ...] = ()
    tool_calls: tuple[str, ...] = ()


class _Basis(StrEnum):
    """What an answer may be based on, and so the prompt that asks for it."""

    REFERENCES = "references"
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
            _Basis.GENERAL: prompts.general,
            _Basis.CONVERSATION: prompts.conversation,
        }
        self._instructions = {basis: self._instructions_of(basis) for basis in _Basis}

    @property
    def model_name(self) -> str:
        """The name of the model that writes."""
        return self._model.name

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
        basis = self._basis(retrieval)
        fence = new_fence()
        references = format_references(retrieval.references, fence)

        async def prompt(messages: list[BaseMessage]) -> list[BaseMessage]:
            *shown, asked = messages
            return self._prompt(basis, fence, references, shown, asked.text)

        chain: Runnable[list[BaseMessage], AIMessage] = RunnableLambda(prompt) | RunnableLambda(self._reply)
        asked: list[BaseMessage] = [HumanMessage(question.shown)]
        shown: list[BaseMessage] = []
        if history is None:
            reply = await chain.ainvoke(asked)
        else:
            reply = await _with_history(chain, history).ainvoke(asked)
            shown = await history.aget_messages()
        return Draft(
            text=reply.text,
            truncated=reply.response_metadata.get("finish_reason") == "length",
            question=question,
            retrieval=retrieval,
            history=tuple(message.text for message in shown),
            general=basis is _Basis.GENERAL,
            instructions=self._instructions[basis],
        )

    def _basis(self, retrieval: Retrieval) -> _Basis:
        if retrieval.references:
            return _Basis.REFERENCES
        # After a failed reranking it is unknown what the documents say.
        if self._general_knowledge and retrieval.status is not RetrievalStatus.RERANK_FAILED:
            return _Basis.GENERAL
        return _Basis.CONVERSATION

    def _prompt(
        self, basis: _Basis, fence: str, references: str, shown: Sequence[BaseMessage], question: str
    ) -> list[BaseMessage]:
        # Summaries are within the fence; several services accept only one system message, at the very beginning.
        summary = "\n".join(message.text for message in shown if message.type == "system")
        spoken = [message for message in shown if message.type != "system"]
        context = "\n".join(part for part in (format_summary(summary, fence), references) if part)
        return self._filled(basis, fence, context, spoken, question)

    async def _reply(self, prompt: list[BaseMessage]) -> AIMessage:
        with stage("model"):
            return await self._model.reply(prompt)

    def _filled(
        self, basis: _Basis, fence: str, context: str, spoken: Sequence[BaseMessage], question: str
    ) -> list[BaseMessage]:
        prompt = self._prompts[basis].invoke(
            {
                "persona": self._persona,
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
        return without_fenced(self._filled(basis, FENCE_BEGIN, "", (), ""))


def _with_history(
    chain: Runnable[list[BaseMessage], AIMessage], history: TurnHistory
) -> Runnable[list[BaseMessage], AIMessage]:
    """Return the chain with the messages of `history` before its input."""
    with warnings.catch_warnings():
        # Deprecated, to be removed in langchain-core 2.0, which the lock excludes; the specification names it.
        warnings.simplefilter("ignore", DeprecationWarning)
        return RunnableWithMessageHistory(chain, lambda: history)


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
