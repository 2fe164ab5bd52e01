"""The contract of every search index.

A test module provides the fixtures `index` (shared, open) and `spare` (to be closed). Every test works in a collection
of its own, so one open index serves them all.
"""

import asyncio
import itertools
import math
from collections.abc import Collection, Sequence

import pytest

from services.errors import SearchIndexError
from services.index.models import Hit, IndexCount, IndexedChunk, SearchIndex, SearchRequest, SearchResult
from services.index.tokens import query_terms

FINGERPRINT = "e5-small.v1"
OTHER = "use-512"
DIMENSIONS = 8
_number = itertools.count()

HOSTILE = [
    '" OR * NEAR ( ) : ^ - NOT',
    '"',
    "'; DROP TABLE chunks; --",
    "NEAR(退款 报销, 5) AND words:*",
    "退款*",
    "-退款 +报销 ^开头",
    "。，、；：？！“”‘’《》【】（）",
    "👍🏽👨‍👩‍👧‍👦🇨🇳",
    "\0\x01\x1b[31m 退款\0报销",
    "\ud800退款\udfff",
    "\u202e\u200b\u2066 退\u200b款",
    "",
    " \n\t",
    "ﷺ" * 300,
    "a" * 10_000,
    "".join(chr(0x4E00 + number % 5_000) for number in range(10_000)),
    " ".join(f"w{number}" for number in range(2_000)),
]


def chunk(number: int, text: str, build: str = "build1", context: str = "") -> IndexedChunk:
    """Return a chunk as the knowledge base makes it."""
    metadata = {"group": 777, "file": "制度.pdf", "version": 2, "page": number + 1, "ratio": 0.5, "table": False}
    return IndexedChunk(f"{build}-{number}", build, number, text, context, metadata)


def direction(*weights: float) -> list[float]:
    """Return a unit vector along the given weights of the first dimensions."""
    norm = math.hypot(*weights)
    return [*(weight / norm for weight in weights), *([0.0] * (DIMENSIONS - len(weights)))]


def axis(number: int) -> list[float]:
    """Return the unit vector of one dimension."""
    return [1.0 if place == number % DIMENSIONS else 0.0 for place in range(DIMENSIONS)]


async def put(
    index: SearchIndex,
    collection: str,
    embedding_fingerprint: str,
    chunks: Sequence[IndexedChunk],
    vectors: Sequence[Sequence[float]] | None,
) -> None:
    """Store chunks by words, and unless `vectors` is None with these vectors."""
    await index.add_words(collection, chunks)
    if vectors is not None:
        await index.add_vectors(collection, embedding_fingerprint, chunks, vectors)


async def ask(
    index: SearchIndex,
    collection: str,
    text: str,
    vector: Sequence[float] | None = None,
    *,
    limit: int = 10,
    hidden: Collection[str] = (),
    embedding_fingerprint: str = FINGERPRINT,
) -> SearchResult:
    """Return the result of one search."""
    return await index.search(SearchRequest(collection, text, embedding_fingerprint, vector, limit, hidden))


def by_id(result: SearchResult) -> dict[str, Hit]:
    """Return the hits by chunk id, checking that no chunk occurs twice."""
    hits = {hit.chunk.chunk_id: hit for hit in result.hits}
    assert len(hits) == len(result.hits)
    return hits


@pytest.fixture
def collection() -> str:
    """Return a name that no other test uses."""
    return f"group_{next(_number)}"


