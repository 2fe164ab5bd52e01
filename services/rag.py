"""The retrieval-augmented chain of the specification, with memory. The only file that uses RunnableWithMessageHistory.

input ─► retrieve ─► references ─► {context} ┐
session history ──────────────► {chat_history} ├─► prompt ─► model ─► answer ─► history
input ──────────────────────────────► {input} ┘
"""

import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, merge_message_runs
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import ConfigurableFieldSpec, Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from services.llm import ChatModel
from services.memory.history import TurnHistory
from services.prompts import Prompts
from services.retrieval.models import Reference, Retrieval
from services.retrieval.retriever import Retriever

_NOTHING = "（没有找到相关资料）"


@dataclass(frozen=True, slots=True)
class RagAnswer:
    """What the model wrote, and the retrieval that it was shown."""

    text: str
    truncated: bool
    retrieval: Retrieval


class RagChain:
    """Answers from one collection, remembering one session."""

    def __init__(self, retriever: Retriever, model: ChatModel, prompts: Prompts, top_k: int) -> None:
        self._retriever = retriever
        self._persona = prompts.persona
        self._top_k = top_k
        retrieve = RunnableLambda(self._retrieve, name="retrieve")
        chain: Runnable[Any, Any] = (
            RunnablePassthrough.assign(retrieval=retrieve)
            | RunnablePassthrough.assign(
                persona=lambda _: self._persona,
                context=lambda values: format_references(values["retrieval"].references, values["fence"]),
            )
            # Several services accept one system message only, at the very beginning.
            | RunnablePassthrough.assign(
                answer=prompts.answer | RunnableLambda(_one_system_message) | RunnableLambda(model.reply, name="model")
            )
        )
        with warnings.catch_warnings():
            # Deprecated, to go in langchain-core 2.0, which the lock keeps out; the specification names it.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._chain = RunnableWithMessageHistory(
                chain,
                _given_history,
                input_messages_key="input",
                history_messages_key="chat_history",
                output_messages_key="answer",
                history_factory_config=[ConfigurableFieldSpec(id="history", annotation=TurnHistory)],
            )

    async def answer(self, collection: str, question: str, history: TurnHistory) -> RagAnswer:
        """One answer; the exchange is then in `history` (see its `stored`).

        Raises `ModelError` or `SearchIndexError`, and then nothing is stored.
        """
        values = await self._chain.ainvoke(
            # The boundary is made anew for every call: no document can contain it.
            {"input": question, "collection": collection, "fence": f"====资料边界 {secrets.token_hex(8)}===="},
            config={"configurable": {"history": history}},
        )
        message = cast(AIMessage, values["answer"])
        return RagAnswer(
            text=message.text,
            truncated=message.response_metadata.get("finish_reason") == "length",
            retrieval=cast(Retrieval, values["retrieval"]),
        )

    async def _retrieve(self, values: dict[str, Any]) -> Retrieval:
        return await self._retriever.retrieve(values["collection"], values["input"], self._top_k)


def _one_system_message(prompt: PromptValue) -> list[BaseMessage]:
    return merge_message_runs(prompt.to_messages())


def _given_history(history: TurnHistory) -> TurnHistory:
    return history


def format_references(references: Sequence[Reference], fence: str) -> str:
    """The references as the model sees them. Every one begins with the boundary, so that no text can pose as one."""
    if not references:
        return _NOTHING
    return "\n".join(
        f"{fence} 资料〔{reference.number}〕 {reference.place}\n{reference.text}" for reference in references
    )
