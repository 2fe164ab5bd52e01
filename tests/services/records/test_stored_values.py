"""Values in columns: they come back as they were, and a damaged one costs nothing but itself."""

import json
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import create_engine

from services.database import Database, open_database, sqlite_url
from services.errors import DamagedRecord
from services.records.conversations import ConversationRecords
from services.records.stored_values import (
    BasisDocument,
    Source,
    StoredBasis,
    StoredMessage,
    StoredSources,
    StoredValue,
    UploadSource,
    read_value,
)
from services.records.uploads import UploadRecords

MIGRATIONS = Path(__file__).parents[3] / "services" / "migrations"
SESSION = "group_1_2"
CITED = [Source(1, "制度.pdf 第3页", 4, "b1", 2, 3)]
SOURCE = UploadSource(file_id="/id", busid=102, url="http://host/f", via=777)
KINDS: tuple[type[StoredValue], ...] = (StoredMessage, StoredSources, StoredBasis, UploadSource)

integers = st.integers(-(2**63), 2**63 - 1)
sources = st.builds(Source, integers, st.text(), integers, st.text(), integers, integers)
documents = st.builds(BasisDocument, integers, st.text(), integers, st.text(), integers)
values = st.one_of(
    st.builds(StoredBasis, documents=st.lists(documents, min_size=1, max_size=4).map(tuple)),
    st.builds(StoredMessage, type=st.sampled_from(["human", "ai", "system"]), text=st.text()),
    st.builds(StoredSources, sources=st.lists(sources, min_size=1, max_size=4).map(tuple)),
    st.builds(UploadSource, file_id=st.text(), busid=integers, url=st.text(), via=integers | st.none()),
)
# What a column may come to hold: any JSON, JSON of nearly the right shape, half of it, or nothing of the kind.
anything = st.recursive(
    st.none() | st.booleans() | integers | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["version", "type", "text"]), inner),
    max_leaves=8,
)
damaged = st.one_of(
    st.text(),
    st.binary(),
    integers,
    st.floats(),
    anything.map(json.dumps),
    st.tuples(values, st.integers(0, 80)).map(lambda pair: pair[0].model_dump_json()[: pair[1]]),
    st.tuples(values, st.sampled_from([0, 2, "1", None])).map(
        lambda pair: json.dumps(pair[0].model_dump(mode="json") | {"version": pair[1]})
    ),
)
BAD = (
    "",
    "{",
    "null",
    "5",
    "[]",
    "[" * 100_000,
    '{"version": 3, "text": "新"}',
    '{"type": "human", "text": "没有版本"}',
    '{"version": 2, "type": "tool", "text": ""}',
    '{"version": 1, "sources": []}',
    '{"version": 1, "sources": [{"number": "x"}]}',
)


@given(values)
def test_a_value_is_read_as_it_was_written(value: StoredValue) -> None:
    content = value.model_dump_json()
    assert json.loads(content)["version"] == (2 if isinstance(value, StoredMessage) else 1)
    assert read_value(type(value), content) == value


@given(st.sampled_from(KINDS), damaged)
@example(StoredMessage, "[" * 100_000)
@example(StoredMessage, None)
def test_whatever_a_column_holds_is_a_value_or_damaged(kind: type[StoredValue], content: object) -> None:
    try:
        value = read_value(kind, content)
    except DamagedRecord as error:
        assert error.code == "QZ-D04"
    else:
        assert read_value(kind, value.model_dump_json()) == value


@pytest.mark.parametrize("version", [0, 1, 3, None])
def test_another_version_is_not_guessed_at(version: int | None) -> None:
    fields: dict[str, Any] = {"type": "human", "text": "秘密", "version": version}
    content = json.dumps({key: value for key, value in fields.items() if value is not None})
    with pytest.raises(DamagedRecord) as caught:
        read_value(StoredMessage, content)
    assert "version" in caught.value.detail
    assert "秘密" not in str(caught.value), "what people said is not logged"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


