"""Tests of the client against a real server on loopback: all four formats, every fault, and no leaks."""

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest
from pydantic import SecretStr

from services.errors import RerankError, SettingsError
from services.reranking import RerankService
from services.settings import RerankSettings
from tests.fakes.rerank_server import COMPATIBLE_PATH, KEY, Fault, RerankServer, relevance, running_rerank_server

QUESTION = "报销要多久"
PASSAGES = ["今天天气好", "报销要三十天", "报销找财务", "多久下班"]
PROVIDERS = ("jina", "cohere", "siliconflow", "dashscope")


@pytest.fixture
async def server() -> AsyncGenerator[RerankServer]:
    async with running_rerank_server() as running:
        yield running


def service(
    url: str, provider: str = "jina", *, key: str = KEY, timeout_s: float = 5, model: str = "m"
) -> RerankService:
    settings = RerankSettings.model_validate(
        {"provider": provider, "base_url": url, "api_key": SecretStr(key), "model": model, "timeout_s": timeout_s}
    )
    return RerankService(settings)


async def failure(client: RerankService) -> RerankError:
    """Return the error of one call, which must not contain the key."""
    with pytest.raises(RerankError) as caught:
        await client.scores(QUESTION, PASSAGES)
    await client.aclose()
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in f"{error} {error!r} {error.args}"
        error = error.__cause__ or error.__context__
    assert KEY not in caught.value.detail + caught.value.user_message
    assert caught.value.user_message.endswith("。")
    assert caught.value.retryable
    return caught.value


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_scores_in_the_order_of_the_passages(server: RerankServer, provider: str) -> None:
    client = service(server.url(provider), provider)
    expected = [relevance(QUESTION, passage) for passage in PASSAGES]
    assert len(set(expected)) > 2
    assert await client.scores(QUESTION, PASSAGES) == expected
    # The connection is reused, and nothing is sent if there is nothing to score.
    assert await client.scores(QUESTION, PASSAGES[:1]) == expected[:1]
    assert await client.scores(QUESTION, []) == []
    assert len(server.requests) == 2
    await client.aclose()


async def test_the_compatible_address_of_dashscope(server: RerankServer) -> None:
    client = service(server.address + COMPATIBLE_PATH, "dashscope")
    assert await client.scores(QUESTION, PASSAGES) == [relevance(QUESTION, passage) for passage in PASSAGES]
    assert client.name == "DashScope m"
    await client.aclose()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "RERANK__MODEL"),
        (401, "RERANK__API_KEY"),
        (402, "额度"),
        (403, "RERANK__API_KEY"),
        (404, "RERANK__BASE_URL"),
        (413, "RERANK__MODEL"),
        (429, "频率"),
        (500, "稍后再试"),
        (503, "稍后再试"),
    ],
)
async def test_refusals_say_what_to_do(server: RerankServer, status: int, words: str) -> None:
    server.fault, server.status = Fault.STATUS, status
    error = await failure(service(server.url("jina")))
    assert words in error.user_message
    assert f"HTTP {status}" in error.detail
    assert "***" in error.detail
    assert len(server.requests) == 1


async def test_a_wrong_key(server: RerankServer) -> None:
    error = await failure(service(server.url("jina"), key="sk-other"))
    assert "RERANK__API_KEY" in error.user_message
    assert "sk-other" not in error.detail


async def test_a_key_that_no_header_can_carry(server: RerankServer) -> None:
    error = await failure(service(server.url("jina"), key=f"{KEY}\nX-Evil: 1"))
    assert "RERANK__API_KEY" in error.user_message
    assert not server.requests


