"""The model that LangChain, LangGraph and `create_agent` are given: every call is counted, limited and translated."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any, NoReturn

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, PrivateAttr

from services.errors import ModelUnavailable
from services.llm.call import ModelCall, ModelMeter
from services.llm.failures import model_error, refuses_max_tokens, require_finish
from services.llm.prices import Price
from services.llm.providers import Need, Provider, ThinkingChoice
from services.llm.thoughts import ThoughtFilter, without_thoughts

_FREE_CHOICES = frozenset({None, False, "auto", "none"})


class MeteredChatModel(BaseChatModel):
    """A LangChain model that sends every call of `client` through the same meter, deadline and error sentences.

    `deadline_s` limits the time spent waiting for the service in one call with all its retries. `limit` is the largest
    number of tokens of an answer; it is sent under the older of its two names until the service asks for the newer one.
    Thoughts are removed. An answer without a finish_reason, or one that was filtered, is an error. All failures are
    `ModelError`. The model is only called asynchronously.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model_name: str
    client: BaseChatModel
    provider: Provider
    deadline_s: float
    price: Price | None = None
    limit: int | None = None
    thinking: ThinkingChoice = "auto"
    sees_images: bool = False
    meter: Any = None
    _limit_name: str = PrivateAttr(default="")

    def model_post_init(self, _: Any, /) -> None:
        """Start with the provider's name for the limit."""
        self._limit_name = self.provider.limit_name

    @property
    def _llm_type(self) -> str:
        return "metered"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | bool | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with `tools`. A choice that the provider cannot force is left to the model."""
        formatted = [convert_to_openai_tool(tool) for tool in tools]
        if isinstance(tool_choice, dict) or tool_choice not in _FREE_CHOICES:
            if self.provider.can_force_tools(self.model_name, self.thinking):
                kwargs["tool_choice"] = _choice(tool_choice, formatted)
        elif tool_choice == "none":
            kwargs["tool_choice"] = "none"
        return self.bind(tools=formatted, **kwargs)

    async def pieces(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[ChatGenerationChunk]:
        """Yield a reply as it arrives, without thoughts. It ends complete, or raises as every call does."""
        call = self._begun(messages, kwargs)
        async with self._metered(call):
            left, spoken, reason = self.deadline_s, ThoughtFilter(), None
            last: ChatGenerationChunk | None = None
            try:
                async with aclosing(self._opened(messages, stop, kwargs)) as stream:
                    while True:
                        begun = time.monotonic()
                        # A timeout around the `yield` would also run while the caller works on a piece.
                        async with asyncio.timeout(left):
                            chunk = await anext(stream, None)
                        left -= time.monotonic() - begun
                        if chunk is None:
                            break
                        message = chunk.message
                        if isinstance(message, AIMessageChunk):
                            call.receive(message)
                        reason = _finish_reason(chunk) or reason
                        last = ChatGenerationChunk(
                            message=message.model_copy(update={"content": spoken.feed(message.text)}),
                            generation_info=chunk.generation_info,
                        )
                        yield last
                require_finish(reason)
            except Exception as error:
                # A true boundary to a foreign service: what its client raises on odd answers is not a closed set.
                raise model_error(error) from error
            if rest := spoken.end():
                yield ChatGenerationChunk(message=AIMessageChunk(content=rest))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        call = self._begun(messages, kwargs)
        async with self._metered(call):
            try:
                async with asyncio.timeout(self.deadline_s):
                    result = await self._generated(messages, stop, kwargs)
                generation = result.generations[0]
                message = generation.message
                if not isinstance(message, AIMessage):
                    raise TypeError(type(message).__name__)  # noqa: TRY301
                call.receive(message)
                require_finish(_finish_reason(generation))
            except Exception as error:
                # A boundary to a foreign service, as in `pieces`.
                raise model_error(error) from error
        spoken = message.model_copy(update={"content": without_thoughts(message.text)})
        spoken_generation = ChatGeneration(message=spoken, generation_info=generation.generation_info)
        return ChatResult(generations=[spoken_generation], llm_output=result.llm_output)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async with aclosing(self.pieces(messages, stop, **kwargs)) as pieces:
            async for piece in pieces:
                yield piece

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> NoReturn:
        raise NotImplementedError("a blocking call would bypass the meter; call the model asynchronously")

    # -- internals ----------------------------------------------------------------------------------------------------

    def _begun(self, messages: list[BaseMessage], kwargs: Mapping[str, Any]) -> ModelCall:
        demands = {name: kwargs[name] for name in ("tools", "response_format") if kwargs.get(name)}
        call = ModelCall(self.model_name, messages, self.provider.name, self.price, demands)
        if call.image_count and not self.sees_images:
            raise ModelUnavailable("现在的模型看不了图片，请管理员设置 LLM__VISION_MODEL。", self.model_name)
        return call

    def _metered(self, call: ModelCall) -> AbstractAsyncContextManager[None]:
        meter: ModelMeter | None = self.meter
        return meter.metered(call) if meter else nullcontext()

    async def _generated(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> ChatResult:
        try:
            # The client's own callbacks would report the call a second time.
            return await self.client._agenerate(messages, stop, **self._request(kwargs))
        except Exception as error:  # raised again unless it is the one refusal that a newer name of the limit cures
            if not self._asked_for_newer_name(error):
                raise
            return await self.client._agenerate(messages, stop, **self._request(kwargs))

    async def _opened(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> AsyncGenerator[ChatGenerationChunk]:
        begun = False
        try:
            async for chunk in self.client._astream(messages, stop, **self._request(kwargs)):
                begun = True
                yield chunk
        except Exception as error:  # as in `_generated`
            if begun or not self._asked_for_newer_name(error):
                raise
            async for chunk in self.client._astream(messages, stop, **self._request(kwargs)):
                yield chunk

    def _asked_for_newer_name(self, error: Exception) -> bool:
        if self._limit_name != "max_tokens" or not refuses_max_tokens(error):
            return False
        self._limit_name = "max_completion_tokens"
        return True

    def _request(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments for the client, with everything of the provider's own in the body."""
        options = {name: value for name, value in kwargs.items() if name != "response_format"}
        # ChatOpenAI would send its own max_tokens as max_completion_tokens, and would raise errors of its own, without
        # the tokens that were used, for an answer in a requested format that was cut.
        body: dict[str, Any] = {} if self.limit is None else {self._limit_name: self.limit}
        body |= self.provider.thinking(self.model_name, self.thinking, _needs(kwargs))
        if response_format := kwargs.get("response_format"):
            body["response_format"] = response_format
        return options | {"extra_body": body | (kwargs.get("extra_body") or {})}


def _needs(kwargs: Mapping[str, Any]) -> set[Need]:
    needs: set[Need] = set()
    if kwargs.get("tools"):
        needs.add(Need.TOOLS)
    if kwargs.get("tool_choice") not in (None, "auto", "none"):
        needs.add(Need.FORCED_TOOL)
    if kwargs.get("response_format"):
        needs.add(Need.JSON)
    return needs


def _choice(choice: str | bool | dict[str, Any] | None, tools: Sequence[dict[str, Any]]) -> str | dict[str, Any]:
    if isinstance(choice, dict):
        return choice
    if any(tool["function"]["name"] == choice for tool in tools):
        return {"type": "function", "function": {"name": choice}}
    return "required"


def _finish_reason(generation: ChatGeneration) -> object:
    return (generation.generation_info or generation.message.response_metadata).get("finish_reason")
