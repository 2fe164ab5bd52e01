"""Tests of the export: the fields of the specification, everything once, and a limit."""

import io
import json
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from services.database import Database, open_database, sqlite_url
from services.export.conversations import ConversationExport
from services.export.models import DialogueSession, MessageRecord, UserFeedback
from services.export.service import MOST_BYTES, ExportFile, ExportService, ExportTooLarge, Section
from services.memory.dialogues import Dialogues
from services.records.conversations import AnswerDetails, ConversationRecords
from services.records.dialogues import DialogueRecords
from services.records.exports import ExportRecords
from services.records.feedback import FeedbackRecords, Rating
from services.records.stored_values import RetrievedPassage
from services.records.tables import AnswerKind, ContentType, Resolution, now
from services.records.usage import ModelCallEntry, UsageRecords

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
FIELDS: dict[type[BaseModel], set[str]] = {
    DialogueSession: {
        "session_id",
        "user_id",
        "created_at",
        "last_updated",
        "turn_count",
        "total_tokens",
        "status",
        "summary",
        "feedback_score",
        "is_resolved",
    },
    MessageRecord: {
        "message_id",
        "session_id",
        "role",
        "content_type",
        "content",
        "timestamp",
        "token_count",
        "retrieved_doc_ids",
        "tool_calls",
        "confidence_score",
    },
    UserFeedback: {
        "feedback_id",
        "message_id",
        "session_id",
        "helpful_score",
        "resolution_status",
        "comment",
        "submitted_at",
    },
}


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


def exporter(database: Database) -> ExportService:
    records = DialogueRecords(database)
    conversations = ConversationExport(Dialogues(records, timedelta(hours=2)), records, ExportRecords(database))
    return ExportService(
        (
            Section("sessions", conversations.sessions),
            Section("messages", conversations.messages),
            Section("feedback", conversations.feedback),
        )
    )


def read(exported: ExportFile) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each section of an archive."""
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        return {
            name.removesuffix(".jsonl"): [json.loads(line) for line in archive.read(name).decode().splitlines()]
            for name in archive.namelist()
        }


@pytest.mark.parametrize("model", FIELDS)
def test_the_fields_are_those_of_the_specification(model: type[BaseModel]) -> None:
    assert set(model.model_fields) == FIELDS[model]


async def test_what_was_said_and_rated_is_exported(database: Database) -> None:
    records = ConversationRecords(database)
    turn_id = await records.begin("group_1_2", 2, "怎么装\n[CQ:at,qq=all]")
    details = AnswerDetails(
        AnswerKind.WRITTEN,
        confidence=0.8,
        retrieved=(RetrievedPassage("d1-b1", 2, 3, 0.9),),
        tool_calls=("search",),
        content_type=ContentType.CODE,
    )
    await UsageRecords(database).add_model_call(
        ModelCallEntry("group_1", turn_id, "", "m", 100, 30, estimated=False, cost=None, called_at=now())
    )
    await records.complete(turn_id, "先装依赖。", [], (), details)
    await FeedbackRecords(database).put(turn_id, 3, Rating(4, Resolution.PARTIALLY_RESOLVED, "还行"))
    failed = await records.begin("group_1_2", 2, "没答成")
    await records.fail(failed)
    await records.begin("group_1_2", 2, "撤回的")
    await records.withdraw("group_1_2", 2, "撤回的")

    exported = await exporter(database).export(BEGINNING)
    assert exported.counts == (("sessions", 1), ("messages", 3), ("feedback", 1))
    rows = read(exported)
    (dialogue,) = rows["sessions"]
    assert (dialogue["user_id"], dialogue["status"], dialogue["total_tokens"]) == ("2", "active", 130)
    assert (dialogue["feedback_score"], dialogue["is_resolved"]) == (4.0, False)
    question, answer, unanswered = rows["messages"]
    assert (question["role"], question["content"]) == ("user", "怎么装\n[CQ:at,qq=all]")
    assert (question["content_type"], question["retrieved_doc_ids"]) == ("code", [])
    assert (answer["role"], answer["content"], answer["content_type"]) == ("assistant", "先装依赖。", "text")
    assert (answer["token_count"], answer["confidence_score"]) == (30, 0.8)
    assert (answer["retrieved_doc_ids"], answer["tool_calls"]) == (["d1-b1:2-3"], ["search"])
    assert unanswered["content"] == "没答成"
    (rating,) = rows["feedback"]
    assert (rating["message_id"], rating["helpful_score"]) == (answer["message_id"], 4)
    assert (rating["resolution_status"], rating["comment"]) == ("partially_resolved", "还行")
    assert {row["session_id"] for section in rows.values() for row in section} == {dialogue["session_id"]}
    # Ids are the same in the next export.
    assert read(await exporter(database).export(BEGINNING)) == rows


async def test_every_row_is_exported_once(database: Database) -> None:
    records = ConversationRecords(database)
    for number in range(230):
        turn_id = await records.begin(f"group_1_{number % 120}", 2, f"问{number}")
        await records.complete(turn_id, "答", [])
    rows = read(await exporter(database).export(BEGINNING))
    assert [row["content"] for row in rows["messages"][::2]] == [f"问{number}" for number in range(230)]
    assert len(rows["sessions"]) == len({row["session_id"] for row in rows["sessions"]}) == 120
    later = read(await exporter(database).export(now() + timedelta(hours=1)))
    assert later == {"sessions": [], "messages": [], "feedback": []}


class _Row(BaseModel):
    text: str


async def test_an_export_that_is_too_large_ends_early() -> None:
    yielded = 0

    async def rows(_since: datetime) -> AsyncIterator[BaseModel]:
        nonlocal yielded
        for number in range(1000):
            yielded += 1
            # Digests cannot be compressed to less than half.
            yield _Row(text="".join(f"{hash((number, part)) & (1 << 64) - 1:016x}" for part in range(4096)))

    with pytest.raises(ExportTooLarge):
        await ExportService((Section("many", rows),)).export(BEGINNING)
    assert yielded < 3 * MOST_BYTES / 65536
