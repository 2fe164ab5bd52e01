"""The table of providers: recognised by their address, and what each is sent."""

from typing import Any, get_args

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from services.errors import ModelError
from services.llm.prices import Price, price_of
from services.llm.providers import PROVIDERS, provider_of
from services.settings import LLMSettings
from tests.e2e.model_server import ModelServer
from tests.services.llm.models import open_model

JSON_PROMPT = [HumanMessage("给出 JSON")]


class Words(BaseModel):
    """Words that mean the same."""

    words: list[str]


class Search(BaseModel):
    """Search the documents."""

    query: str


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.deepseek.com/v1", "deepseek"),
        ("https://API.DeepSeek.com", "deepseek"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://w-1.cn-beijing.maas.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://open.bigmodel.cn/api/paas/v4", "glm"),
        ("https://api.moonshot.cn/v1", "kimi"),
        ("http://192.168.1.5:11434/v1", "ollama"),
        ("https://ollama.com/v1", "ollama"),
        ("https://api.openai.com/v1", "openai"),
        ("https://api.siliconflow.cn/v1", "other"),
        ("https://api.deepseek.com.evil.example/v1", "other"),
        ("https://notapi.deepseek.com.cn/v1", "other"),
        ("", "other"),
    ],
)
def test_a_provider_is_recognised_by_its_host(address: str, name: str) -> None:
    assert provider_of(address).name == name


def test_the_limits_of_embedding_requests() -> None:
    assert provider_of("https://dashscope.aliyuncs.com/compatible-mode/v1").embedding_batch == 10
    assert provider_of("https://unknown.example/v1").embedding_batch == 10
    assert provider_of("https://api.openai.com/v1").embedding_batch == 2048


def test_every_provider_can_be_named_in_the_settings() -> None:
    choices = get_args(LLMSettings.model_fields["provider"].annotation)
    assert set(choices) == {"auto", *PROVIDERS}


def test_what_the_operator_says_about_a_price_beats_the_table() -> None:
    address = "https://api.deepseek.com/v1"
    assert price_of(address, "DeepSeek-Flash") == Price(2, 0.04, 8)
    assert price_of(address, "deepseek-flash", ["deepseek-flash=1/4"]) == Price(1, 1, 4)
    assert price_of(address, "deepseek-flash", ["a=b=1/0.5/4", "other=1/1"]) == Price(2, 0.04, 8)
    assert price_of("", "a=b", ["a=b=1/0.5/4"]) == Price(1, 0.5, 4)


def test_an_unknown_model_or_address_has_no_price() -> None:
    assert price_of("https://api.deepseek.com/v1", "deepseek-next") is None
    assert price_of("https://cheaper.example/v1", "deepseek-flash") is None
    assert price_of("https://api.deepseek.com.evil.example/v1", "deepseek-flash") is None


def test_cached_tokens_are_cheaper_and_never_more_than_there_are() -> None:
    price = Price(2, 0.04, 8)
    assert price.cost(1_000_000, 0, 0) == 2_000_000
    assert price.cost(1_000, 400, 100) == 600 * 2 + 16 + 800
    assert price.cost(1_000, 5_000, 0) == 40
    assert price.cost(1_000, -5, 0) == 2_000


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("deepseek", {"response_format": {"type": "json_object"}, "thinking": None, "enable_thinking": None}),
        ("dashscope", {"response_format": {"type": "json_object"}, "enable_thinking": False}),
        ("glm", {"response_format": {"type": "json_object"}, "thinking": None}),
        ("kimi", {"response_format": {"type": "json_object"}, "thinking": None}),
        ("ollama", {"response_format": {"type": "json_object"}, "reasoning_effort": None}),
        ("other", {"response_format": {"type": "json_object"}, "thinking": None}),
    ],
)
async def test_an_object_is_asked_for_as_each_provider_takes_it(
    model_server: ModelServer, provider: str, body: dict[str, Any]
) -> None:
    model_server.reply = '{"words": ["旅馆"]}'
    await open_model(model_server, provider=provider).structured(JSON_PROMPT, Words)
    (request,) = model_server.chats
    assert {name: request.body.get(name) for name in body} == body
    assert request.body["max_tokens"] == 4096


async def test_openai_is_asked_for_a_schema_and_by_the_newer_limit(model_server: ModelServer) -> None:
    model_server.reply = '{"words": ["旅馆"]}'
    assert await open_model(model_server, provider="openai").structured(JSON_PROMPT, Words) == Words(words=["旅馆"])
    (request,) = model_server.chats
    form = request.body["response_format"]["json_schema"]
    assert (form["name"], form["strict"], form["schema"]["additionalProperties"]) == ("Words", True, False)
    assert (request.body["max_completion_tokens"], request.body.get("max_tokens")) == (4096, None)


@pytest.mark.parametrize(
    ("provider", "forced", "thinking"),
    [("deepseek", True, {"type": "disabled"}), ("glm", False, None), ("kimi", False, {"type": "disabled"})],
)
async def test_a_tool_is_demanded_only_where_the_provider_takes_it(
    model_server: ModelServer, provider: str, forced: bool, thinking: dict[str, str] | None
) -> None:
    model_server.reply = '{"words": ["旅馆"]}'
    model = open_model(model_server, provider=provider, structured_method="function_calling")
    await model.structured(JSON_PROMPT, Words)
    (request,) = model_server.chats
    assert ("tool_choice" in request.body, request.body.get("thinking")) == (forced, thinking)
    assert request.body["tools"][0]["function"]["name"] == "Words"


async def test_the_operator_decides_about_thinking(model_server: ModelServer) -> None:
    for choice, kind in (("on", "enabled"), ("off", "disabled")):
        model = open_model(model_server, provider="deepseek", thinking=choice)
        await model.reply(JSON_PROMPT)
        await model.reply(JSON_PROMPT, [Search])
        assert [request.body["thinking"]["type"] for request in model_server.chats[-2:]] == [kind, kind]
    await open_model(model_server, provider="deepseek").reply(JSON_PROMPT)
    await open_model(model_server, provider="kimi", name="kimi-k3", thinking="off").reply(JSON_PROMPT)
    assert all("thinking" not in request.body for request in model_server.chats[-2:])


async def test_thinking_that_the_operator_wants_is_not_given_up_for_a_forced_tool(model_server: ModelServer) -> None:
    model_server.reply = "没有工具。"
    model = open_model(model_server, provider="deepseek", thinking="on", structured_method="function_calling")
    with pytest.raises(ModelError):
        await model.structured(JSON_PROMPT, Words)
    assert all("tool_choice" not in request.body for request in model_server.chats)
