"""Embeddings from any service with OpenAI's interface."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from services.embeddings.cleaning import clean
from services.embeddings.models import CosineScale, EmbeddingModel
from services.errors import EmbeddingError

# The smallest limit in use: DashScope's v3 and v4 models take ten texts a request.
_BATCH = 10
_UNREACHABLE = "向量服务没有正常回应，请稍后再试；一直如此请管理员检查地址、密钥和额度。"
_UNUSABLE = "向量服务返回的内容不能用，请管理员检查模型名是不是向量模型。"
# Services refuse empty texts, and an empty passage still needs a vector.
_BLANK = "空"


class OpenAICompatibleEmbeddings(Embeddings):
    """Makes another client's vectors unit vectors and its errors `EmbeddingError`."""

    def __init__(self, client: Embeddings) -> None:
        self._client = client

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question. Blocks until the service answers."""
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages. Blocks until the service answers."""
        if not texts:
            return []
        try:
            vectors = self._client.embed_documents(_prepared(texts))
        except Exception as error:
            raise _failure(error) from error
        return _unit(vectors, len(texts))

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return (await self.aembed_documents([text]))[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages, ten a request."""
        if not texts:
            return []
        try:
            vectors = await self._client.aembed_documents(_prepared(texts))
        except Exception as error:
            raise _failure(error) from error
        return _unit(vectors, len(texts))


def open_openai(*, base_url: str, api_key: str, model: str, timeout_s: float, max_retries: int) -> EmbeddingModel:
    """A client of the service; nothing is sent yet. `timeout_s` bounds one attempt, of `max_retries` + 1."""
    # Here, because the import takes 1.4 s that a bot with the embedded model does not have to wait.
    from langchain_openai import OpenAIEmbeddings  # noqa: PLC0415
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient  # noqa: PLC0415
    from pydantic import SecretStr  # noqa: PLC0415

    # A redirect would carry passages and key to an address that nobody configured.
    blocking = DefaultHttpxClient(follow_redirects=False)
    asynchronous = DefaultAsyncHttpxClient(follow_redirects=False)
    client = OpenAIEmbeddings(
        model=model,
        base_url=base_url,
        api_key=SecretStr(api_key or "none"),  # local services ask for none, the client for some
        timeout=timeout_s,
        max_retries=max_retries,
        http_client=blocking,
        http_async_client=asynchronous,
        chunk_size=_BATCH,
        check_embedding_ctx_length=False,  # else it loads tiktoken, which downloads, and sends ids instead of text
    )

    async def close() -> None:
        blocking.close()
        await asynchronous.aclose()

    return EmbeddingModel(
        embeddings=OpenAICompatibleEmbeddings(client),
        fingerprint=fingerprint(base_url, model),
        description=f"向量服务 {model}",
        scale=CosineScale.UNKNOWN,
        degraded="",
        close=close,
    )


def fingerprint(base_url: str, model: str) -> str:
    """The space of a model of a service: its readable name, and a hash that tells equal names apart.

    >>> fingerprint("https://a.example/v1", "BAAI/bge-m3")
    'openai-baai-bge-m3-615ea209'
    """
    slug = re.sub(r"[^a-z0-9.]+", "-", model.lower()).strip("-.")[:40].rstrip("-.")
    digest = hashlib.sha256(f"{base_url.rstrip('/')}\n{model}".encode()).hexdigest()[:8]
    return "-".join(part for part in ("openai", slug, digest) if part)


def _prepared(texts: Sequence[str]) -> list[str]:
    return [text if text.strip() else _BLANK for text in map(clean, texts)]


def _failure(error: Exception) -> EmbeddingError:
    import openai  # noqa: PLC0415

    sentence = _UNREACHABLE if isinstance(error, openai.OpenAIError) else _UNUSABLE
    return EmbeddingError(sentence, f"{type(error).__name__}: {error}")


def _unit(vectors: list[list[float]], count: int) -> list[list[float]]:
    try:
        array = np.asarray(vectors, np.float64)
    except (ValueError, TypeError) as error:
        raise EmbeddingError(_UNUSABLE, f"vectors of unequal length: {error}") from error
    lengths = np.linalg.norm(array, axis=-1, keepdims=True)
    if array.ndim != 2 or len(array) != count or not np.isfinite(array).all() or not lengths.all():
        raise EmbeddingError(_UNUSABLE, f"{count} texts gave an array of shape {array.shape}, or zeros, or infinity")
    return (array / lengths).tolist()
