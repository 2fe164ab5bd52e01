"""Questions to answers: written, quoted, nothing found, or one sentence about what failed."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import text

from services.answering.models import AnswerKind, Source
from services.answering.service import QuestionAnswering
from services.database import Database, open_database, sqlite_url
from services.memory.service import MemoryService
from services.prompts import load_prompts
from services.rag import RagChain
from services.records.conversations import ConversationRecords
from services.records.documents import DocumentRecords
from services.session import Collection
from services.settings import MemorySettings
from tests.fakes.chat import ScriptedChatModel, chat_model
from tests.services.retrieval.library import Library

GROUP, SESSION = Collection("group_1"), "group_1_2"
QUESTION = "住宿标准为每晚多少元"
PLACE = "差旅制度.pdf 第3页"


@dataclass
class World:
    """Everything below answering."""

    database: Database
    library: Library
    conversations: ConversationRecords
    model: ScriptedChatModel

    def answering(self, *, with_model: bool = True) -> QuestionAnswering:
        """As the container makes it."""
        model = chat_model(self.model) if with_model else None
        prompts = load_prompts()
        memory = MemoryService(self.conversations, MemorySettings.model_validate({}), model, prompts.summary)
        retriever = self.library.retriever
        return QuestionAnswering(retriever, RagChain(retriever, model, prompts, 5) if model else None, memory, 5)

    async def stored(self) -> list[str]:
        """The working history."""
        return [record.message["data"]["content"] for record in await self.conversations.history(SESSION)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    library = Library(DocumentRecords(database))
    await library.add(GROUP.name, "差旅制度.pdf", ["住宿标准为每晚三百五十元，超出自理。"], page=3)
    yield World(database, library, ConversationRecords(database), ScriptedChatModel(reply="三百五十元[1]。"))
    await database.close()


async def test_a_written_answer_cites_its_sources(world: World) -> None:
    world.model.reply = "**三百五十元**[1]，超出自理【1】，编造[7]。"
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.WRITTEN
    assert answer.text == "三百五十元〔1〕，超出自理〔1〕，编造。"
    assert (answer.sources, answer.cited, answer.notice) == ((Source(1, PLACE),), True, "")
    assert (await world.stored())[0] == QUESTION


async def test_an_answer_without_citations_lists_what_it_may_rest_on(world: World) -> None:
    world.model.reply = "三百五十元。"
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert (answer.sources, answer.cited) == ((Source(1, PLACE),), False)
    chat = await world.answering().ask(SESSION, 2, GROUP, "qwerty zxcvbn")
    assert (chat.kind, chat.sources) == (AnswerKind.WRITTEN, ())


async def test_a_failing_model_gives_a_sentence_and_the_passage(world: World) -> None:
    world.model.reply = RuntimeError("secret detail")
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.FAILED
    assert answer.notice == "模型的回答读不懂，请稍后再问。"
    assert "「住宿标准为每晚三百五十元，超出自理。」〔1〕" in answer.text
    assert answer.sources == (Source(1, PLACE),)
    assert "secret detail" not in answer.text + answer.notice
    assert await world.stored() == []
    (turn,) = await world.conversations.recent(SESSION, 5)
    assert (turn.question, turn.state, turn.answer) == (QUESTION, "failed", "")


async def test_a_failing_model_without_a_passage_gives_the_sentence(world: World) -> None:
    world.model.reply = ""
    answer = await world.answering().ask(SESSION, 2, GROUP, "qwerty zxcvbn")
    assert (answer.kind, answer.text, answer.sources) == (
        AnswerKind.FAILED,
        "模型没有给出内容，请稍后再试。",
        (),
    )
    assert await world.stored() == []


@pytest.mark.parametrize("with_model", [True, False])
async def test_a_failing_index_gives_a_sentence(world: World, with_model: bool) -> None:
    world.library.index.fail = True
    answer = await world.answering(with_model=with_model).ask(SESSION, 2, GROUP, QUESTION)
    assert (answer.kind, answer.text) == (AnswerKind.FAILED, "资料索引出错了，请稍后再试。")
    assert await world.stored() == []
    assert (await world.conversations.recent(SESSION, 5))[0].state == "failed"


async def test_without_a_model_the_files_are_quoted(world: World) -> None:
    answer = await world.answering(with_model=False).ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.EXCERPT
    assert answer.text == "原文摘录：\n「住宿标准为每晚三百五十元，超出自理。」〔1〕"
    assert (answer.sources, answer.cited) == ((Source(1, PLACE),), True)
    assert await world.stored() == [QUESTION, answer.text]
    assert world.model.prompts == []


async def test_nothing_found_names_what_is_nearest(world: World) -> None:
    answering = world.answering(with_model=False)
    answer = await answering.ask(SESSION, 2, GROUP, "qwerty zxcvbn")
    assert answer.kind is AnswerKind.NOTHING_FOUND
    assert "「差旅制度.pdf」" in answer.text
    empty = await answering.ask(SESSION, 2, Collection("group_9"), QUESTION)
    assert empty.kind is AnswerKind.NOTHING_FOUND
    assert "还没有资料" in empty.text


async def test_what_was_not_whole_is_said(world: World) -> None:
    world.model.finish_reason = "length"
    world.library.embeddings.fail = True
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert answer.kind is AnswerKind.WRITTEN
    assert answer.notice == "向量服务暂时连不上。这次只按字词查找。（回答太长，被模型截断了，可以接着问。）"
    quoted = await world.answering(with_model=False).ask(SESSION, 2, GROUP, QUESTION)
    assert quoted.notice == "向量服务暂时连不上。这次只按字词查找。"


async def test_a_turn_that_cannot_be_stored_is_answered_and_said(world: World) -> None:
    async with world.database.writing() as session:
        await session.execute(
            text("CREATE TRIGGER broken BEFORE INSERT ON history BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END")
        )
    answer = await world.answering().ask(SESSION, 2, GROUP, QUESTION)
    assert (answer.kind, answer.text) == (AnswerKind.WRITTEN, "三百五十元〔1〕。")
    assert answer.notice == "（这一轮对话没能记下来，后面可能接不上。）"
    assert await world.stored() == []
    assert (await world.conversations.recent(SESSION, 5))[0].state == "failed"
