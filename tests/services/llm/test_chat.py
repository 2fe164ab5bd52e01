"""The language model over real HTTP: every failure is one sentence, in bounded time."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from services.errors import ModelError, ModelTimeout, ModelUnavailable
from services.llm import MAX_REPLY_CHARS, ChatModel, open_chat_model
from services.settings import LLMSettings
from tests.e2e.http_server import Exchange
from tests.e2e.model_server import Mode, ModelServer
from tests.fakes.chat import ScriptedChatModel, chat_model
from tests.services.llm.odd_server import OddServer, completion

KEY = "sk-test-key-77"
PROMPT = [HumanMessage("住宿标准是多少")]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(api_key=KEY) as running:
        running.reply = "三百五十元。"
        yield running


def open_model(server: ModelServer, *, key: str = KEY, name: str = "test-model", **values: Any) -> ChatModel:
    """Return a model as the container opens it; without retries unless requested."""
    options = {"base_url": server.base_url, "api_key": key, "model": name, "timeout_s": 5, "max_retries": 0}
    settings = LLMSettings.model_validate(options | values)
    return open_chat_model(settings, name)


async def failure(model: ChatModel) -> ModelError:
    """Return the error of a failing call."""
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
        (Mode.DOWN, {"status": 400}, ModelUnavailable, "拒绝了这次请求，请管理员查看日志"),
        (Mode.DOWN, {"status": 422}, ModelUnavailable, "拒绝了这次请求"),
        (Mode.DOWN, {"status": 402}, ModelUnavailable, "余额用完了，请管理员检查服务商的账户"),
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
    """The object that the model is asked for."""

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


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_gets_nothing(server: ModelServer, status: int) -> None:
    async def redirect(_: OddServer, exchange: Exchange) -> None:
        await exchange.send(status, location=f"{server.base_url}/chat/completions")

    async with OddServer(redirect) as odd:
        error = await failure(open_odd(odd))
    assert type(error) is ModelUnavailable
    assert "LLM__BASE_URL" in error.user_message
    assert len(odd.bodies) == 1
    assert server.requests == []


@pytest.mark.parametrize("declared", [True, False])
async def test_a_response_without_end_is_not_read_to_the_end(declared: bool) -> None:
    size, part = 200 * 1024 * 1024, b" " * 65536

    async def flood(odd: OddServer, exchange: Exchange) -> None:
        await exchange.start(200, length=size if declared else None, content_type="application/json")
        for _ in range(size // len(part)):
            await exchange.write(part)
            odd.sent += len(part)

    async with OddServer(flood) as odd:
        error = await failure(open_odd(odd))
        assert "太大" in error.user_message
        # The contents of the socket buffers are sent too, but not read.
        assert odd.sent < 20 * 1024 * 1024


async def test_a_response_that_is_packed_is_read_as_long_as_it_is(server: ModelServer) -> None:
    async def packed(_: OddServer, exchange: Exchange) -> None:
        body = gzip.compress(json.dumps(completion("三百五十元。" + " " * spaces)).encode())
        await exchange.send(200, body, content_type="application/json", content_encoding="gzip")

    async with OddServer(packed) as odd:
        spaces = 10
        assert (await open_odd(odd).reply(PROMPT)).text == "三百五十元。"
        spaces = 50_000_000
        assert "太大" in (await failure(open_odd(odd))).user_message
        assert odd.headers[0]["accept-encoding"] == "identity"

    async def unknown(_: OddServer, exchange: Exchange) -> None:
        await exchange.send(200, b"x", content_type="application/json", content_encoding="br")

    async with OddServer(unknown) as odd:
        assert "太大" in (await failure(open_odd(odd))).user_message


def open_odd(odd: OddServer, **values: Any) -> ChatModel:
    """Return a model of an odd server, without retries."""
    options = {"base_url": odd.base_url, "api_key": KEY, "model": "test-model", "timeout_s": 20, "max_retries": 0}
    return open_chat_model(LLMSettings.model_validate(options | values), "test-model")


async def test_the_limit_of_an_answer_is_sent_by_the_name_that_every_service_takes(server: ModelServer) -> None:
    model = open_model(server, max_tokens=777)
    await model.reply(PROMPT)
    server.reply = '{"city": "北京", "amount": 500}'
    await model.structured(PROMPT, Allowance)
    for request in server.chats:
        assert request.body["max_tokens"] == 777
        assert "max_completion_tokens" not in request.body


@pytest.mark.parametrize("method", ["json_mode", "function_calling"])
async def test_a_service_that_refuses_the_name_is_sent_the_newer_one(method: str) -> None:
    async def reasoning(_: OddServer, exchange: Exchange) -> None:
        if "max_tokens" in json.loads(exchange.request.body):
            message = (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead."
            )
            await exchange.send_json(400, {"error": {"message": message, "type": "invalid_request_error"}})
        else:
            await exchange.send_json(200, completion("三百五十元。"))

    async with OddServer(reasoning) as odd:
        model = open_odd(odd, max_tokens=777, structured_method=method)
        for _ in range(2):
            assert (await model.reply(PROMPT)).text == "三百五十元。"
    limits = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in odd.bodies]
    assert limits == [(777, None), (None, 777), (None, 777)]


async def test_a_limit_that_the_service_does_not_take_is_named(server: ModelServer) -> None:
    async def small(_: OddServer, exchange: Exchange) -> None:
        message = "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"
        await exchange.send_json(400, {"error": {"message": message, "type": "invalid_request_error"}})

    async with OddServer(small) as odd:
        assert "LLM__MAX_TOKENS" in (await failure(open_odd(odd))).user_message


async def test_an_answer_that_is_far_too_long_is_cut_and_says_so(server: ModelServer) -> None:
    server.reply = "[1" * 200_000
    message = await open_model(server).reply(PROMPT)
    assert message.text == "[1" * (MAX_REPLY_CHARS // 2)
    assert message.response_metadata["finish_reason"] == "length"
    server.reply = "<think>想" * 50_000 + "</think>三百五十元。"
    assert (await open_model(server).reply(PROMPT)).text == "三百五十元。"


@pytest.mark.parametrize("reply", ["[" * 200_000, '{"a":' * 100_000, "{" * 15_000, '{"city": "' + "x" * 300_000])
async def test_an_object_that_is_far_too_long_is_a_failure(server: ModelServer, reply: str) -> None:
    server.reply = reply
    with pytest.raises(ModelError):
        await open_model(server).structured(PROMPT, Allowance)


@pytest.mark.parametrize(("before", "part"), [("", "x"), ("```json\n", "{"), ('{"a": 1} ', "x")])
async def test_reading_an_object_takes_time_in_proportion_to_its_length(
    server: ModelServer, before: str, part: str
) -> None:
    model = open_model(server)

    async def seconds(size: int) -> float:
        server.reply = before + part * size
        begun = time.process_time()
        with pytest.raises(ModelError):
            await model.structured(PROMPT, Allowance)
        return time.process_time() - begun

    await seconds(10)
    short = min([await seconds(4_500) for _ in range(3)])
    long = min([await seconds(18_000) for _ in range(3)])
    assert long <= 8 * short


async def test_an_object_in_a_fence_is_read(server: ModelServer) -> None:
    server.reply = '<think>嗯</think>```json\n{"city": "北京", "amount": 500}\n```'
    assert await open_model(server).structured(PROMPT, Allowance) == Allowance(city="北京", amount=500)


async def test_a_closed_model_sends_nothing(server: ModelServer) -> None:
    model = open_model(server)
    await model.aclose()
    await failure(model)
    assert server.requests == []
