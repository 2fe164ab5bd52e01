"""What an approved answer rests on, and whether that is still so.

Nothing is watched: an entry is compared with the documents whenever it is read, so it is stale as soon as a document
that it cites has a new version or is gone. A document that was only indexed again is the same document.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from services.faq.models import Approver, FaqEntry, FaqOrigin
from services.faq.pairs import cited
from services.records.conversations import Source
from services.records.faq import StoredFaq
from services.records.stored_values import BasisDocument
from services.records.tables import DocumentRecord, DocumentState

Visible = Mapping[int, DocumentRecord]


def visible(documents: Iterable[DocumentRecord]) -> Visible:
    """Return the documents of a collection that can be found, by number."""
    return {document.number: document for document in documents if document.state == DocumentState.READY}


def basis_of(sources: Sequence[Source], documents: Visible) -> tuple[BasisDocument, ...]:
    """Return what an answer rests on that is approved now.

    If a document changed after the answer was written, the answer is stale from the beginning.
    """
    found: dict[int, BasisDocument] = {}
    for source in sources:
        document = documents.get(source.document_number)
        if document is not None and document.build_id == source.build_id:
            found.setdefault(source.document_number, _as_it_is(document))
        elif source.build_id:
            name = document.name if document is not None else source.place
            found[source.document_number] = BasisDocument(source.document_number, name, 0, "", 0)
    return tuple(found.values())


def entry_of(stored: StoredFaq, documents: Visible) -> FaqEntry:
    """Return an entry as people see it. Its sources name the passages where they are now."""
    changed = [document.name for document in stored.basis if not _is_unchanged(document, documents)]
    if stored.sources and not stored.basis:
        # The column is damaged, so nobody knows whether the documents are the same.
        changed = [source.place for source in stored.sources]
    basis = {document.number: document for document in stored.basis}
    return FaqEntry(
        number=stored.number,
        version=stored.version,
        question=stored.question,
        answer=stored.answer,
        sources=tuple(_located(source, basis.get(source.document_number), documents) for source in stored.sources),
        origin=FaqOrigin(stored.origin),
        approver=Approver(stored.approver_id, stored.approver_name),
        approved_at=stored.approved_at,
        changed=tuple(dict.fromkeys(changed)),
    )


def restated(
    answer: str, stored: StoredFaq, documents: Visible
) -> tuple[str, tuple[Source, ...], tuple[BasisDocument, ...]]:
    """Return an answer that somebody has just compared with the documents, its sources, and what it rests on.

    Passages of documents that have changed are no sources any more, because nobody knows where they stand now.
    """
    former = {document.number: document for document in stored.basis}
    basis = tuple(_as_it_is(documents[number]) for number in former if number in documents)
    kept = [source for source in stored.sources if _is_unchanged(former.get(source.document_number), documents)]
    text, sources = cited(answer, tuple(_located(source, former[source.document_number], documents) for source in kept))
    return text, sources, basis


def _as_it_is(document: DocumentRecord) -> BasisDocument:
    return BasisDocument(document.number, document.name, document.version, document.content_hash, document.chunk_count)


def _is_unchanged(former: BasisDocument | None, documents: Visible) -> bool:
    if former is None:
        return False
    document = documents.get(former.number)
    return document is not None and (document.version, document.content_hash) == (former.version, former.content_hash)


def _located(source: Source, former: BasisDocument | None, documents: Visible) -> Source:
    """Return a source in the present build of the same document.

    The passages have the same numbers if the document was split alike.
    """
    if former is None or not _is_unchanged(former, documents):
        return source
    document = documents[former.number]
    return replace(source, build_id=document.build_id) if document.chunk_count == former.chunk_count else source
