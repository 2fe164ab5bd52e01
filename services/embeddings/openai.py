"""Embeddings from any service with OpenAI's interface."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from services.embeddings.cleaning import clean
from services.embeddings.models import CosineScale, EmbeddingModel
from services.errors import EmbeddingError
from services.llm.providers import provider_of

# More than the knowledge base embeds at a time, whatever the provider would take.
_MOST_TEXTS = 64
# A vector of 4,096 numbers written out as JSON; services may ignore that base64 is asked for.
_BYTES_PER_TEXT = 128 * 1024
_OTHER_BYTES = 512 * 1024
# As many as there are places for batches in the knowledge base; each is some requests one after the other.
_PARALLEL = 4
_UNREACHABLE = "向量服务没有正常回应，请稍后再试；一直如此请管理员检查地址、密钥和额度。"
_UNUSABLE = "向量服务返回的内容不能用，请管理员检查模型名是不是向量模型。"
# Services reject empty texts, and an empty passage still needs a vector.
_BLANK = "空"


class OpenAICompatibleEmbeddings(Embeddings):
    """A wrapper that normalises another client's vectors and turns its errors into `EmbeddingError`."""

    def __init__(self, client: Embeddings) -> None:
        self._client = client

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question. Block until the service answers."""
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages. Block until the service answers."""
        if not texts:
            return []
        try:
            vectors = self._client.embed_documents(_prepared(texts))
        except Exception as error:
            raise _failure(error) from error
        return _unit(vectors, len(texts))

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return (await self.aembed_documents([text]))[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages, as many in a request as the provider takes."""
        if not texts:
            return []
        try:
            vectors = await self._client.aembed_documents(_prepared(texts))
        except Exception as error:
            raise _failure(error) from error
        return _unit(vectors, len(texts))


def open_openai(*, base_url: str, api_key: str, model: str, timeout_s: float, max_retries: int) -> EmbeddingModel:
    """Create a client of the service without sending anything.

    `timeout_s` bounds one attempt; there are up to `max_retries` + 1 of them.
    """
    # Imported here because the import takes 1.4 s, which a bot with the embedded model does not have to pay.
    from langchain_openai import OpenAIEmbeddings  # noqa: PLC0415
    from openai import DefaultHttpxClient  # noqa: PLC0415
    from pydantic import SecretStr  # noqa: PLC0415

    from services.net.bounded import BoundedConnection  # noqa: PLC0415

    batch = min(provider_of(base_url).embedding_batch, _MOST_TEXTS)
    # A redirect would carry the group's texts, and to the same host the key, to an address that nobody configured.
    blocking = DefaultHttpxClient(follow_redirects=False)
    asynchronous = BoundedConnection(max_bytes=_OTHER_BYTES + _BYTES_PER_TEXT * batch)
    client = OpenAIEmbeddings(
        model=model,
        base_url=base_url,
        api_key=SecretStr(api_key or "none"),  # # local services need no key, but the client does
        timeout=timeout_s,
        max_retries=max_retries,
        http_client=blocking,
        http_async_client=asynchronous,
        chunk_size=batch,
        check_embedding_ctx_length=False,  # # otherwise it downloads data for tiktoken and sends ids, not text
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
        parallel_batches=_PARALLEL,
    )


def fingerprint(base_url: str, model: str) -> str:
    """Return the fingerprint of a service's model: its readable name, and a hash that tells equal names apart.

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
