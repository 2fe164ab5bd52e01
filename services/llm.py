"""The language model: one way to call it, with bounds on time and retries, and every failure as a sentence."""

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable
from pydantic import BaseModel, SecretStr

from services.errors import ModelError, ModelTimeout, ModelUnavailable
from services.settings import LLMSettings

log = logging.getLogger(__name__)

# Some models write their thoughts into the answer; what is cut off in the middle of them has no answer yet.
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)

Structured = TypeVar("Structured", bound=BaseModel)
Prompt = PromptValue | Sequence[BaseMessage]


@dataclass(slots=True)
class ModelCall:
    """One call under way: the name of the model, what it is asked, and its reply once it is there."""

    model: str
    prompt: Prompt
    reply: AIMessage | None = None

    @property
    def prompt_text(self) -> str:
        """The text of all messages of the prompt."""
        messages = self.prompt.to_messages() if isinstance(self.prompt, PromptValue) else self.prompt
        return "\n".join(message.text for message in messages)


class ModelMeter(Protocol):
    """What counts the calls of models and bounds them."""

    def metered(self, call: ModelCall) -> AbstractAsyncContextManager[None]:
        """Let the block make `call` when it may be made, and count it. Raises `ModelBudgetSpent` before the block."""
        ...


class _Reply(AsyncCallbackHandler):
    """Keeps the whole reply, with its tokens, also where a parser takes only a part of it or fails."""

    def __init__(self, call: ModelCall) -> None:
        self._call = call

    async def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Called by LangChain when the model has replied."""
        generation = response.generations[0][0]
        if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            self._call.reply = generation.message


class ChatModel:
    """A chat model whose answer is complete or is an error.

    `deadline_s` bounds a whole call with all its retries: the client's own time-out is per read, and a service that
    sends a byte now and then would never meet it. Every call goes through `meter`; without one it is not counted.
    """

    def __init__(
        self,
        model: BaseChatModel,
        name: str,
        *,
        deadline_s: float,
        structured_method: str,
        meter: ModelMeter | None = None,
    ) -> None:
        self.name = name
        self._model = model
        self._deadline_s = deadline_s
        self._structured_method = structured_method
        self._meter = meter

    async def reply(self, prompt: Prompt) -> AIMessage:
        """Ask once. Raises `ModelTimeout`, `ModelUnavailable`, or `ModelError` for an unfinished or empty answer."""
        message = await self._call(self._model, prompt)
        if not isinstance(message, AIMessage):
            raise ModelError("模型的回答格式不对，请稍后再问。", type(message).__name__)
        reason = message.response_metadata.get("finish_reason")
        if not reason:
            raise ModelError("模型的回答中途断了，请再问一次。", "no finish_reason")
        if reason == "content_filter":
            raise ModelError("模型服务拦下了这个回答，请换个问法再试。", reason)
        text = _THINKING.sub("", message.text).encode("utf-8", "ignore").decode().strip()
        if not text:
            raise ModelError("模型没有给出内容，请稍后再试。", str(message.response_metadata))
        return message.model_copy(update={"content": text})

    async def structured(self, prompt: Prompt, schema: type[Structured]) -> Structured:
        """Ask for an object of `schema` by the configured method (LLM__STRUCTURED_METHOD).

        Providers differ in which method they accept; `json_mode` needs the word JSON in the prompt.
        """
        runnable = self._model.with_structured_output(schema, method=self._structured_method)
        result = await self._call(runnable, prompt)
        if not isinstance(result, schema):
            raise ModelError("模型的回答格式不对，请稍后再问。", repr(result))
        return result

    async def _call(self, runnable: Runnable[Any, Any], prompt: Prompt) -> object:
        call = ModelCall(self.name, prompt)
        async with self._meter.metered(call) if self._meter else nullcontext():
            return await self._within_deadline(runnable, call)

    async def _within_deadline(self, runnable: Runnable[Any, Any], call: ModelCall) -> object:
        try:
            async with asyncio.timeout(self._deadline_s):
                return await runnable.ainvoke(call.prompt, {"callbacks": [_Reply(call)]})
        except Exception as error:
            # The true boundary to a foreign service: what its client raises on odd answers is not a closed set.
            raise _model_error(error) from error


def open_chat_model(settings: LLMSettings, name: str, meter: ModelMeter | None = None) -> ChatModel:
    """A model of the configured service. Nothing is sent yet."""
    # Importing this costs 1.4 s of processor time: only who has a key pays it.
    from langchain_openai import ChatOpenAI  # noqa: PLC0415

    model = ChatOpenAI(
        model=name,
        base_url=settings.base_url,
        api_key=SecretStr(settings.api_key.get_secret_value()),
        timeout=settings.timeout_s,
        max_retries=settings.max_retries,
        stream_usage=True,
    )
    deadline_s = settings.timeout_s * (settings.max_retries + 1) + 10
    method = settings.structured_method
    return ChatModel(model, name, deadline_s=deadline_s, structured_method=method, meter=meter)


def _model_error(error: Exception) -> ModelError:
    import openai  # noqa: PLC0415 - as above

    detail = f"{type(error).__name__}: {error}"
    log.warning("model call failed: %s", detail)
    if isinstance(error, ModelError):
        return error
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return ModelTimeout("模型回答超时了，请稍后再问。", detail)
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return ModelUnavailable("模型的密钥无效，请管理员检查 LLM__API_KEY。", detail)
    if isinstance(error, openai.NotFoundError):
        return ModelUnavailable("模型名或接口地址不对，请管理员检查 LLM__MODEL 和 LLM__BASE_URL。", detail)
    if isinstance(error, openai.RateLimitError):
        return ModelUnavailable("模型服务现在太忙或额度用完了，请稍后再问。", detail)
    if isinstance(error, openai.APIConnectionError | openai.APIStatusError):
        return ModelUnavailable("模型服务暂时连不上，请稍后再问。", detail)
    return ModelError("模型的回答读不懂，请稍后再问。", detail)
