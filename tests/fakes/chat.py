"""A chat model in this process with LangChain's own interface, whose answers and failures the test decides."""

from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import isawaitable
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import PydanticOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import ConfigDict, Field, PrivateAttr

from services.llm import ChatModel
from services.prompts import load_prompts

Answer = str | AIMessage | Exception
Reply = Answer | Callable[[list[BaseMessage]], Answer | Awaitable[Answer]]


class ScriptedChatModel(BaseChatModel):
    """A model that returns the items of `script` in order, and `reply` for every later call.

    A reply is a text, a complete message, an exception to raise, or a function of the messages that returns one of
    these, directly or as an awaitable. A text ends with `finish_reason`; None omits it, as an interrupted connection
    does.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reply: Any = "好的。"
    script: list[Any] = Field(default_factory=list[Any])
    finish_reason: str | None = "stop"
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list[list[BaseMessage]])

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        """The messages of every call so far."""
        return self._prompts

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **kwargs: Any) -> Runnable[Any, Any]:
        """Return a runnable that parses the reply as JSON."""
        return self | PydanticOutputParser(pydantic_object=schema)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("the product calls models asynchronously only")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._prompts.append(list(messages))
        reply: Reply = self.script.pop(0) if self.script else self.reply
        answer = reply(messages) if callable(reply) else reply
        if isawaitable(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            metadata = {} if self.finish_reason is None else {"finish_reason": self.finish_reason}
            answer = AIMessage(answer, response_metadata=metadata)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Yield the reply one character at a time."""
        message = (await self._agenerate(messages)).generations[0].message
        for character in message.text:
            yield ChatGenerationChunk(message=AIMessageChunk(content=character))
        yield ChatGenerationChunk(message=AIMessageChunk(content=""), generation_info=message.response_metadata)


def chat_model(scripted: ScriptedChatModel, deadline_s: float = 10) -> ChatModel:
    """Return the model in the product's wrapper."""
    return ChatModel(
        scripted, "scripted", deadline_s=deadline_s, structured_method="json_mode", repair=load_prompts().repair
    )
