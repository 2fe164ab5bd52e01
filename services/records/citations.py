"""Which documents the answers cite."""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from services.records.stored_values import Source
from services.records.tables import CitationRecord, DocumentRecord


async def add_citations(session: AsyncSession, turn_id: int, sources: Sequence[Source]) -> None:
    """Write down which documents an answer cites, within the transaction that stores the answer."""
    await session.execute(delete(CitationRecord).where(CitationRecord.turn_id == turn_id))
    builds = {source.build_id for source in sources if source.build_id}
    if not builds:
        return
    documents = await session.execute(
        select(DocumentRecord.collection, DocumentRecord.number).where(DocumentRecord.build_id.in_(builds)).distinct()
    )
    session.add_all(
        CitationRecord(turn_id=turn_id, collection=collection, document_number=number)
        for collection, number in documents
    )
