"""Benchmark of retrieval without a model call: its speed, memory and disk usage.

    python -m benchmarks.retrieval_speed [--chunks 1000,10000,100000] [--groups 1000] [--corpus TAR_OR_DIR]
                                         [--labels JSONL] [--questions 300] [--keep DIR]

`--corpus` is a folder or tar archive of .md and .txt files. `--labels` is a file with a JSON object with a `query` on
each line. Without them, passages and questions are generated. With `--keep`, the collections stay in DIR and are used
again: 100,000 chunks take five minutes to write. The `--groups` small groups of 50 chunks are added to the largest
collection.

All figures of one table come from one run, each beside a bare Chroma query of the same vector in the same files.
"""

import argparse
import asyncio
import functools
import json
import multiprocessing
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy

from benchmarks.measurement import machine, percentile, process_tree, row
from benchmarks.prepared import NaturalPassages, passage, prepare, prepare_groups, rare_code
from services.database import open_database, sqlite_url
from services.embeddings.models import EmbeddingModel
from services.embeddings.selection import open_embeddings
from services.index.models import SearchRequest
from services.index.process import IndexProcess
from services.reading.embedded import open_reader
from services.records.documents import DocumentRecords
from services.records.groups import GateFeedbackRecords
from services.retrieval.models import Question
from services.retrieval.rerank import EmbeddedReranker, load_coefficients
from services.retrieval.retriever import Retriever
from services.settings import RetrievalSettings

COLLECTION = "group_1"
LIMIT = 30
GROUP_CHUNKS = 50
CHUNKS_PER_DOCUMENT = 200
COLD_GROUPS = 100
GOAL_MS = 60
_QUESTIONS = (
    *("出差住宿的发票怎么报销？", "课程作业的提交时间是什么时候", "部署的时候显存不够怎么办", "会议纪要在哪里看"),
    *("依赖的版本错误怎么处理", "训练的参数配置", "账号密码忘了找谁", "实验报告怎么写", "模型推理速度慢"),
    *("选课系统打不开了", "监控告警的权限怎么申请", "数据标注"),
)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Stack:
    """The components that answer a question, opened on one directory, and the time it took to open the index."""

    index: IndexProcess
    embedding: EmbeddingModel
    retriever: Retriever
    opened_s: float


@asynccontextmanager
async def stack(data_dir: Path, embedding: EmbeddingModel) -> AsyncGenerator[Stack]:
    """Open the retriever as the product does, without a model."""
    database = await open_database(sqlite_url(data_dir / "app.sqlite3"))
    index = IndexProcess(data_dir)
    before = time.perf_counter()
    try:
        await index.open()
        opened = time.perf_counter() - before
        settings = RetrievalSettings.model_construct()
        reader = await open_reader(data_dir)
        retriever = Retriever(
            DocumentRecords(database),
            index,
            embedding,
            reader,
            EmbeddedReranker(embedding.scale, await asyncio.to_thread(load_coefficients)),
            GateFeedbackRecords(database),
            settings,
            _nothing_to_mend,
        )
        yield Stack(index, embedding, retriever, opened)
    finally:
        await index.close()
        await database.close()


async def _nothing_to_mend(_collection: str) -> None:
    """The index was written just now."""


async def timed(calls: Sequence[Callable[[], Awaitable[object]]]) -> list[float]:
    """Return the seconds of each call, made one after another."""
    times: list[float] = []
    for call in calls:
        before = time.perf_counter()
        await call()
        times.append(time.perf_counter() - before)
    return times


def bare_chroma(data_dir: Path, embedding_fingerprint: str, vectors: list[list[float]]) -> tuple[float, list[float]]:
    """Return the seconds of the first and of each further query of Chroma alone, on the product's files."""
    import chromadb  # noqa: PLC0415 - only in a process of its own

    store = chromadb.PersistentClient(str(data_dir / "chroma")).get_collection(
        f"{COLLECTION}.{embedding_fingerprint}", embedding_function=None
    )
    times: list[float] = []
    for vector in vectors:
        before = time.perf_counter()
        store.query(
            query_embeddings=numpy.asarray([vector], dtype=numpy.float32), n_results=LIMIT, include=["distances"]
        )
        times.append(time.perf_counter() - before)
    return times[0], times[1:]


