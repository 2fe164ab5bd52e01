"""Test the parse subprocess with real and hostile files, limits, and cancellation."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from services.errors import DocumentRejected
from services.knowledge.models import Chunk, Section
from services.knowledge.parsing import ParseLimits, parse, parse_and_split
from services.knowledge.rejections import MESSAGES, Rejection
from services.knowledge.splitter import split
from services.text.cleaning import clean
from tests.samples import documents, hidden

LIMITS = ParseLimits(timeout_s=60)
_ROOT = Path(__file__).resolve().parents[3]
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and limits memory")


@pytest.mark.parametrize(
    ("file_type", "write"),
    [
        ("pdf", documents.regulations_pdf),
        ("docx", documents.regulations_docx),
        ("pptx", documents.training_pptx),
        ("xlsx", documents.budget_xlsx),
        ("csv", documents.roster_csv),
        ("html", documents.page_html),
        ("md", documents.manual_markdown),
        ("txt", documents.text_file),
    ],
)
async def test_sections_and_chunks_come_through(tmp_path: Path, file_type: str, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "7f3a")
    sections = await parse(path, file_type, LIMITS)
    assert sections
    assert (await parse_and_split(path, file_type, LIMITS, 60, 15)).chunks == split(sections, 60, 15)


async def test_long_texts_come_through_in_pieces(tmp_path: Path) -> None:
    text = "研究所，" * 100_000
    assert await parse(documents.text_file(tmp_path / "a", text), "txt", LIMITS) == [Section(text)]


async def test_text_is_clean(tmp_path: Path) -> None:
    path = documents.text_file(tmp_path / "a", "一\r\n二\u200b三\x07 e\u0301\u202e ①")
    assert (await parse_and_split(path, "txt", LIMITS, 50, 0)).chunks == [Chunk(0, "一\n二三 é ①")]


@pytest.mark.parametrize(
    ("file_type", "write"),
    [
        ("docx", hidden.DOCX_HIDDEN["vanish"]),
        ("txt", hidden.in_tags),
    ],
)
async def test_hidden_text_is_left_out_and_told(tmp_path: Path, file_type: str, write: hidden.Writer) -> None:
    parsed = await parse_and_split(write(tmp_path / "7f3a", "canary"), file_type, LIMITS, 100, 0)
    assert (parsed.chunks, parsed.hidden_text) == ([Chunk(0, hidden.ORDINARY)], True)


def test_cleaning_removes_what_no_reader_sees() -> None:
    assert clean("a\0b\ud800c\ufeffd\x85e\u2028f\x0cg👩\u200d💻") == "abcd\ne\nf\ng👩\u200d💻"


def laughing_docx(path: Path, encoding: str = "utf-8") -> Path:
    return documents.billion_laughs(path, documents.regulations_docx, "word/document.xml", encoding)


def laughing_pptx(path: Path) -> Path:
    return documents.billion_laughs(path, documents.training_pptx, "ppt/slides/slide1.xml")


def laughing_xlsx(path: Path) -> Path:
    return documents.billion_laughs(path, documents.budget_xlsx, "xl/workbook.xml")


_HOSTILE: list[tuple[str, Callable[[Path], Path], Rejection]] = [
    ("txt", documents.empty_file, Rejection.EMPTY),
    ("txt", partial(documents.text_file, text=" \n\u200b\n"), Rejection.NO_TEXT),
    ("exe", documents.text_file, Rejection.UNSUPPORTED),
    ("doc", documents.old_word_file, Rejection.OLD_OFFICE),
    ("docx", documents.old_word_file, Rejection.OLD_OFFICE),
    ("docx", documents.encrypted_docx, Rejection.ENCRYPTED),
    ("docx", documents.text_file, Rejection.MISMATCH),
    ("docx", documents.budget_xlsx, Rejection.MISMATCH),
    ("pdf", documents.regulations_docx, Rejection.MISMATCH),
    ("txt", documents.regulations_pdf, Rejection.MISMATCH),
    ("docx", documents.truncated_docx, Rejection.CORRUPT),
    ("docx", documents.damaged_docx, Rejection.CORRUPT),
    ("pdf", documents.truncated_pdf, Rejection.CORRUPT),
    ("pdf", documents.encrypted_pdf, Rejection.ENCRYPTED),
    ("pdf", documents.scanned_pdf, Rejection.SCANNED),
    ("pdf", documents.flate_bomb_pdf, Rejection.ARCHIVE_BOMB),
    ("docx", documents.zip_bomb, Rejection.ARCHIVE_BOMB),
    ("xlsx", partial(documents.zip_bomb, megabytes=50, folder="xl"), Rejection.ARCHIVE_BOMB),
    ("docx", documents.many_parts_zip, Rejection.ARCHIVE_BOMB),
    ("docx", laughing_docx, Rejection.XML_ENTITIES),
    ("docx", partial(laughing_docx, encoding="utf-16"), Rejection.XML_ENTITIES),
    ("docx", partial(laughing_docx, encoding="utf-7"), Rejection.XML_ENTITIES),
    ("pptx", laughing_pptx, Rejection.XML_ENTITIES),
    ("xlsx", laughing_xlsx, Rejection.XML_ENTITIES),
]


@pytest.mark.parametrize(("file_type", "write", "reason"), _HOSTILE, ids=[f"{row[0]}-{row[2]}" for row in _HOSTILE])
async def test_bad_files_are_refused_with_their_reason(
    tmp_path: Path, file_type: str, write: Callable[[Path], Path], reason: Rejection
) -> None:
    path = write(tmp_path / "7f3a")
    with pytest.raises(DocumentRejected) as refusal:
        await parse(path, file_type, LIMITS)
    assert refusal.value.detail.startswith(reason)
    assert refusal.value.user_message.startswith(MESSAGES[reason].partition("{")[0])
    assert refusal.value.told() == refusal.value.user_message, "nothing failed, so there is no code to quote"


@pytest.mark.parametrize(("reason", "sentence"), MESSAGES.items())
def test_sentences_are_complete(reason: Rejection, sentence: str) -> None:
    assert sentence.endswith("。")
    assert "请" in sentence or "另存" in sentence, reason
    assert len(sentence) < 60


def test_every_reason_has_its_sentence() -> None:
    assert set(MESSAGES) == set(Rejection)
    assert len(set(MESSAGES.values())) == len(MESSAGES)


async def refusal_of(path: Path, file_type: str, limits: ParseLimits) -> str:
    with pytest.raises(DocumentRejected) as refusal:
        await parse(path, file_type, limits)
    failed = refusal.value.detail.startswith((Rejection.TIMEOUT, Rejection.OUT_OF_MEMORY, Rejection.CRASHED))
    assert refusal.value.told().endswith("（QZ-F02）") == failed
    return refusal.value.detail


async def test_too_much_text_is_refused(tmp_path: Path) -> None:
    path = documents.text_file(tmp_path / "a", "研究" * 1000)
    assert (await refusal_of(path, "txt", replace(LIMITS, output_chars=1999))).startswith(Rejection.TOO_MUCH_TEXT)
    assert await parse(path, "txt", replace(LIMITS, output_chars=2000))


async def test_a_slow_file_is_stopped_by_the_clock_and_the_loop_runs_on(tmp_path: Path) -> None:
    path = documents.slow_pdf(tmp_path / "a")
    begin = time.monotonic()
    refusal = asyncio.create_task(refusal_of(path, "pdf", replace(LIMITS, timeout_s=1.5)))
    worst = 0.0
    while not refusal.done():
        before = time.monotonic()
        await asyncio.sleep(0.01)
        worst = max(worst, time.monotonic() - before)
    assert (await refusal).startswith(Rejection.TIMEOUT)
    assert time.monotonic() - begin < 10
    assert worst < 1.0


@pytest.mark.skipif(sys.platform == "win32", reason="no CPU limit on Windows")
async def test_a_slow_file_is_stopped_by_its_processor_time(tmp_path: Path) -> None:
    detail = await refusal_of(documents.slow_pdf(tmp_path / "a"), "pdf", replace(LIMITS, cpu_s=1))
    assert detail.startswith(Rejection.TIMEOUT)
    assert "exit" in detail


@linux_only
async def test_a_hungry_file_is_stopped_by_its_memory(tmp_path: Path) -> None:
    path = documents.hungry_docx(tmp_path / "a", paragraphs=2_000_000)
    limits = replace(LIMITS, archive_ratio=100_000, memory_bytes=300 << 20)
    assert (await refusal_of(path, "docx", limits)).startswith(Rejection.OUT_OF_MEMORY)


@linux_only
async def test_a_text_beyond_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(400 << 20)
    assert (await refusal_of(path, "txt", replace(LIMITS, memory_bytes=300 << 20))).startswith(Rejection.OUT_OF_MEMORY)


@linux_only
async def test_a_killed_or_crashed_child_has_its_own_sentence(tmp_path: Path) -> None:
    path = documents.slow_pdf(tmp_path / "a")
    for number, reason in ((signal.SIGKILL, Rejection.OUT_OF_MEMORY), (signal.SIGSEGV, Rejection.CRASHED)):
        refusal = asyncio.create_task(refusal_of(path, "pdf", LIMITS))
        os.kill(await child_of(os.getpid()), number)
        assert (await refusal).startswith(reason)


@linux_only
async def test_cancelling_ends_the_child(tmp_path: Path) -> None:
    task = asyncio.create_task(parse(documents.slow_pdf(tmp_path / "a"), "pdf", LIMITS))
    child = await child_of(os.getpid())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(child)


@linux_only
async def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    path = documents.slow_pdf(tmp_path / "a")
    program = (
        "import asyncio, sys; from pathlib import Path; from services.knowledge.parsing import *; "
        "asyncio.run(parse(Path(sys.argv[1]), 'pdf', ParseLimits()))"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(path)], cwd=_ROOT)  # noqa: ASYNC220
    try:
        child = await child_of(parent.pid)
        assert is_running(child)
    finally:
        parent.kill()
        parent.wait()
    for _ in range(200):
        if not is_running(child):
            return
        await asyncio.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child outlived its parent")


@linux_only
async def test_the_child_gets_no_secrets_and_a_lower_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM__API_KEY", "sk-secret")
    task = asyncio.create_task(parse(documents.slow_pdf(tmp_path / "a"), "pdf", LIMITS))
    child = await child_of(os.getpid())
    try:
        assert b"sk-secret" not in Path(f"/proc/{child}/environ").read_bytes()
        for _ in range(100):
            if os.getpriority(os.PRIO_PROCESS, child) >= os.getpriority(os.PRIO_PROCESS, 0) + 10:
                break
            await asyncio.sleep(0.05)
        else:
            pytest.fail("priority not lowered")
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def child_of(process: int) -> int:
    """Return the process id of a process's parse child, once that has replaced itself with a new Python."""
    for _ in range(400):
        for child in Path(f"/proc/{process}/task").glob("*/children"):
            for number in child.read_text().split():
                with contextlib.suppress(OSError):
                    if b"parse_process" in Path(f"/proc/{number}/cmdline").read_bytes():
                        return int(number)
        await asyncio.sleep(0.025)
    raise AssertionError("no child appeared")


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_uncertain_tables_and_pictures_are_told_by_the_subprocess(tmp_path: Path) -> None:
    path = documents.partly_scanned_pdf(tmp_path / "a.pdf")
    assert (await parse_and_split(path, "pdf", LIMITS, 200, 0)).pictures == 1
    path = documents.uncertain_table_pdf(tmp_path / "b.pdf")
    assert [section.uncertain_table for section in await parse(path, "pdf", LIMITS)] == [True]
    (chunk,) = (await parse_and_split(path, "pdf", LIMITS, 200, 0)).chunks
    assert (chunk.uncertain_table, chunk.page) == (True, 1)
