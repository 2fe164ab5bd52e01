"""The budget of the model: every call is counted with its tokens, no limit is exceeded, no group blocks another."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from pydantic import BaseModel
from sqlalchemy import select, text

from services.budgets.charge import Charge, charged
from services.budgets.day import beginning_of, today
from services.budgets.model import CALLS_AT_ONCE, DayUsage, ModelBudget, estimated_tokens, require_prices
from services.database import Database, open_database, sqlite_url
from services.errors import ModelBudgetSpent, ModelError, ModelTimeout, SettingsError
from services.faq.service import FaqService
from services.grounding.models import AnswerKind
from services.knowledge.catalogue import Catalogue
from services.llm import ChatModel, open_chat_model
from services.llm.images import image_message
from services.llm.prices import Price
from services.memory.order import SessionOrder
from services.memory.service import MemoryService
from services.memory.turns import Turns
from services.prompts import load_prompts
from services.rag import RagChain
from services.records.conversations import ConversationRecords
from services.records.faq import FaqRecords
from services.records.tables import ModelCallRecord
from services.records.traces import TraceRecords
from services.records.usage import ModelUsage, UsageRecords
from services.retrieval.models import Question
from services.session import KnowledgeCollection
from services.settings import BudgetSettings, LLMSettings, MemorySettings, TraceSettings
from services.tracing.service import TraceService
from services.workflows.qa.about_files import AboutFiles
from services.workflows.qa.service import QuestionAnswering
from tests.e2e.model_server import Mode, ModelServer
from tests.fakes.chat import Reply, ScriptedChatModel
from tests.services.retrieval.library import Library

PROMPT = [HumanMessage("住宿标准是多少")]
HERE, THERE = Charge("group_777"), Charge("group_778")


class Words(BaseModel):
    """The schema of a structured call."""

    words: list[str]


@dataclass
class World:
    """A budget over a real database, on a day that the test sets."""

    database: Database
    settings: dict[str, float] = field(default_factory=dict[str, float])
    day: date = field(default_factory=today)

    @property
    def budget(self) -> ModelBudget:
        """A budget as after a start of the bot, before it counts what was used earlier today."""
        settings = BudgetSettings.model_validate(self.settings)
        return ModelBudget(UsageRecords(self.database), settings, day=lambda: self.day)

    async def calls(self) -> list[ModelCallRecord]:
        """Return the recorded calls."""
        async with self.database.reading() as session:
            return list(await session.scalars(select(ModelCallRecord).order_by(ModelCallRecord.id)))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield World(database)
    await database.close()


def scripted(budget: ModelBudget, reply: Reply, deadline_s: float = 10) -> ChatModel:
    return ChatModel(
        ScriptedChatModel(reply=reply), "scripted", deadline_s=deadline_s, structured_method="json_mode", meter=budget
    )


async def ask(model: ChatModel, charge: Charge = HERE) -> AIMessage:
    with charged(charge):
        return await model.reply(PROMPT)


async def test_every_call_is_written_down_with_the_tokens_of_the_service(world: World) -> None:
    async with ModelServer() as server:
        server.reply = "三百五十元。"
        values = {"base_url": server.base_url, "api_key": "k", "model": "m", "timeout_s": 5, "max_retries": 0}
        model = open_chat_model(LLMSettings.model_validate(values), "m", world.budget)
        await ask(model)
        server.reply = '{"words": ["旅馆"]}'
        with charged(THERE):
            assert await model.structured([HumanMessage("JSON")], Words) == Words(words=["旅馆"])
        server.reply = "不是 JSON"
        with charged(THERE), pytest.raises(ModelError):
            await model.structured([HumanMessage("JSON")], Words)
    written = [
        (call.chat, call.turn_id, call.model, call.prompt_tokens, call.completion_tokens, call.estimated)
        for call in await world.calls()
    ]
    # The server counts one token per character.
    assert written == [
        ("group_777", None, "m", 7, 6, False),
        ("group_778", None, "m", 4, 17, False),
        ("group_778", None, "m", 4, 7, False),
    ]


async def test_an_object_that_was_cut_is_paid_for(world: World) -> None:
    async with ModelServer() as server:
        server.reply = '{"words": ["旅馆"]}'
        server.switch(Mode.LENGTH)
        values = {"base_url": server.base_url, "api_key": "k", "model": "m", "timeout_s": 5, "max_retries": 0}
        model = open_chat_model(LLMSettings.model_validate(values), "m", world.budget)
        with charged(HERE), pytest.raises(ModelError):
            await model.structured([HumanMessage("JSON")], Words)
    (call,) = await world.calls()
    assert (call.prompt_tokens, call.completion_tokens, call.estimated) == (4, 8, False)


async def test_a_service_that_counts_wrongly_uses_up_no_day(world: World) -> None:
    usage: UsageMetadata = {"input_tokens": 10**9, "output_tokens": 10**9, "total_tokens": 2 * 10**9}
    reply = AIMessage("好的。", response_metadata={"finish_reason": "stop"}, usage_metadata=usage)
    await ask(scripted(world.budget, reply))
    (call,) = await world.calls()
    assert call.prompt_tokens < 2_000
    assert call.completion_tokens == 131_072


async def test_tokens_are_estimated_where_the_service_does_not_tell(world: World) -> None:
    await ask(scripted(world.budget, "三百五十元。"))
    (call,) = await world.calls()
    assert (call.prompt_tokens, call.completion_tokens, call.estimated) == (7, 6, True)


async def test_a_call_that_was_given_up_is_paid_for_and_one_that_failed_is_not(world: World) -> None:
    async def for_ever(_: list[BaseMessage]) -> str:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(ModelTimeout):
        await ask(scripted(world.budget, for_ever, deadline_s=0.05))
    stopped = asyncio.create_task(ask(scripted(world.budget, for_ever)))
    await asyncio.sleep(0.05)
    stopped.cancel()
    await asyncio.gather(stopped, return_exceptions=True)
    with pytest.raises(ModelError):
        await ask(scripted(world.budget, RuntimeError("refused")))
    assert [(call.prompt_tokens, call.completion_tokens) for call in await world.calls()] == [(7, 0), (7, 0), (0, 0)]


@pytest.mark.parametrize("texts", [("", 0), ("报销", 2), ("abcd", 1), ("abcde", 2), ("报销 a", 3), ("🎉", 1)])
def test_estimates(texts: tuple[str, int]) -> None:
    assert estimated_tokens(texts[0]) == texts[1]


async def test_calls_never_exceed_their_budget(world: World) -> None:
    world.settings = {"group_model_calls_per_day": 5}
    budget = world.budget
    model = ScriptedChatModel(reply=_slowly("好的。"))
    chat = ChatModel(model, "scripted", deadline_s=10, structured_method="json_mode", meter=budget)
    outcomes = await asyncio.gather(*(ask(chat) for _ in range(30)), return_exceptions=True)
    assert len(model.prompts) == len(await world.calls()) == 5
    refused = [outcome for outcome in outcomes if isinstance(outcome, ModelBudgetSpent)]
    assert len(refused) == 25
    assert {error.user_message for error in refused} == {"今天这里的模型用量用完了，明天再试。"}
    await ask(chat, THERE)
    world.day += timedelta(days=1)
    await ask(chat)


async def test_tokens_exceed_their_budget_by_the_calls_under_way_only(world: World) -> None:
    world.settings = {"group_model_tokens_per_day": 20}
    budget = world.budget
    model = scripted(budget, "三百五十元。")
    await ask(model)
    await ask(model)
    with pytest.raises(ModelBudgetSpent):
        await ask(model)
    assert sum(call.prompt_tokens + call.completion_tokens for call in await world.calls()) == 26


async def test_what_was_used_today_survives_a_restart(world: World) -> None:
    world.settings = {"group_model_calls_per_day": 2}
    before = world.budget
    await ask(scripted(before, "好的。"))
    await ask(scripted(before, "好的。"), THERE)
    after = world.budget
    await after.resume()
    await ask(scripted(after, "好的。"))
    with pytest.raises(ModelBudgetSpent):
        await ask(scripted(after, "好的。"))
    await ask(scripted(after, "好的。"), THERE)
    world.day += timedelta(days=1)
    tomorrow = world.budget
    await tomorrow.resume()
    await ask(scripted(tomorrow, "好的。"))


async def test_zero_is_unlimited(world: World) -> None:
    world.settings = {"group_model_calls_per_day": 0, "group_model_tokens_per_day": 0}
    budget = world.budget
    for _ in range(30):
        await ask(scripted(budget, "好的。"))
    assert len(await world.calls()) == 30


async def test_one_group_cannot_take_all_connections(world: World) -> None:
    async with ModelServer() as server:
        server.switch(Mode.SLOW, seconds=0.3)
        values = {"base_url": server.base_url, "api_key": "k", "model": "m", "timeout_s": 20, "max_retries": 0}
        model = open_chat_model(LLMSettings.model_validate(values), "m", world.budget)
        flood = [asyncio.create_task(ask(model)) for _ in range(5 * CALLS_AT_ONCE)]
        async with asyncio.timeout(10):
            while server.in_flight < CALLS_AT_ONCE:  # noqa: ASYNC110 - the server's clients are other tasks
                await asyncio.sleep(0.01)
        assert server.in_flight == CALLS_AT_ONCE
        await ask(model, THERE)
        assert sum(task.done() for task in flood) <= 2 * CALLS_AT_ONCE, "another group did not wait for them"
        await asyncio.gather(*flood)
        assert server.peak_in_flight <= CALLS_AT_ONCE + 1


async def test_a_call_that_nobody_pays_for_is_a_mistake(world: World) -> None:
    with pytest.raises(LookupError):
        await scripted(world.budget, "好的。").reply(PROMPT)


async def test_an_entry_that_cannot_be_written_costs_no_answer(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.settings = {"group_model_calls_per_day": 1}
    async with world.database.writing() as session:
        await session.execute(text("DROP TABLE model_calls"))
    model = scripted(world.budget, "好的。")
    assert (await ask(model)).text == "好的。"
    assert "could not be written down" in caplog.text
    with pytest.raises(ModelBudgetSpent):
        await ask(model)


# -- money ------------------------------------------------------------------------------------------------------------

# A prompt of seven tokens and an answer of six cost 7 * 2 + 6 * 8 millionths of a yuan.
PRICE, COST = Price(2, 0.5, 8), 62


def priced(budget: ModelBudget, reply: Reply = "三百五十元。", price: Price | None = PRICE) -> ChatModel:
    model = ScriptedChatModel(reply=reply)
    return ChatModel(model, "m", deadline_s=10, structured_method="json_mode", meter=budget, price=price)


async def test_money_is_summed_by_turn_chat_and_day(world: World) -> None:
    turns = [await ConversationRecords(world.database).begin("group_777_2", 2, "问题") for _ in range(2)]
    budget, records = world.budget, UsageRecords(world.database)
    for charge in (Charge("group_777", turns[0]), Charge("group_777", turns[0]), Charge("group_777", turns[1]), THERE):
        await ask(priced(budget), charge)
    await ask(priced(budget, price=None), THERE)
    assert await records.model_usage_of_turn(turns[0]) == ModelUsage(2, 26, 2 * COST)
    assert await records.model_usage_of_turn(turns[1]) == ModelUsage(1, 13, COST)
    assert await records.model_usage_of_turn(99) == ModelUsage()
    chats = {"group_777": ModelUsage(3, 39, 3 * COST), "group_778": ModelUsage(2, 26, COST, 1)}
    assert await records.model_usage_since(beginning_of(world.day)) == chats
    again = world.budget
    await again.resume()
    for each in (budget, again):
        assert each.today() == DayUsage(chats, ModelUsage(5, 65, 4 * COST, 1))
    world.day += timedelta(days=1)
    assert budget.today() == DayUsage({}, ModelUsage())


async def test_what_the_service_had_cached_is_cheaper(world: World) -> None:
    usage: UsageMetadata = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    usage["input_token_details"] = {"cache_read": 60}
    reply = AIMessage("好。", response_metadata={"finish_reason": "stop"}, usage_metadata=usage)
    await ask(priced(world.budget, reply))
    (call,) = await world.calls()
    assert call.cost == 40 * 2 + 60 * 0.5 + 10 * 8


async def test_the_table_prices_a_call_of_a_known_service(world: World) -> None:
    async with ModelServer() as server:
        server.reply = "三百五十元。"
        values = {"base_url": server.base_url, "api_key": "k", "model": "m", "prices": "m=2/0.5/8", "provider": "glm"}
        await ask(open_chat_model(LLMSettings.model_validate(values), "m", world.budget))
    (call,) = await world.calls()
    assert (call.provider, call.cost, call.estimated) == ("glm", COST, False)


async def test_the_money_of_a_chat_and_of_all_chats_is_limited(world: World) -> None:
    world.settings = {"group_cny_per_day": 2 * COST / 1e6, "total_cny_per_day": 3 * COST / 1e6}
    budget = world.budget
    for _ in range(2):
        await ask(priced(budget))
    with pytest.raises(ModelBudgetSpent):
        await ask(priced(budget))
    await ask(priced(budget), THERE)
    with pytest.raises(ModelBudgetSpent):
        await ask(priced(budget), THERE)
    world.day += timedelta(days=1)
    await ask(priced(budget))


def test_a_limit_that_would_not_hold_stops_the_start(world: World) -> None:
    models = [priced(world.budget), priced(world.budget, price=None)]
    for limit in ("group_cny_per_day", "total_cny_per_day"):
        with pytest.raises(SettingsError, match="LLM__PRICES"):
            require_prices(BudgetSettings.model_validate({limit: 1}), models)
        require_prices(BudgetSettings.model_validate({limit: 1}), models[:1])
    require_prices(BudgetSettings.model_validate({}), models)


async def test_a_stream_is_counted_however_it_ends(world: World) -> None:
    budget = world.budget
    with charged(HERE):
        assert "".join([piece async for piece in priced(budget).stream(PROMPT)]) == "三百五十元。"
        stream = priced(budget).stream(PROMPT)
        async for _ in stream:
            break
        await stream.aclose()
    whole, broken = await world.calls()
    assert (whole.prompt_tokens, whole.completion_tokens, whole.cost) == (7, 6, COST)
    assert (broken.prompt_tokens, broken.completion_tokens, broken.cost) == (7, 1, 22)


async def test_an_image_and_tools_count_as_prompt(world: World) -> None:
    budget = world.budget
    image = image_message("这是什么", [b"GIF89a"])
    seeing = ChatModel(
        ScriptedChatModel(), "m", deadline_s=10, structured_method="json_mode", meter=budget, sees_images=True
    )
    with charged(HERE):
        await seeing.reply([image])
        await seeing.reply(PROMPT, [Words])
    with_image, with_tools = await world.calls()
    assert with_image.prompt_tokens == 1_004
    assert with_tools.prompt_tokens > 20


# -- what users see ---------------------------------------------------------------------------------------------------

GROUP, SESSION = KnowledgeCollection("group_777"), "group_777_2"
PASSAGE = "住宿标准为每晚三百五十元，超出自理。"
QUESTION = Question("住宿标准为每晚多少元")


async def _answering(world: World, model: ScriptedChatModel) -> tuple[QuestionAnswering, MemoryService]:
    library = Library(world.database)
    await library.add(GROUP.name, "差旅制度.pdf", [PASSAGE], page=3)
    budget = world.budget
    chat = ChatModel(model, "scripted", deadline_s=10, structured_method="json_mode", meter=budget)
    prompts, retriever = load_prompts(), library.retriever
    settings = MemorySettings.model_validate({"max_history_messages": 4, "summary_chunk_size": 2})
    order = SessionOrder()
    memory = MemoryService(ConversationRecords(world.database), settings, chat, prompts.summary, order)
    chain = RagChain(chat, prompts)
    traces = TraceService(TraceRecords(world.database), TraceSettings.model_construct())
    about_files = AboutFiles(Catalogue(library.records, library.index), retriever, memory)
    faq = FaqService(FaqRecords(world.database), library.records, library.model)
    turns = Turns(ConversationRecords(world.database), order)
    return QuestionAnswering(retriever, chain, None, turns, memory, traces, about_files, faq, budget), memory


async def test_without_budget_the_bot_quotes_and_says_so_once_a_day(world: World) -> None:
    world.settings = {"group_model_calls_per_day": 1}
    model = ScriptedChatModel(reply="三百五十元[1]。")
    answering, memory = await _answering(world, model)
    written = await answering.ask(SESSION, 2, GROUP, QUESTION)
    assert (written.kind, written.notice) == (AnswerKind.WRITTEN, "")
    (call,) = await world.calls()
    assert call.turn_id is not None
    quoted = await answering.ask(SESSION, 2, GROUP, QUESTION)
    assert quoted.kind is AnswerKind.EXCERPT
    assert PASSAGE in quoted.text
    assert quoted.sources
    assert quoted.notice == "今天这里的模型用量用完了，先只摘录资料原文，明天恢复。"
    for session_id in (SESSION, "group_777_3"):
        again = await answering.ask(session_id, int(session_id[-1]), GROUP, QUESTION)
        assert (again.kind, again.notice) == (AnswerKind.EXCERPT, "")
    # The conversation is remembered, but not summarised.
    assert (await memory.status(SESSION)).history == 6
    answering.schedule_summary(SESSION)
    await asyncio.sleep(0.1)
    assert (await memory.status(SESSION)).history == 6
    with pytest.raises(ModelBudgetSpent):
        await memory.compact(SESSION)
    assert len(model.prompts) == 1
    elsewhere = await answering.ask("private_2", 2, GROUP, QUESTION)
    assert elsewhere.kind is AnswerKind.WRITTEN
    world.day += timedelta(days=1)
    assert (await answering.ask(SESSION, 2, GROUP, QUESTION)).kind is AnswerKind.WRITTEN
    await memory.close()


async def test_summaries_are_paid_by_the_group_of_their_conversation(world: World) -> None:
    answering, memory = await _answering(world, ScriptedChatModel(reply="三百五十元[1]。"))
    for _ in range(3):
        await answering.ask(SESSION, 2, GROUP, QUESTION)
    answering.schedule_summary(SESSION)
    while len(calls := await world.calls()) < 4:  # noqa: ASYNC110 - another task writes it
        await asyncio.sleep(0.01)
    assert [(call.chat, call.turn_id) for call in calls] == [
        ("group_777", 1),
        ("group_777", 2),
        ("group_777", 3),
        ("group_777", None),
    ]
    await memory.close()


def _slowly(reply: str) -> Callable[[list[BaseMessage]], Any]:
    async def answer(_: list[BaseMessage]) -> str:
        await asyncio.sleep(0.01)
        return reply

    return answer
