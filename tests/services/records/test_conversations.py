"""What is stored with a turn: its citations, its details and its dialogue."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.database import open_database, sqlite_url
from services.grounding.models import AnswerKind
from services.records.conversations import AnswerDetails, ConversationRecords, Source, details_of
from services.records.stored_values import RetrievedPassage
from services.records.tables import ContentType

SESSION, OTHER = "group_1_2", "group_1_3"
FIRST = [Source(1, "制度.pdf 第3页", 4, "b1", 2, 3), Source(3, "通知.txt", 5, "b2", 0, 0)]
SECOND = [Source(1, "另一个.txt", 6, "b3", 1, 1)]


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[Path]:
    yield tmp_path / "app.sqlite3"


@pytest.fixture
async def records(path: Path) -> AsyncIterator[ConversationRecords]:
    database = await open_database(sqlite_url(path))
    yield ConversationRecords(database)
    await database.close()


async def answered(records: ConversationRecords, sources: list[Source], session_id: str = SESSION) -> None:
    turn_id = await records.begin(session_id, 2, "问")
    await records.complete(turn_id, "答", [], sources)


async def test_the_last_sources_of_a_session_survive_a_restart(records: ConversationRecords, path: Path) -> None:
    assert await records.sources(SESSION) == []
    await answered(records, FIRST)
    await answered(records, SECOND)
    await answered(records, FIRST, OTHER)
    await answered(records, [])
    await records.begin(SESSION, 2, "正在回答")
    again = await open_database(sqlite_url(path))
    try:
        assert await ConversationRecords(again).sources(SESSION) == SECOND
        assert await ConversationRecords(again).sources(OTHER) == FIRST
    finally:
        await again.close()


async def test_a_recalled_question_leaves_no_text(records: ConversationRecords) -> None:
    await answered(records, [])
    await records.begin(SESSION, 2, "秘密")
    await records.begin(OTHER, 3, "秘密")
    await records.withdraw(SESSION, 2, "秘密")
    assert [turn.question for turn in await records.recent(SESSION, 9)] == ["问"]
    assert [turn.question for turn in await records.recent(OTHER, 9)] == ["秘密"]
    # The turn itself counts, and what was answered stays.
    assert (await records.totals(SESSION)).turns == 2
    await records.withdraw(SESSION, 2, "问")
    assert [turn.question for turn in await records.recent(SESSION, 9)] == ["问"]


async def test_a_failed_turn_may_have_shown_an_excerpt(records: ConversationRecords) -> None:
    await answered(records, FIRST)
    await records.fail(await records.begin(SESSION, 2, "问"), SECOND)
    await records.fail(await records.begin(SESSION, 2, "问"))
    assert await records.sources(SESSION) == SECOND
    assert (await records.totals(SESSION)).failed == 2


async def test_what_is_forgotten_cites_nothing(records: ConversationRecords) -> None:
    await answered(records, FIRST)
    await answered(records, FIRST, OTHER)
    await records.forget(SESSION)
    assert await records.sources(SESSION) == []
    assert await records.sources(OTHER) == FIRST
    await answered(records, SECOND)
    assert await records.sources(SESSION) == SECOND


SOURCES = st.builds(
    Source,
    number=st.integers(1, 20),
    place=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    document_number=st.integers(1, 10**9),
    build_id=st.text("abc-0123", max_size=64),
    first_ordinal=st.integers(0, 10**6),
    last_ordinal=st.integers(0, 10**6),
)


@given(st.lists(SOURCES, min_size=1, max_size=4))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_sources_come_back_as_they_were(records: ConversationRecords, sources: list[Source]) -> None:
    await answered(records, sources)
    assert await records.sources(SESSION) == sources


DETAILS = AnswerDetails(
    outcome=AnswerKind.CLARIFIED,
    category="technical",
    sub_category="debugging",
    confidence=0.75,
    retrieved=(RetrievedPassage("b1", 2, 3, 0.9), RetrievedPassage("b2", 0, 0, 0.5)),
    tool_calls=("search", "calculator"),
    content_type=ContentType.CODE,
)


def test_every_kind_of_answer_is_an_outcome() -> None:
    assert {kind.value for kind in AnswerKind} | {"clarified", "reviewed"} == {outcome.value for outcome in AnswerKind}


async def test_the_details_come_back_however_a_turn_ends(records: ConversationRecords) -> None:
    completed, failed, waiting, plain = [await records.begin(SESSION, 2, f"问{number}") for number in range(4)]
    await records.complete(completed, "答", [], FIRST, DETAILS)
    await records.fail(failed, (), DETAILS)
    await records.wait(waiting, "question", "c1", DETAILS)
    await records.complete(plain, "答", [])
    turns = {turn.id: turn for turn in await records.recent(SESSION, 9)}
    assert [details_of(turns[each]) for each in (completed, failed, waiting)] == [DETAILS] * 3
    assert details_of(turns[plain]) == AnswerDetails()
