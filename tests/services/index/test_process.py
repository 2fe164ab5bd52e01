"""The real index in its child process fulfils the contract and survives the death of processes."""

import asyncio
import multiprocessing
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.errors import SearchIndexError
from services.index.models import IndexCount, SearchIndex
from services.index.process import IndexProcess
from tests.services.index.contract import (
    FINGERPRINT,
    SearchIndexContract,
    ask,
    by_id,
    chunk,
    collection,
    direction,
    put,
)

__all__ = ["collection"]

ROOT = Path(__file__).parents[3]
ROUNDS = 10

PARENT = """
import asyncio, multiprocessing, pathlib, sys
from services.errors import SearchIndexError
from services.index.models import IndexedChunk
from services.index.process import IndexProcess

async def main():
    index = IndexProcess(pathlib.Path(sys.argv[1]))
    await index.open()
    child = multiprocessing.active_children()[0].pid
    rows = [IndexedChunk("c0", "build", 0, "text")]
    await index.add_words("group_1", rows)
    await index.add_vectors("group_1", "e5", rows, [[1.0, 0.0]])
    try:
        await index.add_vectors("group_1", "e5", rows, [[1.0, 0.0, 0.0]])
    except SearchIndexError:
        print(child, "chromadb" in sys.modules, flush=True)
    await asyncio.sleep(60)

if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.fixture(scope="module")
async def index(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SearchIndex]:
    opened = IndexProcess(tmp_path_factory.mktemp("index"))
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def spare(tmp_path: Path) -> AsyncIterator[SearchIndex]:
    opened = IndexProcess(tmp_path)
    await opened.open()
    yield opened
    await opened.close()


class TestIndexProcess(SearchIndexContract):
    """The contract, applied to the real index."""


async def test_a_search_makes_no_files(index: SearchIndex, tmp_path: Path) -> None:
    opened = IndexProcess(tmp_path)
    await ask(opened, "group_1", "退款", direction(1))
    await opened.close()
    assert not (tmp_path / "lexical" / "group_1.sqlite3").exists()


@pytest.mark.parametrize("name", ["", "../other", "a/b", "A", "群", "x" * 65, "a.b", "a\0"])
async def test_a_name_is_not_a_path(index: SearchIndex, name: str) -> None:
    before = await index.collections()
    with pytest.raises(Exception, match="not a collection name"):
        await put(index, name, FINGERPRINT, [chunk(0, "退款")], [direction(1)])
    with pytest.raises(Exception, match="not a collection name"):
        await ask(index, name, "退款")
    assert await index.collections() == before


async def test_killing_the_child_loses_no_acknowledged_chunk(tmp_path: Path) -> None:
    """Rounds of `kill -9` at a random moment of an `add`, which is then abandoned and not repeated."""
    dice = random.Random(20261121)
    others = _children()
    index = IndexProcess(tmp_path)
    acknowledged: dict[str, set[str]] = {}
    for number in range(ROUNDS):
        await index.open()
        (child,) = _children() - others
        build = f"round{number}"
        acknowledged[build] = set()
        adding = asyncio.create_task(_add(index, build, acknowledged[build]))
        await asyncio.sleep(dice.uniform(0.05, 0.25))
        os.kill(child, signal.SIGKILL)
        adding.cancel()
        await asyncio.gather(adding, return_exceptions=True)
        for known, expected in acknowledged.items():
            stored = await index.chunk_ids("group_1", FINGERPRINT, known)
            assert expected <= stored
            if known == build:
                await _assert_whole(index, known, stored)
    assert sum(len(ids) for ids in acknowledged.values()) >= ROUNDS
    for build in acknowledged:
        await index.delete_build("group_1", build)
    assert await index.count("group_1", FINGERPRINT) == IndexCount(0, 0)
    await index.close()


async def test_a_killed_child_is_replaced_unnoticed(tmp_path: Path) -> None:
    others = _children()
    index = IndexProcess(tmp_path)
    await put(index, "group_1", FINGERPRINT, [chunk(0, "退款")], [direction(1)])
    (child,) = _children() - others
    os.kill(child, signal.SIGKILL)
    results = await asyncio.gather(*(ask(index, "group_1", "退款", direction(1)) for _ in range(4)))
    assert all(set(by_id(result)) == {"build1-0"} for result in results)
    (successor,) = _children() - others
    assert successor != child
    await index.close()
    assert not _children() - others


async def test_the_child_ends_with_its_parent_and_frees_the_directory(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = await asyncio.to_thread(subprocess.Popen, command, env=environment, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, imported = (await asyncio.to_thread(parent.stdout.readline)).split()
    # The child has imported it; the bot's own process must not spend a second and 77 MB on it.
    assert imported == "False"
    index = IndexProcess(tmp_path)
    opening = asyncio.create_task(index.open())
    await asyncio.sleep(0.2)
    assert not opening.done()
    parent.kill()
    await asyncio.to_thread(parent.wait)
    parent.stdout.close()
    await opening
    assert not await asyncio.to_thread(_alive, int(pid))
    await put(index, "group_1", FINGERPRINT, [chunk(0, "退款")], [direction(1)])
    await index.close()


async def test_a_second_process_is_refused(index: SearchIndex, tmp_path: Path) -> None:
    first = IndexProcess(tmp_path)
    await first.open()
    second = IndexProcess(tmp_path, lock_wait_s=0.3)
    with pytest.raises(SearchIndexError, match="另一个进程"):
        await second.open()
    await second.close()
    await first.close()


async def test_an_index_survives_being_closed_and_opened(tmp_path: Path) -> None:
    for number in range(2):
        index = IndexProcess(tmp_path)
        assert await index.count("group_1", FINGERPRINT) == IndexCount(number, number)
        await put(index, "group_1", FINGERPRINT, [chunk(number, "退款")], [direction(1, number)])
        await index.close()


def _children() -> set[int]:
    return {child.pid for child in multiprocessing.active_children() if child.pid is not None}


def _alive(pid: int) -> bool:
    """Return whether a process runs; a zombie that its new parent has not yet reaped does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def _add(index: IndexProcess, build: str, acknowledged: set[str]) -> None:
    for start in range(0, 1_000, 4):
        chunks = [chunk(n, f"第{n}条规定", build) for n in range(start, start + 4)]
        await put(index, "group_1", FINGERPRINT, chunks, [direction(1, n / 100) for n in range(start, start + 4)])
        acknowledged.update(item.chunk_id for item in chunks)


async def _assert_whole(index: IndexProcess, build: str, stored: set[str]) -> None:
    """Assert that every chunk reported as complete has its text, its words and its own vector."""
    chunks = {item.chunk_id: item for item in await index.chunks("group_1", build, 0, 1_000)}
    assert stored <= chunks.keys()
    for chunk_id in sorted(stored, key=lambda item: chunks[item].ordinal)[-4:]:
        ordinal = chunks[chunk_id].ordinal
        result = await ask(index, "group_1", f"第{ordinal}条规定", direction(1, ordinal / 100), limit=100)
        hit = by_id(result)[chunk_id]
        assert hit.cosine == pytest.approx(1.0, abs=1e-5)
        assert str(ordinal) in hit.matched
