"""The queue with a real LangGraph workflow: its checkpoint survives a restart, and its loss loses nothing."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from services.database import Database, open_database, sqlite_url
from services.grounding.models import Answer, AnswerKind
from services.memory.turns import Turn
from services.records.reviews import Review
from services.reviews.models import Approved, Edited, Reviewer
from tests.services.reviews.world import ASKER, CHAT, SESSION, Chat, request, started

ADMIN = Reviewer(10003, "小李")


class State(TypedDict, total=False):
    draft: str
    answer: str


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


@asynccontextmanager
async def workflow(path: Path, review_node: str = "human_review") -> AsyncGenerator[Any]:
    """Yield a compiled graph with a checkpoint file, as one release of the bot has it."""

    def review(state: State) -> State:
        decided = interrupt({"draft": state.get("draft", "")})
        return {"answer": decided["answer"]}

    def finish(state: State) -> State:
        return {"answer": f"{state.get('answer', '')}（排好版）"}

    graph = StateGraph(State)
    graph.add_node(review_node, review)
    graph.add_node("finish", finish)
    graph.add_edge(START, review_node)
    graph.add_edge(review_node, "finish")
    graph.add_edge("finish", END)
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield graph.compile(checkpointer=saver)


def _config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


async def _waiting(database: Database, chat: Chat, graph: Any) -> Review:
    process = started(database, chat)
    async with process.turns.begin(SESSION, ASKER, "能退款吗") as turn:
        state = await graph.ainvoke({"draft": "七天内可以退。"}, _config(f"turn-{turn.id}"), durability="exit")
        assert "__interrupt__" in state
        review = await process.queue.open(request(turn_id=turn.id))
        await turn.wait("qa", f"turn-{turn.id}")
    return review


def _continuation(graph: Any) -> Any:
    async def resume(review: Review, turn: Turn) -> Answer | None:
        config = _config(turn.checkpoint_id)
        # A thread that does not wait runs nothing when it is resumed, and raises nothing.
        if not (await graph.aget_state(config)).interrupts:
            return None
        state = await graph.ainvoke(Command(resume={"answer": review.answer}), config, durability="exit")
        return Answer(AnswerKind.WRITTEN, state["answer"]) if state.get("answer") else None

    return resume


async def test_a_turn_goes_on_from_its_checkpoint_after_a_restart(database: Database, tmp_path: Path) -> None:
    chat, path = Chat(), tmp_path / "checkpoints.sqlite3"
    async with workflow(path) as graph:
        review = await _waiting(database, chat, graph)
    async with workflow(path) as graph:
        process = started(database, chat)
        await process.turns.restore()
        process.queue.continue_with(_continuation(graph))
        await process.queue.decide(CHAT, review.number, Edited("十天内可以退。"), ADMIN)
    assert [text for _, text in chat.answers] == ["十天内可以退。（排好版）"]


async def test_an_upgrade_that_renames_the_node_loses_nothing(database: Database, tmp_path: Path) -> None:
    chat, path = Chat(), tmp_path / "checkpoints.sqlite3"
    async with workflow(path) as graph:
        review = await _waiting(database, chat, graph)
    async with workflow(path, "review_by_a_person") as graph:
        process = started(database, chat)
        await process.turns.restore()
        process.queue.continue_with(_continuation(graph))
        await process.queue.decide(CHAT, review.number, Approved(), ADMIN)
    assert [text for _, text in chat.answers] == ["七天内可以退。"]


async def test_a_lost_checkpoint_file_loses_nothing(database: Database, tmp_path: Path) -> None:
    chat = Chat()
    async with workflow(tmp_path / "first.sqlite3") as graph:
        review = await _waiting(database, chat, graph)
    async with workflow(tmp_path / "second.sqlite3") as graph:
        process = started(database, chat)
        await process.turns.restore()
        process.queue.continue_with(_continuation(graph))
        await process.queue.decide(CHAT, review.number, Approved(), ADMIN)
    assert [text for _, text in chat.answers] == ["七天内可以退。"]
