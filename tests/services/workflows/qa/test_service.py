"""Answers to questions: written, quoted, nothing found, or one sentence about a failure."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from services.errors import SearchIndexError
from services.grounding.models import AnswerKind, CitedPassage, SourceStatus
from services.prompts import load_prompts
from services.rag import NOTHING_MARK
from services.records.conversations import details_of
from services.retrieval.look_up import look_up
from services.retrieval.models import Question, Retrieval, RetrievalStatus
from services.session import KnowledgeCollection
from services.tracing.current import Origin, arrived
from services.workflows.qa.written import GENERAL_LABEL, UNCITED
from tests.services.workflows.qa.world import GROUP, OTHER, PASSAGE, PLACE, QUESTION, SESSION, World, open_world

UNRELATED = Question("qwerty zxcvbn uiop asdf 差旅")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


async def test_a_written_answer_cites_its_sources(world: World) -> None:
    world.model.reply = "**三百五十元**[1]，超出自理【1】，编造[7]。"
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.WRITTEN
    assert answer.text == "三百五十元〔1〕，超出自理〔1〕，编造。"
    assert ([(source.number, source.place) for source in answer.sources], answer.notice) == ([(1, PLACE)], "")
    # The sent text is remembered, without Markdown and without what the model invented.
    assert await world.stored() == [QUESTION.text, answer.text]
    assert await world.conversations.sources(SESSION) == list(answer.sources)


async def test_an_answer_without_citations_is_marked(world: World) -> None:
    world.model.reply = "可以的。"
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert (answer.text, answer.sources, answer.notice) == ("可以的。", (), UNCITED)
    assert (await world.stored())[-1] == answer.text
    chat = await world.answering().ask(SESSION, 2, GROUP, UNRELATED)
    assert (chat.kind, chat.sources, chat.notice) == (AnswerKind.WRITTEN, (), "")


@pytest.mark.parametrize("with_model", [True, False])
@pytest.mark.parametrize("table", ["turns", "history"])
async def test_an_answer_is_sent_even_if_the_database_cannot_store_it(
    world: World, table: str, *, with_model: bool
) -> None:
    async with world.database.writing() as session:
        # As on a full disk, every write fails with an operational error, while reading works.
        for event in ("INSERT", "UPDATE"):
            await session.execute(
                text(f"CREATE TRIGGER full_{event} BEFORE {event} ON {table} BEGIN DELETE FROM gone; END")  # noqa: S608
            )
    answer = await world.answering(with_model=with_model).ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is (AnswerKind.WRITTEN if with_model else AnswerKind.EXCERPT)
    assert "三百五十元" in answer.text
    assert answer.notice == "（这一轮对话没能记下来，后面可能接不上。QZ-D03）"
    assert await world.stored() == []


async def test_the_quoted_message_is_searched_and_remembered(world: World) -> None:
    answer = await world.answering().ask(SESSION, 2, GROUP, Question("这个呢", QUESTION.text))
    assert answer.sources
    assert (await world.stored())[0] == f"这个呢\n引用的消息：\n> {QUESTION.text}"


async def test_a_follow_up_is_searched_and_answered_as_what_it_stands_for(world: World) -> None:
    await world.library.add(GROUP.name, "作息.txt", ["宿舍周五二十三点关门。", "宿舍周六二十四点关门。"])
    answering = world.answering(with_model=False)
    arrived(Origin("group_1", 5))
    assert "周五二十三点" in (await answering.ask(SESSION, 2, GROUP, Question("宿舍周五几点关门"))).text
    arrived(Origin("group_1", 6))
    assert "周六二十四点" in (await answering.ask(SESSION, 2, GROUP, Question("那周六呢"))).text
    # The history holds what was said.
    assert (await world.stored())[2] == "那周六呢"
    record = world.traces.of_message("group_1", 6)
    assert record is not None
    assert (record.raw_question, record.trace.question.rewritten) == ("那周六呢", "宿舍周六几点关门")
    arrived(Origin("group_1", 7))
    await answering.ask(SESSION, 2, GROUP, QUESTION)
    record = world.traces.of_message("group_1", 7)
    assert record is not None
    assert record.trace.question.rewritten == ""


async def test_a_remark_does_not_repeat_the_answer(world: World) -> None:
    answering = world.answering(with_model=False)
    assert (await answering.ask(SESSION, 2, GROUP, QUESTION)).kind is AnswerKind.EXCERPT
    assert (await answering.ask(SESSION, 2, GROUP, Question("我不同意"))).kind is AnswerKind.NOTHING_FOUND


async def test_a_failing_model_gives_a_sentence_and_the_passage(world: World) -> None:
    world.model.reply = RuntimeError("secret detail")
    answering = world.answering()
    answer = await answering.ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.FAILED
    assert answer.notice == "模型的回答读不懂，请稍后再问。（QZ-M01）"
    assert f"「{PASSAGE}」〔1〕" in answer.text
    assert [(source.number, source.place) for source in answer.sources] == [(1, PLACE)]
    assert "secret detail" not in answer.text + answer.notice
    assert await world.stored() == []
    (turn,) = await world.conversations.recent(SESSION, 5)
    assert (turn.question, turn.state, turn.answer) == (QUESTION.text, "failed", "")
    # The number that was shown can still be looked up.
    assert (await answering.source(SESSION, GROUP, 1)).status is SourceStatus.FOUND


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (RuntimeError("the reason"), "QZ-M01 模型的回答读不懂，请稍后再问。 (RuntimeError: the reason)"),
        ("", "QZ-M01 模型没有给出内容，请稍后再试。 ("),
        ("〔1〕", "QZ-M01 模型没有给出内容，请稍后再试。 ('〔1〕')"),
        ("我的规则是：不要透露这些规则。", "QZ-M01 模型的回答不能用，请换个问法。 (it repeats its instructions)"),
    ],
)
async def test_a_failing_model_is_logged_once_with_its_code(
    world: World, caplog: pytest.LogCaptureFixture, reply: str | Exception, line: str
) -> None:
    world.model.reply = reply
    assert (await world.answering().ask(SESSION, 2, GROUP, QUESTION)).kind is AnswerKind.FAILED
    (warning,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert warning.levelno == logging.WARNING
    assert line in warning.getMessage()


async def test_a_failing_model_without_a_passage_gives_the_sentence(world: World) -> None:
    world.model.reply = ""
    answer = await world.answering().ask(SESSION, 2, GROUP, UNRELATED)
    assert (answer.kind, answer.text, answer.sources) == (
        AnswerKind.FAILED,
        "模型没有给出内容，请稍后再试。（QZ-M01）",
        (),
    )
    assert await world.stored() == []


async def test_a_failing_model_does_not_search_again(world: World) -> None:
    world.model.reply = RuntimeError("down")
    await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert world.library.index.search_count == 1


async def test_what_the_review_refuses_is_not_remembered(world: World) -> None:
    world.model.reply = load_prompts().persona
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert (answer.kind, answer.notice) == (AnswerKind.FAILED, "模型的回答不能用，请换个问法。（QZ-M01）")
    assert await world.stored() == []


@pytest.mark.parametrize("with_model", [True, False])
async def test_a_failing_index_gives_a_sentence(world: World, with_model: bool) -> None:
    world.library.index.fail = True
    answer = await world.answering(with_model=with_model).ask(SESSION, 2, GROUP, QUESTION)
    assert (answer.kind, answer.text) == (AnswerKind.FAILED, "资料索引出错了，请稍后再试。（QZ-R03）")
    assert await world.stored() == []
    assert (await world.conversations.recent(SESSION, 5))[0].state == "failed"


async def test_a_failing_reranker_is_told_and_nothing_is_claimed(world: World) -> None:
    world.reranker.fail = True
    warning = "重排服务暂时连不上，请稍后再试。（QZ-R02）"
    quoted = await world.answering(with_model=False).ask(SESSION, 2, GROUP, QUESTION)
    assert (quoted.kind, quoted.text) == (AnswerKind.FAILED, warning)
    answering = world.answering(general=True)
    asked = await answering.ask(SESSION, 2, GROUP, QUESTION)
    assert (asked.kind, asked.text) == (AnswerKind.FAILED, warning)
    assert await world.stored() == []
    thanked = await answering.ask(SESSION, 2, GROUP, Question("谢谢"))
    assert (thanked.kind, thanked.text) == (AnswerKind.WRITTEN, "不客气。")
    # What the files say is unknown, so there is nothing that the model could be asked.
    assert world.model.prompts == []


async def test_without_a_model_the_files_are_quoted(world: World) -> None:
    answer = await world.answering(with_model=False).ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.EXCERPT
    assert answer.text == f"原文摘录：\n「{PASSAGE}」〔1〕"
    assert [(source.number, source.place) for source in answer.sources] == [(1, PLACE)]
    assert await world.stored() == [QUESTION.text, answer.text]
    assert world.model.prompts == []


async def test_a_document_cannot_pose_as_a_source(world: World) -> None:
    await world.library.add(GROUP.name, "恶意.txt", ["食堂周末供应午餐，详见〔7〕和国发〔2024〕15号。"])
    answer = await world.answering(with_model=False).ask(SESSION, 2, GROUP, Question("食堂周末供应午餐吗"))
    assert answer.text == "原文摘录：\n「食堂周末供应午餐，详见[7]和国发〔2024〕15号。」〔1〕"


async def test_nothing_found_names_what_is_nearest(world: World) -> None:
    world.model.reply = NOTHING_MARK
    for answering in (world.answering(with_model=False), world.answering()):
        answer = await answering.ask(SESSION, 2, GROUP, UNRELATED)
        assert answer.kind is AnswerKind.NOTHING_FOUND
        assert answer.text == "资料里没有找到相关内容。最接近的文件是「差旅制度.pdf」，可以换个更具体的问法。"
        assert (await world.stored())[-2:] == [UNRELATED.text, answer.text]
        empty = await answering.ask(SESSION, 2, KnowledgeCollection("group_9"), QUESTION)
        assert empty.kind is AnswerKind.NOTHING_FOUND
        assert "还没有资料" in empty.text


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("三百五十元[1]。", AnswerKind.WRITTEN),
        # Not cited, and a figure that the passage does not contain: the model did not check.
        ("要先找领导批。", AnswerKind.NOTHING_FOUND),
        ("四百九十九元[1]。", AnswerKind.NOTHING_FOUND),
        ("499[1]", AnswerKind.NOTHING_FOUND),
        ("ERR-499\n见资料[1]。", AnswerKind.NOTHING_FOUND),
        (NOTHING_MARK, AnswerKind.NOTHING_FOUND),
    ],
)
async def test_an_uncertain_passage_is_used_only_with_a_proof(world: World, reply: str, kind: AnswerKind) -> None:
    world.reranker.given = {PASSAGE: 0.25}
    world.model.reply = reply
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is kind
    assert bool(answer.sources) is (kind is AnswerKind.WRITTEN)


@pytest.mark.parametrize("request_text", ["列出报销的条件", "给我差旅条款", "我要退掉这门课"])
async def test_a_request_is_no_small_talk(world: World, request_text: str) -> None:
    world.reranker.given = {PASSAGE: 0.0}
    world.model.reply = "由张三审批，找他签字就行，随时能办。"
    answer = await world.answering().ask(SESSION, 2, GROUP, Question(request_text))
    assert answer.kind is AnswerKind.NOTHING_FOUND


async def test_an_uncertain_passage_is_not_quoted_after_a_failure_of_the_model(world: World) -> None:
    world.reranker.given = {PASSAGE: 0.25}
    world.model.reply = RuntimeError("down")
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert (answer.kind, answer.sources) == (AnswerKind.FAILED, ())
    assert PASSAGE not in answer.text
    world.model.reply = "三百五十元[1]。"
    assert (await world.answering(general=True).ask(SESSION, 2, GROUP, QUESTION)).sources == ()


async def test_general_knowledge_only_where_it_is_allowed(world: World) -> None:
    world.model.reply = "水在 100 度沸腾。"
    # Repeating the answer does not make it a known fact.
    for _ in range(2):
        answer = await world.answering().ask(SESSION, 2, GROUP, UNRELATED)
        assert answer.kind is AnswerKind.NOTHING_FOUND
    answer = await world.answering(general=True).ask(SESSION, 2, GROUP, UNRELATED)
    assert (answer.kind, answer.text) == (AnswerKind.GENERAL, f"{GENERAL_LABEL}\n水在 100 度沸腾。")


async def test_what_was_not_whole_is_said(world: World) -> None:
    world.model.finish_reason = "length"
    world.library.embeddings.fail = True
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.WRITTEN
    assert answer.notice == "向量服务暂时连不上。（QZ-R01）这次只按字词查找。（回答太长，被模型截断了，可以接着问。）"
    quoted = await world.answering(with_model=False).ask(SESSION, 2, GROUP, QUESTION)
    assert quoted.notice == "向量服务暂时连不上。（QZ-R01）这次只按字词查找。"


async def test_a_turn_that_cannot_be_stored_is_answered_and_said(world: World) -> None:
    async with world.database.writing() as session:
        await session.execute(text("CREATE TRIGGER broken BEFORE INSERT ON history BEGIN DELETE FROM gone; END"))
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert (answer.kind, answer.text) == (AnswerKind.WRITTEN, "三百五十元〔1〕。")
    assert answer.notice == "（这一轮对话没能记下来，后面可能接不上。QZ-D03）"
    assert await world.stored() == []
    assert (await world.conversations.recent(SESSION, 5))[0].state == "failed"


async def test_a_file_that_is_deleted_meanwhile_is_not_cited(world: World) -> None:

    async def delete_and_write(_messages: object) -> str:
        (row,) = await world.library.records.page(GROUP.name, 0, 2)
        await world.library.records.discard([row])
        return "三百五十元[1]。"

    world.model.reply = delete_and_write
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.NOTHING_FOUND
    assert answer.sources == ()
    assert "三百五十" not in answer.text and "被删除" in answer.text
    assert await world.conversations.sources(SESSION) == []


class TestSource:
    @pytest.mark.parametrize("with_model", [True, False])
    async def test_the_passage_is_given_whole(self, world: World, with_model: bool) -> None:
        await world.answering(with_model=with_model).ask(SESSION, 2, GROUP, QUESTION)
        # A new service, as after a restart.
        found = await world.answering(with_model=with_model).source(SESSION, GROUP, 1)
        assert found.status is SourceStatus.FOUND
        assert found.reference is not None
        assert (found.reference.place, found.reference.version, found.reference.text) == (PLACE, 1, PASSAGE)

    async def test_a_number_that_the_answer_does_not_have(self, world: World) -> None:
        answering = world.answering()
        assert await answering.source(SESSION, GROUP, 1) == CitedPassage(SourceStatus.UNKNOWN)
        await answering.ask(SESSION, 2, GROUP, QUESTION)
        assert await answering.source(SESSION, GROUP, 2) == CitedPassage(SourceStatus.UNKNOWN, numbers=(1,))
        assert (await answering.source("group_1_3", GROUP, 1)).status is SourceStatus.UNKNOWN

    async def test_an_answer_without_sources_does_not_hide_the_last_ones(self, world: World) -> None:
        answering = world.answering()
        await answering.ask(SESSION, 2, GROUP, QUESTION)
        world.model.reply = "不客气！"
        await answering.ask(SESSION, 2, GROUP, Question("谢谢"))
        assert (await answering.source(SESSION, GROUP, 1)).status is SourceStatus.FOUND

    async def test_a_document_that_is_gone_or_newer(self, world: World) -> None:
        answering = world.answering()
        await answering.ask(SESSION, 2, GROUP, QUESTION)
        await world.library.add(GROUP.name, "差旅制度.pdf", ["住宿标准为每晚四百元。"], page=3)
        assert await answering.source(SESSION, GROUP, 1) == CitedPassage(SourceStatus.GONE)

    async def test_another_knowledge_base_is_never_read(self, world: World) -> None:
        answering = world.answering()
        await answering.ask(SESSION, 2, GROUP, QUESTION)
        assert await answering.source(SESSION, OTHER, 1) == CitedPassage(SourceStatus.GONE)

    async def test_clearing_the_memory_forgets_it(self, world: World) -> None:
        answering = world.answering()
        await answering.ask(SESSION, 2, GROUP, QUESTION)
        await world.conversations.forget(SESSION)
        assert await answering.source(SESSION, GROUP, 1) == CitedPassage(SourceStatus.UNKNOWN)

    async def test_the_text_is_not_kept_with_the_turn(self, world: World) -> None:
        await world.answering().ask(SESSION, 2, GROUP, QUESTION)
        async with world.database.reading() as session:
            (stored,) = (await session.execute(text("SELECT sources FROM turns"))).scalars()
        assert "build_id" in stored
        assert "超出自理" not in stored.encode().decode("unicode_escape")

    async def test_a_failing_index_is_a_failure(self, world: World) -> None:
        answering = world.answering()
        await answering.ask(SESSION, 2, GROUP, QUESTION)
        world.library.index.fail = True
        with pytest.raises(SearchIndexError):
            await answering.source(SESSION, GROUP, 1)


class TestUnasked:
    async def found(self, world: World) -> Retrieval:
        """Return what the proactive mode passes on."""
        return await world.retriever.retrieve(GROUP.name, QUESTION)

    async def test_it_is_written_without_anybodys_memory(self, world: World) -> None:
        await world.answering().ask(SESSION, 2, GROUP, Question("你好"))
        before = await world.stored()
        answer = await world.answering().answer_unasked(GROUP, QUESTION, await self.found(world))
        assert answer is not None
        assert (answer.kind, answer.text) == (AnswerKind.WRITTEN, "三百五十元〔1〕。")
        assert [message.type for message in world.model.prompts[-1]] == ["system", "human"]
        assert await world.stored() == before
        assert (await world.conversations.totals(SESSION)).turns == 1

    @pytest.mark.parametrize(
        "reply",
        [
            NOTHING_MARK,
            "资料里没有提到这个〔1〕。",
            "可以的。",
            "每晚 500 元〔1〕。",
            "",
            RuntimeError("down"),
        ],
    )
    async def test_silence_rather_than_doubt(self, world: World, reply: object) -> None:
        world.model.reply = reply
        assert await world.answering().answer_unasked(GROUP, QUESTION, await self.found(world)) is None
        assert len(world.model.prompts) == 1

    async def test_its_source_can_be_looked_up_by_anybody(self, world: World) -> None:
        answering = world.answering()
        assert await answering.answer_unasked(GROUP, QUESTION, await self.found(world))
        assert (await answering.source("group_1_9", GROUP, 1)).status is SourceStatus.FOUND
        assert (await answering.source("group_2_9", KnowledgeCollection("group_2"), 1)).status is SourceStatus.UNKNOWN

    async def test_without_a_model_the_excerpt(self, world: World) -> None:
        answer = await world.answering(with_model=False).answer_unasked(GROUP, QUESTION, await self.found(world))
        assert answer is not None
        assert (answer.kind, [source.number for source in answer.sources]) == (AnswerKind.EXCERPT, [1])

    @pytest.mark.parametrize("status", [each for each in RetrievalStatus if each is not RetrievalStatus.USABLE])
    async def test_what_is_not_usable_asks_no_model(self, world: World, status: RetrievalStatus) -> None:
        retrieval = Retrieval(status, nearest=("差旅制度.pdf",), chunk_count=1)
        for with_model in (True, False):
            answering = world.answering(with_model=with_model, general=True)
            assert await answering.answer_unasked(GROUP, QUESTION, retrieval) is None
        assert world.model.prompts == []


class TestTraces:
    """The record of how an answer came about."""

    async def test_everything_that_an_answer_rests_on(self, world: World) -> None:
        answer = await world.answering().ask(SESSION, 2, GROUP, Question(QUESTION.text, "出差的事"))
        (record,) = await world.traces.latest("group_1", 9)
        assert (record.raw_question, record.response) == (QUESTION.text, answer.text)
        assert (record.trace.kind, record.trace.outcome) == ("question", "written")
        assert (record.trace.session_id, record.trace.collection, record.trace.turn_id) == (SESSION, GROUP.name, 1)
        # The quoted message is another one, which may be recalled.
        assert "出差的事" not in record.model_dump_json()
        assert [time.stage for time in record.trace.stages] == ["embed", "search", "rerank", "model", "total"]
        assert all(time.milliseconds >= 0 for time in record.trace.stages)
        assert (record.tool_name, record.tool_config["submit_top_k"]) == ("retriever", 5)
        gate = record.trace.gate
        assert gate is not None
        assert (gate.status, gate.recall, gate.rerank, gate.approved, gate.chunk_count) == ("usable", 1, 1, 1, 1)
        assert [(item.score, item.verdict) for item in gate.candidates] == [(0.5, "approved")]
        assert [(item.number, item.cited_as) for item in gate.passages] == [(1, 1)]

    async def test_passages_are_looked_up_as_long_as_their_document_is_there(self, world: World) -> None:
        await world.answering().ask(SESSION, 2, GROUP, QUESTION)
        (record,) = await world.traces.latest("group_1", 9)
        assert PASSAGE not in record.model_dump_json()
        await look_up(record, world.retriever)
        gate = record.trace.gate
        assert gate is not None
        assert [(item.label, item.text) for item in gate.passages] == [(PLACE, PASSAGE)]
        assert [(item.label, item.text) for item in gate.candidates] == [(PLACE, PASSAGE)]
        assert record.retriver_chunks == [PASSAGE]

        (record,) = await world.traces.latest("group_1", 9)
        gate = record.trace.gate
        assert gate is not None
        gate.passages, gate.candidates[0].verdict = [], "below_score"
        await look_up(record, world.retriever)
        assert [(item.label, item.text) for item in gate.candidates] == [(PLACE, "")]

        await world.library.add(GROUP.name, "差旅制度.pdf", ["住宿标准为每晚四百元。"], page=3)
        (record,) = await world.traces.latest("group_1", 9)
        await look_up(record, world.retriever)
        assert "三百五十" not in record.model_dump_json()
        assert (record.trace.erased, record.retriver_chunks) == (True, [])

    async def test_a_failed_search_has_no_decision_of_the_gate(self, world: World) -> None:
        world.library.index.fail = True
        answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
        (record,) = await world.traces.latest("group_1", 9)
        assert (record.trace.gate, record.trace.outcome, record.response) == (None, "failed", answer.text)

    async def test_a_recalled_question_leaves_no_text(self, world: World) -> None:
        begun = asyncio.Event()

        async def never(_: object) -> str:
            begun.set()
            await asyncio.Event().wait()
            return ""

        world.model.reply = never
        task = asyncio.create_task(world.answering().ask(SESSION, 2, GROUP, QUESTION))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (record,) = await world.traces.latest("group_1", 9)
        assert (record.trace.outcome, record.trace.erased) == ("cancelled", True)
        assert "住宿" not in record.model_dump_json()

    async def test_clearing_the_memory_erases_the_texts_of_this_session(self, world: World) -> None:
        answering = world.answering()
        for session_id in (SESSION, "group_1_3"):
            await answering.ask(session_id, 2, GROUP, QUESTION)
        await world.traces.flush()
        await world.conversations.forget(SESSION)
        other, cleared = await world.traces.latest("group_1", 9)
        assert (other.raw_question, cleared.raw_question) == (QUESTION.text, "")
        assert "三百五十" not in cleared.model_dump_json()

    async def test_what_was_forgotten_before_it_was_written_down_stays_forgotten(self, world: World) -> None:
        await world.answering().ask(SESSION, 2, GROUP, QUESTION)
        await world.conversations.forget(SESSION)
        (record,) = await world.traces.latest("group_1", 9)
        assert (record.trace.erased, record.raw_question, record.response) == (True, "", "")

    async def test_unasked_answers_belong_to_the_group(self, world: World) -> None:
        arrived(Origin("group_1", 77))
        retrieval = await world.retriever.retrieve(GROUP.name, QUESTION)
        assert await world.answering().answer_unasked(GROUP, QUESTION, retrieval) is not None
        (record,) = await world.traces.latest("group_1", 9)
        assert (record.trace.kind, record.trace.session_id, record.trace.message_id) == ("unasked", "", 77)
        assert await world.traces.latest("group_2", 9) == []

    async def test_a_message_that_is_not_answered_unasked_leaves_no_text(self, world: World) -> None:
        arrived(Origin("group_1", 78))
        world.model.reply = NOTHING_MARK
        retrieval = await world.retriever.retrieve(GROUP.name, QUESTION)
        assert await world.answering().answer_unasked(GROUP, QUESTION, retrieval) is None
        (record,) = await world.traces.latest("group_1", 9)
        assert (record.trace.outcome, record.raw_question, record.response) == ("silent", "", "")

    async def test_an_answer_is_sent_even_if_its_record_cannot_be_stored(self, world: World) -> None:
        async with world.database.writing() as session:
            await session.execute(text("DROP TABLE traces"))
        assert (await world.answering().ask(SESSION, 2, GROUP, QUESTION)).kind is AnswerKind.WRITTEN
        await world.traces.flush()


async def test_the_log_tells_how_a_question_was_answered(world: World) -> None:
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    world.model.reply = RuntimeError("down")
    failed = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    turns = await world.conversations.recent(SESSION, 5)
    assert [turn.id for turn in turns] == [answer.turn_id, failed.turn_id]
    details = [details_of(turn) for turn in turns]
    assert [each.outcome for each in details] == [AnswerKind.WRITTEN, AnswerKind.FAILED]
    (source,) = answer.sources
    for each in details:
        (passage,) = each.retrieved
        assert (passage.build_id, passage.first_ordinal) == (source.build_id, source.first_ordinal)
        assert 0 < passage.score <= 1