class SearchIndexContract:
    """The contract. Derive a class named `Test…` from it, in a module with the fixtures."""

    async def test_a_chunk_comes_back_as_it_was_stored(self, index: SearchIndex, collection: str) -> None:
        stored = chunk(0, '退款要七天。\n第二行\t"引号" \\ \x00 𠮷 👍', context="制度 > 退款")
        await put(index, collection, FINGERPRINT, [stored], [axis(0)])
        assert await index.chunks(collection, "build1") == [stored]
        result = await ask(index, collection, "退款", axis(0))
        (hit,) = result.hits
        assert hit.chunk == stored
        assert hit.matched == {"退款"}
        assert hit.bm25 is not None
        assert hit.bm25 > 0
        assert hit.cosine == pytest.approx(1.0, abs=1e-5)
        assert result.document_frequency == {"退款": 1}
        assert result.chunk_count == 1

    async def test_adding_again_replaces(self, index: SearchIndex, collection: str) -> None:
        for text, vector in (("旧的文字", axis(0)), ("新的文字", axis(1)), ("新的文字", axis(1))):
            await put(index, collection, FINGERPRINT, [chunk(0, text)], [vector])
        assert await index.count(collection, FINGERPRINT) == IndexCount(1, 1)
        result = await ask(index, collection, "新的旧的文字", axis(1))
        (hit,) = result.hits
        assert hit.chunk.text == "新的文字"
        assert hit.cosine == pytest.approx(1.0, abs=1e-5)
        assert result.document_frequency == {"新的": 1, "的旧": 0, "旧的": 0, "的文": 1, "文字": 1}

    async def test_builds_are_counted_by_words(self, index: SearchIndex, collection: str) -> None:
        assert await index.builds(collection) == {}
        await put(index, collection, FINGERPRINT, [chunk(n, "退款") for n in range(3)], [axis(n) for n in range(3)])
        await put(index, collection, FINGERPRINT, [chunk(0, "退款", "build2")], None)
        assert await index.builds(collection) == {"build1": 3, "build2": 1}
        await index.delete_build(collection, "build1")
        assert await index.builds(collection) == {"build2": 1}

    async def test_collections_know_nothing_of_each_other(self, index: SearchIndex, collection: str) -> None:
        other = f"{collection}_other"
        await put(
            index, collection, FINGERPRINT, [chunk(n, f"金丝雀甲 {n}") for n in range(3)], [axis(n) for n in range(3)]
        )
        await put(index, other, FINGERPRINT, [chunk(n, f"金丝雀乙 {n}") for n in range(5)], [axis(n) for n in range(5)])
        mine = await ask(index, collection, "金丝雀甲乙", axis(4), limit=50)
        theirs = await ask(index, other, "金丝雀甲乙", axis(4), limit=50)
        assert {hit.chunk.text[:4] for hit in mine.hits} == {"金丝雀甲"}
        assert {hit.chunk.text[:4] for hit in theirs.hits} == {"金丝雀乙"}
        assert (mine.chunk_count, theirs.chunk_count) == (3, 5)
        assert mine.document_frequency == {"金丝": 3, "丝雀": 3, "雀甲": 3, "甲乙": 0}
        assert theirs.document_frequency == {"金丝": 5, "丝雀": 5, "雀甲": 0, "甲乙": 0}
        await index.delete_build(other, "build1")
        assert await index.count(collection, FINGERPRINT) == IndexCount(3, 3)
        again = await ask(index, collection, "金丝雀甲乙", axis(4), limit=50)
        assert by_id(again) == by_id(mine)

    async def test_a_name_that_begins_another_is_another(self, index: SearchIndex, collection: str) -> None:
        await put(index, collection, FINGERPRINT, [chunk(0, "短")], [axis(0)])
        await put(index, f"{collection}0", FINGERPRINT, [chunk(0, "长")], [axis(0)])
        await put(index, collection, f"{FINGERPRINT}.b", [chunk(0, "短")], [axis(0)])
        assert await index.embedding_fingerprints(collection) == {FINGERPRINT, f"{FINGERPRINT}.b"}
        assert await index.embedding_fingerprints(f"{collection}0") == {FINGERPRINT}

    async def test_hidden_builds_are_left_out_of_both_channels(self, index: SearchIndex, collection: str) -> None:
        for build, size in (("shown", 4), ("hidden", 60)):
            chunks = [chunk(n, f"报销流程 {build} {n}", build) for n in range(size)]
            lean = 0.01 if build == "hidden" else 0.5
            await put(index, collection, FINGERPRINT, chunks, [direction(1, lean + n / 1000) for n in range(size)])
        result = await ask(index, collection, "报销流程", axis(0), limit=4, hidden=["hidden", "never seen"])
        hits = by_id(result)
        assert set(hits) == {f"shown-{n}" for n in range(4)}
        assert all(hit.bm25 is not None and hit.cosine is not None for hit in hits.values())
        everything = await ask(index, collection, "报销流程", axis(0), limit=4)
        assert any(hit.chunk.build_id == "hidden" for hit in everything.hits)
        assert not (await ask(index, collection, "报销流程", axis(0), hidden={"hidden", "shown"})).hits

    async def test_each_channel_is_limited_and_every_hit_has_its_cosine(
        self, index: SearchIndex, collection: str
    ) -> None:
        chunks = [chunk(n, "发票抬头" if n < 5 else "食堂菜单") for n in range(10)]
        await put(index, collection, FINGERPRINT, chunks, [direction(n, 10) for n in range(10)])
        await put(index, collection, FINGERPRINT, [chunk(10, "发票抬头", "wordsonly")], None)
        result = await ask(index, collection, "发票", direction(9, 10), limit=3)
        hits = by_id(result)
        assert len([hit for hit in hits.values() if hit.bm25 is not None]) == 3
        assert {"build1-9", "build1-8", "build1-7"} <= set(hits)
        for hit in hits.values():
            if hit.chunk.build_id == "wordsonly":
                assert hit.cosine is None
            else:
                expected = sum(a * b for a, b in zip(direction(9, 10), direction(hit.chunk.ordinal, 10), strict=True))
                assert hit.cosine == pytest.approx(expected, abs=1e-4)
            assert hit.matched == ({"发票"} if "发票" in hit.chunk.text else set())

    async def test_a_cosine_is_between_minus_one_and_one(self, index: SearchIndex, collection: str) -> None:
        vectors = [[math.sin(n * place + 1.0) for place in range(1, DIMENSIONS + 1)] for n in range(40)]
        vectors += [[-value for value in vector] for vector in vectors[:5]]
        await put(index, collection, FINGERPRINT, [chunk(n, f"第{n}条") for n in range(len(vectors))], vectors)
        for vector in vectors[:20]:
            cosines = [hit.cosine for hit in (await ask(index, collection, "", vector, limit=50)).hits]
            assert len(cosines) == len(vectors)
            assert all(cosine is not None and -1.0 <= cosine <= 1.0 for cosine in cosines), cosines

    async def test_search_by_words_alone(self, index: SearchIndex, collection: str) -> None:
        await put(index, collection, FINGERPRINT, [chunk(0, "退款"), chunk(1, "换货")], [axis(0), axis(1)])
        (hit,) = (await ask(index, collection, "怎么退款")).hits
        assert (hit.chunk.text, hit.cosine) == ("退款", None)

    async def test_context_is_searched(self, index: SearchIndex, collection: str) -> None:
        await put(index, collection, FINGERPRINT, [chunk(0, "七天之内", context="退货政策")], None)
        (hit,) = (await ask(index, collection, "退货")).hits
        assert hit.matched == {"退货"}
        assert not (await ask(index, collection, "策七")).hits

    async def test_deleting_a_build(self, index: SearchIndex, collection: str) -> None:
        for build in ("old", "new"):
            chunks = [chunk(n, f"考勤 {build} {n}", build) for n in range(30)]
            for embedding_fingerprint in (FINGERPRINT, OTHER):
                await put(index, collection, embedding_fingerprint, chunks, [axis(n) for n in range(30)])
        await index.delete_build(collection, "old")
        await index.delete_build(collection, "never seen")
        assert await index.chunks(collection, "old") == []
        for embedding_fingerprint in (FINGERPRINT, OTHER):
            assert await index.count(collection, embedding_fingerprint) == IndexCount(30, 30)
            assert await index.chunk_ids(collection, embedding_fingerprint, "old") == set()
            result = await ask(
                index, collection, "考勤", axis(0), limit=60, embedding_fingerprint=embedding_fingerprint
            )
            assert {hit.chunk.build_id for hit in result.hits} == {"new"}
            assert (result.document_frequency, result.chunk_count) == ({"考勤": 30}, 30)

    async def test_chunk_ids_are_those_with_words_and_a_vector(self, index: SearchIndex, collection: str) -> None:
        await put(index, collection, FINGERPRINT, [chunk(n, f"甲{n}") for n in range(3)], [axis(n) for n in range(3)])
        await put(index, collection, FINGERPRINT, [chunk(n, f"甲{n}") for n in range(3, 5)], None)
        await put(index, collection, OTHER, [chunk(4, "甲4")], [axis(4)])
        await put(index, collection, FINGERPRINT, [chunk(0, "乙", "build2")], [axis(0)])
        assert await index.chunk_ids(collection, "", "build1") == {f"build1-{n}" for n in range(5)}
        assert await index.chunk_ids(collection, FINGERPRINT, "build1") == {f"build1-{n}" for n in range(3)}
        assert await index.chunk_ids(collection, OTHER, "build1") == {"build1-4"}
        assert await index.chunk_ids(collection, "unseen", "build1") == set()
        assert await index.count(collection, FINGERPRINT) == IndexCount(6, 4)

    async def test_dropping_vectors_leaves_words_and_vectors_of_other_models(
        self, index: SearchIndex, collection: str
    ) -> None:
        for embedding_fingerprint in (FINGERPRINT, OTHER):
            await put(index, collection, embedding_fingerprint, [chunk(0, "值班表")], [axis(0)])
        assert await index.embedding_fingerprints(collection) == {FINGERPRINT, OTHER}
        await index.drop_vectors(collection, FINGERPRINT)
        await index.drop_vectors(collection, FINGERPRINT)
        assert await index.embedding_fingerprints(collection) == {OTHER}
        assert await index.count(collection, FINGERPRINT) == IndexCount(1, 0)
        (hit,) = (await ask(index, collection, "值班", axis(0))).hits
        assert hit.cosine is None
        (hit,) = (await ask(index, collection, "值班", axis(0), embedding_fingerprint=OTHER)).hits
        assert hit.cosine == pytest.approx(1.0, abs=1e-5)

    async def test_an_unknown_collection_is_empty_and_stays_unknown(self, index: SearchIndex, collection: str) -> None:
        result = await ask(index, collection, "退款 err-1", axis(0))
        assert (result.hits, result.chunk_count) == ((), 0)
        assert result.document_frequency == {"退款": 0, "err-1": 0, "err": 0, "1": 0}
        assert await index.chunks(collection, "build1") == []
        assert await index.chunk_ids(collection, FINGERPRINT, "build1") == set()
        assert await index.around(collection, [("build1", 0)], 2) == {("build1", 0): []}
        assert await index.aliases(collection, "退款", 5) == []
        assert await index.embedding_fingerprints(collection) == set()
        assert await index.count(collection, FINGERPRINT) == IndexCount(0, 0)
        await index.delete_build(collection, "build1")
        await put(index, collection, FINGERPRINT, [], [])
        assert collection not in await index.collections()

    async def test_chunks_come_by_ordinal(self, index: SearchIndex, collection: str) -> None:
        stored = [chunk(n, f"第{n}段") for n in range(25)]
        shuffled = sorted(stored, key=lambda item: hash((item.ordinal * 7919) % 25))
        await put(index, collection, FINGERPRINT, shuffled, None)
        assert await index.chunks(collection, "build1") == stored[:20]
        assert await index.chunks(collection, "build1", start=20) == stored[20:]
        assert await index.chunks(collection, "build1", start=3, limit=2) == stored[3:5]
        assert await index.chunks(collection, "build1", start=25) == []

    async def test_neighbours_of_every_place(self, index: SearchIndex, collection: str) -> None:
        stored = {build: [chunk(n, f"{build} 第{n}段", build) for n in range(6)] for build in ("one", "two")}
        for chunks in stored.values():
            await put(index, collection, FINGERPRINT, list(reversed(chunks)), None)
        await put(index, f"{collection}_other", FINGERPRINT, [chunk(9, "别的群", "one")], None)
        places = [("one", 0), ("two", 3), ("one", 5), ("one", 9), ("never seen", 0)]
        assert await index.around(collection, places, 1) == {
            ("one", 0): stored["one"][:2],
            ("two", 3): stored["two"][2:5],
            ("one", 5): stored["one"][4:],
            ("one", 9): [],
            ("never seen", 0): [],
        }
        assert await index.around(collection, [("two", 2)], 0) == {("two", 2): [stored["two"][2]]}
        assert await index.around(collection, [], 1) == {}

    async def test_either_name_leads_to_the_other(self, index: SearchIndex, collection: str) -> None:
        texts = ["《差旅费管理办法》（以下简称“差旅办法”）自即日起施行。", "The Mean Average Precision (mAP) is low."]
        await put(index, collection, FINGERPRINT, [chunk(n, text) for n, text in enumerate(texts)], None)
        assert await index.aliases(collection, "差旅办法什么时候施行", 5) == ["差旅费管理办法"]
        assert await index.aliases(collection, "差旅費管理辦法怎么说的", 5) == ["差旅办法"]
        assert await index.aliases(collection, "ＭＡＰ是多少", 5) == ["Mean Average Precision"]
        assert await index.aliases(collection, "mean average precision", 5) == ["mAP"]
        assert await index.aliases(collection, "mAP 就是 mean average precision", 5) == []
        assert await index.aliases(collection, "wordmap 管理办法", 5) == []
        assert await index.aliases(collection, "差旅办法里的mAP", 1) == ["差旅费管理办法"]

    async def test_aliases_stay_in_their_collection_and_out_of_hidden_builds(
        self, index: SearchIndex, collection: str
    ) -> None:
        await put(index, f"{collection}_other", FINGERPRINT, [chunk(0, "校园卡，又称饭卡。")], None)
        await put(index, collection, FINGERPRINT, [chunk(0, "校园卡，也叫一卡通。", "old")], None)
        await put(index, collection, FINGERPRINT, [chunk(0, "校园卡，俗称校卡。", "new")], None)
        assert set(await index.aliases(collection, "校园卡", 5)) == {"一卡通", "校卡"}
        assert await index.aliases(collection, "校园卡", 5, {"old"}) == ["校卡"]
        assert await index.aliases(collection, "饭卡", 5) == []
        assert await index.aliases(collection, "一卡通", 5, ["old"]) == []
        await index.delete_build(collection, "old")
        assert await index.aliases(collection, "校园卡", 5) == ["校卡"]
        await put(index, collection, FINGERPRINT, [chunk(0, "校园卡在一楼办理。", "new")], None)
        assert await index.aliases(collection, "校园卡", 5) == []

    async def test_spellings_are_those_of_visible_chunks_of_the_collection(
        self, index: SearchIndex, collection: str
    ) -> None:
        await put(index, f"{collection}_other", FINGERPRINT, [chunk(0, "SecretName")], None)
        await put(index, collection, FINGERPRINT, [chunk(0, "见 OldName。", "old")], None)
        texts = ["Pod 报 CrashLoopBackOff 时看 kubectl logs", "numpy 用 np.Float64，errors 见 E-205"]
        await put(index, collection, FINGERPRINT, [chunk(n, text, "new") for n, text in enumerate(texts)], None)
        words = ["crashloopbackoff", "np.float64", "float64", "e-205", "secretname", "oldname", "error", "crash", "报"]
        assert await index.spellings(collection, words, {"old"}) == {
            "crashloopbackoff": "CrashLoopBackOff",
            "np.float64": "np.Float64",
            "float64": "Float64",
            "e-205": "E-205",
        }
        assert await index.spellings(collection, ["oldname", "Pod", '"x" OR y', "x*", ""]) == {"oldname": "OldName"}
        assert await index.spellings(f"{collection}_none", ["pod"]) == {}

    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    async def test_no_text_is_syntax(self, index: SearchIndex, collection: str, text: str) -> None:
        await put(index, collection, FINGERPRINT, [chunk(0, "退款"), chunk(1, text, context=text)], [axis(0), axis(1)])
        result = await ask(index, collection, text, axis(0))
        assert "build1-0" in by_id(result)
        assert await index.aliases(collection, text, 5) == []
        assert await index.chunk_ids(collection, FINGERPRINT, "build1") == {"build1-0", "build1-1"}
        await index.delete_build(collection, "build1")
        assert (await ask(index, collection, "退款", axis(0))).document_frequency == {"退款": 0}

    async def test_every_query_term_has_a_frequency(self, index: SearchIndex, collection: str) -> None:
        await put(index, collection, FINGERPRINT, [chunk(0, "错误码 ERR-4032X 的处理办法")], None)
        filler = "".join(chr(0x5000 + number) for number in range(900))
        asked = f"{filler}。ERR-4032X 怎么办"
        result = await ask(index, collection, asked)
        (hit,) = result.hits
        assert {"err-4032x", "err", "4032x"} <= hit.matched
        assert result.document_frequency["err-4032x"] == 1
        assert result.document_frequency.keys() == set(query_terms(asked))

    @pytest.mark.parametrize(
        ("stored", "asked", "term"),
        [
            ("出现错误码ERR-4032X时请重启", "err-4032x是什么", "err-4032x"),
            ("出现错误码ＥＲＲ－４０３２Ｘ时请重启", "ERR-4032X", "err-4032x"),
            ("出现错误码err-4032x时请重启", "ＥＲＲ－４０３２Ｘ", "err-4032x"),
            ("编号20230415-07的同学", "20230415-07", "20230415-07"),
            ("编号20230415-07的同学", "20230415 是谁", "20230415"),
            ("调用 Foo_Bar.baz() 即可", "foo_bar.baz", "foo_bar.baz"),
            ("升级到 v1.2.3。", "V1.2.3?", "v1.2.3"),
            ("用C++写", "c++怎么学", "c++"),
            ("简体软件网络", "簡體", "简体"),
            ("繁體軟體網路", "软体", "软体"),
            ("ひらがなテスト", "テスト", "テス"),
            ("한국어 문서", "한국", "한국"),
            ("Привет, мир", "ПРИВЕТ", "привет"),
            ("第三章", "章", "章"),
        ],
    )
    async def test_case_width_and_writing_make_no_difference(
        self, index: SearchIndex, collection: str, stored: str, asked: str, term: str
    ) -> None:
        noise = [chunk(n, f"无关的内容{n}") for n in range(1, 4)]
        await put(index, collection, FINGERPRINT, [chunk(0, stored), *noise], None)
        hit = by_id(await ask(index, collection, asked))["build1-0"]
        assert term in hit.matched
        assert hit.bm25 is not None
        assert hit.bm25 > 0

    async def test_a_term_is_matched_only_where_it_is_indexed(self, index: SearchIndex, collection: str) -> None:
        texts = ["приветствие a.b.c cafés", "привет a.b café"]
        await put(index, collection, FINGERPRINT, [chunk(n, text) for n, text in enumerate(texts)], [axis(0), axis(0)])
        result = await ask(index, collection, "привет a.b", axis(0))
        for term in ("привет", "a.b"):
            holders = {hit.chunk.chunk_id for hit in result.hits if term in hit.matched}
            assert (len(holders), holders) == (result.document_frequency[term], {"build1-1"})

    async def test_a_rare_code_is_found_whatever_its_chunk_is_like(self, index: SearchIndex, collection: str) -> None:
        """BM25 treats a long chunk as one that only mentions the code."""
        long = "".join(chr(0x4E00 + number) for number in range(3_000))
        short = [chunk(n, f"error code list {n}") for n in range(1, 40)]
        await put(index, collection, FINGERPRINT, [chunk(0, f"{long}。ERR-4032X"), *short], None)
        hits = by_id(await ask(index, collection, "error code list: err-4032x?", limit=10))
        assert len(hits) == 10
        assert "build1-0" in hits
        hidden = await ask(index, collection, "error code list: err-4032x?", limit=10, hidden={"build1"})
        assert not hidden.hits

    async def test_adding_and_searching_at_once(self, index: SearchIndex, collection: str) -> None:
        batches = [[chunk(n, f"并发写入 {build} {n}", f"build{build}") for n in range(20)] for build in range(4)]

        async def search() -> None:
            for _ in range(10):
                for hit in (await ask(index, collection, "并发写入", axis(0), limit=5)).hits:
                    assert hit.chunk.text.startswith("并发写入")

        adding = (put(index, collection, FINGERPRINT, batch, [axis(n) for n in range(20)]) for batch in batches)
        await asyncio.gather(*adding, *(search() for _ in range(3)))
        assert await index.count(collection, FINGERPRINT) == IndexCount(80, 80)
        for build in range(4):
            assert len(await index.chunk_ids(collection, FINGERPRINT, f"build{build}")) == 20

    async def test_a_closed_index_refuses(self, spare: SearchIndex) -> None:
        await put(spare, "group_1", FINGERPRINT, [chunk(0, "退款")], [axis(0)])
        waiting = [asyncio.create_task(ask(spare, "group_1", "退款", axis(0))) for _ in range(5)]
        await asyncio.sleep(0)
        await spare.close()
        for outcome in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(outcome, SearchResult | SearchIndexError), repr(outcome)
        with pytest.raises(SearchIndexError):
            await ask(spare, "group_1", "退款")
        with pytest.raises(SearchIndexError):
            await put(spare, "group_1", FINGERPRINT, [chunk(0, "退款")], [axis(0)])
        await spare.close()
