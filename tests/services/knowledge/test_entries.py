"""Chunks in the fields of the specification, also those that an earlier release stored."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.database import open_database, sqlite_url
from services.index.models import IndexedChunk
from services.knowledge.catalogue import Catalogue
from services.knowledge.entries import KnowledgeEntry, document_profile, knowledge_entry, stored_document_profile
from services.knowledge.models import ChunkBoundary, DocumentProfile, DocumentType, SourceType
from services.records.stored_values import StoredTags
from services.records.tables import DocumentRecord
from tests.services.retrieval.library import Library

UPLOADED, EDITED = datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC)
PROFILE = DocumentProfile(DocumentType.FAQ, SourceType.QA_DATASET, "https://a.b/c", ("宿舍", "作息"))
# Section 2.1 of the specification.
FIELDS = [
    "entry_id",
    "title",
    "content",
    "content_summary",
    "source_type",
    "source_url",
    "document_type",
    "chunk_boundary",
    "tags",
    "question_categories",
    "embedding_vector",
    "quality_score",
    "created_at",
    "last_updated",
]


def record(**values: object) -> DocumentRecord:
    document = DocumentRecord(
        collection="group_1",
        number=3,
        version=2,
        name="宿舍问答.md",
        uploaded_at=UPLOADED,
        first_uploaded_at=datetime(2026, 1, 1, tzinfo=UTC),
        profile=stored_document_profile(PROFILE),
    )
    for name, value in values.items():
        setattr(document, name, value)
    return document


CHUNK = IndexedChunk(
    "b-000001",
    "b",
    1,
    "几点熄灯？\n晚上十一点熄灯。",
    "宿舍问答 几点熄灯？",
    {"heading": "作息 › 几点熄灯？", "boundary": "section", "tags": "熄灯\n作息", "categories": "", "quality": 0.8},
)


def test_an_entry_has_exactly_the_fields_of_the_specification() -> None:
    assert list(KnowledgeEntry.model_fields) == FIELDS
    entry = knowledge_entry(record(), PROFILE, CHUNK, [0.5, 0.25])
    assert entry.model_dump(mode="json") == {
        "entry_id": "b-000001",
        "title": "宿舍问答",
        "content": CHUNK.text,
        "content_summary": "几点熄灯？；晚上十一点熄灯。",
        "source_type": "qa_dataset",
        "source_url": "https://a.b/c",
        "document_type": "faq",
        "chunk_boundary": "section",
        "tags": ["熄灯", "作息", "宿舍"],
        "question_categories": [],
        "embedding_vector": [0.5, 0.25],
        "quality_score": 0.8,
        "created_at": "2026-01-01T00:00:00Z",
        "last_updated": "2026-11-20T00:00:00Z",
    }
    assert knowledge_entry(record(), PROFILE, CHUNK).embedding_vector == []


def test_an_admin_is_right() -> None:
    document = record(chosen_type="tutorial", chosen_tags=StoredTags(tags=("新生",)), edited_at=EDITED)
    entry = knowledge_entry(document, document_profile(document, []), CHUNK)
    assert (entry.document_type, entry.tags) == (DocumentType.TUTORIAL, ["新生", "熄灯", "作息"])
    assert (entry.source_type, entry.last_updated) == (SourceType.QA_DATASET, EDITED)


def test_what_an_earlier_release_stored_gets_its_values_from_its_text() -> None:
    document = record(profile=None)
    old = replace(CHUNK, text="先用 pip 安装依赖，再运行 docker 命令。" * 3, metadata={"heading": "安装"})
    entry = knowledge_entry(document, document_profile(document, [old]), old)
    assert (entry.document_type, entry.source_type) == (DocumentType.FAQ, SourceType.OFFICIAL_DOCS)
    assert entry.source_url == "qunzhi:group_1/3?version=2"
    assert (entry.chunk_boundary, entry.quality_score) == (ChunkBoundary.MIXED, 0.85)
    assert (entry.question_categories, entry.tags[0]) == (["technical"], "安装")


@pytest.mark.parametrize("text", ["", "长" * 5_000, "| |\n" * 300, "\ud800", "```\n" + "x" * 2_000])
def test_no_text_exceeds_the_limits_of_the_specification(text: str) -> None:
    document = record(name="名" * 600 + ".md", profile=None)
    chunk = replace(CHUNK, text=text, metadata={"heading": " › ".join(["标题" * 300] * 30)})
    entry = knowledge_entry(document, document_profile(document, [chunk]), chunk)
    assert len(entry.content_summary) <= 100
    assert len(entry.tags) <= 20
    assert all(len(tag) <= 100 for tag in entry.tags)


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield Library(database)
    await database.close()


async def test_the_entries_of_one_document(library: Library) -> None:
    await library.add("group_1", "作息.md", [f"第{number}条 晚上十一点熄灯。" for number in range(600)])
    await library.add("group_2", "别群.md", ["别的群的内容。"])
    catalogue = Catalogue(library.records, library.index)
    entries = [entry async for entry in catalogue.entries("group_1", 1)]
    assert [entry.content[:4] for entry in entries[:2]] == ["第0条 ", "第1条 "]
    assert len({entry.entry_id for entry in entries}) == 600
    assert {entry.title for entry in entries} == {"作息"}
    assert [entry async for entry in catalogue.entries("group_1", 2)] == []