def change(path: Path, statement: str, *parameters: object) -> None:
    """Change the database behind the back of the code."""
    with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
        connection.execute(statement, parameters)


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
async def test_a_damaged_value_costs_only_itself(
    database: Database, tmp_path: Path, bad: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "app.sqlite3"
    conversations, uploads = ConversationRecords(database), UploadRecords(database)
    for number in range(3):
        turn = await conversations.begin(SESSION, 2, f"问{number}")
        exchange = [StoredMessage(type="human", text=f"问{number}"), StoredMessage(type="ai", text=f"答{number}")]
        await conversations.complete(turn, f"答{number}", exchange, CITED)
    files = [await uploads.add("2001", 1, 2, f"{number}.md", 5, SOURCE) for number in range(2)]
    change(path, "UPDATE turns SET sources = ? WHERE question = '问2'", bad)
    change(path, "UPDATE history SET message = ? WHERE position = 1", bad)
    change(path, "UPDATE uploads SET source = ? WHERE name = '0.md'", bad)

    with caplog.at_level(logging.ERROR):
        assert await conversations.sources(SESSION) == []
        assert [turn.answer for turn in await conversations.recent(SESSION, 5)] == ["答0", "答1", "答2"]
        entries = await conversations.history(SESSION)
        assert [entry.message.text for entry in entries] == ["问0", "问1", "答1", "问2", "答2"]
        assert await conversations.standing(SESSION) == (5, 5)
        assert (await conversations.totals(SESSION)).turns == 3
        waiting = await uploads.waiting("2001")
        assert [(row.id, row.source) for row in waiting] == [(files[0].id, None), (files[1].id, SOURCE)]
    assert {record.message.split(":")[1].split()[0] for record in caplog.records} == {"QZ-D04"}

    # A summary replaces what can be read; a question without its answer goes on as well.
    assert await conversations.replace(SESSION, entries[:3], StoredMessage(type="system", text="摘要"))
    turn = await conversations.begin(SESSION, 2, "问3")
    await conversations.complete(turn, "答3", [StoredMessage(type="human", text="问3")], CITED)
    texts = [entry.message.text for entry in await conversations.history(SESSION)]
    assert texts == ["摘要", "问2", "答2", "问3"]
    assert await conversations.standing(SESSION) == (4, 1)
    assert await conversations.sources(SESSION) == CITED
    await conversations.forget(SESSION)
    assert await conversations.history(SESSION) == []


OLD_MESSAGES = {
    0: ({"type": "human", "data": {"content": "问", "additional_kwargs": {}, "type": "human"}}, ("human", "问")),
    1: (
        {"type": "ai", "data": {"content": ["答", {"text": "〔1〕"}], "type": "ai"}},
        ("ai", "答〔1〕"),
    ),
    2: ({"type": "system", "data": {"content": "摘要", "type": "system"}}, ("system", "摘要")),
    3: ({"type": "tool", "data": {"content": "x"}}, None),
    4: ({"type": "human"}, None),
    5: ([], None),
}


async def test_the_values_of_an_older_release_are_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "app.sqlite3"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
    engine.dispose()
    for position, (message, _) in OLD_MESSAGES.items():
        values = (SESSION, position, json.dumps(message))
        change(path, "INSERT INTO history (session_id, position, message) VALUES (?, ?, ?)", *values)
    change(path, "INSERT INTO history (session_id, position, message) VALUES (?, 9, '{half')", SESSION)
    cited = json.dumps([{"number": 1, "place": "制度.pdf 第3页", "document_number": 4, "build_id": "b1"}])
    turn = "INSERT INTO turns (session_id, user_id, question, answer, state, asked_at, sources)"
    # More turns than are read at a time.
    turns = [(SESSION, number, "2026-01-01 00:00:00", cited) for number in range(1001)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(turn + " VALUES (?, 2, ?, '答', 'answered', ?, ?)", turns)
    source = {"name": "a.md", "file_id": "/id", "size": 5, "busid": 102, "url": "http://host/f"}
    upload = "INSERT INTO uploads (self_id, user_id, name, size, received_at, source)"
    for name, kept in (("a.md", source | {"via": 777}), ("b.md", source), ("c.md", {})):
        change(path, upload + " VALUES ('2001', 2, ?, 5, '2026-01-01 00:00:00', ?)", name, json.dumps(kept))

    for _ in range(2):
        database = await open_database(sqlite_url(path))
        conversations = ConversationRecords(database)
        entries = await conversations.history(SESSION)
        assert [(entry.message.type, entry.message.text) for entry in entries] == [
            kept for _, kept in OLD_MESSAGES.values() if kept
        ]
        assert await conversations.sources(SESSION) == [Source(1, "制度.pdf 第3页", 4, "b1")]
        stored = StoredSources(sources=(Source(1, "制度.pdf 第3页", 4, "b1"),))
        rewritten = await conversations.recent(SESSION, 2000)
        assert [turn.sources for turn in rewritten] == [stored] * 1001
        waiting = await UploadRecords(database).waiting("2001")
        assert [row.source for row in waiting] == [SOURCE, SOURCE.model_copy(update={"via": None}), None]
        await database.close()
