"""Both stores together: losses in one of them, and limits on the cost of questions."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import cast

import chromadb
import pytest
from chromadb.api.client import Client
from chromadb.config import Settings

from services.index.chroma import ChromaStore
from services.index.lexical import LexicalStore
from services.index.local import LocalIndex
from services.index.models import IndexCount, SearchRequest
from tests.services.index.contract import FINGERPRINT, axis, chunk


def test_vectors_without_words_are_not_found_but_can_be_deleted(tmp_path: Path) -> None:
    index = LocalIndex(tmp_path)
    chunks = [chunk(n, "退款") for n in range(20)]
    index.add_words("group_1", chunks)
    index.add_vectors("group_1", FINGERPRINT, chunks, [axis(n) for n in range(20)])
    index.close()
    for file in (tmp_path / "lexical").iterdir():
        file.unlink()
    index = LocalIndex(tmp_path)
    assert index.count("group_1", FINGERPRINT) == IndexCount(0, 20)
    assert index.chunk_ids("group_1", FINGERPRINT, "build1") == set()
    assert index.search(SearchRequest("group_1", "退款", FINGERPRINT, axis(0), 10)).hits == ()
    while index.delete_some("group_1", "build1", 8):
        continue
    assert index.count("group_1", FINGERPRINT) == IndexCount(0, 0)


def test_words_of_a_chunk_with_a_refused_vector_are_not_whole(tmp_path: Path) -> None:
    index = LocalIndex(tmp_path)
    index.add_words("group_1", [chunk(0, "退款"), chunk(1, "退款")])
    index.add_vectors("group_1", FINGERPRINT, [chunk(0, "退款")], [axis(0)])
    with pytest.raises(Exception, match="dimension"):
        index.add_vectors("group_1", FINGERPRINT, [chunk(1, "退款")], [[1.0, 0.0]])
    assert index.chunk_ids("group_1", FINGERPRINT, "build1") == {"build1-0"}
    assert index.chunk_ids("group_1", "", "build1") == {"build1-0", "build1-1"}
    index.close()


def test_words_are_stored_once_however_many_files_are_open(tmp_path: Path) -> None:
    index = LocalIndex(tmp_path)
    for number in range(70):
        index.add_words(f"group_{number}", [chunk(0, f"第{number}群")])
    for number in range(70):
        (hit,) = index.search(SearchRequest(f"group_{number}", f"第{number}群", FINGERPRINT, None, 5)).hits
        assert hit.chunk.text == f"第{number}群"
    index.close()
    assert len(index.collections()) == 70


def test_a_pasted_page_costs_no_more_than_many_short_questions(tmp_path: Path) -> None:
    """The limit is a multiple of a short question's time on the same machine, wide enough for any machine."""
    index = LocalIndex(tmp_path)
    page = "".join(chr(0x4E00 + (number * 7919) % 3_000) for number in range(10_000))
    chunks = [chunk(n, page[n * 37 : n * 37 + 300]) for n in range(200)]
    index.add_words("group_1", chunks)

    def cost(text: str) -> float:
        before = time.process_time()
        index.search(SearchRequest("group_1", text, FINGERPRINT, None, 10))
        return time.process_time() - before

    short = min(cost(page[:40]) for _ in range(5))
    assert min(cost(page) for _ in range(3)) < 100 * short + 0.05
    index.close()


@pytest.mark.parametrize("version", [0, 1])
def test_a_file_of_an_older_version_is_filled(tmp_path: Path, version: int) -> None:
    store = LexicalStore(tmp_path)
    store.add("group_1", [chunk(0, "校园卡，又称饭卡。", context="指南"), chunk(1, "食堂", "build2")])
    store.close()
    with closing(sqlite3.connect(tmp_path / "group_1.sqlite3")) as connection, connection:
        connection.execute("DROP TABLE aliases")
        connection.execute("DROP TABLE common")
        connection.execute(f"PRAGMA user_version={version}")
        if version == 0:
            connection.execute("UPDATE chunks SET normal = 'what an older version made of it'")
            connection.execute("INSERT INTO terms (terms) VALUES ('delete-all')")
    for _ in range(2):
        store = LexicalStore(tmp_path)
        assert store.aliases("group_1", "饭卡丢了", 5, ()) == ["校园卡"]
        assert len(store.search("group_1", "指南", 5, ()).hits) == 1
        assert store.count("group_1") == 2
        store.close()
    store.delete_chunks("group_1", ["build1-0"])
    assert store.aliases("group_1", "饭卡丢了", 5, ()) == []
    store.close()


