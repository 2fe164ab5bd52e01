"""Tests of retrieval: only visible passages of the asked collection, by words alone if necessary, none if unsure."""

import itertools
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.errors import SearchIndexError
from services.index.models import Hit, IndexedChunk, SearchRequest, SearchResult
from services.retrieval.models import Question, Retrieval, RetrievalStatus, Strictness, Verdict
from services.retrieval.retriever import better, is_near_miss
from services.settings import RetrievalSettings
from tests.fakes.index import MemoryIndex
from tests.fakes.reader import ScriptedReader
from tests.fakes.reranker import ScriptedReranker
from tests.services.retrieval.library import Library

GROUP, OTHER = "group_1", "group_2"
TRAVEL = ["差旅报销要在出差结束后七天内提交，附上发票原件。", "住宿标准为每晚三百五十元，超出部分自理。"]
_number = itertools.count()


async def ask(library: Library, text: str, collection: str = GROUP) -> Retrieval:
    """Retrieve as for a person's question."""
    return await library.retriever.retrieve(collection, Question(text))


async def test_the_right_passage_comes_first_with_its_place(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL, page=3)
    await library.add(GROUP, "食堂通知.txt", ["食堂周一到周五供应午餐，周末休息。"], heading="时间")
    found = await ask(library, "住宿标准是每晚多少元")
    assert found.status is RetrievalStatus.USABLE
    assert found.warning == ""
    best = found.references[0]
    assert (best.number, best.document_number, best.name, best.version) == (1, 1, "差旅制度.pdf", 1)
    # Neighbours on one page form one passage.
    assert (best.text, best.place) == ("\n".join(TRAVEL), "差旅制度.pdf 第3页")
    assert [reference.number for reference in found.references] == list(range(1, len(found.references) + 1))
    assert found.nearest[0] == "差旅制度.pdf"
    (lunch, *_) = (await ask(library, "食堂周末供应午餐吗")).references
    assert (lunch.page, lunch.place) == (None, "食堂通知.txt · 时间")