async def measure_collection(data_dir: Path, chunks: int, embedding: EmbeddingModel, questions: list[str]) -> None:
    """Measure one large collection and print its table."""
    print(f"\n{chunks} chunks in one group, {_bytes_of(data_dir)} MB on disk ({machine()})")
    vectors = [await embedding.embeddings.aembed_query(text) for text in questions]
    bare_first, bare = await _in_process(bare_chroma, data_dir, embedding.fingerprint, vectors)
    async with stack(data_dir, embedding) as opened:
        started = process_memory()
        first = (await timed([_retrieval(opened, COLLECTION, questions[0])]))[0]
        print(f"  open {1000 * opened.opened_s:.0f} ms, first question {1000 * first:.0f} ms", end="")
        print(f" (a first bare Chroma query {1000 * bare_first:.0f} ms)")
        embeddings = await timed([functools.partial(embedding.embeddings.aembed_query, text) for text in questions])
        searches = await timed(
            [
                functools.partial(
                    opened.index.search, SearchRequest(COLLECTION, text, embedding.fingerprint, vector, LIMIT)
                )
                for text, vector in zip(questions, vectors, strict=True)
            ]
        )
        before = processor_seconds()
        retrievals = await timed([_retrieval(opened, COLLECTION, text) for text in questions])
        spent = 1000 * (processor_seconds() - before) / len(questions)
        again = await timed([_retrieval(opened, COLLECTION, text) for text in questions])
        for name, times in (
            ("bare Chroma query of the same vector", bare),
            ("query embedding", embeddings),
            ("index search, words seen for the first time", searches),
            ("whole retrieval", retrievals),
            ("whole retrieval, once more", again),
        ):
            ratio = statistics.median(times) / statistics.median(bare)
            print(f"  {row(name, times)}  {ratio:5.1f} x Chroma")
        slow = 1000 * percentile(retrievals, 0.95)
        print(f"  whole retrieval p95 {slow:.1f} ms (goal: below {GOAL_MS}), processor time {spent:.1f} ms a question")
        codes = range(7, min(chunks, 100 * 500), 500)
        found = [await _finds(opened.index, rare_code(number)) for number in codes]
        print(f"  rare codes found among the candidates: {sum(found)} of {len(found)}")
        _print_memory("after start", started)
        _print_memory("after these questions", process_memory())


async def measure_groups(data_dir: Path, names: list[str], embedding: EmbeddingModel, questions: list[str]) -> None:
    """Measure many groups and print their table."""
    chance = random.Random(5)
    names = chance.sample(names, len(names))
    print(f"\n{len(names)} groups of {GROUP_CHUNKS} chunks beside it, {_bytes_of(data_dir)} MB on disk ({machine()})")
    async with stack(data_dir, embedding) as opened:
        print(f"  open {1000 * opened.opened_s:.0f} ms")
        started = process_memory()
        await opened.retriever.retrieve(COLLECTION, Question(questions[0]))
        cold = names[:COLD_GROUPS]
        asked = [_retrieval(opened, name, chance.choice(questions)) for name in cold]
        print(f"  {row('first question in a group, whole retrieval', await timed(asked))}")
        hundred = process_memory()
        print(f"  {row('again in the same groups', await timed(asked))}")
        large = await timed([_retrieval(opened, COLLECTION, text) for text in questions])
        print(f"  {row('the large group meanwhile', large)}")
        everywhere = [_retrieval(opened, name, chance.choice(questions)) for name in names]
        print(f"  {row('one question in every group', await timed(everywhere))}")
        _print_memory("after start", started)
        _print_memory(f"after a question in each of {len(cold)} groups", hundred)
        _print_memory("after one in every group", process_memory())


def _retrieval(opened: Stack, collection: str, text: str) -> Callable[[], Awaitable[object]]:
    return functools.partial(opened.retriever.retrieve, collection, Question(text))