def test_the_frequency_of_a_common_term_is_known_to_the_next_process(tmp_path: Path) -> None:
    """Reading all its postings for every first question would take longer than the search."""
    words = [f"common{number}" for number in range(40)]
    store = LexicalStore(tmp_path)
    store.add("group_1", [chunk(n, " ".join(words)) for n in range(120)])
    expected = store.search("group_1", " ".join(words), 5, ()).document_frequency
    store.close()
    with closing(sqlite3.connect(tmp_path / "group_1.sqlite3")) as connection:
        assert dict(connection.execute("SELECT term, frequency FROM common")) == expected
    store = LexicalStore(tmp_path)
    assert store.search("group_1", " ".join(words), 5, ()).document_frequency == expected
    store.close()


def test_of_many_matches_those_that_are_ranked_are_the_best(tmp_path: Path) -> None:
    """More chunks match than are ranked; the best ones contain most of the words of the question."""
    store = LexicalStore(tmp_path)
    words = ["报销", "发票", "住宿"]
    chunks = [chunk(n, f"{words[n % 3]}须知第{n}条" + "其余内容" * (n % 7)) for n in range(4_000)]
    best = [4_001, 4_002, 4_003]
    chunks += [chunk(n, "报销住宿的发票") for n in best]
    chunks += [chunk(4_010, "报销住宿的发票", "hidden")]
    store.add("group_1", chunks)
    result = store.search("group_1", "住宿发票报销", 5, {"hidden"})
    assert sorted(item.chunk.ordinal for item, _ in result.hits[:3]) == best
    assert [score for _, score in result.hits] == sorted((score for _, score in result.hits), reverse=True)
    assert store.search("group_1", "住宿发票报销", 5, {"hidden"}) == result
    store.close()


def test_little_memory_is_enough_for_any_number_of_collections(tmp_path: Path) -> None:
    """Chroma's own limit loses what is not yet in a collection's files."""
    for memory_bytes in (1, 10 << 20):
        store = ChromaStore(tmp_path / str(memory_bytes), memory_bytes=memory_bytes)
        for number in range(8):
            store.add(f"group_{number}", FINGERPRINT, [chunk(number, "")], [axis(number)])
        for number in [*range(8), *range(8)]:
            (near,) = store.search(f"group_{number}", FINGERPRINT, axis(number), 5, ())
            assert near.chunk_id == f"build1-{number}"
            assert near.cosine == pytest.approx(1.0, abs=1e-5)
        store.delete("group_3", FINGERPRINT, ["build1-3"])
        assert [store.count(f"group_{number}", FINGERPRINT) for number in range(8)] == [1, 1, 1, 0, 1, 1, 1, 1]
        store.close()


def test_a_collection_is_opened_without_reading_the_others(tmp_path: Path) -> None:
    store = ChromaStore(tmp_path)
    store.add("group_1", FINGERPRINT, [chunk(0, "")], [axis(0)])
    store.close()
    with closing(sqlite3.connect(tmp_path / "chroma.sqlite3")) as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM embeddings_queue WHERE topic = ? AND seq_id > ? ORDER BY seq_id", ("", 0)
        ).fetchall()
    assert "embeddings_queue_topic" in plan[0][3]


def _client(directory: Path) -> Client:
    return cast(Client, chromadb.PersistentClient(str(directory), Settings(anonymized_telemetry=False)))


def test_vectors_of_an_older_release_are_found(tmp_path: Path) -> None:
    """The names and the metadata of the collections in Chroma are what earlier releases stored."""
    name, metadata = f"group_1.{FINGERPRINT}", {"collection": "group_1", "space": FINGERPRINT, "hnsw:space": "cosine"}
    client = _client(tmp_path / "old")
    stored = client.create_collection(name, metadata=metadata, embedding_function=None)
    stored.upsert(ids=["build1-0"], embeddings=[axis(0)], metadatas=[{"build": "build1"}])
    client.close()
    store = ChromaStore(tmp_path / "old")
    assert store.embedding_fingerprints("group_1") == {FINGERPRINT}
    (near,) = store.search("group_1", FINGERPRINT, axis(0), 5, ())
    assert near.chunk_id == "build1-0"
    store.close()
    store = ChromaStore(tmp_path / "new")
    store.add("group_1", FINGERPRINT, [chunk(0, "")], [axis(0)])
    store.close()
    client = _client(tmp_path / "new")
    assert {found.name: found.metadata for found in client.list_collections()} == {name: metadata}
    client.close()
