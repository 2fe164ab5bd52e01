"""The retrieval-augmented chain of the specification, with memory.

It is the only file that uses RunnableWithMessageHistory.

question ─► retrieve ─► approved references ─► {context} ┐
session history ─────────────────────► {chat_history} ├─► prompt ─► model ─► review ─► answer ─► history
question ───────────────────────────────────► {input} ┘

Nothing that failed the gate is in here: the chain reads only the references of a retrieval.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, merge_message_runs
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import (
    ConfigurableFieldSpec,
    Runnable,
    RunnableBranch,
    RunnableLambda,
    RunnablePassthrough,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from services.llm import ChatModel
from services.memory.history import TurnHistory
from services.prompts import FENCE_BEGIN, Prompts, new_fence
from services.records.conversations import Source
from services.retrieval.models import Question, Reference, Retrieval, RetrievalStatus
from services.retrieval.retriever import Retriever
from services.tracing.stages import stage

# What the prompt tells the model to write if it has nothing to say, and before mere conversation.
NOTHING_MARK = "【资料里没有】"
CHAT_MARK = "【闲聊】"


@dataclass(frozen=True, slots=True)
class Draft:
    """The text that the model wrote, and everything that it was given.

    `history` holds the messages that it was shown, as text. `general` tells whether it was allowed to answer from
    general knowledge. `instructions` is what the product told it: the system message without the fenced part.
    """

    text: str
    truncated: bool
    question: Question
    retrieval: Retrieval
    history: tuple[str, ...]
    general: bool
    instructions: str = ""


class Reviewed(Protocol):
    """The result of reviewing a draft: the text that is sent and remembered, and the sources of its numbers."""

    @property
    def text(self) -> str:
        """The text."""
        ...

    @property
    def sources(self) -> Sequence[Source]:
        """The sources."""
        ...


ReviewedDraft = TypeVar("ReviewedDraft", bound=Reviewed)


@dataclass(frozen=True, slots=True)
class Written(Generic[ReviewedDraft]):
    """A reviewed answer and the retrieval that it is based on."""

    reviewed: ReviewedDraft
    retrieval: Retrieval


class RagChain(Generic[ReviewedDraft]):
    """Answers from one collection, remembering one session.

    `review` turns every draft into what is sent; an exception from it ends the turn, and nothing is stored.
    """

    def __init__(
        self,
        retriever: Retriever,
        model: ChatModel,
        prompts: Prompts,
        review: Callable[[Draft], ReviewedDraft],
        *,
        general_knowledge: bool = False,
    ) -> None:
        self._retriever = retriever
        self._persona = prompts.persona
        self._general_knowledge = general_knowledge
        self._model = model
        prompt = RunnableBranch(
            (_has_references, prompts.answer),
            (lambda values: bool(values["general"]), prompts.general),
            prompts.conversation,
        )
        self._write: Runnable[Any, Any] = (
            RunnablePassthrough.assign(general=self._may_be_general)
            | RunnablePassthrough.assign(prompt=RunnableLambda(self._filled) | prompt | RunnableLambda(_messages))
            | RunnablePassthrough.assign(reply=RunnableLambda(self._reply, name="model"))
            # A plain function runs in a thread: reviewing the longest reply takes some hundred milliseconds.
            | RunnablePassthrough.assign(reviewed=lambda values: review(_draft(values)))
            | RunnablePassthrough.assign(answer=_remembered)
        )
        chain: Runnable[Any, Any] = (
            RunnablePassthrough.assign(retrieval=RunnableLambda(self._retrieve, name="retrieve")) | self._write
        )
        with warnings.catch_warnings():
            # Deprecated, to be removed in langchain-core 2.0, which the lock excludes; the specification names it.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._chain = RunnableWithMessageHistory(
                chain,
                _given_history,
                input_messages_key="input",
                history_messages_key="chat_history",
                output_messages_key="answer",
                history_factory_config=[ConfigurableFieldSpec(id="history", annotation=TurnHistory)],
            )

    @property
    def model_name(self) -> str:
        """The name of the model that writes."""
        return self._model.name

    async def answer(self, collection: str, question: Question, history: TurnHistory) -> Written[ReviewedDraft]:
        """Return one answer; the exchange is then in `history` (see its `stored`).

        Raise `ModelError`, `SearchIndexError` or what the review raises;
        nothing is stored then.
        """
        values = await self._chain.ainvoke(
            {
                "input": question.shown,
                "question": question,
                "collection": collection,
                "history": history,
            },
            config={"configurable": {"history": history}},
        )
        return Written(cast(ReviewedDraft, values["reviewed"]), cast(Retrieval, values["retrieval"]))

    async def write(self, question: Question, retrieval: Retrieval) -> ReviewedDraft:
        """Return one answer from an existing retrieval; no memory is read or written. Raise as `answer` does."""
        values = await self._write.ainvoke(
            {
                "input": question.shown,
                "question": question,
                "retrieval": retrieval,
                "chat_history": [],
            }
        )
        return cast(ReviewedDraft, values["reviewed"])

    async def _retrieve(self, values: dict[str, Any]) -> Retrieval:
        return await self._retriever.retrieve(values["collection"], values["question"])

    async def _reply(self, values: dict[str, Any]) -> AIMessage:
        with stage("model"):
            return await self._model.reply(cast(list[BaseMessage], values["prompt"]))

    def _may_be_general(self, values: dict[str, Any]) -> bool:
        # After a failed reranking it is unknown what the documents say.
        retrieval = cast(Retrieval, values["retrieval"])
        failed = retrieval.status is RetrievalStatus.RERANK_FAILED
        return self._general_knowledge and not retrieval.references and not failed

    def _filled(self, values: dict[str, Any]) -> dict[str, Any]:
        fence = new_fence()
        retrieval = cast(Retrieval, values["retrieval"])
        shown = cast(Sequence[BaseMessage], values["chat_history"])
        summary = "\n".join(message.text for message in shown if message.type == "system")
        return {
            "retrieval": retrieval,
            "general": values["general"],
            "persona": self._persona,
            "fence": fence,
            "context": format_context(summary, retrieval.references, fence),
            "nothing": NOTHING_MARK,
            "chat": CHAT_MARK,
            # Summaries are within the fence; several services accept only one system message, at the very beginning.
            "chat_history": [message for message in shown if message.type != "system"],
            "input": values["input"],
        }


def _has_references(values: dict[str, Any]) -> bool:
    return bool(cast(Retrieval, values["retrieval"]).references)


def _messages(prompt: PromptValue) -> list[BaseMessage]:
    return merge_message_runs(prompt.to_messages())


def _draft(values: dict[str, Any]) -> Draft:
    reply = cast(AIMessage, values["reply"])
    shown = cast(Sequence[BaseMessage], values["chat_history"])
    return Draft(
        text=reply.text,
        truncated=reply.response_metadata.get("finish_reason") == "length",
        question=values["question"],
        retrieval=values["retrieval"],
        history=tuple(message.text for message in shown),
        general=values["general"],
        instructions=_instructions(values["prompt"]),
    )


def _instructions(prompt: Sequence[BaseMessage]) -> str:
    """Return the system messages without the lines between the first and the last fence."""
    kept: list[str] = []
    for message in prompt:
        if message.type == "system":
            lines = message.text.split("\n")
            fences = [place for place, line in enumerate(lines) if line.startswith(FENCE_BEGIN)]
            kept += lines[: fences[0]] + lines[fences[-1] + 1 :] if fences else lines
    return "\n".join(kept)


def _remembered(values: dict[str, Any]) -> AIMessage:
    """Return what goes into the history: what is sent, not what the model wrote."""
    reviewed = cast(Reviewed, values["reviewed"])
    if history := cast(TurnHistory | None, values.get("history")):
        history.sources = reviewed.sources
    return AIMessage(reviewed.text)


def _given_history(history: TurnHistory) -> TurnHistory:
    return history


def format_context(summary: str, references: Sequence[Reference], fence: str) -> str:
    """Return the summary of the earlier conversation and the references, as the model sees them.

    Each begins with the fence, so that no text can pose as one.
    """
    parts = [f"{fence} 更早对话的摘要\n{summary}"] if summary else []
    parts += [f"{fence} 资料〔{reference.number}〕 {reference.place}\n{reference.text}" for reference in references]
    return "\n".join(parts)
