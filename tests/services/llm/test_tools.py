"""Calls of tools that a model writes, images that it is shown, and agents that call it."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel

from services.errors import ModelBudgetSpent, ModelError, ModelTimeout, ModelUnavailable
from services.llm import ModelCall
from services.llm.images import MAX_IMAGE_BYTES, image_message
from tests.e2e.model_server import Completion, Mode, ModelRequest, ModelServer
from tests.services.llm.models import open_model
from tests.services.llm.test_stream import Meter

PROMPT = [HumanMessage("住宿标准是多少")]
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


class Search(BaseModel):
    """Search the documents."""

    query: str


@tool
def search(query: str) -> str:
    """Search the documents."""
    return f"{query}：每晚三百五十元"


def call(name: str, arguments: str) -> Completion:
    function = {"name": name, "arguments": arguments}
    return Completion("", ({"id": "call_1", "type": "function", "function": function},), "tool_calls")


@pytest.mark.parametrize("given", [Search, search])
async def test_a_call_of_a_tool_is_returned(model_server: ModelServer, given: type[BaseModel] | BaseTool) -> None:
    name = given.name if isinstance(given, BaseTool) else "Search"
    model_server.reply = call(name, '{"query": "住宿"}')
    message = await open_model(model_server).reply(PROMPT, [given])
    assert [(each["name"], each["args"]) for each in message.tool_calls] == [(name, {"query": "住宿"})]
    model_server.reply = "不用查。"
    assert (await open_model(model_server).reply(PROMPT, [given])).text == "不用查。"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("Delete", "{}"), ("Search", "{}"), ("Search", '{"query": 1}'), ("Search", '{"query"'), ("Search", "[" * 30_000)],
)
async def test_a_call_that_cannot_be_made_is_a_failure(model_server: ModelServer, name: str, arguments: str) -> None:
    model_server.reply = call(name, arguments)
    with pytest.raises(ModelError):
        await open_model(model_server).reply(PROMPT, [Search])


async def test_a_call_that_was_not_offered_is_no_answer(model_server: ModelServer) -> None:
    model_server.reply = call("Search", '{"query": "住宿"}')
    with pytest.raises(ModelError, match="没有给出内容"):
        await open_model(model_server).reply(PROMPT)


# -- images -----------------------------------------------------------------------------------------------------------


async def test_a_model_that_sees_is_shown_an_image(model_server: ModelServer) -> None:
    model = open_model(model_server, vision_model="test-model")
    await model.reply([image_message("这是什么", [PNG])])
    text, image = model_server.chats[0].body["messages"][0]["content"]
    assert text == {"type": "text", "text": "这是什么"}
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")


@pytest.mark.parametrize(
    ("provider", "name", "sees"),
    [("deepseek", "deepseek-flash", True), ("deepseek", "deepseek-v4-pro", False), ("other", "gpt-5", False)],
)
async def test_an_image_is_sent_only_to_a_model_that_sees(
    model_server: ModelServer, provider: str, name: str, sees: bool
) -> None:
    model = open_model(model_server, provider=provider, name=name)
    assert model.sees_images is sees
    if sees:
        await model.reply([image_message("这是什么", [PNG])])
    else:
        with pytest.raises(ModelUnavailable, match="LLM__VISION_MODEL"):
            await model.reply([image_message("这是什么", [PNG])])
        assert model_server.chats == []


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"%PDF-1.7", b"RIFF1234WAVE", b"\x89PNG"])
def test_what_is_no_image_is_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="格式看不了"):
        image_message("这是什么", [data])


def test_an_image_that_is_too_large_is_refused() -> None:
    with pytest.raises(ModelError, match="7 MB"):
        image_message("这是什么", [PNG + bytes(MAX_IMAGE_BYTES)])


# -- agents -----------------------------------------------------------------------------------------------------------


def agent_reply(request: ModelRequest) -> Completion | str:
    if request.body["messages"][-1]["role"] == "tool":
        return f"<think>够了</think>查到了：{request.body['messages'][-1]['content']}。"
    return call("search", json.dumps({"query": "住宿"}))


def agent(model_server: ModelServer, meter: Any = None, **values: Any) -> Any:
    model_server.reply = agent_reply
    return create_agent(open_model(model_server, meter, **values).langchain_model, [search])


async def test_an_agent_calls_a_tool_and_every_call_is_metered(model_server: ModelServer) -> None:
    meter = Meter()
    state = await agent(model_server, meter).ainvoke({"messages": PROMPT})
    assert state["messages"][-1].text == "查到了：住宿：每晚三百五十元。"
    assert [ended.usage is not None for ended in meter.ended] == [True, True]
    assert len(model_server.chats) == 2
    assert all(request.body["max_tokens"] == 4096 for request in model_server.chats)


async def test_an_agent_streams_through_the_same_meter(model_server: ModelServer) -> None:
    meter = Meter()
    pieces: list[str] = []
    async for message, _ in agent(model_server, meter).astream({"messages": PROMPT}, stream_mode="messages"):
        if message.type == "AIMessageChunk":
            pieces.append(message.text)
    assert "".join(pieces) == "查到了：住宿：每晚三百五十元。"
    assert len([piece for piece in pieces if piece]) > 1
    assert len(meter.ended) == 2
    assert all(request.body["stream"] for request in model_server.chats)


@pytest.mark.parametrize(
    ("mode", "kind"), [(Mode.UNAUTHORIZED, ModelUnavailable), (Mode.HANG, ModelTimeout), (Mode.CUT, ModelUnavailable)]
)
async def test_an_agent_fails_with_the_same_sentences(
    model_server: ModelServer, mode: Mode, kind: type[ModelError]
) -> None:
    model_server.switch(mode)
    with pytest.raises(kind, match="。"):
        await agent(model_server, timeout_s=1).ainvoke({"messages": PROMPT})


class Spent(Meter):
    """Allows one call."""

    @asynccontextmanager
    async def metered(self, call: ModelCall) -> AsyncGenerator[None]:
        if self.begun:
            raise ModelBudgetSpent("今天这里的模型用量用完了，明天再试。")
        async with super().metered(call):
            yield


async def test_an_agent_stops_when_the_budget_is_spent(model_server: ModelServer) -> None:
    with pytest.raises(ModelBudgetSpent):
        await agent(model_server, Spent()).ainvoke({"messages": PROMPT})
    assert len(model_server.chats) == 1


async def test_a_blocking_call_is_refused_rather_than_uncounted(model_server: ModelServer) -> None:
    with pytest.raises(NotImplementedError):
        open_model(model_server).langchain_model.invoke(PROMPT)
    assert model_server.chats == []


async def test_a_deepseek_agent_does_not_think_between_tools(model_server: ModelServer) -> None:
    await agent(model_server, provider="deepseek").ainvoke({"messages": PROMPT})
    assert [request.body["thinking"] for request in model_server.chats] == [{"type": "disabled"}] * 2
