"""The export of approved answers: every version that is left, and none of a deleted entry."""

from datetime import timedelta
from pathlib import Path

from services.database import open_database, sqlite_url
from services.export.faq import FaqExport
from services.export.models import ExportedFaq
from services.records.conversations import Source
from services.records.faq import FaqRecords, NewFaq
from services.records.tables import now


async def test_versions_are_exported_and_deleted_entries_are_not(tmp_path: Path) -> None:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    records = FaqRecords(database)
    source = Source(1, "守则.md")
    for question, answer in (("几点熄灯", "十一点"), ("几点熄灯", "十二点〔1〕"), ("几点开门", "六点")):
        await records.write("group_1", [NewFaq(question, question, answer, (source,), (), "review", 7, "小李")], 9)
    await records.delete("group_1", 2)
    rows = [row async for row in FaqExport(records).entries(now() - timedelta(days=1))]
    assert all(isinstance(row, ExportedFaq) for row in rows)
    assert [
        (row.model_dump()["version"], row.model_dump()["answer"], row.model_dump()["is_current"]) for row in rows
    ] == [
        (1, "十一点", False),
        (2, "十二点〔1〕", True),
    ]
    assert rows[1].model_dump()["references"] == ("守则.md",)
    assert [row async for row in FaqExport(records).entries(now() + timedelta(days=1))] == []
    await database.close()
