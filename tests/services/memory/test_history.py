"""The part of a conversation that the model is shown, and how one turn is stored."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from services.database import open_database, sqlite_url
from services.errors import HistoryError
from services.memory.history import TurnHistory, within_budget
from services.records.conversations import ConversationRecords
from services.records.stored_values import StoredMessage

SESSION = "group_1_2"
TEXTS = st.text("字a ", max_size=30)
EXCHANGES = st.lists(st.tuples(TEXTS, TEXTS), max_size=8)


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[ConversationRecords]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield ConversationRecords(database)
    await database.close()


def conversation(exchanges: list[tuple[str, str]]) -> list[BaseMessage]:
    return [message for asked, said in exchanges for message in (HumanMessage(asked), AIMessage(said))]


@given(st.lists(TEXTS, max_size=3), EXCHANGES, st.integers(4, 120))
def test_the_budget_keeps_the_latest_whole_exchanges(
    summaries: list[str], exchanges: list[tuple[str, str]], budget: int
) -> None:
    spoken = conversation(exchanges)
    shown = within_budget([*map(SystemMessage, summaries), *spoken], budget)
    systems = [message for message in shown if message.type == "system"]
    kept = [message for message in shown if message.type != "system"]
    assert len(systems) == (1 if summaries else 0)
    assert shown[: len(systems)] == systems
    assert kept == spoken[len(spoken) - len(kept) :]
    assert not spoken or len(kept) >= 2
    assert not kept or kept[0].type == "human"
    used = sum(len(message.text) for message in kept)
    summary = "\n".join(summaries)[-budget // 2 :] if summaries else ""
    if systems:
        assert systems[0].text == summary
    if len(kept) > 2:
        assert used + len(summary) <= budget
    # Nothing that would have fitted was left out.
    if len(kept) < len(spoken):
        exchange = spoken[len(spoken) - len(kept) - 2 : len(spoken) - len(kept)]
        assert used + len(summary) + sum(len(message.text) for message in exchange) > budget


def test_a_long_summary_keeps_its_end() -> None:
    (shown,) = within_budget([SystemMessage("头" * 100 + "原文要点")], budget=8)
    assert shown.text == "原文要点"


def test_a_conversation_within_the_budget_is_shown_whole() -> None:
    spoken = conversation([("问", "答")] * 50)
    assert within_budget(spoken) == spoken


async def test_a_turn_reads_what_was_before(records: ConversationRecords) -> None:
    first = TurnHistory(records, SESSION)
    assert await first.aget_messages() == []
    turn_id = await records.begin(SESSION, 2, "一")
    exchange = [StoredMessage(type="human", text="一"), StoredMessage(type="ai", text="答一〔1〕，见【2】和[3]")]
    await records.complete(turn_id, "答一〔1〕，见【2】和[3]", exchange)
    assert await first.aget_messages() == [], "a history is read once"
    shown = await TurnHistory(records, SESSION).aget_messages()
    # The numbers of an earlier answer would now name other passages.
    assert [(message.type, message.text) for message in shown] == [("human", "一"), ("ai", "答一，见和")]
    (turn,) = await records.recent(SESSION, 5)
    assert turn.answer == "答一〔1〕，见【2】和[3]"


async def test_the_exchange_with_the_model_is_not_stored(records: ConversationRecords) -> None:
    await TurnHistory(records, SESSION).aadd_messages([HumanMessage("一"), AIMessage("未经检查")])
    assert await records.history(SESSION) == []


async def test_the_synchronous_interface_is_refused(records: ConversationRecords) -> None:
    history = TurnHistory(records, SESSION)
    with pytest.raises(HistoryError):
        _ = history.messages
    with pytest.raises(HistoryError):
        history.add_messages([HumanMessage("x")])
    with pytest.raises(HistoryError):
        history.clear()
