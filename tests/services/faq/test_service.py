"""Approved answers of several collections: look-ups, changes, and documents that change under them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.database import Database, open_database, sqlite_url
from services.faq.models import Approver, Change, FaqBand, FaqOrigin, Pair, Refused, Written
from services.faq.service import MOST_ENTRIES, FaqService
from services.records.conversations import Source
from services.records.faq import FaqRecords
from services.records.tables import DocumentRecord
from services.retrieval.models import Question
from tests.fakes.embeddings import BigramEmbeddings, bigram_model
from tests.services.retrieval.library import Library

GROUP, OTHER = "group_1", "group_2"
ADMIN, SECOND = Approver(10003, "小李"), Approver(10004)
QUESTION, ANSWER = "宿舍晚上几点熄灯", "晚上十一点半。"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database)


@pytest.fixture
def embeddings() -> BigramEmbeddings:
    return BigramEmbeddings()


def _service(
    library: Library,
    embeddings: BigramEmbeddings,
    fingerprint: str = "bigram",
    clock: Callable[[], float] = lambda: 0.0,
) -> FaqService:
    return FaqService(FaqRecords(library.database), library.records, bigram_model(fingerprint, embeddings), clock)


@pytest.fixture
async def faq(library: Library, embeddings: BigramEmbeddings) -> AsyncIterator[FaqService]:
    service = _service(library, embeddings)
    yield service
    await service.close()


async def _add(faq: FaqService, question: str = QUESTION, answer: str = ANSWER, *sources: Source) -> Written:
    written = await faq.add(GROUP, question, answer, ADMIN, FaqOrigin.REVIEW, sources)
    assert isinstance(written, Written)
    return written


async def _band(faq: FaqService, text: str, collection: str = GROUP) -> FaqBand:
    return (await faq.look_up(collection, Question(text))).band


# -- look-up ----------------------------------------------------------------------------------------------------------


async def test_a_collection_without_entries_is_not_searched(faq: FaqService, embeddings: BigramEmbeddings) -> None:
    assert await _band(faq, QUESTION) is FaqBand.NONE
    assert embeddings.embedded == 0


async def test_the_three_bands(faq: FaqService) -> None:
    await _add(faq)
    direct = await faq.look_up(GROUP, Question(f"大佬们求助：{QUESTION}？？"))
    assert direct.band is FaqBand.DIRECT
    assert direct.entry is not None
    assert (direct.entry.answer, direct.entry.approver, direct.entry.origin) == (ANSWER, ADMIN, FaqOrigin.REVIEW)
    asked = await faq.look_up(GROUP, Question("宿舍周末晚上几点熄灯"))
    assert asked.band is FaqBand.ASK
    assert [entry.number for entry in asked.choices] == [1]
    assert await _band(faq, "差旅费怎么报销") is FaqBand.NONE


async def test_at_most_three_choices(faq: FaqService) -> None:
    for place in "一二三四五":
        await _add(faq, f"宿舍{place}号楼晚上几点熄灯", f"{place}号楼的时间")
    found = await faq.look_up(GROUP, Question("宿舍楼晚上几点熄灯"))
    assert found.band is FaqBand.ASK
    assert len(found.choices) == 3


async def test_a_quotation_changes_what_is_asked(faq: FaqService, embeddings: BigramEmbeddings) -> None:
    await _add(faq)
    await _band(faq, QUESTION)
    before = embeddings.embedded
    assert (await faq.look_up(GROUP, Question("宿舍周末几点熄灯", "教室"))).band is FaqBand.NONE
    assert embeddings.embedded == before
    assert (await faq.look_up(GROUP, Question(QUESTION, "教室"))).band is FaqBand.DIRECT


async def test_a_page_of_text_is_no_question(faq: FaqService) -> None:
    await _add(faq)
    assert await _band(faq, QUESTION + "。" * 500) is FaqBand.NONE


TEXTS = st.sampled_from([QUESTION, "宿舍周末晚上几点熄灯", "差旅费怎么报销", "报销要几天", "ERR-4032 怎么解决"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from([GROUP, OTHER]), TEXTS), max_size=6), TEXTS)
async def test_no_collection_sees_another(database: Database, added: list[tuple[str, str]], asked: str) -> None:
    """What one group finds, and how its entries are numbered, does not depend on what others have."""
    outcomes: list[object] = []
    for others in (True, False):
        await _clear(database)
        faq = _service(Library(database), BigramEmbeddings())
        for place, (collection, question) in enumerate(added):
            if collection == GROUP or others:
                await faq.add(collection, question, f"{collection} 的回答 {place}", ADMIN, FaqOrigin.IMPORT)
        found = await faq.look_up(GROUP, Question(asked))
        entries = await faq.entries(GROUP)
        outcomes.append(
            (
                found.band,
                [(entry.number, entry.answer) for entry in (*found.choices, *([found.entry] if found.entry else []))],
                [(entry.number, entry.version, entry.answer) for entry in entries],
            )
        )
        assert all(entry.answer.startswith(GROUP) for entry in entries)
        await faq.close()
    assert outcomes[0] == outcomes[1]


async def _clear(database: Database) -> None:
    faq = FaqRecords(database)
    for collection in (GROUP, OTHER):
        for entry in await faq.current(collection):
            await faq.delete(collection, entry.number)
    async with database.writing("faq_entries") as session:
        await (await session.connection()).exec_driver_sql("DELETE FROM faq_entries")


# -- documents that change --------------------------------------------------------------------------------------------


async def _cited(library: Library) -> tuple[DocumentRecord, Source]:
    document = await library.add(GROUP, "宿舍规定.txt", ["熄灯时间是晚上十一点半。"])
    return document, Source(1, "宿舍规定.txt", document.number, library.build_id(GROUP, document.name, PASSAGES))


PASSAGES = ["熄灯时间是晚上十一点半。"]


async def test_a_new_version_makes_an_entry_stale_at_once(faq: FaqService, library: Library) -> None:
    _, source = await _cited(library)
    await _add(faq, QUESTION, "十一点半〔1〕。", source)
    assert await _band(faq, QUESTION) is FaqBand.DIRECT
    await library.add(GROUP, "宿舍规定.txt", ["熄灯时间是晚上十点。"])
    found = await faq.look_up(GROUP, Question(QUESTION))
    assert (found.band, found.entry) == (FaqBand.NONE, None)
    assert found.stale is not None
    assert found.stale.changed == ("宿舍规定.txt",)
    # It is not offered either.
    assert await _band(faq, "宿舍周末晚上几点熄灯") is FaqBand.NONE
    # Confirmed, it is a new version, without the passage that nobody knows any more.
    confirmed = await faq.confirm(GROUP, 1, SECOND)
    assert confirmed is not None
    assert (confirmed.entry.version, confirmed.entry.answer, confirmed.entry.sources) == (2, "十一点半。", ())
    assert confirmed.entry.approver == SECOND
    assert await _band(faq, QUESTION) is FaqBand.DIRECT
    # It still rests on the document.
    await library.add(GROUP, "宿舍规定.txt", ["熄灯时间是晚上九点。"])
    assert (await faq.entries(GROUP))[0].stale
    await faq.edit(GROUP, 1, "九点。", ADMIN)
    found = await faq.look_up(GROUP, Question(QUESTION))
    assert found.entry is not None
    assert found.entry.answer == "九点。"


async def test_a_deleted_document_makes_an_entry_stale(faq: FaqService, library: Library) -> None:
    document, source = await _cited(library)
    await _add(faq, QUESTION, "十一点半〔1〕。", source)
    await library.records.discard([document])
    assert await _band(faq, QUESTION) is FaqBand.NONE
    await faq.confirm(GROUP, 1, ADMIN)
    assert await _band(faq, QUESTION) is FaqBand.DIRECT


async def test_the_same_file_indexed_again_changes_nothing(faq: FaqService, library: Library) -> None:
    document, source = await _cited(library)
    await _add(faq, QUESTION, "十一点半〔1〕。", source)
    await library.records.publish(GROUP, document.id, "rebuilt", "bigram", 1)
    found = await faq.look_up(GROUP, Question(QUESTION))
    assert found.entry is not None
    # The source leads to the passage where it is now.
    assert [source.build_id for source in found.entry.sources] == ["rebuilt"]
    # Split into other parts, nobody knows which part it is.
    await library.records.publish(GROUP, document.id, "resplit", "bigram", 2)
    entry = await faq.entry(GROUP, 1)
    assert entry is not None
    assert not entry.stale
    assert [each.build_id for each in entry.sources] == [source.build_id]


async def test_an_answer_from_a_passage_that_is_gone_by_now_is_stale_from_the_beginning(
    faq: FaqService, library: Library
) -> None:
    _, source = await _cited(library)
    await library.add(GROUP, "宿舍规定.txt", ["熄灯时间是晚上十点。"])
    await _add(faq, QUESTION, "十一点半〔1〕。", source)
    assert await _band(faq, QUESTION) is FaqBand.NONE


async def test_a_document_of_another_group_is_no_basis(faq: FaqService, library: Library) -> None:
    document = await library.add(OTHER, "宿舍规定.txt", PASSAGES)
    source = Source(1, "宿舍规定.txt", document.number, document.build_id)
    written = await _add(faq, QUESTION, "十一点半〔1〕。", source)
    assert written.entry.stale


async def test_a_stale_answer_may_be_given_again(faq: FaqService, library: Library) -> None:
    document, source = await _cited(library)
    await _add(faq, QUESTION, "十一点半〔1〕。", source)
    await library.records.discard([document])
    assert not (await _add(faq, QUESTION, "十一点半。")).entry.stale


# -- changes ----------------------------------------------------------------------------------------------------------


async def test_the_same_question_gets_a_new_version(faq: FaqService) -> None:
    assert (await _add(faq)).change is Change.ADDED
    assert (await _add(faq, f"请问 {QUESTION}？")).change is Change.SAME
    replaced = await _add(faq, f"{QUESTION}？", "十点。")
    assert (replaced.change, replaced.before) == (Change.REPLACED, ANSWER)
    assert (replaced.entry.number, replaced.entry.version) == (1, 2)
    assert [entry.answer for entry in await faq.entries(GROUP)] == ["十点。"]
    assert (await _add(faq, "报销要几天", "三天。")).entry.number == 2


async def test_numbers_are_not_given_again(faq: FaqService) -> None:
    await _add(faq)
    await _add(faq, QUESTION, "十点。")
    deleted = await faq.delete(GROUP, 1)
    assert deleted is not None
    assert deleted.question == QUESTION
    assert await faq.entries(GROUP) == []
    assert await faq.delete(GROUP, 1) is None
    assert await faq.edit(GROUP, 1, "十点。", ADMIN) is None
    assert await faq.confirm(GROUP, 1, ADMIN) is None
    assert (await _add(faq)).entry.number == 2


async def test_nothing_of_a_deleted_entry_is_kept(faq: FaqService, database: Database) -> None:
    await _add(faq)
    await _add(faq, QUESTION, "十点。")
    await faq.delete(GROUP, 1)
    async with database.reading() as session:
        rows = (await (await session.connection()).exec_driver_sql("SELECT * FROM faq_entries")).all()
    assert len(rows) == 1
    assert not {QUESTION, ANSWER, "十点。", "小李"} & set(rows[0])


async def test_only_sources_that_are_named_are_kept(faq: FaqService, library: Library) -> None:
    _, source = await _cited(library)
    written = await _add(faq, QUESTION, "十一点半〔1〕，见〔7〕。", source, Source(2, "别的.pdf"))
    assert written.entry.answer == "十一点半〔1〕，见。"
    assert [each.number for each in written.entry.sources] == [1]


async def test_what_cannot_be_used_is_refused(faq: FaqService) -> None:
    await _add(faq)
    for question, answer, reason in (
        (" \u200b ", "答", "没有记下：没有问题。"),
        ("问", " \n", "没有记下：没有回答。"),
        ("问" * 201, "答", "没有记下：问题超过 200 字。"),
        ("问", "答" * 1501, "没有记下：回答超过 1500 字。"),
    ):
        assert await faq.add(GROUP, question, answer, ADMIN, FaqOrigin.REVIEW) == Refused(reason)
    assert await faq.edit(GROUP, 1, " ", ADMIN) == Refused("没有改：没有回答。")


async def test_a_table_is_written_completely_or_not_at_all(faq: FaqService) -> None:
    await _add(faq)
    await _add(faq, "报销要几天", "三天。")
    pairs = [Pair("几号发工资", "十号。"), Pair(f"{QUESTION}？", "十点。"), Pair("报销要几天", "三天。")]
    written = await faq.add_all(GROUP, pairs, SECOND)
    assert not isinstance(written, Refused)
    assert [(each.change, each.entry.number) for each in written] == [
        (Change.ADDED, 3),
        (Change.REPLACED, 1),
        (Change.SAME, 2),
    ]
    assert await _band(faq, "几号发工资呀") is FaqBand.DIRECT
    many = [Pair(f"第 {number} 个问题", "答") for number in range(MOST_ENTRIES - 2)]
    assert isinstance(await faq.add_all(GROUP, many, ADMIN), Refused)
    assert len(await faq.entries(GROUP)) == 3


# -- vectors ----------------------------------------------------------------------------------------------------------


async def _settled(faq: FaqService) -> None:
    """Let the embedding that a look-up started come to its end."""
    while tasks := [task for task in asyncio.all_tasks() if task.get_name().startswith("faq-")]:
        await asyncio.wait(tasks)


async def test_vectors_are_kept_for_the_next_start(
    faq: FaqService, library: Library, embeddings: BigramEmbeddings
) -> None:
    await _add(faq)
    restarted_with = BigramEmbeddings()
    restarted = _service(library, restarted_with)
    assert await _band(restarted, QUESTION) is FaqBand.DIRECT
    questions_embedded = embeddings.embedded
    before = restarted_with.embedded
    await _band(restarted, "宿舍周末晚上几点熄灯")
    # Only what was asked.
    assert restarted_with.embedded == before + 1
    assert questions_embedded == 1
    await restarted.close()


async def test_another_model_embeds_the_questions_again(faq: FaqService, library: Library) -> None:
    await _add(faq)
    changed_with = BigramEmbeddings()
    changed = _service(library, changed_with, "another")
    # Vectors of different models are not compared, but the same words are the same words.
    assert await _band(changed, QUESTION) is FaqBand.DIRECT
    await _settled(changed)
    assert await _band(changed, "宿舍周末晚上几点熄灯") is FaqBand.ASK
    assert [each.fingerprint for each in await FaqRecords(library.database).current(GROUP)] == ["another"]
    await changed.close()


async def test_without_the_embedding_model_words_decide(
    library: Library, embeddings: BigramEmbeddings, caplog: pytest.LogCaptureFixture
) -> None:
    time = 0.0
    faq = _service(library, embeddings, clock=lambda: time)
    embeddings.fail = True
    with caplog.at_level(logging.WARNING):
        await _add(faq)
        assert await _band(faq, f"{QUESTION}呢？") is FaqBand.DIRECT
        assert await _band(faq, "宿舍周末晚上几点熄灯") is FaqBand.NONE
    assert "no vectors yet" in caplog.text
    embeddings.fail = False
    # It is not tried again with every question.
    await _band(faq, "报销要几天")
    await _settled(faq)
    assert embeddings.embedded == 0
    time = 61.0
    await _band(faq, "报销要几天")
    await _settled(faq)
    assert await _band(faq, "宿舍周末晚上几点熄灯") is FaqBand.ASK
    embeddings.fail = True
    assert await _band(faq, "宿舍周末晚上几点熄灯") is FaqBand.NONE
    await faq.close()


async def test_closing_ends_the_embedding(library: Library) -> None:
    faq = _service(library, BigramEmbeddings(before=lambda: None))
    task = asyncio.create_task(_add(faq))
    await asyncio.sleep(0)
    await faq.close()
    await asyncio.wait_for(asyncio.wait({task}), 5)
    await _settled(faq)
