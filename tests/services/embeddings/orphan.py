"""Program that prints the id of its embedding process and then keeps that process busy, until the test kills it."""

import asyncio

from services.embeddings.worker import DocumentWorker
from tests.services.embeddings.encoders import ProcessEncoder


async def _work() -> None:
    worker = DocumentWorker(ProcessEncoder, idle_s=60)
    vectors = await worker.embed_passages(["x"])
    print(int(vectors[0, 0]), flush=True)  # noqa: T201
    while True:
        await worker.embed_passages(["sleep"])


if __name__ == "__main__":
    asyncio.run(_work())
