"""Tests of the child process: its priority, order, death on either side, and the event loop meanwhile."""

import asyncio
import functools
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.embeddings.e5 import E5, open_e5
from services.embeddings.local import LocalEmbeddings
from services.embeddings.worker import DocumentWorker
from services.errors import EmbeddingError
from tests.services.embeddings.encoders import ProcessEncoder

_ROOT = Path(__file__).parents[3]


@pytest.fixture
async def worker() -> AsyncIterator[DocumentWorker]:
    opened = DocumentWorker(ProcessEncoder, idle_s=60)
    yield opened
    await opened.aclose()


async def _process(worker: DocumentWorker) -> int:
    return int((await worker.embed_passages(["x"]))[0, 0])


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


async def _ends(process: int) -> bool:
    for _ in range(100):
        if not _alive(process):
            return True
        await asyncio.sleep(0.05)
    return False


async def test_one_child_of_low_priority_that_ignores_ctrl_c(worker: DocumentWorker) -> None:
    first = await worker.embed_passages(["x"])
    process, niceness = int(first[0, 0]), first[0, 1]
    assert process != os.getpid()
    assert niceness == 19
    os.kill(process, signal.SIGINT)
    assert await _process(worker) == process
    await worker.aclose()
    assert await _ends(process)


async def test_a_child_killed_at_work_is_replaced(worker: DocumentWorker) -> None:
    before = await _process(worker)
    call = asyncio.create_task(worker.embed_passages(["sleep"]))
    await asyncio.sleep(0.2)
    os.kill(before, signal.SIGKILL)
    after = int((await call)[0, 0])
    assert after != before
    assert await _process(worker) == after


async def test_a_child_killed_while_idle_is_replaced(worker: DocumentWorker) -> None:
    before = await _process(worker)
    os.kill(before, signal.SIGKILL)
    assert await _ends(before)
    assert await _process(worker) != before


async def test_a_child_that_dies_twice_is_an_error_and_the_next_call_works(worker: DocumentWorker) -> None:
    with pytest.raises(EmbeddingError, match="died twice"):
        await worker.embed_passages(["die"])
    assert _alive(await _process(worker))


async def test_an_exception_in_the_child_is_an_error(worker: DocumentWorker) -> None:
    with pytest.raises(EmbeddingError, match="ValueError: asked to"):
        await worker.embed_passages(["fail"])


async def test_calls_are_served_in_order(worker: DocumentWorker) -> None:
    finished: list[int] = []

    async def call(number: int) -> None:
        await worker.embed_passages(["sleep" if number == 0 else "x"] * (1 if number % 2 else 150))
        finished.append(number)

    await asyncio.gather(*(call(number) for number in range(6)))
    assert finished == list(range(6))


async def test_an_idle_child_is_closed_and_started_again() -> None:
    worker = DocumentWorker(ProcessEncoder, idle_s=0.2)
    process = await _process(worker)
    assert await _ends(process)
    assert await _process(worker) != process
    await worker.aclose()


async def test_a_closed_worker_refuses() -> None:
    worker = DocumentWorker(ProcessEncoder, idle_s=60)
    await worker.aclose()
    await worker.aclose()
    with pytest.raises(EmbeddingError):
        await worker.embed_passages(["x"])


async def test_the_child_ends_when_this_process_is_killed() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.services.embeddings.orphan", cwd=_ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert _alive(child)
    parent.kill()
    await parent.wait()
    assert await _ends(child)


async def test_the_event_loop_runs_while_documents_are_embedded(data_dir: Path, e5: E5) -> None:
    embeddings = LocalEmbeddings(e5, functools.partial(open_e5, data_dir / "models", 2))
    texts = [f"第{number}条：" + "服务器每周三凌晨两点重启，请提前保存工作。" * 6 for number in range(24)]
    await embeddings.aembed_documents(texts[:1])
    call = asyncio.create_task(embeddings.aembed_documents(texts))
    lags: list[float] = []
    answered = 0
    while not call.done():
        start = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - start - 0.005)
        await embeddings.aembed_query("服务器什么时候重启？")
        answered += 1
    vectors = await call
    assert len(lags) > 20
    assert max(lags) < 0.1
    assert answered == len(lags)
    assert vectors == e5.embed_passages(texts).tolist()
    await embeddings.aclose()
    with pytest.raises(EmbeddingError):
        await embeddings.aembed_query("服务器什么时候重启？")


def test_blocking_methods(e5: E5) -> None:
    embeddings = LocalEmbeddings(e5, ProcessEncoder)
    assert embeddings.embed_query("报销") == e5.embed_queries(["报销"])[0].tolist()
    assert embeddings.embed_documents(["报销", "请假"]) == e5.embed_passages(["报销", "请假"]).tolist()
    assert embeddings.embed_documents([]) == []
