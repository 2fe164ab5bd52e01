"""Tests of matching a recognised text with the words of a knowledge base."""

import time
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.index.models import IndexedChunk
from services.pictures.words import corrected
from tests.fakes.index import MemoryIndex

DOCUMENT = (
    "Pod 报 CrashLoopBackOff 或 ImagePullBackOff 时先看日志。INSTALL_FAILED_UPDATE_INCOMPATIBLE 要先卸载旧版。"
    "java.sql.SQLSyntaxErrorException 是列名错了。CUDA out of memory: reduce the batch size. LTS 版本，见 E-205。"
    "VCRUNTIME140_1.dll 缺失，请装运行库。ModuleNotFoundError: No module named torch. import it from its module"
)


async def _corrected(text: str, document: str = DOCUMENT) -> str:
    index = MemoryIndex()
    await index.add_words("c", [IndexedChunk("b-0", "b", 0, document)])

    async def vocabulary(words: Iterable[str]) -> Mapping[str, str]:
        return await index.spellings("c", list(words))

    return await corrected(text, vocabulary)


@pytest.mark.parametrize(
    ("read", "meant"),
    [
        ("CrashLoopBack0ff 17 (2m ago)", "CrashLoopBackOff 17 (2m ago)"),
        ("找不到VCRUNTIME140_1.dII，无法继续", "找不到VCRUNTIME140_1.dll，无法继续"),
        ("ModuIeN0tFoundError: x", "ModuleNotFoundError: x"),
        ("INSTALL_FAILED_UPDATE_INCOMPA\nTIBLE\n错误", "INSTALL_FAILED_UPDATE_INCOMPATIBLE\n错误"),
        ("java.sql.SQLSyntaxErrorExc\neption: Unknown", "java.sql.SQLSyntaxErrorException: Unknown"),
        ("需要更换（E-\n205)。", "需要更换（E-205)。"),
        ("CUDAoutofmemory", "CUDA out of memory"),
        ("Nomodulenamed 'torch'", "No module named 'torch'"),
    ],
)
async def test_words_of_the_documents_are_restored(read: str, meant: str) -> None:
    assert await _corrected(read) == meant


@pytest.mark.parametrize(
    "read",
    [
        # Known as they stand.
        "No module named torch\nfrom its module",
        # Nothing alike is in any document, or too short to tell.
        "KeyError: 'its'\nits lib\nERR0R 0x80070005",
        # A name of its own, although its parts are known words.
        "MemoryModuleError BatchSizeError",
        "第一行\n第二行\n\n10.0.0.1:8080",
        "",
    ],
)
async def test_everything_else_stays_as_it_was_read(read: str) -> None:
    assert await _corrected(read) == read


async def test_without_documents_nothing_changes() -> None:
    text = "CrashLoopBack0ff CUDAoutofmemory INCOMPA\nTIBLE"
    assert await _corrected(text, "") == text


@given(st.text(st.sampled_from("aIl10oO5s8b2z._- \n错"), max_size=60))
async def test_any_text_survives_and_only_words_change(text: str) -> None:
    found = await _corrected(text)
    assert found.count("错") == text.count("错")
    assert len("".join(found.split())) == len("".join(text.split()))


async def test_a_page_of_unknown_words_asks_for_a_bounded_number() -> None:
    asked: list[int] = []

    async def vocabulary(words: Iterable[str]) -> Mapping[str, str]:
        asked.append(len(list(words)))
        return {}

    text = "\n".join(
        f"supercalifragilisticexpialidocious{'il1o0' * 3}{n} allwordsaretogetherhere{'x' * n}" for n in range(200)
    )
    assert await corrected(text, vocabulary) == text
    assert sum(asked) <= 5000


def _letters(count: int) -> str:
    return "".join(chr(0x61 + (number * number) % 26) for number in range(count))


@pytest.mark.parametrize(
    "text",
    [
        "il1o05s8b2z" * 545,
        "a" * 6000,
        "il1o" + "\nil1o" * 1200,
        _letters(6000),
        "a-" * 3000,
        " ".join(["il1o0s5b8z2a"] * 460),
    ],
    ids=range(6),
)
async def test_no_picture_stops_the_event_loop(text: str) -> None:
    async def vocabulary(words: Iterable[str]) -> Mapping[str, str]:
        # Everything that is asked for is known, which is the most work.
        return {word: word for word in words if len(word) < 4}

    began = time.process_time()
    await corrected(text, vocabulary)
    assert time.process_time() - began < 0.1
