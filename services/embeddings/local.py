"""LangChain interface to an embedded model: questions run in this process, documents in a child process."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from services.embeddings.worker import DocumentWorker, Encoder
from services.errors import EmbeddingError

_FAILED = "文字转向量时出错，这次没有完成，请稍后再试一次。"
_IDLE_S = 300.0


class LocalEmbeddings(Embeddings):
    """A loaded encoder for questions, and a child process with another encoder for documents.

    The first `aembed_documents` starts the child process. It is closed after `idle_s` seconds without a call, which
    frees about 170 MB. Every method raises `EmbeddingError` when the model fails or after `aclose`.
    """

    def __init__(
        self, encoder: Encoder, open_document_encoder: Callable[[], Encoder], *, idle_s: float = _IDLE_S
    ) -> None:
        """Use `encoder` for questions and `open_document_encoder` for documents.

        `open_document_encoder` is called in the child process and must be picklable.
        """
        self._encoder = encoder
        self._thread = ThreadPoolExecutor(1, "embed-query")
        self._worker = DocumentWorker(open_document_encoder, idle_s)
        self._closed = False

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question. Block for some milliseconds."""
        return self._run(self._encoder.embed_queries, [text])[0].tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages, computed in this process. Block until they are ready."""
        return self._run(self._encoder.embed_passages, texts).tolist() if texts else []

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a question, computed on a dedicated thread."""
        if self._closed:
            raise EmbeddingError(_FAILED, "the embedding model is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.embed_query, text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of passages, computed in the child process. Callers are served in order."""
        return (await self._worker.embed_passages(texts)).tolist() if texts else []

    async def aclose(self) -> None:
        """Stop the child process and the thread."""
        self._closed = True
        await self._worker.aclose()
        await asyncio.to_thread(self._thread.shutdown, wait=True)

    def _run(self, embed: Callable[[list[str]], NDArray[np.float32]], texts: list[str]) -> NDArray[np.float32]:
        try:
            return embed(texts)
        except Exception as error:
            raise EmbeddingError(_FAILED, f"{type(error).__name__}: {error}") from error
