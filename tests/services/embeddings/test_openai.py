"""Tests of the client of an OpenAI-compatible service, against a real server."""

import re

import numpy as np
import pytest

from services.embeddings.models import CosineScale, EmbeddingModel
from services.embeddings.openai import fingerprint, open_openai
from services.errors import EmbeddingError
from tests.e2e.http_server import Exchange
from tests.services.embeddings.service import running_service
from tests.services.llm.odd_server import OddServer


def _open(url: str) -> EmbeddingModel:
    return open_openai(base_url=url, api_key="", model="text-embedding-v4", timeout_s=0.3, max_retries=0)


async def test_ten_texts_a_request_and_unit_vectors() -> None:
    with running_service() as service:
        model = _open(service.url)
        texts = ["字" * number for number in range(1, 24)]
        vectors = np.array(await model.embeddings.aembed_documents(texts))
        assert [len(request["input"]) for request in service.requests] == [10, 10, 3]
        assert [text for request in service.requests for text in request["input"]] == texts
        assert all(request["model"] == "text-embedding-v4" for request in service.requests)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
        assert np.allclose(vectors[:, 0] / vectors[:, 1], np.arange(1, 24) / 2)
        assert (await model.embeddings.aembed_query("字字"))[0] == pytest.approx(0.5**0.5)
        assert await model.embeddings.aembed_documents([]) == []
        assert model.embeddings.embed_query("字字")[0] == pytest.approx(0.5**0.5)
        await model.close()
        assert model.scale is CosineScale.UNKNOWN


async def test_text_that_services_refuse_is_replaced() -> None:
    with running_service() as service:
        model = _open(service.url)
        await model.embeddings.aembed_documents(["", "  ", "a\0b", "好\ud800"])
        assert service.requests[0]["input"] == ["空", "空", "ab", "好"]
        await model.close()


@pytest.mark.parametrize("behaviour", ["error", "slow", "html", "short", "ragged", "zeros"])
async def test_every_failure_is_an_embedding_error(behaviour: str) -> None:
    with running_service(behaviour) as service:
        model = _open(service.url)
        with pytest.raises(EmbeddingError) as caught:
            await model.embeddings.aembed_documents(["一", "二"])
        assert re.fullmatch("向量服务.*。", caught.value.user_message)
        assert caught.value.retryable
        with pytest.raises(EmbeddingError):
            model.embeddings.embed_documents(["一", "二"])
        await model.close()


async def test_a_response_without_end_is_not_read_to_the_end() -> None:
    async def flood(odd: OddServer, exchange: Exchange) -> None:
        await exchange.start(200, length=None, content_type="application/json")
        for _ in range(4_000):
            await exchange.write(b" " * 65536)
            odd.sent += 65536

    async with OddServer(flood) as odd:
        model = open_openai(base_url=odd.base_url, api_key="k", model="m", timeout_s=20, max_retries=0)
        with pytest.raises(EmbeddingError):
            await model.embeddings.aembed_documents(["一"])
        assert odd.sent < 20 * 1024 * 1024
        await model.close()


async def test_a_redirect_is_not_followed() -> None:
    with running_service() as elsewhere, running_service(redirect_to=elsewhere.url) as service:
        model = _open(service.url)
        with pytest.raises(EmbeddingError) as caught:
            await model.embeddings.aembed_documents(["群里的话"])
        with pytest.raises(EmbeddingError):
            model.embeddings.embed_documents(["群里的话"])
        assert "检查地址" in caught.value.user_message
        assert len(service.requests) == 2
        assert elsewhere.requests == []
        await model.close()


async def test_nobody_listens() -> None:
    model = _open("http://127.0.0.1:9/v1")
    with pytest.raises(EmbeddingError, match="APIConnectionError"):
        await model.embeddings.aembed_query("一")
    await model.close()


async def test_failed_calls_are_repeated() -> None:
    with running_service("error") as service:
        model = open_openai(base_url=service.url, api_key="k", model="m", timeout_s=1, max_retries=1)
        with pytest.raises(EmbeddingError):
            await model.embeddings.aembed_query("一")
        assert len(service.requests) == 2
        await model.close()


@pytest.mark.parametrize(
    "name", ["BAAI/bge-m3", "text-embedding-3-large", "模型", "", "-" * 90, "a" * 90, "Qwen3_Emb:8b"]
)
def test_fingerprints_fit_the_alphabet(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,62}", fingerprint("https://a.example/v1", name))


def test_fingerprints_tell_services_and_models_apart() -> None:
    prints = {fingerprint(url, name) for url in ("https://a.example/v1", "https://b.example/v1") for name in ("A", "a")}
    assert len(prints) == 4
    assert fingerprint("https://a.example/v1/", "A") in prints
