"""A chunk with everything known about it, in the fields of the specification, for exports and other stores."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePath

from pydantic import BaseModel, ConfigDict, Field

from services.index.models import IndexedChunk
from services.knowledge.chunk_metadata import as_split, boundary_of, heading_of, profile_of
from services.knowledge.models import ChunkBoundary, DocumentProfile, DocumentType, SourceType
from services.knowledge.outlines import shown_lines
from services.knowledge.profiles import MOST_TAGS, document_profile_of, tags_of
from services.records.stored_values import StoredProfile
from services.records.tables import DocumentRecord
from services.text.sentences import cut_place

_SUMMARY_CHARS = 100
# The limits of the specification's store.
_TITLE_CHARS, _ADDRESS_CHARS = 500, 500


class KnowledgeEntry(BaseModel):
    """A chunk of a document as the specification describes an entry of the knowledge base (section 2.1).

    `entry_id` is the id of the chunk in the index. `source_url` is the address that the document gives for itself, or
    else names collection, document and version. `embedding_vector` is empty unless it was asked for.
    """

    model_config = ConfigDict(frozen=True)

    entry_id: str = Field(max_length=100)
    title: str = Field(max_length=500)
    content: str
    content_summary: str = Field(max_length=1000)
    source_type: SourceType
    source_url: str = Field(max_length=500)
    document_type: DocumentType
    chunk_boundary: ChunkBoundary
    tags: list[str] = Field(default=[], max_length=MOST_TAGS)
    question_categories: list[str] = Field(default=[], max_length=10)
    embedding_vector: list[float] = []
    quality_score: float = Field(ge=0, le=1)
    created_at: datetime
    last_updated: datetime


def knowledge_entry(
    document: DocumentRecord, profile: DocumentProfile, chunk: IndexedChunk, vector: Sequence[float] = ()
) -> KnowledgeEntry:
    """Return a chunk of a document as an entry.

    `profile` is that of the document (`document_profile`). `vector` is the embedding of the chunk, if it is wanted. The
    tags are those of the document that an admin chose, or else the chunk's own before the document's.
    """
    rated = profile_of(chunk)
    tags = [*profile.tags, *rated.tags] if document.chosen_tags is not None else [*rated.tags, *profile.tags]
    return KnowledgeEntry(
        entry_id=chunk.chunk_id,
        title=PurePath(document.name).stem[:_TITLE_CHARS],
        content=chunk.text,
        content_summary=summary_of(chunk),
        source_type=profile.source_type,
        source_url=(profile.source_url or _own_address(document))[:_ADDRESS_CHARS],
        document_type=profile.document_type,
        chunk_boundary=boundary_of(chunk),
        tags=list(tags_of(tags)),
        question_categories=list(rated.question_categories),
        embedding_vector=list(vector),
        quality_score=rated.quality_score,
        created_at=document.first_uploaded_at,
        last_updated=max(document.uploaded_at, document.edited_at or document.uploaded_at),
    )


def document_profile(document: DocumentRecord, chunks: Sequence[IndexedChunk]) -> DocumentProfile:
    """Return the profile of a document: what an admin chose, before what the rules say.

    A document that an earlier release read has no stored profile; it is made from `chunks`, in up to 0.3 s.
    """
    if stored := document.profile:
        profile = DocumentProfile(
            document_type=DocumentType(stored.document_type),
            source_type=SourceType(stored.source_type),
            source_url=stored.source_url,
            tags=stored.tags,
        )
    else:
        profile = document_profile_of(document.name, [as_split(chunk) for chunk in chunks])
    return DocumentProfile(
        document_type=DocumentType(document.chosen_type) if document.chosen_type else profile.document_type,
        source_type=profile.source_type,
        source_url=profile.source_url,
        tags=profile.tags if document.chosen_tags is None else document.chosen_tags.tags,
    )


def stored_document_profile(profile: DocumentProfile) -> StoredProfile:
    """Return the profile of a document as the records keep it."""
    return StoredProfile(
        document_type=profile.document_type.value,
        source_type=profile.source_type.value,
        source_url=profile.source_url,
        tags=profile.tags,
    )


def summary_of(chunk: IndexedChunk) -> str:
    """Return how a chunk begins, below its heading, in at most 100 characters of plain text for display."""
    heading = heading_of(chunk.metadata)[-1:]
    text = "；".join(dict.fromkeys((*heading, *shown_lines(chunk.text))))
    return text if len(text) <= _SUMMARY_CHARS else f"{text[: cut_place(text, 0, _SUMMARY_CHARS - 1)].rstrip()}…"


def _own_address(document: DocumentRecord) -> str:
    return f"qunzhi:{document.collection}/{document.number}?version={document.version}"
