"""The language model, called in one way, with limits on time and retries and a sentence for every failure."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable
from pydantic import BaseModel, SecretStr, ValidationError

from services.errors import ModelError, ModelTimeout, ModelUnavailable
from services.settings import LLMSettings

log = logging.getLogger(__name__)

# Some models write their thoughts into the answer. If the text ends within them, there is no answer yet.
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
# More than ten screens of a phone; a longer reply takes long to check and is not read by anyone.
MAX_REPLY_CHARS = 20_000
# A token is at most about four Chinese characters, each six bytes of escaped JSON. `_OTHER_BYTES` is for the rest.
_BYTES_PER_TOKEN = 24
_OTHER_BYTES = 512 * 1024
_MAX_DETAIL_CHARS = 500

Structured = TypeVar("Structured", bound=BaseModel)
Prompt = PromptValue | Sequence[BaseMessage]


@dataclass(slots=True)
class ModelCall:
    """One call in progress: the name of the model, the prompt, and the reply once it has arrived."""

    model: str
    prompt: Prompt
    reply: AIMessage | None = None

    @property
    def prompt_text(self) -> str:
        """The text of all messages of the prompt."""
        messages = self.prompt.to_messages() if isinstance(self.prompt, PromptValue) else self.prompt
        return "\n".join(message.text for message in messages)


class ModelMeter(Protocol):
    """Counts and limits the calls of models."""

    def metered(self, call: ModelCall) -> AbstractAsyncContextManager[None]:
        """Let the block make `call` once it is allowed, and count it. Raise `ModelBudgetSpent` before the block."""
        ...


class _Reply(AsyncCallbackHandler):
    """Keeps the whole reply with its tokens, even if a parser uses only a part of it or fails."""

    def __init__(self, call: ModelCall) -> None:
        self._call = call

    async def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Store the reply; LangChain calls this when the model has replied."""
        generation = response.generations[0][0]
        if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            self._call.reply = generation.message


