"""The texts of documents in the record of a request, which are not stored with it."""

from services.errors import SearchIndexError
from services.retrieval.models import Verdict
from services.retrieval.retriever import Retriever
from services.tracing.models import ModelContext, PassageTrace


async def look_up(record: ModelContext, retriever: Retriever) -> None:
    """Fill in places and texts of the passages and candidates that are still visible, as they are now.

    Of a candidate that was not approved only the place is filled in. Those of removed or rebuilt documents stay empty,
    and all if the index fails.
    """
    gate = record.trace.gate
    if gate is None:
        return
    spans = [(item, item.first_ordinal, item.last_ordinal) for item in gate.passages]
    spans += [(item, item.ordinal, item.ordinal) for item in gate.candidates]
    try:
        for item, first, last in spans:
            found = await retriever.passage(record.trace.collection, item.build_id, first, last)
            if found is not None:
                item.label = found.place
                if isinstance(item, PassageTrace) or item.verdict == Verdict.APPROVED:
                    item.text = found.text
    except SearchIndexError:
        return
    record.retriver_chunks = [passage.text for passage in gate.passages if passage.text]
