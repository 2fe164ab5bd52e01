"""The language model as services call it: a reply, a stream, calls of tools, an object of a schema."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate

from services.llm import structured
from services.llm.call import ModelMeter
from services.llm.failures import raise_empty, wrong_form
from services.llm.metered import MeteredChatModel
from services.llm.prices import Price
from services.llm.providers import OTHER, Provider, StructuredMethod, ThinkingChoice
from services.llm.structured import Misfit, Structured
from services.llm.tools import Tool, require_valid_calls
from services.prompts import new_fence

# More than ten screens of a phone; a longer reply takes long to check and is not read by anyone.
MAX_REPLY_CHARS = 20_000
# What is shown of an object that does not fit, to have it repaired.
_MAX_SHOWN_CHARS = 4_000

Prompt = PromptValue | Sequence[BaseMessage]


class ReplyStream:
    """A reply as it arrives: iterate once over its pieces. Afterwards `truncated` tells whether it was cut.

    Raise as `ChatModel.reply` does, also after some pieces: what was shown then is not the answer. `aclose` gives up
    the rest, which ends the call.
    """

    def __init__(self, model: MeteredChatModel, messages: list[BaseMessage]) -> None:
        self.truncated = False
        self._pieces = self._read(model, messages)

    def __aiter__(self) -> AsyncIterator[str]:
        return self._pieces

    async def aclose(self) -> None:
        """End the call if it has not ended."""
        await self._pieces.aclose()

    async def _read(self, model: MeteredChatModel, messages: list[BaseMessage]) -> AsyncGenerator[str]:
        length, space = 0, ""
        async with aclosing(model.pieces(messages)) as pieces:
            async for piece in pieces:
                self.truncated |= (piece.generation_info or {}).get("finish_reason") == "length"
                text = space + piece.message.text
                # Space at either end is no part of the reply, so it waits for what follows.
                said = text.rstrip() if length else text.strip()
                space = text[len(text.rstrip()) :] if length or said else ""
                if length + len(said) > MAX_REPLY_CHARS:
                    self.truncated = True
                    if said := said[: MAX_REPLY_CHARS - length].rstrip():
                        yield said
                    return
                if said:
                    length += len(said)
                    yield said
        if not length:
            raise_empty("an empty stream")


class ChatModel:
    """A chat model whose answer is either complete or an error.

    `deadline_s` limits a whole call with all its retries: the client's own timeout is per read, and a service that
    sends a byte now and then would never exceed it. Every call goes through `meter`; without one it is not counted.
    `limit` is the largest number of tokens of an answer. `repair` is the prompt that gives an object that does not fit
    back to the model; without it there is no second round. `aclose` awaits `close`.
    """

    def __init__(
        self,
        model: BaseChatModel,
        name: str,
        *,
        deadline_s: float,
        structured_method: StructuredMethod,
        meter: ModelMeter | None = None,
        provider: Provider = OTHER,
        price: Price | None = None,
        limit: int | None = None,
        thinking: ThinkingChoice = "auto",
        sees_images: bool = False,
        repair: ChatPromptTemplate | None = None,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self.price = price
        self._model = MeteredChatModel(
            model_name=name,
            client=model,
            provider=provider,
            deadline_s=deadline_s,
            price=price,
            limit=limit,
            thinking=thinking,
            sees_images=sees_images,
            meter=meter,
        )
        self._structured_method: StructuredMethod = structured_method
        self._forces_tools = provider.can_force_tools(name, thinking)
        self._repair = repair
        self._close = close

    @property
    def langchain_model(self) -> BaseChatModel:
        """The model for LangGraph and `create_agent`: metered and limited like every other call."""
        return self._model

    @property
    def sees_images(self) -> bool:
        """Whether prompts may contain images (see `images.image_message`)."""
        return self._model.sees_images

    async def aclose(self) -> None:
        """Close the connections to the service."""
        if self._close is not None:
            await self._close()

    async def reply(self, prompt: Prompt, tools: Sequence[Tool] = ()) -> AIMessage:
        """Return the reply to a prompt; if `tools` are given, it may consist of calls of them, which are valid.

        An answer longer than `MAX_REPLY_CHARS` is cut there and has the finish_reason "length", as if the model had
        been stopped. Raise `ModelTimeout`, `ModelUnavailable`, or `ModelError` for an unfinished or empty answer.
        """
        model = self._model.bind_tools(tools) if tools else self._model
        message = await model.ainvoke(_messages(prompt))
        if tools:
            require_valid_calls(message, tools)
        text = message.text.strip()
        if not text and not (tools and message.tool_calls):
            raise_empty(message.response_metadata)
        if len(text) > MAX_REPLY_CHARS:
            text = text[:MAX_REPLY_CHARS].rstrip()
            metadata = message.response_metadata | {"finish_reason": "length"}
            message = message.model_copy(update={"response_metadata": metadata})
        return message.model_copy(update={"content": text})

    def stream(self, prompt: Prompt) -> ReplyStream:
        """Return the reply to a prompt as it arrives. Nothing is sent before the first piece is asked for."""
        return ReplyStream(self._model, _messages(prompt))

    async def structured(self, prompt: Prompt, schema: type[Structured]) -> Structured:
        """Return an object of `schema`, requested by the method of the provider or of LLM__STRUCTURED_METHOD.

        Since that may be `json_mode`, the prompt describes the object and contains the word JSON. A reply that does not
        fit is given back once with what is wrong with it. Raise as `reply` does, and `ModelError` for anything but such
        an object or for more than `MAX_REPLY_CHARS`.
        """
        messages = _messages(prompt)
        try:
            return await self._object(messages, schema)
        except Misfit as misfit:
            if self._repair is None:
                raise wrong_form(misfit.reason) from misfit
            fence = new_fence()
            fault = await self._repair.ainvoke({"fence": fence, "error": misfit.reason})
            shown = AIMessage(misfit.text[:_MAX_SHOWN_CHARS] or "（空）")
        try:
            return await self._object([*messages, shown, *fault.to_messages()], schema)
        except Misfit as misfit:
            raise wrong_form(misfit.reason) from misfit

    async def _object(self, messages: list[BaseMessage], schema: type[Structured]) -> Structured:
        demands = structured.demands(schema, self._structured_method, forced=self._forces_tools)
        message = await self._model.bind(**demands).ainvoke(messages)
        return structured.read(message, schema, MAX_REPLY_CHARS)


def _messages(prompt: Prompt) -> list[BaseMessage]:
    return prompt.to_messages() if isinstance(prompt, PromptValue) else list(prompt)