class InterruptedIndex(MemoryIndex):
    """An index whose first search takes so long that something else happens meanwhile."""

    def __init__(self, index: MemoryIndex, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self.__dict__.update(index.__dict__)
        self._meanwhile = [meanwhile]

    async def search(self, request: SearchRequest) -> SearchResult:
        result = await super().search(request)
        if self._meanwhile:
            await self._meanwhile.pop()()
        return result


async def test_a_version_that_becomes_visible_during_the_search_is_found(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", ["住宿标准为每晚二百元，超出部分自理。"])
    newer = await library.add(GROUP, "差旅制度.pdf", TRAVEL, visible=False)
    build = library.build_id(GROUP, "差旅制度.pdf", TRAVEL)[-64:]

    async def publish() -> None:
        await library.records.publish(GROUP, newer.id, build, library.model.fingerprint, len(TRAVEL))

    retriever = library.retriever_with(index=InterruptedIndex(library.index, publish))
    found = await retriever.retrieve(GROUP, Question("住宿标准是每晚多少元"))
    assert found.status is RetrievalStatus.USABLE
    assert "三百五十元" in found.references[0].text


async def test_nothing_and_nothing_near(library: Library) -> None:
    empty = await ask(library, "住宿标准")
    assert (empty.status, empty.references, empty.nearest) == (RetrievalStatus.NO_RECALL, (), ())
    assert (empty.chunk_count, empty.metrics.recall_count) == (0, 0)
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    far = await ask(library, "qwerty zxcvbn")
    assert (far.status, far.references, far.nearest) == (RetrievalStatus.LOW_CONFIDENCE, (), ())
    assert far.chunk_count == 2
    near = await library.retriever_with(reranker=ScriptedReranker(dict.fromkeys(TRAVEL, 0.1))).retrieve(
        GROUP, Question("住宿的早餐几点")
    )
    assert (near.status, near.references, near.nearest) == (RetrievalStatus.LOW_CONFIDENCE, (), ("差旅制度.pdf",))


async def test_after_a_remark_only_what_it_mentions_is_quoted(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    retriever = library.retriever_with(reranker=ScriptedReranker(dict.fromkeys(TRAVEL, 0.9)))
    question = "住宿标准为每晚多少元"
    for remark, is_quoted in (("", True), ("每晚三百五十元的", True), ("我试试", False), ("嗯", False)):
        found = await retriever.retrieve(GROUP, Question(f"{question} {remark}", remark=remark))
        assert found.references
        assert found.quotable is is_quoted, remark


async def test_candidates_carry_what_the_reader_found(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    question = "住宿标准是每晚多少元"
    reader = ScriptedReader({question: "三百五十元"})
    found = await library.retriever_with(reader=reader, reranker=ScriptedReranker()).retrieve(GROUP, Question(question))
    answers = {item.hit.chunk.text: item.reading.answers for item in found.candidates if item.reading}
    assert answers[TRAVEL[1]] > 0 > answers[TRAVEL[0]]


async def test_a_reader_that_fails_does_not_keep_the_answer_away(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    retriever = library.retriever_with(reader=ScriptedReader(fails=True), reranker=ScriptedReranker())
    found = await retriever.retrieve(GROUP, Question("住宿标准是每晚多少元"))
    assert found.status is RetrievalStatus.USABLE
    assert not any(item.reading for item in found.candidates)


async def test_settings_bound_every_stage(library: Library) -> None:
    steps = "甲乙丙丁戊己庚辛壬"
    await library.add(GROUP, "规定.txt", [f"报销流程第{step}步要{step * 20}签字确认。" for step in steps])
    for submitted in (1, 3):
        rules = RetrievalSettings.model_validate({"submit_top_k": submitted, "rerank_top_k": 4})
        retriever = library.retriever_with(settings=rules, reranker=ScriptedReranker())
        found = await retriever.retrieve(GROUP, Question("报销流程要签字确认"))
        verdicts = [item.verdict for item in found.candidates]
        assert found.metrics.approved_count == verdicts.count(Verdict.APPROVED) == submitted
        assert found.metrics.rerank_count == 4
        assert found.metrics.recall_count == len(found.candidates) == len(steps)
        assert verdicts.count(Verdict.NOT_RERANKED) == len(steps) - 4
        scores = [reference.score for reference in found.references]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        ({}, RetrievalStatus.USABLE),
        ({"min_rerank_score": 0.9}, RetrievalStatus.LOW_CONFIDENCE),
        ({"min_vector_similarity": 0.99}, RetrievalStatus.LOW_CONFIDENCE),
        ({"min_qualified_count": 2}, RetrievalStatus.LOW_CONFIDENCE),
    ],
)
async def test_every_bound_keeps_silent(library: Library, rules: dict[str, float], status: RetrievalStatus) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    reranker = ScriptedReranker({TRAVEL[0]: 0.1, TRAVEL[1]: 0.8})
    retriever = library.retriever_with(settings=RetrievalSettings.model_validate(rules), reranker=reranker)
    found = await retriever.retrieve(GROUP, Question("住宿标准是每晚多少元"))
    assert found.status is status
    assert bool(found.references) is (status is RetrievalStatus.USABLE)
    assert found.metrics.max_rerank_score == 0.8


async def test_speaking_unasked_demands_more(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    retriever = library.retriever_with(reranker=ScriptedReranker({TRAVEL[0]: 0.1, TRAVEL[1]: 0.5}))
    question = Question("住宿标准是每晚多少元")
    assert (await retriever.retrieve(GROUP, question)).status is RetrievalStatus.USABLE
    unasked = await retriever.retrieve(GROUP, question, strictness=Strictness.UNASKED)
    assert unasked.status is RetrievalStatus.LOW_CONFIDENCE
    assert unasked.threshold == 0.6


async def test_a_model_is_given_what_would_not_be_quoted(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    retriever = library.retriever_with(reranker=ScriptedReranker({TRAVEL[0]: 0.1, TRAVEL[1]: 0.25}))
    question = Question("住宿标准是每晚多少元")
    assert (await retriever.retrieve(GROUP, question)).status is RetrievalStatus.LOW_CONFIDENCE
    written = await retriever.retrieve(GROUP, question, strictness=Strictness.WRITTEN)
    assert (written.status, written.quotable) == (RetrievalStatus.USABLE, False)


async def test_complaints_of_a_group_raise_its_own_gate_only(library: Library) -> None:
    for collection in (GROUP, OTHER):
        await library.add(collection, "差旅制度.pdf", TRAVEL)
    for _ in range(40):
        await library.feedback.add(GROUP, 0.35, helpful=False, source="test")
    retriever = library.retriever_with(reranker=ScriptedReranker({TRAVEL[0]: 0.1, TRAVEL[1]: 0.35}))
    question = Question("住宿标准是每晚多少元")
    assert (await retriever.retrieve(GROUP, question)).status is RetrievalStatus.LOW_CONFIDENCE
    assert (await retriever.retrieve(OTHER, question)).status is RetrievalStatus.USABLE


async def test_a_failing_rerank_service_approves_nothing_and_says_so(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    reranker = ScriptedReranker()
    reranker.fail = True
    found = await library.retriever_with(reranker=reranker).retrieve(GROUP, Question("住宿标准是每晚多少元"))
    assert (found.status, found.references) == (RetrievalStatus.RERANK_FAILED, ())
    assert found.warning == "重排服务暂时连不上，请稍后再试。（QZ-R02）"
    assert found.nearest == ()
    assert {item.verdict for item in found.candidates} == {Verdict.NOT_RERANKED}


async def test_other_words_of_the_documents_are_tried_after_a_near_miss(library: Library) -> None:
    await library.add(
        GROUP, "部署.md", ["海洋环境保护法（简称海保法）明年修订。", "海洋环境保护法规定了排污的申报时间。"]
    )
    given = {"海洋环境保护法（简称海保法）明年修订。": 0.2, "海洋环境保护法规定了排污的申报时间。": 0.2}
    retriever = library.retriever_with(reranker=ScriptedReranker(given))
    question = Question("海保法的申报时间是哪天呢")
    assert await retriever.aliases(GROUP, question) == ["海洋环境保护法"]
    assert (await retriever.retrieve_twice(GROUP, question)).expansions == ("海洋环境保护法",)
    # Nothing is near, so there is nothing that other words would bring over the gate.
    far = library.retriever_with(reranker=ScriptedReranker(dict.fromkeys(given, 0.001)))
    assert (await far.retrieve_twice(GROUP, question)).expansions == ()


async def test_the_second_search_counts_only_if_it_is_better(library: Library) -> None:
    await library.add(GROUP, "宿舍.txt", ["宿舍每晚十一点关门，晚归须登记。"])
    scores = {"宿舍每晚十一点关门，晚归须登记。": 0.1}
    first = await library.retriever_with(reranker=ScriptedReranker(scores)).retrieve(GROUP, Question("宿舍几点锁"))
    second = await library.retriever_with(reranker=ScriptedReranker()).retrieve(
        GROUP, Question("宿舍几点锁"), words=["关门"]
    )
    assert first.status is RetrievalStatus.LOW_CONFIDENCE
    assert is_near_miss(first)
    assert better(first, second) == second
    assert better(second, replace(first, expansions=("门禁",))) == replace(second, expansions=("门禁",))


async def test_a_cited_passage_can_be_fetched_until_it_changes(library: Library) -> None:
    document = await library.add(GROUP, "差旅制度.pdf", TRAVEL, page=3)
    (cited, *_) = (await ask(library, "住宿标准为每晚多少元")).references
    place = (cited.build_id, cited.first_ordinal, cited.last_ordinal)
    fetched = await library.retriever.passage(GROUP, *place)
    assert fetched is not None
    assert (fetched.text, fetched.place) == (cited.text, "差旅制度.pdf 第3页")
    assert await library.retriever.passage(OTHER, *place) is None
    assert await library.retriever.passage(GROUP, cited.build_id, 0, 9) is None
    await library.records.discard([document])
    assert await library.retriever.passage(GROUP, *place) is None


async def test_collections_never_meet(library: Library) -> None:
    await library.add(GROUP, "甲.txt", ["金丝雀口令是苹果。"])
    await library.add(OTHER, "乙.txt", ["金丝雀口令是香蕉。"])
    found = await ask(library, "金丝雀口令是香蕉")
    assert {item.hit.chunk.text for item in found.candidates} == {"金丝雀口令是苹果。"}
    assert found.nearest == ("甲.txt",)


async def test_what_is_not_published_is_not_found(library: Library) -> None:
    document = await library.add(GROUP, "草稿.txt", ["住宿标准为每晚三百五十元。"], visible=False)
    assert (await ask(library, "住宿标准每晚多少元")).status is RetrievalStatus.NO_RECALL
    await library.records.discard([document])
    assert (await ask(library, "住宿标准每晚多少元")).status is RetrievalStatus.NO_RECALL
    assert await library.retriever.search(GROUP, "住宿", 5) == ()


async def test_hidden_builds_do_not_crowd_out_visible_ones(library: Library) -> None:
    await library.add(GROUP, "公开.txt", ["住宿标准为每晚三百五十元，请按规定报销。"])
    await library.add(GROUP, "草稿.txt", [f"住宿标准为每晚三百五十元。{number}" for number in range(60)], visible=False)
    found = await ask(library, "住宿标准每晚多少元")
    assert found.nearest == ("公开.txt",)


async def test_a_failing_embedding_leaves_the_words(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    library.embeddings.fail = True
    found = await ask(library, "住宿标准为每晚多少元")
    assert found.warning == "向量服务暂时连不上。（QZ-R01）这次只按字词查找。"
    assert TRAVEL[1] in found.references[0].text
    assert all(item.hit.cosine is None for item in found.candidates)


async def test_failing_vectors_leave_the_words(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    library.index.fail_vectors = True
    found = await ask(library, "住宿标准为每晚多少元")
    assert found.warning == "资料的向量索引出错了，请管理员查看日志。（QZ-R03）这次只按字词查找。"
    assert TRAVEL[1] in found.references[0].text
    assert all(item.hit.cosine is None for item in found.candidates)


async def test_chunks_without_vectors_are_found_by_words(library: Library) -> None:
    await library.add(GROUP, "旧模型.txt", TRAVEL, vectors=False)
    found = await ask(library, "住宿标准为每晚多少元")
    assert TRAVEL[1] in found.references[0].text


async def test_a_file_that_is_still_being_embedded_is_told_where_nothing_is_found(library: Library) -> None:
    notice = "有 1 个文件还在入库，现在只能按字词找到，稍后再问可能会有。"
    await library.add(GROUP, "食堂通知.txt", ["食堂周一到周五供应午餐，周末休息。"])
    await library.add(GROUP, "差旅制度.pdf", TRAVEL, vectors=False)
    found = await ask(library, "住宿标准为每晚多少元")
    assert TRAVEL[1] in found.references[0].text
    assert found.warning == ""
    found = await ask(library, "宿舍几点熄灯")
    assert not found.references
    assert found.warning == notice


async def test_a_device_that_no_file_names_is_not_answered_from_another_one(library: Library) -> None:
    devices = [f"编号 AB{number:05d} 的设备保修期为 {number % 37 + 1} 个月。" for number in range(30)]
    await library.add(GROUP, "设备.txt", devices)
    assert devices[21] in (await ask(library, "编号 AB00021 的设备保修期为几个月")).references[0].text
    found = await ask(library, "编号 AB09999 的设备保修期为几个月")
    assert found.status is RetrievalStatus.LOW_CONFIDENCE
    assert found.candidates[0].verdict is Verdict.OTHER_IDENTIFIER


async def test_a_year_that_no_file_is_about_is_not_answered_from_another_one(library: Library) -> None:
    await library.add(GROUP, "2019年预算.txt", ["电梯维保的预算为 237600 元。"])
    assert (await ask(library, "19年电梯维保的预算是多少")).references
    found = await ask(library, "2020年电梯维保的预算是多少")
    assert found.status is RetrievalStatus.LOW_CONFIDENCE
    assert found.candidates[0].verdict is Verdict.OTHER_SUBJECT


async def test_a_failing_index_is_a_failure(library: Library) -> None:
    library.index.fail = True
    with pytest.raises(SearchIndexError):
        await ask(library, "住宿")


async def test_a_paste_is_searched_by_its_beginning(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    found = await ask(library, "住宿标准为每晚多少元。" * 100 + "食堂" * 5000)
    assert "食堂" not in found.term_weights


async def test_looking_up_shows_what_shares_a_word(library: Library) -> None:
    await library.add(GROUP, "差旅制度.pdf", TRAVEL)
    await library.add(GROUP, "食堂通知.txt", ["食堂周一到周五供应午餐。"])
    found = await library.retriever.search(GROUP, "发票", 5)
    assert [(reference.number, reference.text) for reference in found] == [(1, TRAVEL[0])]
    assert await library.retriever.search(GROUP, "qwertyuiop", 5) == ()
    assert len(await library.retriever.search(GROUP, "差旅 住宿 食堂", 1)) == 1


class LyingIndex(MemoryIndex):
    """An index that returns any given hits, including deleted, hidden and other groups' chunks."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        super().__init__()
        self.hits = tuple(hits)

    async def search(self, request: SearchRequest) -> SearchResult:
        """Return the given hits."""
        return SearchResult(self.hits, {"住宿": 1}, 100)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(), states=st.lists(st.sampled_from(["ready", "pending", "gone", "theirs"]), max_size=6))
async def test_only_visible_passages_come_out_whatever_the_index_says(
    library: Library, seed: int, states: list[str]
) -> None:
    group, other = f"group_{next(_number)}a", f"group_{next(_number)}b"
    scores = random.Random(seed)
    allowed: set[str] = set()
    builds: list[tuple[str, str]] = []
    for number, state in enumerate(states):
        collection = other if state == "theirs" else group
        name = f"{number}.txt"
        document = await library.add(collection, name, [f"住宿 {number}"], visible=state != "pending")
        builds.append((collection, library.build_id(collection, name, [f"住宿 {number}"])))
        if state == "gone":
            await library.records.discard([document])
        if state == "ready":
            allowed.add(name)
    chunks: list[IndexedChunk] = []
    for collection, build in builds:
        chunks += await library.index.chunks(collection, build)
    hits = [
        Hit(chunk, scores.uniform(-1, 1), scores.uniform(0, 30), frozenset({"住宿"} if scores.random() < 0.5 else ()))
        for chunk in chunks
    ]
    retriever = library.retriever_with(index=LyingIndex(hits))
    found = await retriever.retrieve(group, Question("住宿"))
    assert {reference.name for reference in found.references} <= allowed
    assert {item.hit.chunk.context for item in found.candidates} == allowed
    assert set(found.nearest) <= allowed
    assert {reference.name for reference in await retriever.search(group, "住宿", 20)} <= allowed


async def test_a_year_in_a_file_name_chooses_the_file(library: Library) -> None:
    retriever = library.retriever_with(reranker=ScriptedReranker())
    for year, passage in (("2023", "奖学金名额二十个。"), ("2024", "奖学金名额三十个。")):
        await library.add(GROUP, f"奖学金{year}.txt", [passage], file=f"奖学金{year}.txt")
    found = await retriever.retrieve(GROUP, Question("2023的奖学金名额几个"))
    assert [reference.name for reference in found.references] == ["奖学金2023.txt"]


async def test_a_file_that_the_question_points_at_is_searched_alone(library: Library) -> None:
    handbook, notice = "年假五天，病假要医院证明。", "年假可以和国庆连休，最多十天。"
    retriever = library.retriever_with(reranker=ScriptedReranker({handbook: 0.7, notice: 0.9}))
    await library.add(GROUP, "员工手册.txt", [handbook])
    await library.add(GROUP, "放假通知.txt", [notice])
    everywhere = await retriever.retrieve(GROUP, Question("年假几天"))
    inside = await retriever.retrieve(GROUP, Question("员工手册里年假几天"))
    assert {reference.name for reference in everywhere.references} == {"员工手册.txt", "放假通知.txt"}
    assert {reference.name for reference in inside.references} == {"员工手册.txt"}


def _prices(first: int, last: int) -> str:
    # The fifteenth is the cheapest.
    rows = [f"商品{number} | {3 if number == 15 else 10 + number}" for number in range(first, last)]
    return "\n".join(["价目", "商品 | 单价", *rows])


async def test_the_smallest_value_is_that_of_the_whole_table(library: Library) -> None:
    parts = [_prices(first, first + 5) for first in range(0, 40, 5)]
    await library.add(GROUP, "价目.xlsx", [*parts, "说明：最便宜的商品另有优惠，请看公告。"], heading="价目")
    retriever = library.retriever_with(reranker=ScriptedReranker({parts[0]: 0.9}))
    found = await retriever.retrieve(GROUP, Question("最便宜的商品是哪个"))
    assert "商品15 | 3" in found.references[0].text
    assert (found.references[0].first_ordinal, found.references[0].last_ordinal) != (0, 0)
    usual = await retriever.retrieve(GROUP, Question("商品2单价多少"))
    assert "商品2 | 12" in usual.references[0].text
