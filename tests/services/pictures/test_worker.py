"""Tests of the picture process: its priority, its end, its death, and pictures that take too long."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.pictures.models import MAX_BYTES, PictureText, Unread
from services.pictures.worker import PictureWorker
from tests.services.pictures.recognitions import PNG, ProcessRecognition

UNREADABLE = PictureText(unread=Unread.UNREADABLE)


@pytest.fixture
async def worker() -> AsyncIterator[PictureWorker]:
    opened = PictureWorker(ProcessRecognition, idle_s=60)
    yield opened
    await opened.aclose()


async def _process(worker: PictureWorker) -> int:
    return int((await worker.read(PNG)).text.split()[0])


def _alive(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


async def _ends(process: int) -> bool:
    for _ in range(100):
        if not _alive(process):
            return True
        await asyncio.sleep(0.05)
    return False


async def test_one_process_of_lowest_priority_reads_all_pictures(worker: PictureWorker) -> None:
    first = (await worker.read(PNG)).text.split()
    assert int(first[0]) != os.getpid()
    assert first[1] == "19"
    both = await asyncio.gather(worker.read(PNG), worker.read(PNG))
    assert [found.text.split() for found in both] == [first, first]


async def test_an_idle_process_ends_and_its_memory_with_it() -> None:
    worker = PictureWorker(ProcessRecognition, idle_s=0.2)
    process = await _process(worker)
    assert await _ends(process)
    assert await _process(worker) != process
    await worker.aclose()


async def test_a_process_that_died_while_idle_is_replaced(worker: PictureWorker) -> None:
    process = await _process(worker)
    os.kill(process, signal.SIGKILL)
    assert await _ends(process)
    assert await _process(worker) != process


async def test_a_picture_that_kills_the_process_is_unreadable_and_the_next_one_is_read(worker: PictureWorker) -> None:
    before = await _process(worker)
    assert await worker.read(PNG + b"die") == UNREADABLE
    assert await _process(worker) != before


async def test_a_picture_that_fails_is_unreadable(worker: PictureWorker) -> None:
    assert await worker.read(PNG + b"fail") == UNREADABLE
    assert (await worker.read(PNG)).text


async def test_a_picture_that_takes_too_long_ends_the_process_and_is_not_tried_again() -> None:
    worker = PictureWorker(ProcessRecognition, idle_s=60, limit_s=0.5)
    began = time.monotonic()
    assert await worker.read(PNG + b"sleep") == UNREADABLE
    assert time.monotonic() - began < 30
    assert (await worker.read(PNG)).text
    await worker.aclose()


async def test_closing_waits_for_no_picture(worker: PictureWorker) -> None:
    process = await _process(worker)
    reading = asyncio.create_task(worker.read(PNG + b"sleep"))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    await worker.aclose()
    assert await reading == UNREADABLE
    assert time.monotonic() - began < 10
    assert not _alive(process)
    assert await worker.read(PNG) == UNREADABLE


async def test_what_is_no_picture_or_too_large_starts_no_process() -> None:
    worker = PictureWorker(ProcessRecognition)
    for data in (b"", b"<svg/>", b"%PDF-1.7", b"\x00" * 100):
        assert (await worker.read(data)).unread is Unread.NOT_A_PICTURE
    assert (await worker.read(PNG + bytes(MAX_BYTES))).unread is Unread.TOO_LARGE
    assert worker._pool is None  # pyright: ignore[reportPrivateUsage]
    await worker.aclose()
