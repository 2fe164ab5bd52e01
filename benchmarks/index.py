"""Benchmark of the index as ratios to Chroma alone, measured in the same run on the same machine.

    python -m benchmarks.index [chunks …]          (1000 and 10000 by default; about five minutes)

It prints the rows added per second, the search times when idle and while another document is being added, and the
longest stall of the calling process's event loop.
"""

import asyncio
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy

from services.index.models import IndexedChunk, SearchRequest
from services.index.process import IndexProcess

DIMENSIONS = 384
CHARACTERS = 300
SEARCHES = 100
FINGERPRINT = "random"
_HAN = [chr(0x4E00 + number) for number in range(3_000)]
# The n-th most common character has a frequency of about 1/n, so that the postings resemble those of real text, not
# those of noise.
_WEIGHTS = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(_HAN))))


class Corpus:
    """Generated Chinese chunks with unit vectors."""

    def __init__(self, size: int) -> None:
        self._dice = random.Random(size)
        self.vectors = numpy.random.default_rng(size).standard_normal((size, DIMENSIONS)).astype(numpy.float32)
        self.vectors /= numpy.linalg.norm(self.vectors, axis=1, keepdims=True)
        self.chunks = [
            IndexedChunk(f"c{number}", f"build{number // 100}", number % 100, self.text(), "", {"page": number})
            for number in range(size)
        ]

    def text(self, length: int = CHARACTERS) -> str:
        """Return characters with the frequency distribution of a language."""
        return "".join(self._dice.choices(_HAN, cum_weights=_WEIGHTS, k=length))


class LoopWatch:
    """The longest stall of the running event loop, in milliseconds."""

    async def __aenter__(self) -> "LoopWatch":
        self.longest = 0.0
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, (time.perf_counter() - before - 0.001) * 1e3)


def raw_chroma(corpus: Corpus, batch: int = 8) -> tuple[float, list[float], float]:
    """Return the rows per second, the query times in ms, and the longest add in ms of Chroma alone, in this process."""
    import chromadb  # noqa: PLC0415 - only here: the index keeps it out of this process

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        store = chromadb.PersistentClient(directory).create_collection(
            "raw", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )
        adds: list[float] = []
        for start in range(0, len(corpus.chunks), batch):
            rows = corpus.chunks[start : start + batch]
            before = time.perf_counter()
            store.upsert(
                ids=[chunk.chunk_id for chunk in rows],
                embeddings=corpus.vectors[start : start + batch],
                metadatas=[{**chunk.metadata, "build": chunk.build_id} for chunk in rows],
            )
            adds.append((time.perf_counter() - before) * 1e3)
        queries: list[float] = []
        for number in range(SEARCHES):
            before = time.perf_counter()
            store.query(query_embeddings=corpus.vectors[number : number + 1], n_results=20)
            queries.append((time.perf_counter() - before) * 1e3)
        return len(corpus.chunks) / sum(adds) * 1e3, queries, max(adds)


async def searches(index: IndexProcess, corpus: Corpus, count: int = SEARCHES) -> list[float]:
    """Return the times of consecutive hybrid searches, in ms."""
    times: list[float] = []
    for number in range(count):
        request = SearchRequest("group_1", corpus.text(20), FINGERPRINT, corpus.vectors[number].tolist(), 20)
        before = time.perf_counter()
        await index.search(request)
        times.append((time.perf_counter() - before) * 1e3)
    return times


def spread(times: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p95."""
    cuts = statistics.quantiles(times, n=20)
    return cuts[9], cuts[18]


async def _add(index: IndexProcess, chunks: list[IndexedChunk], vectors: list[list[float]]) -> None:
    await index.add_words("group_1", chunks)
    await index.add_vectors("group_1", FINGERPRINT, chunks, vectors)


async def measure(size: int) -> None:
    """Measure one size and print its figures."""
    corpus = Corpus(size)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        index = IndexProcess(Path(directory))
        before = time.perf_counter()
        async with LoopWatch() as opening:
            await index.open()
        opened = time.perf_counter() - before
        before = time.perf_counter()
        async with LoopWatch() as watch:
            await _add(index, corpus.chunks, corpus.vectors.tolist())
        rate = size / (time.perf_counter() - before)
        idle = spread(await searches(index, corpus))
        again = [IndexedChunk(f"n{n}", "new", n, corpus.text()) for n in range(min(size, 4_000))]
        adding = asyncio.create_task(_add(index, again, corpus.vectors[: len(again)].tolist()))
        async with LoopWatch() as busy_watch:
            busy = spread(await searches(index, corpus))
        still_adding = not adding.done()
        await adding
        await index.close()
    raw_rate, raw_queries, raw_longest = await asyncio.to_thread(raw_chroma, corpus)
    raw = spread(raw_queries)
    print(f"{size} chunks; opened in {opened:.1f} s, loop still for at most {opening.longest:.0f} ms")
    print(f"  add            {rate:6.0f} rows/s                {rate / raw_rate:5.2f} of Chroma alone ({raw_rate:.0f})")
    for name, times in (("at rest", idle), ("while adding", busy)):
        ratios = (
            f"{times[0] / raw[0]:4.1f} / {times[1] / raw[1]:.1f} times a Chroma query ({raw[0]:.1f} / {raw[1]:.1f})"
        )
        print(f"  search {name:12} p50 {times[0]:5.1f} p95 {times[1]:6.1f} ms  {ratios}")
    if not still_adding:
        print("  (the add ended before the searches did)")
    longest = max(watch.longest, busy_watch.longest)
    print(
        f"  loop stood still at most {watch.longest:.0f} ms adding, {busy_watch.longest:.0f} ms adding and searching:"
        f" {longest / raw_longest:.2f} of Chroma's longest add ({raw_longest:.0f} ms)"
    )


async def main(sizes: Sequence[int]) -> None:
    """Measure all sizes."""
    for size in sizes:
        await measure(size)


if __name__ == "__main__":
    asyncio.run(main([int(argument) for argument in sys.argv[1:]] or [1_000, 10_000]))
