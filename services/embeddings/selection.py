"""Selection of the embedding model: the configured one, or the one that can replace it."""

import asyncio
import functools
import importlib.metadata
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from e5_int8 import MODEL, convert, is_converted
from services.child_process import run_apart
from services.embeddings.e5 import open_e5
from services.embeddings.local import LocalEmbeddings
from services.embeddings.models import CosineScale, EmbeddingModel
from services.embeddings.openai import open_openai
from services.embeddings.universal import DISTRIBUTION as UNIVERSAL
from services.embeddings.universal import open_universal
from services.embeddings.worker import Encoder
from services.errors import EmbeddingError

_PROBE = "你好"
_DEGRADED = "自带的语义模型在这台机器上用不了，已换成较弱的备用模型，按意思查找会不够准，原因请看启动日志。"
_NONE = "自带的语义模型和备用模型都打不开，请重新安装依赖后再启动，原因请看启动日志。"
_LOGGER = logging.getLogger(__name__)


async def open_embeddings(
    provider: Literal["local", "openai"],
    *,
    data_dir: Path,
    base_url: str,
    api_key: str,
    model: str,
    timeout_s: float,
    max_retries: int,
) -> EmbeddingModel:
    """Open the configured embedding model.

    `local` is tested with one text. It takes some seconds the first time and 0.5 s later, and falls back to a weaker
    model with `degraded` set. A service is not contacted yet: while it is down, questions are searched by words and
    files wait. A service has no fallback, because the vectors of another model would not match those already stored.
    Raise `EmbeddingError` if no local model runs.
    """
    if provider == "local":
        return await _open_local(data_dir)
    return await asyncio.to_thread(
        open_openai, base_url=base_url, api_key=api_key, model=model, timeout_s=timeout_s, max_retries=max_retries
    )


async def _open_local(data_dir: Path) -> EmbeddingModel:
    try:
        encoder, open_for_documents = await asyncio.to_thread(_e5, data_dir)
        return _model(
            encoder,
            open_for_documents,
            fingerprint=MODEL,
            description="自带模型 multilingual-e5-small",
            scale=CosineScale.E5,
            degraded="",
        )
    except Exception as error:
        # A native library may raise any exception.
        _LOGGER.warning("multilingual-e5-small cannot run: %s: %s", type(error).__name__, error, exc_info=error)
    try:
        encoder, open_for_documents = await asyncio.to_thread(_universal)
        version = importlib.metadata.version(UNIVERSAL)
    except Exception as error:
        raise EmbeddingError(_NONE, f"{type(error).__name__}: {error}") from error
    return _model(
        encoder,
        open_for_documents,
        fingerprint=f"use-m3-{version}",
        description="备用模型 Universal Sentence Encoder",
        scale=CosineScale.UNIVERSAL_SENTENCE_ENCODER,
        degraded=_DEGRADED,
    )


def _model(
    encoder: Encoder,
    open_for_documents: Callable[[], Encoder],
    *,
    fingerprint: str,
    description: str,
    scale: CosineScale,
    degraded: str,
) -> EmbeddingModel:
    embeddings = LocalEmbeddings(encoder, open_for_documents)
    return EmbeddingModel(embeddings, fingerprint, description, scale, degraded, embeddings.aclose)


def _e5(data_dir: Path) -> tuple[Encoder, Callable[[], Encoder]]:
    directory = (data_dir / "models").absolute()
    if not is_converted(directory):
        # The conversion takes some 300 MB.
        run_apart(convert, directory)
    return _proven(open_e5(directory, 1)), functools.partial(open_e5, directory, _cores())


def _universal() -> tuple[Encoder, Callable[[], Encoder]]:
    return _proven(open_universal(1)), functools.partial(open_universal, _cores())


def _proven(encoder: Encoder) -> Encoder:
    encoder.embed_queries([_PROBE])
    return encoder


def _cores() -> int:
    return max(1, min(os.cpu_count() or 1, 4))
