"""Retrieval: from the asked collection only, visible passages only, by words alone when it must."""

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.errors import SearchIndexError
from services.index.models import Hit, IndexedChunk, SearchRequest, SearchResult
from services.retrieval.models import RetrievalStatus
from services.retrieval.retriever import Retriever
from tests.fakes.embeddings import bigram_model
from tests.fakes.index import MemoryIndex
from tests.services.retrieval.library import Library

GROUP, OTHER = "group_1", "group_2"
TRAVEL = ["差旅报销要在出差结束后七天内提交，附上发票原件。", "住宿标准为每晚三百五十元，超出部分自理。"]
_number = itertools.count()


async def test_the_right_passage_comes_first_with_its_place(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL, page=3)
    await library.add(GROUP, "食堂通知.txt", ["食堂周一到周五供应午餐，周末休息。"], heading="时间")
    found = await library.retriever.retrieve(GROUP, "住宿标准是每晚多少元", 5)
    assert found.status is RetrievalStatus.USABLE
    assert found.degraded == ""
    best = found.references[0]
    assert (best.number, best.document_number, best.name, best.version) == (1, 1, "差旅制度.pdf", 1)
    assert (best.text, best.place) == (TRAVEL[1], "差旅制度.pdf 第3页")
    assert [reference.number for reference in found.references] == list(range(1, len(found.references) + 1))
    assert found.nearest[0] == "差旅制度.pdf"
    (lunch, *_) = (await library.retriever.retrieve(GROUP, "食堂周末供应午餐吗", 1)).references
    assert (lunch.page, lunch.place) == (None, "食堂通知.txt · 时间")


async def test_nothing_and_nothing_near(library: Library) -> None:
    empty = await library.retriever.retrieve(GROUP, "住宿标准", 5)
    assert (empty.status, empty.references, empty.nearest) == (RetrievalStatus.EMPTY, (), ())
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    far = await library.retriever.retrieve(GROUP, "qwerty zxcvbn", 5)
    assert (far.status, far.references, far.nearest) == (RetrievalStatus.LOW_CONFIDENCE, (), ("差旅制度.pdf",))


async def test_top_k_bounds_the_references(library: Library) -> None:
    await library.add(GROUP, "规定.txt", [f"报销流程第{number}步要部门主管签字确认。" for number in range(9)])
    for top_k in (1, 3):
        found = await library.retriever.retrieve(GROUP, "报销流程要部门主管签字确认", top_k)
        assert len(found.references) == top_k
        scores = [reference.score for reference in found.references]
        assert scores == sorted(scores, reverse=True)


async def test_collections_never_meet(library: Library) -> None:
    await library.add(GROUP, "甲.txt", ["金丝雀口令是苹果。"])
    await library.add(OTHER, "乙.txt", ["金丝雀口令是香蕉。"])
    found = await library.retriever.retrieve(GROUP, "金丝雀口令是香蕉", 5)
    assert {item.hit.chunk.text for item in found.candidates} == {"金丝雀口令是苹果。"}
    assert found.nearest == ("甲.txt",)


async def test_what_is_not_published_is_not_found(library: Library) -> None:
    document = await library.add(GROUP, "草稿.txt", ["住宿标准为每晚三百五十元。"], visible=False)
    assert (await library.retriever.retrieve(GROUP, "住宿标准每晚多少元", 5)).status is RetrievalStatus.NO_RECALL
    await library.records.discard([document])
    assert (await library.retriever.retrieve(GROUP, "住宿标准每晚多少元", 5)).status is RetrievalStatus.NO_RECALL
    assert await library.retriever.search(GROUP, "住宿", 5) == ()


async def test_hidden_builds_do_not_crowd_out_visible_ones(library: Library) -> None:
    await library.add(GROUP, "公开.txt", ["住宿标准为每晚三百五十元，请按规定报销。"])
    await library.add(GROUP, "草稿.txt", [f"住宿标准为每晚三百五十元。{number}" for number in range(60)], visible=False)
    found = await library.retriever.retrieve(GROUP, "住宿标准每晚多少元", 5)
    assert found.nearest == ("公开.txt",)


async def test_a_failing_embedding_leaves_the_words(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    library.embeddings.fail = True
    found = await library.retriever.retrieve(GROUP, "住宿标准为每晚多少元", 5)
    assert found.degraded == "向量服务暂时连不上。这次只按字词查找。"
    assert found.references[0].text == TRAVEL[1]
    assert all(item.hit.cosine is None for item in found.candidates)


async def test_chunks_without_vectors_are_found_by_words(library: Library) -> None:
    await library.add(GROUP, "旧模型.txt", TRAVEL, vectors=False)
    found = await library.retriever.retrieve(GROUP, "住宿标准为每晚多少元", 5)
    assert found.references[0].text == TRAVEL[1]


async def test_a_failing_index_is_a_failure(library: Library) -> None:
    library.index.fail = True
    with pytest.raises(SearchIndexError):
        await library.retriever.retrieve(GROUP, "住宿", 5)


async def test_a_paste_is_searched_by_its_beginning(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    found = await library.retriever.retrieve(GROUP, "住宿标准为每晚多少元。" * 100 + "食堂" * 5000, 5)
    assert "食堂" not in found.term_weights


async def test_looking_up_shows_what_shares_a_word(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    await library.add(GROUP, "食堂通知.txt", ["食堂周一到周五供应午餐。"])
    found = await library.retriever.search(GROUP, "发票", 5)
    assert [(reference.number, reference.text) for reference in found] == [(1, TRAVEL[0])]
    assert await library.retriever.search(GROUP, "qwertyuiop", 5) == ()
    assert len(await library.retriever.search(GROUP, "差旅 住宿 食堂", 1)) == 1


class LyingIndex(MemoryIndex):
    """Gives any hits at all: what was deleted, hidden, or belongs to others."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        super().__init__()
        self.hits = tuple(hits)

    async def search(self, request: SearchRequest) -> SearchResult:
        """The given hits."""
        return SearchResult(self.hits, {"住宿": 1}, 100)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(), states=st.lists(st.sampled_from(["ready", "pending", "gone", "theirs"]), max_size=6))
async def test_only_visible_passages_come_out_whatever_the_index_says(
    library: Library, seed: int, states: list[str]
) -> None:
    group, other = f"group_{next(_number)}a", f"group_{next(_number)}b"
    scores = random.Random(seed)
    allowed: set[str] = set()
    for number, state in enumerate(states):
        collection = other if state == "theirs" else group
        name = f"{number}.txt"
        document = await library.add(collection, name, [f"住宿 {number}"], visible=state != "pending")
        if state == "gone":
            await library.records.discard([document])
        if state == "ready":
            allowed.add(name)
    chunks: list[IndexedChunk] = []
    for collection in (group, other):
        for build in await library.index.builds(collection):
            chunks += await library.index.chunks(collection, build)
    hits = [
        Hit(chunk, scores.uniform(-1, 1), scores.uniform(0, 30), frozenset({"住宿"} if scores.random() < 0.5 else ()))
        for chunk in chunks
    ]
    retriever = Retriever(library.records, LyingIndex(hits), bigram_model())
    found = await retriever.retrieve(group, "住宿", 20)
    assert {reference.name for reference in found.references} <= allowed
    assert {item.hit.chunk.context for item in found.candidates} == allowed
    assert set(found.nearest) <= allowed
    assert {reference.name for reference in await retriever.search(group, "住宿", 20)} <= allowed
