"""Both stores together: what happens when one of them lost something, and how long questions may cost."""

import time
from pathlib import Path

import pytest

from services.index.local import LocalIndex
from services.index.models import SearchRequest
from tests.services.index.contract import SPACE, axis, chunk


def test_vectors_without_words_are_not_found_but_can_be_deleted(tmp_path: Path) -> None:
    index = LocalIndex(tmp_path)
    index.add("group_1", SPACE, [chunk(n, "退款") for n in range(20)], [axis(n) for n in range(20)])
    index.close()
    for file in (tmp_path / "lexical").iterdir():
        file.unlink()
    assert index.builds("group_1") == {"build1"}
    assert index.chunk_ids("group_1", SPACE, "build1") == set()
    assert index.search(SearchRequest("group_1", "退款", SPACE, axis(0), 10)).hits == ()
    while index.delete_some("group_1", "build1", 8):
        continue
    assert index.builds("group_1") == set()


def test_words_of_a_chunk_with_a_refused_vector_are_not_whole(tmp_path: Path) -> None:
    index = LocalIndex(tmp_path)
    index.add("group_1", SPACE, [chunk(0, "退款")], [axis(0)])
    with pytest.raises(Exception, match="dimension"):
        index.add("group_1", SPACE, [chunk(1, "退款")], [[1.0, 0.0]])
    assert index.chunk_ids("group_1", SPACE, "build1") == {"build1-0"}
    assert index.chunk_ids("group_1", "", "build1") == {"build1-0", "build1-1"}
    index.close()


def test_words_are_stored_once_however_many_files_are_open(tmp_path: Path) -> None:
    index = LocalIndex(tmp_path)
    for number in range(70):
        index.add(f"group_{number}", SPACE, [chunk(0, f"第{number}群")], None)
    for number in range(70):
        (hit,) = index.search(SearchRequest(f"group_{number}", f"第{number}群", SPACE, None, 5)).hits
        assert hit.chunk.text == f"第{number}群"
    index.close()
    assert len(index.collections()) == 70


def test_a_pasted_page_costs_no_more_than_many_short_questions(tmp_path: Path) -> None:
    """A bound in units of a short question's time on the same machine, wide enough for any machine."""
    index = LocalIndex(tmp_path)
    page = "".join(chr(0x4E00 + (number * 7919) % 3_000) for number in range(10_000))
    chunks = [chunk(n, page[n * 37 : n * 37 + 300]) for n in range(200)]
    index.add("group_1", SPACE, chunks, None)

    def cost(text: str) -> float:
        before = time.process_time()
        index.search(SearchRequest("group_1", text, SPACE, None, 10))
        return time.process_time() - before

    short = min(cost(page[:40]) for _ in range(5))
    assert min(cost(page) for _ in range(3)) < 100 * short + 0.05
    index.close()