async def _finds(index: IndexProcess, code: str) -> bool:
    found = await index.search(SearchRequest(COLLECTION, f"请问{code.lower()}是什么意思呀", "", None, LIMIT))
    return any(code in hit.chunk.text for hit in found.hits)


async def _in_process(function: Callable[..., _T], *arguments: object) -> _T:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        return await asyncio.get_running_loop().run_in_executor(executor, functools.partial(function, *arguments))


def _fill(data_dir: Path, names: list[str], embedding_fingerprint: str, corpus: Path | None) -> None:
    asyncio.run(prepare_groups(data_dir, names, GROUP_CHUNKS, embedding_fingerprint, _texts(corpus)))


def _texts(corpus: Path | None) -> Callable[[int], str]:
    return passage if corpus is None else NaturalPassages(corpus)


def _bytes_of(data_dir: Path) -> int:
    return sum(file.stat().st_size for part in ("chroma", "lexical") for file in (data_dir / part).rglob("*")) >> 20


def process_memory() -> list[int]:
    """Return the proportional set size in MB of this process and each of its descendants. Linux only."""
    figures: list[int] = []
    for member in process_tree(os.getpid()):
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        figures.append(sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) >> 10)
    return figures


def processor_seconds() -> float:
    """Return the processor time of this process and its descendants, in seconds. Linux only.

    Other jobs on the machine hardly affect it.
    """
    ticks = 0
    for member in process_tree(os.getpid()):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _print_memory(name: str, figures: list[int]) -> None:
    print(f"  memory {name}: {' + '.join(map(str, figures))} MB (PSS, one process each; this one first)")


def _questions(labels: Path | None, count: int) -> list[str]:
    if labels is None:
        return [_QUESTIONS[number % len(_QUESTIONS)] for number in range(count)]
    texts = [json.loads(line)["query"] for line in labels.read_text(encoding="utf-8").splitlines()]
    return random.Random(3).sample(texts, min(count, len(texts)))


async def main(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure all sizes, then the groups."""
    embedding = await open_embeddings(
        "local", data_dir=folder, base_url="", api_key="", model="", timeout_s=10, max_retries=0
    )
    questions = _questions(arguments.labels, arguments.questions)
    sizes = sorted(int(size) for size in arguments.chunks.split(","))
    text = None
    try:
        for size in sizes:
            data_dir = folder / str(size)
            if not (data_dir / "complete").exists():
                shutil.rmtree(data_dir, ignore_errors=True)
                text = text or _texts(arguments.corpus)
                before = time.perf_counter()
                await prepare(
                    data_dir, COLLECTION, size, embedding.fingerprint, text, chunks_per_document=CHUNKS_PER_DOCUMENT
                )
                print(f"{size} chunks written at {size / (time.perf_counter() - before):.0f} rows/s", flush=True)
                (data_dir / "complete").touch()
            await measure_collection(data_dir, size, embedding, questions)
        if arguments.groups:
            data_dir = folder / f"{sizes[-1]}-and-{arguments.groups}"
            names = [f"group_{10_000 + number}" for number in range(arguments.groups)]
            if not (data_dir / "complete").exists():
                shutil.rmtree(data_dir, ignore_errors=True)
                shutil.copytree(folder / str(sizes[-1]), data_dir, ignore=shutil.ignore_patterns("complete"))
                before, bytes_before = time.perf_counter(), _bytes_of(data_dir)
                await _in_process(_fill, data_dir, names, embedding.fingerprint, arguments.corpus)
                took, grown = time.perf_counter() - before, _bytes_of(data_dir) - bytes_before
                print(f"\n{len(names)} groups written in {took:.0f} s, {grown / len(names):.2f} MB on disk each")
                (data_dir / "complete").touch()
            await measure_groups(data_dir, names, embedding, questions)
    finally:
        await embedding.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How fast retrieval is without a model call.")
    parser.add_argument("--chunks", default="1000,10000,100000")
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
        asyncio.run(main(given, given.keep))
    else:
        with tempfile.TemporaryDirectory(prefix="qunzhi-bench-") as name:
            asyncio.run(main(given, Path(name)))
