"""The language model over real HTTP: every way it fails is one sentence, in bounded time."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from services.errors import ModelError, ModelTimeout, ModelUnavailable
from services.llm import ChatModel, open_chat_model
from services.settings import LLMSettings
from tests.e2e.model_server import Mode, ModelServer
from tests.fakes.chat import ScriptedChatModel, chat_model

KEY = "sk-test-key-77"
PROMPT = [HumanMessage("住宿标准是多少")]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(api_key=KEY) as running:
        running.reply = "三百五十元。"
        yield running


def open_model(server: ModelServer, *, key: str = KEY, name: str = "test-model", **values: Any) -> ChatModel:
    """A model as the container opens it; without retries unless asked for."""
    options = {"base_url": server.base_url, "api_key": key, "model": name, "timeout_s": 5, "max_retries": 0}
    settings = LLMSettings.model_validate(options | values)
    return open_chat_model(settings, name)


async def failure(model: ChatModel) -> ModelError:
    """How a call fails."""
    with pytest.raises(ModelError) as caught:
        await model.reply(PROMPT)
    assert caught.value.user_message.endswith("。")
    assert KEY not in str(caught.value)
    assert caught.value.retryable
    return caught.value


async def test_a_reply(server: ModelServer) -> None:
    message = await open_model(server).reply(PROMPT)
    assert message.text == "三百五十元。"
    assert message.response_metadata["finish_reason"] == "stop"
    (request,) = server.chats
    assert request.body["model"] == "test-model"
    assert request.question == "住宿标准是多少"


async def test_opening_sends_nothing(server: ModelServer) -> None:
    open_model(server)
    assert server.requests == []


@pytest.mark.parametrize(
    ("mode", "options", "kind", "words"),
    [
        (Mode.UNAUTHORIZED, {}, ModelUnavailable, "LLM__API_KEY"),
        (Mode.DOWN, {"status": 403}, ModelUnavailable, "LLM__API_KEY"),
        (Mode.DOWN, {"status": 404}, ModelUnavailable, "LLM__MODEL"),
        (Mode.RATE_LIMITED, {}, ModelUnavailable, "太忙"),
        (Mode.DOWN, {"status": 503}, ModelUnavailable, "连不上"),
        (Mode.DOWN, {"status": 500}, ModelUnavailable, "连不上"),
        (Mode.DOWN, {"status": 400}, ModelUnavailable, "连不上"),
        (Mode.CUT, {}, ModelUnavailable, "连不上"),
        (Mode.MALFORMED, {}, ModelError, "读不懂"),
        (Mode.EMPTY, {}, ModelError, "没有给出内容"),
        (Mode.NO_FINISH_REASON, {}, ModelError, "中途断了"),
    ],
)
async def test_failures(
    server: ModelServer, mode: Mode, options: dict[str, Any], kind: type[ModelError], words: str
) -> None:
    server.switch(mode, **options)
    error = await failure(open_model(server))
    assert type(error) is kind
    assert words in error.user_message
    assert len(server.chats) == 1


async def test_a_wrong_key_is_refused_by_the_service(server: ModelServer) -> None:
    assert "LLM__API_KEY" in (await failure(open_model(server, key="sk-wrong"))).user_message


async def test_a_service_that_is_not_there(server: ModelServer) -> None:
    model = open_model(server)
    await server.refuse()
    assert type(await failure(model)) is ModelUnavailable


async def test_a_service_that_never_answers(server: ModelServer) -> None:
    server.switch(Mode.HANG)
    begun = time.perf_counter()
    assert type(await failure(open_model(server, timeout_s=1))) is ModelTimeout
    assert 0.9 < time.perf_counter() - begun < 5


async def test_a_service_that_answers_now_and_then_is_given_up(server: ModelServer) -> None:
    async def for_ever(_: object) -> str:
        await asyncio.sleep(30)
        return "太晚了"

    model = chat_model(ScriptedChatModel(reply=for_ever), deadline_s=0.05)
    assert type(await failure(model)) is ModelTimeout


async def test_a_short_failure_is_tried_again(server: ModelServer) -> None:
    server.switch(Mode.DOWN, times=1)
    assert (await open_model(server, max_retries=1).reply(PROMPT)).text == "三百五十元。"
    assert len(server.chats) == 2


async def test_retries_are_bounded(server: ModelServer) -> None:
    server.switch(Mode.DOWN)
    await failure(open_model(server, max_retries=1))
    assert len(server.chats) == 2


async def test_a_cut_answer_keeps_its_reason(server: ModelServer) -> None:
    server.switch(Mode.LENGTH)
    message = await open_model(server).reply(PROMPT)
    assert message.response_metadata["finish_reason"] == "length"


async def test_a_cancelled_call_is_cancelled_not_failed(server: ModelServer) -> None:
    server.switch(Mode.HANG)
    task = asyncio.create_task(open_model(server).reply(PROMPT))
    async with asyncio.timeout(5):
        while not server.in_flight:  # noqa: ASYNC110 - what is waited for announces nothing
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Allowance(BaseModel):
    """What the model is asked for."""

    city: str
    amount: int


async def test_an_object_of_a_schema(server: ModelServer) -> None:
    server.reply = '{"city": "北京", "amount": 500}'
    model = open_model(server)
    assert await model.structured(PROMPT, Allowance) == Allowance(city="北京", amount=500)
    assert server.chats[0].body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("reply", ["不是 JSON", '{"city": "北京"}', '{"city": "北京", "amount": "五百"}', "[]"])
async def test_an_object_of_another_shape_is_a_failure(server: ModelServer, reply: str) -> None:
    server.reply = reply
    with pytest.raises(ModelError):
        await open_model(server).structured(PROMPT, Allowance)
