"""Keeping records: after the request, without delaying or breaking it, and only for as long as asked."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import func, select

from services.database import Database, open_database, sqlite_url
from services.errors import DamagedRecord, RecordsError
from services.records.tables import TraceRecord
from services.records.traces import TraceRecords
from services.settings import TraceSettings
from services.tracing.calls import record_model_call
from services.tracing.current import Origin, arrived, request_number
from services.tracing.models import ModelCallTrace, QuestionTrace, RequestKind
from services.tracing.service import TraceService
from services.tracing.storage import StoredTrace

CHAT = "group_1"


class FullDisk(TraceRecords):
    """A table that cannot be written."""

    async def add(self, traces: Sequence[StoredTrace]) -> None:
        raise RecordsError("磁盘满了。")

    async def erase_message(self, chat: str, message_id: int) -> None:
        raise RecordsError("磁盘满了。")

    async def prune(self, before: datetime, max_bytes: int) -> int:
        raise RecordsError("磁盘满了。")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


def service(
    database: Database, *, keep_days: int = 14, max_mb: int = 200, linger_s: float = 0.0, full: bool = False
) -> TraceService:
    settings = TraceSettings.model_validate({"keep_days": keep_days, "max_mb": max_mb})
    records = FullDisk(database) if full else TraceRecords(database)
    return TraceService(records, settings, {"sk-secret"}, linger_s=linger_s)


def ask(traces: TraceService, question: str, message_id: int | None = None) -> str:
    """Record a request that does nothing, and return its number."""
    arrived(Origin(CHAT, message_id))
    with traces.request(RequestKind.QUESTION, collection="group_1", question=question) as record:
        record.response = "好。"
        record.trace.outcome = "written"
    return record.number


async def count(database: Database) -> int:
    async with database.reading() as session:
        return await session.scalar(select(func.count()).select_from(TraceRecord)) or 0


async def test_a_record_is_found_by_the_number_of_its_request_in_its_chat_only(database: Database) -> None:
    traces = service(database)
    first, second = ask(traces, "一"), ask(traces, "二")
    assert second == request_number()
    found = await traces.find(CHAT, first)
    assert found is not None
    assert (found.raw_question, found.number) == ("一", first)
    assert [record.raw_question for record in await traces.latest(CHAT, 5)] == ["二", "一"]
    assert [record.raw_question for record in await traces.latest(CHAT, 1)] == ["二"]
    for chat in ("group_12", "group_1_2", "private_1", "", "%", "group_%"):
        assert await traces.latest(chat, 5) == []
        assert await traces.find(chat, first) is None
    assert await traces.find(CHAT, "%" * 6) is None


async def test_records_wait_and_are_written_together(database: Database) -> None:
    traces = service(database, linger_s=3600)
    traces.resume()
    for number in range(3):
        ask(traces, str(number))
    await asyncio.sleep(1)
    assert await count(database) == 0
    await traces.close()
    assert await count(database) == 3


async def test_records_are_written_in_the_background(database: Database) -> None:
    traces = service(database)
    traces.resume()
    ask(traces, "一")
    async with asyncio.timeout(20):
        while not await count(database):  # noqa: ASYNC110 - another task writes it
            await asyncio.sleep(0.01)
    await traces.close()


async def test_what_a_request_raises_is_not_changed_by_its_record(database: Database) -> None:
    traces = service(database)
    with pytest.raises(ValueError, match="broken"), traces.request(RequestKind.QUESTION, chat=CHAT, collection="c"):
        raise ValueError("broken")
    (record,) = await traces.latest(CHAT, 5)
    assert record.trace.outcome == "error"
    assert "broken" not in record.model_dump_json()


async def test_a_failing_database_is_only_logged(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    traces = service(database, full=True)
    ask(traces, "一", 5)
    await traces.flush()
    await traces.erase_message(CHAT, 5)
    await traces.prune()
    assert len(caplog.records) == 3
    assert await traces.latest(CHAT, 5) == []


async def test_with_zero_days_nothing_is_stored_but_the_page_still_sees_it(database: Database) -> None:
    traces = service(database, keep_days=0)
    assert not traces.is_storing
    ask(traces, "一", 5)
    await traces.erase_message(CHAT, 6)
    assert (await count(database), await traces.latest(CHAT, 5)) == (0, [])
    seen = traces.of_message(CHAT, 5)
    assert seen is not None
    assert seen.raw_question == "一"


async def test_the_page_finds_the_newest_record_of_a_message_among_the_last(database: Database) -> None:
    traces = service(database, keep_days=0)
    ask(traces, "一", 5)
    ask(traces, "二", 5)
    found = traces.of_message(CHAT, 5)
    assert found is not None
    assert found.raw_question == "二"
    assert traces.of_message("group_2", 5) is None
    for number in range(64):
        ask(traces, "又", 100 + number)
    assert traces.of_message(CHAT, 5) is None


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_recalled_message_loses_its_text(database: Database, *, is_written: bool) -> None:
    traces = service(database)
    ask(traces, "撤回的", 5)
    ask(traces, "别的", 6)
    if is_written:
        await traces.flush()
    await traces.erase_message("group_2", 5)
    assert (await traces.latest(CHAT, 5))[1].raw_question == "撤回的"
    await traces.erase_message(CHAT, 5)
    other, recalled = await traces.latest(CHAT, 5)
    assert (other.raw_question, recalled.raw_question, recalled.response) == ("别的", "", "")
    async with database.reading() as session:
        rows = list(await session.scalars(select(TraceRecord)))
    assert "撤回的" not in "".join(f"{row.record}{row.texts}" for row in rows)
    seen = traces.of_message(CHAT, 5)
    assert seen is not None
    assert seen.raw_question == ""


async def test_a_recall_takes_the_message_from_the_records_of_others(database: Database) -> None:
    def follow_up(chat: str) -> QuestionTrace:
        return QuestionTrace(rewritten="撤回的", quoted="也撤回的", searched=f"{chat}\n也撤回的")

    traces = service(database, keep_days=0)
    ask(traces, "撤回的", 5)
    arrived(Origin(CHAT, 6))
    with traces.request(RequestKind.QUESTION, chat=CHAT, collection="c", question="那住宿呢") as kept:
        kept.trace.question = follow_up(CHAT)
    with traces.request(RequestKind.QUESTION, chat="group_2", collection="c", question="别的群") as elsewhere:
        elsewhere.trace.question = follow_up("group_2")
    with traces.request(RequestKind.QUESTION, chat=CHAT, collection="c", question="还在答") as unfinished:
        await traces.erase_message(CHAT, 5)
        unfinished.trace.question = follow_up(CHAT)
    assert "撤回的" not in kept.model_dump_json() + unfinished.model_dump_json()
    assert (kept.raw_question, unfinished.raw_question) == ("那住宿呢", "还在答")
    assert elsewhere.trace.question.rewritten == "撤回的"


async def test_a_call_of_a_model_is_recorded_without_the_prompt(database: Database) -> None:
    traces = service(database)
    call = ModelCallTrace(model="m", prompt_tokens=5, completion_tokens=2, estimated=False, milliseconds=8.0)
    record_model_call(call, [("user", "nobody asked")])
    with traces.request(RequestKind.QUESTION, chat=CHAT, collection="c"):
        record_model_call(call, [("system", "机密的指令"), ("user", "问题")])
    (record,) = await traces.latest(CHAT, 5)
    assert record.trace.model_calls == [call]
    assert record.prompts == [{"role": "system", "content": "（5 字）"}, {"role": "user", "content": "（2 字）"}]


async def test_damaged_rows_hide_only_themselves(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    traces = service(database)
    numbers = [ask(traces, str(number)) for number in range(10)]
    await traces.flush()
    async with database.writing() as session:
        for row in await session.scalars(select(TraceRecord).where(TraceRecord.id.in_([4, 6, 7, 8, 9]))):
            row.record = "{"
    assert [record.raw_question for record in await traces.latest(CHAT, 3)] == ["9", "4", "2"]
    assert [record.raw_question for record in await traces.latest(CHAT, 8)] == ["9", "4", "2", "1", "0"]
    assert {line.levelname for line in caplog.records} == {"ERROR"}
    assert all(line.message.startswith("a record is skipped: QZ-D04 ") for line in caplog.records)
    with pytest.raises(DamagedRecord) as caught:
        await traces.find(CHAT, numbers[8])
    assert caught.value.told() == "这条记录坏了，读不出来。（QZ-D04）"


async def test_a_request_without_a_message_has_a_record_too(database: Database) -> None:
    async def request() -> str:
        with traces.request(RequestKind.QUESTION, chat=CHAT, collection="c", question="一") as record:
            pass
        return record.number

    traces = service(database)
    assert await traces.find(CHAT, await asyncio.create_task(request())) is not None
