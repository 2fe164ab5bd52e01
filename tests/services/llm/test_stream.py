"""Streams over real HTTP: complete or an error, metered, bounded, without thoughts."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from services.errors import ModelError, ModelTimeout, ModelUnavailable
from services.llm import MAX_REPLY_CHARS, ChatModel, ModelCall
from tests.e2e.http_server import Exchange
from tests.e2e.model_server import Completion, Mode, ModelServer
from tests.fakes.chat import ScriptedChatModel, chat_model
from tests.services.llm.models import open_model
from tests.services.llm.odd_server import OddServer, frame

PROMPT = [HumanMessage("住宿标准是多少")]


class Meter:
    """Keeps every call."""

    def __init__(self) -> None:
        self.begun: list[ModelCall] = []
        self.ended: list[ModelCall] = []

    @asynccontextmanager
    async def metered(self, call: ModelCall) -> AsyncGenerator[None]:
        self.begun.append(call)
        try:
            yield
        finally:
            self.ended.append(call)


async def said(model: ChatModel) -> list[str]:
    return [piece async for piece in model.stream(PROMPT)]


async def failure(model: ChatModel) -> tuple[list[str], ModelError]:
    pieces: list[str] = []
    with pytest.raises(ModelError) as caught:
        async for piece in model.stream(PROMPT):
            pieces.append(piece)  # noqa: PERF401 - what came before the error counts
    return pieces, caught.value


async def test_a_reply_arrives_in_pieces_and_is_metered(model_server: ModelServer) -> None:
    model_server.reply = "住宿标准是每晚三百五十元，超出自理。"
    meter = Meter()
    pieces = await said(open_model(model_server, meter))
    assert len(pieces) > 1
    assert "".join(pieces) == model_server.reply
    (call,) = meter.ended
    assert call.usage is not None
    assert (call.usage["input_tokens"], call.usage["output_tokens"]) == (7, 18)
    assert model_server.chats[0].body["stream_options"] == {"include_usage": True}


async def test_pieces_arrive_before_the_end(model_server: ModelServer) -> None:
    model_server.reply = "住宿标准是每晚三百五十元，超出自理。"
    model_server.chunk_delay = 0.3
    stream = aiter(open_model(model_server).stream(PROMPT))
    first = await anext(stream)
    assert model_server.in_flight == 1
    assert "".join([first, *[piece async for piece in stream]]) == model_server.reply


@pytest.mark.parametrize("text", ["  \n好。<think>嗯\n</think> 三百五十元。 \n ", "<think>想</think>\n\n三百\n\n五十"])
async def test_a_stream_says_what_a_reply_says(model_server: ModelServer, text: str) -> None:
    model_server.reply = text
    model = open_model(model_server)
    assert "".join(await said(model)) == (await model.reply(PROMPT)).text


async def test_a_stream_is_cut_where_a_reply_is(model_server: ModelServer) -> None:
    model_server.reply = "字" * (MAX_REPLY_CHARS + 100)
    model = open_model(model_server, max_tokens=131_072)
    stream = model.stream(PROMPT)
    text = "".join([piece async for piece in stream])
    assert (len(text), stream.truncated) == (MAX_REPLY_CHARS, True)
    model_server.switch(Mode.LENGTH)
    model_server.reply = "三百五十元。"
    stream = model.stream(PROMPT)
    assert ("".join([piece async for piece in stream]), stream.truncated) == ("三百五", True)


@pytest.mark.parametrize(
    ("mode", "options", "kind", "words"),
    [
        (Mode.UNAUTHORIZED, {}, ModelUnavailable, "LLM__API_KEY"),
        (Mode.DOWN, {"status": 404}, ModelUnavailable, "LLM__MODEL"),
        (Mode.DOWN, {"status": 503}, ModelUnavailable, "连不上"),
        (Mode.EMPTY, {}, ModelError, "没有给出内容"),
        (Mode.NO_FINISH_REASON, {}, ModelError, "中途断了"),
        (Mode.HANG, {}, ModelTimeout, "超时"),
    ],
)
async def test_failures(
    model_server: ModelServer, mode: Mode, options: dict[str, Any], kind: type[ModelError], words: str
) -> None:
    model_server.switch(mode, **options)
    _, error = await failure(open_model(model_server, timeout_s=1))
    assert type(error) is kind
    assert words in error.user_message


async def test_a_stream_that_is_cut_is_a_failure_and_what_came_is_counted(model_server: ModelServer) -> None:
    model_server.reply = "住宿标准是每晚三百五十元，超出自理。"
    model_server.switch(Mode.CUT)
    meter = Meter()
    pieces, _ = await failure(open_model(model_server, meter))
    assert "".join(pieces) == "住宿标准是每晚三百"[:9]
    assert meter.ended[0].reply_text == "住宿标准是每晚三百"[:9]


async def test_a_filtered_stream_is_a_failure(model_server: ModelServer) -> None:
    model_server.reply = Completion("三百", finish_reason="content_filter")
    _, error = await failure(open_model(model_server))
    assert "拦下了" in error.user_message


async def test_a_stream_that_is_given_up_ends_its_call(model_server: ModelServer) -> None:
    model_server.reply = "字" * 400
    model_server.chunk_delay = 0.05
    meter = Meter()
    stream = open_model(model_server, meter).stream(PROMPT)
    async for _ in stream:
        break
    await stream.aclose()
    assert meter.ended == meter.begun != []
    async with asyncio.timeout(5):
        while model_server.in_flight:  # noqa: ASYNC110 - what is waited for announces nothing
            await asyncio.sleep(0.01)


async def test_time_that_the_caller_takes_is_not_the_services(model_server: ModelServer) -> None:
    model = chat_model(ScriptedChatModel(reply="一二三四"), deadline_s=0.2)
    text = ""
    async for piece in model.stream(PROMPT):
        text += piece
        await asyncio.sleep(0.1)
    assert text == "一二三四"


async def test_a_service_that_drips_is_given_up() -> None:
    async def drip(_: object) -> str:
        await asyncio.sleep(30)
        return ""

    _, error = await failure(chat_model(ScriptedChatModel(reply=drip), deadline_s=0.05))
    assert type(error) is ModelTimeout


async def test_a_stream_without_end_is_not_read_to_the_end(model_server: ModelServer) -> None:
    async def flood(odd: OddServer, exchange: Exchange) -> None:
        await exchange.start(200, length=None, content_type="text/event-stream")
        data = frame({"reasoning_content": "x" * 60_000})
        for _ in range(4_000):
            await exchange.write(data)
            odd.sent += len(data)

    async with OddServer(flood) as odd:
        _, error = await failure(open_model(model_server, base_url=odd.base_url, max_tokens=256))
        assert "太大" in error.user_message
        assert odd.sent < 20 * 1024 * 1024


async def test_a_stream_that_is_packed_is_read_as_a_whole(model_server: ModelServer) -> None:
    async def packed(_: OddServer, exchange: Exchange) -> None:
        body = gzip.compress(frame({"content": "好。" + spaces}) + frame({}, "stop") + b"data: [DONE]\n\n")
        await exchange.send(200, body, content_type="text/event-stream", content_encoding="gzip")

    async with OddServer(packed) as odd:
        model = open_model(model_server, base_url=odd.base_url)
        spaces = ""
        assert await said(model) == ["好。"]
        spaces = " " * 50_000_000
        _, error = await failure(model)
        assert "太大" in error.user_message


async def test_a_service_that_refuses_the_older_limit_is_sent_the_newer_one(model_server: ModelServer) -> None:
    async def reasoning(odd: OddServer, exchange: Exchange) -> None:
        if "max_tokens" in odd.bodies[-1]:
            message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            await exchange.send_json(400, {"error": {"message": message, "type": "invalid_request_error"}})
        else:
            await exchange.send(200, frame({"content": "好。"}, "stop"), content_type="text/event-stream")

    async with OddServer(reasoning) as odd:
        model = open_model(model_server, base_url=odd.base_url)
        assert [await said(model), await said(model)] == [["好。"], ["好。"]]
    assert ["max_tokens" in body for body in odd.bodies] == [True, False, False]