async def test_a_redirect_is_not_followed(server: RerankServer) -> None:
    server.fault = Fault.REDIRECT
    error = await failure(service(server.url("cohere"), "cohere"))
    assert "RERANK__BASE_URL" in error.user_message
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault.MALFORMED,
        Fault.NESTED_DEEPLY,
        Fault.WRONG,
        Fault.EMPTY,
        Fault.NO_RESULTS,
        Fault.MISSING_INDEX,
        Fault.DUPLICATE_INDEX,
        Fault.INDEX_OUT_OF_RANGE,
        Fault.INDEX_IS_TEXT,
        Fault.NOT_A_NUMBER,
        Fault.INFINITE,
        Fault.SCORE_IS_TEXT,
        Fault.LOGITS,
        Fault.ENDLESS,
        Fault.PACKED,
    ],
)
@pytest.mark.parametrize("provider", ["jina", "dashscope"])
async def test_wrong_content(server: RerankServer, provider: str, fault: Fault) -> None:
    server.fault = fault
    error = await failure(service(server.url(provider), provider))
    assert "不能用" in error.user_message, error
    assert len(error.detail) < 1000
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [Fault.SLOW, Fault.DRIBBLE])
async def test_the_time_limit_is_for_the_whole_call(server: RerankServer, fault: Fault) -> None:
    server.fault, server.seconds = fault, 3
    begun = time.monotonic()
    error = await failure(service(server.url("jina"), timeout_s=0.5))
    assert 0.4 < time.monotonic() - begun < 1.5
    assert "RERANK__TIMEOUT_S" in error.user_message


async def test_a_cut_answer_is_not_asked_for_again(server: RerankServer) -> None:
    server.fault = Fault.CUT
    error = await failure(service(server.url("jina")))
    assert "中断" in error.user_message
    assert len(server.requests) == 1


async def test_a_connection_closed_before_the_answer_is_tried_once_more(server: RerankServer) -> None:
    client = service(server.url("jina"))
    server.fault, server.times = Fault.DROPPED, 1
    assert len(await client.scores(QUESTION, PASSAGES)) == len(PASSAGES)
    assert len(server.requests) == 2
    server.times = 5
    error = await failure(client)
    assert "中断" in error.user_message
    assert len(server.requests) == 4


async def test_nobody_there() -> None:
    async with running_rerank_server() as gone:
        url = gone.url("jina")
    for address in (url, "http://no-such-host.invalid/v1/rerank", url.replace("http://", "https://")):
        error = await failure(service(address, timeout_s=3))
        assert "RERANK__BASE_URL" in error.user_message or "RERANK__TIMEOUT_S" in error.user_message


async def test_many_at_once_after_a_fault(server: RerankServer) -> None:
    client = service(server.url("siliconflow"), "siliconflow")
    server.fault = Fault.STATUS
    with pytest.raises(RerankError):
        await client.scores(QUESTION, PASSAGES)
    server.fault = Fault.NONE
    answers = await asyncio.gather(*(client.scores(QUESTION, PASSAGES[: 1 + number % 4]) for number in range(40)))
    assert [len(answer) for answer in answers] == [1 + number % 4 for number in range(40)]
    await client.aclose()


async def test_a_cancelled_call_leaves_the_client_usable(server: RerankServer) -> None:
    client = service(server.url("jina"))
    server.fault, server.seconds = Fault.SLOW, 5
    task = asyncio.create_task(client.scores(QUESTION, PASSAGES))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.fault = Fault.NONE
    assert len(await client.scores(QUESTION, PASSAGES)) == len(PASSAGES)
    await client.aclose()


async def test_closed_is_closed(server: RerankServer) -> None:
    client = service(server.url("jina"))
    await client.aclose()
    await client.aclose()
    with pytest.raises(RerankError):
        await client.scores(QUESTION, PASSAGES)
    assert not server.requests


@pytest.mark.parametrize("address", ["http://[bad", "http://", "https:///v1/rerank", "http://host:port/x"])
def test_an_address_that_is_none_stops_the_start(address: str) -> None:
    with pytest.raises(SettingsError, match="RERANK__BASE_URL"):
        service(address)


async def test_secrets_of_an_address_are_not_logged(server: RerankServer) -> None:
    server.fault = Fault.STATUS
    error = await failure(service(server.url("jina") + "?token=hidden"))
    assert "hidden" not in error.detail
    with pytest.raises(SettingsError, match="RERANK__API_KEY") as caught:
        service(server.url("jina").replace("http://", "http://user:password@"))
    assert "password" not in str(caught.value)


def test_the_official_addresses() -> None:
    for provider in PROVIDERS:
        assert service("", provider).name.endswith(" m")