class ChatModel:
    """A chat model whose answer is either complete or an error.

    `deadline_s` limits a whole call with all its retries: the client's own timeout is per read, and a service that
    sends a byte now and then would never exceed it. Every call goes through `meter`; without one it is not counted.
    `successor` is the same model with its limit under the newer name; it takes over once the service refuses the older
    one. `aclose` awaits `close`.
    """

    def __init__(
        self,
        model: BaseChatModel,
        name: str,
        *,
        deadline_s: float,
        structured_method: str,
        meter: ModelMeter | None = None,
        successor: BaseChatModel | None = None,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self._model = model
        self._deadline_s = deadline_s
        self._structured_method = structured_method
        self._meter = meter
        self._successor = successor
        self._close = close

    async def aclose(self) -> None:
        """Close the connections to the service."""
        if self._close is not None:
            await self._close()

    async def reply(self, prompt: Prompt) -> AIMessage:
        """Return the reply to a prompt.

        An answer longer than `MAX_REPLY_CHARS` is cut there and has the finish_reason "length", as if the model had
        been stopped. Raise `ModelTimeout`, `ModelUnavailable`, or `ModelError` for an unfinished or empty answer.
        """
        message = await self._call(lambda model: model, prompt)
        if not isinstance(message, AIMessage):
            raise ModelError("模型的回答格式不对，请稍后再问。", type(message).__name__)
        reason = message.response_metadata.get("finish_reason")
        if not reason:
            raise ModelError("模型的回答中途断了，请再问一次。", "no finish_reason")
        if reason == "content_filter":
            raise ModelError("模型服务拦下了这个回答，请换个问法再试。", reason)
        text = _spoken(message)
        if not text:
            raise ModelError("模型没有给出内容，请稍后再试。", str(message.response_metadata)[:_MAX_DETAIL_CHARS])
        if len(text) > MAX_REPLY_CHARS:
            text = text[:MAX_REPLY_CHARS].rstrip()
            metadata = message.response_metadata | {"finish_reason": "length"}
            message = message.model_copy(update={"response_metadata": metadata})
        return message.model_copy(update={"content": text})

    async def structured(self, prompt: Prompt, schema: type[Structured]) -> Structured:
        """Return an object of `schema`, requested by the configured method (LLM__STRUCTURED_METHOD).

        Providers differ in which method they accept; `json_mode` needs the word JSON in the prompt. Raise as `reply`
        does, and `ModelError` for anything but such an object or for more than `MAX_REPLY_CHARS`.
        """
        if self._structured_method == "json_mode":
            message = await self._call(lambda model: model.bind(response_format={"type": "json_object"}), prompt)
            return _parsed(message, schema)
        method = self._structured_method
        result = await self._call(lambda model: model.with_structured_output(schema, method=method), prompt)
        if not isinstance(result, schema):
            raise ModelError("模型的回答格式不对，请稍后再问。", repr(result)[:_MAX_DETAIL_CHARS])
        return result

    async def _call(self, way: Callable[[BaseChatModel], Runnable[Any, Any]], prompt: Prompt) -> object:
        call = ModelCall(self.name, prompt)
        async with self._meter.metered(call) if self._meter else nullcontext():
            return await self._within_deadline(way, call)

    async def _within_deadline(self, way: Callable[[BaseChatModel], Runnable[Any, Any]], call: ModelCall) -> object:
        try:
            async with asyncio.timeout(self._deadline_s):
                try:
                    return await _invoked(way(self._model), call)
                except Exception as error:
                    if self._successor is None or not _refuses_max_tokens(error):
                        raise
                    self._model, self._successor = self._successor, None
                    return await _invoked(way(self._model), call)
        except Exception as error:
            # A true boundary to a foreign service: the errors that its client raises on odd answers are not a closed
            # set.
            raise _model_error(error) from error


async def _invoked(runnable: Runnable[Any, Any], call: ModelCall) -> object:
    return await runnable.ainvoke(call.prompt, {"callbacks": [_Reply(call)]})


def open_chat_model(settings: LLMSettings, name: str, meter: ModelMeter | None = None) -> ChatModel:
    """Return a model of the configured service. Nothing is sent yet.

    The limit of an answer is sent as `max_tokens`, which every OpenAI-compatible service accepts; DeepSeek ignores the
    newer `max_completion_tokens`. OpenAI's reasoning models refuse the older name, and several services refuse both
    together, so the newer one replaces it after the first refusal that names it.
    """
    # Importing these takes 1.4 s of processor time, which only a bot with a key needs to spend.
    from langchain_openai import ChatOpenAI  # noqa: PLC0415

    from services.model_connection import ModelConnection  # noqa: PLC0415

    connection = ModelConnection(max_bytes=_OTHER_BYTES + _BYTES_PER_TOKEN * settings.max_tokens)
    model = ChatOpenAI(
        model=name,
        base_url=settings.base_url,
        api_key=SecretStr(settings.api_key.get_secret_value()),
        timeout=settings.timeout_s,
        max_retries=settings.max_retries,
        stream_usage=True,
        http_async_client=connection,
        # ChatOpenAI would send its own max_tokens as max_completion_tokens.
        extra_body={"max_tokens": settings.max_tokens},
    )
    successor = model.model_copy(update={"extra_body": None, "max_tokens": settings.max_tokens})
    deadline_s = settings.timeout_s * (settings.max_retries + 1) + 10
    return ChatModel(
        model,
        name,
        deadline_s=deadline_s,
        structured_method=settings.structured_method,
        successor=successor,
        close=connection.aclose,
        meter=meter,
    )


def _spoken(message: AIMessage) -> str:
    """Return what a model said without its thoughts and without lone surrogates."""
    return _THINKING.sub("", message.text).encode("utf-8", "ignore").decode().strip()


def _parsed(message: object, schema: type[Structured]) -> Structured:
    text = _spoken(message) if isinstance(message, AIMessage) else ""
    if len(text) > MAX_REPLY_CHARS:
        raise ModelError("模型的回答格式不对，请稍后再问。", f"{len(text)} characters")
    # Some models put the object into a Markdown fence.
    text = text.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        raise ModelError("模型的回答格式不对，请稍后再问。", str(error)[:_MAX_DETAIL_CHARS]) from error


def _refuses_max_tokens(error: Exception) -> bool:
    import openai  # noqa: PLC0415 - as above

    return isinstance(error, openai.BadRequestError) and "max_completion_tokens" in str(error)


def _model_error(error: Exception) -> ModelError:
    import openai  # noqa: PLC0415 - as above

    from services.model_connection import ResponseTooLong  # noqa: PLC0415

    detail = f"{type(error).__name__}: {error}"[:_MAX_DETAIL_CHARS]
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
    if isinstance(error, openai.BadRequestError) and "max_tokens" in str(error):
        return ModelUnavailable("模型服务不接受现在的回答长度，请管理员把 LLM__MAX_TOKENS 改小一些。", detail)
    if isinstance(error, openai.APIStatusError) and 300 <= error.status_code < 400:
        return ModelUnavailable("模型服务要转到别的地址，没有照做，请管理员检查 LLM__BASE_URL。", detail)
    if isinstance(error, ResponseTooLong):
        return ModelError("模型服务返回的内容太大，没有读完，请稍后再问。", detail)
    if isinstance(error, openai.APIConnectionError | openai.APIStatusError):
        return ModelUnavailable("模型服务暂时连不上，请稍后再问。", detail)
    return ModelError("模型的回答读不懂，请稍后再问。", detail)
