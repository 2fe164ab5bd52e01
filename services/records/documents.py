"""The documents: which there are, which of them are visible, and what waits to be removed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from services.database import Database
from services.records.stored_values import StoredProfile, StoredTags
from services.records.tables import CollectionRecord, DocumentRecord, DocumentState, RetiredRecord, UploadRecord
from services.records.traces import erase_documents

# What is visible and what must not be found is asked for by every question. Retired builds change together with it.
_TABLE = DocumentRecord.__tablename__


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A file as known before it is read. `size` is in bytes; `content_hash` is its SHA-256 in hexadecimal."""

    collection: str
    name: str
    file_type: str
    size: int
    content_hash: str
    stored_name: str
    group_id: int | None
    uploader_id: int
    uploaded_at: datetime
    upload_id: int | None = None


@dataclass(frozen=True, slots=True)
class Registration:
    """The new document of a file, or the one that already holds the same content (`created` is False)."""

    document: DocumentRecord
    created: bool


@dataclass(frozen=True, slots=True)
class NoRoom:
    """A file that was not registered: other documents take up `used` bytes of the collection's limit."""

    used: int


@dataclass(frozen=True, slots=True)
class VisibleChunks:
    """The numbers of chunks of a collection's visible documents.

    `chunks` counts all of them and `vectors` those of documents with all vectors of the requested model. `by_words`
    counts the documents whose vectors are still being made.
    """

    chunks: int
    vectors: int
    by_words: int


@dataclass(frozen=True, slots=True)
class CollectionTotals:
    """Totals of a collection according to the records.

    `stale` counts visible documents with the vectors of another model than the requested one.
    """

    documents: int
    chunks: int
    size: int
    pending: int
    stale: int


class DocumentRecords:
    """Queries on documents. Every visible change is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, new: NewDocument, max_total_bytes: int = 0) -> Registration | NoRoom:
        """Register a file as PENDING, unless its content is already present. The same name creates a new version.

        Nothing is written if the originals of the collection would exceed `max_total_bytes`; 0 means no limit.
        """
        async with self._database.writing(_TABLE) as session:
            await self._note_upload(session, new.upload_id, None)
            same = await session.scalar(
                select(DocumentRecord).where(
                    DocumentRecord.collection == new.collection, DocumentRecord.content_hash == new.content_hash
                )
            )
            if same is not None:
                await self._note_upload(session, new.upload_id, same.id)
                return Registration(same, created=False)
            if max_total_bytes:
                used = await self._size_beside(session, new.collection, new.name)
                if used + new.size > max_total_bytes:
                    return NoRoom(used)
            number, version = await self._place(session, new.collection, new.name)
            former = await self._latest(session, new.collection, number)
            document = DocumentRecord(
                collection=new.collection,
                number=number,
                name=new.name,
                version=version,
                content_hash=new.content_hash,
                size=new.size,
                file_type=new.file_type,
                stored_name=new.stored_name,
                group_id=new.group_id,
                uploader_id=new.uploader_id,
                uploaded_at=new.uploaded_at,
                state=DocumentState.PENDING,
                build_id="",
                target_build_id="",
                revision=0,
                embedding_fingerprint="",
                chunk_count=0,
                in_group_files=new.upload_id is not None and new.group_id is not None,
                chosen_type=former.chosen_type if former else None,
                chosen_tags=former.chosen_tags if former else None,
                first_uploaded_at=former.first_uploaded_at if former else new.uploaded_at,
                edited_at=former.edited_at if former else None,
            )
            session.add(document)
            await session.flush()
            await self._note_upload(session, new.upload_id, document.id)
            return Registration(document, created=True)

    async def set_target(self, document_id: int, build_id: str) -> bool:
        """Set the build in progress and retire an earlier, abandoned one. Return False if the document is gone."""
        async with self._database.writing(_TABLE) as session:
            document = await session.get(DocumentRecord, document_id)
            if document is None:
                return False
            if document.target_build_id not in ("", build_id):
                session.add(RetiredRecord(collection=document.collection, build_id=document.target_build_id))
            document.target_build_id = build_id
            return True

    async def publish(
        self,
        collection: str,
        document_id: int,
        build_id: str,
        embedding_fingerprint: str,
        chunk_count: int,
        profile: StoredProfile | None = None,
    ) -> DocumentRecord | None:
        """Make a build visible, all of whose words are stored, and hide what it replaces, in one transaction.

        `embedding_fingerprint` is the model of its vectors, or empty while they are not complete. `profile` is what the
        rules say about the document. Return None if the document has been deleted or a later version is already
        visible; the build is then retired.
        """
        async with self._database.writing(_TABLE) as session:
            document = await session.get(DocumentRecord, document_id)
            if document is None:
                session.add(RetiredRecord(collection=collection, build_id=build_id))
                return None
            family = (
                await session.scalars(
                    select(DocumentRecord).where(
                        DocumentRecord.collection == document.collection,
                        DocumentRecord.number == document.number,
                        DocumentRecord.state == DocumentState.READY,
                        DocumentRecord.id != document.id,
                    )
                )
            ).all()
            if document.build_id not in ("", build_id):
                session.add(RetiredRecord(collection=document.collection, build_id=document.build_id))
            document.build_id, document.target_build_id = build_id, ""
            document.embedding_fingerprint, document.chunk_count = embedding_fingerprint, chunk_count
            document.profile = profile
            document.state = DocumentState.READY
            if any(other.version > document.version for other in family):
                await self._retire(session, [document])
                return None
            await self._retire(session, [other for other in family if other.version < document.version])
            return document

    async def set_embedded(self, document_id: int, build_id: str, embedding_fingerprint: str) -> DocumentRecord | None:
        """Record that all vectors of a visible build are stored. Return None if the build is not visible any more."""
        async with self._database.writing(_TABLE) as session:
            document = await session.get(DocumentRecord, document_id)
            if document is None or document.build_id != build_id:
                return None
            document.embedding_fingerprint = embedding_fingerprint
            return document

    async def choose_type(self, collection: str, number: int, document_type: str | None, at: datetime) -> bool:
        """Note what an admin says a document is, None for what the rules say. Return False if it is gone."""
        return await self._choose(collection, number, {"chosen_type": document_type, "edited_at": at})

    async def choose_tags(self, collection: str, number: int, tags: StoredTags | None, at: datetime) -> bool:
        """Note the tags that an admin gives to a document, None for those of the rules. Return False if it is gone."""
        return await self._choose(collection, number, {"chosen_tags": tags, "edited_at": at})

    async def _choose(self, collection: str, number: int, values: Mapping[str, object]) -> bool:
        # Every version under the number, so that a version that is being read has them when it is shown.
        named = (DocumentRecord.collection == collection) & (DocumentRecord.number == number)
        async with self._database.writing(_TABLE) as session:
            documents = (await session.scalars(select(DocumentRecord).where(named))).all()
            for document in documents:
                for name, value in values.items():
                    setattr(document, name, value)
            return bool(documents)

    async def discard(self, documents: Sequence[DocumentRecord]) -> None:
        """Hide documents permanently; their chunks and files wait in `retired`."""
        async with self._database.writing(_TABLE) as session:
            found = await session.scalars(
                select(DocumentRecord).where(DocumentRecord.id.in_([document.id for document in documents]))
            )
            await self._retire(session, found.all())

    async def clear(self, collection: str, at_most: int) -> list[DocumentRecord]:
        """Hide every document of a collection, unless there are more than `at_most`. Return all of them."""
        async with self._database.writing(_TABLE) as session:
            found = (await session.scalars(select(DocumentRecord).where(DocumentRecord.collection == collection))).all()
            if len(found) <= at_most:
                await self._retire(session, found)
            return list(found)

    async def ask_rebuild(
        self, collection: str, only: Collection[int] | None = None, *, without_words: Collection[int] = ()
    ) -> list[DocumentRecord]:
        """Increment the revision of visible documents, so that their build ids change, and return those documents.

        `only` names the documents by id; None means all. A document whose words or vectors are being made is left out.
        Those `without_words` are no longer found, so they count as not embedded: their new words are shown as soon as
        they are stored.
        """
        wanted = select(DocumentRecord).where(
            DocumentRecord.collection == collection,
            DocumentRecord.state == DocumentState.READY,
            DocumentRecord.target_build_id == "",
            DocumentRecord.embedding_fingerprint != "",
        )
        if only is not None:
            wanted = wanted.where(DocumentRecord.id.in_(only))
        async with self._database.writing(_TABLE) as session:
            found = (await session.scalars(wanted)).all()
            for document in found:
                document.revision += 1
                document.target_build_id = "asked"
                if document.id in without_words:
                    document.embedding_fingerprint = ""
            return list(found)

    async def unfinished(self) -> list[DocumentRecord]:
        """Return the documents with work left: those never built, without all vectors, or to be rebuilt."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(DocumentRecord)
                .where(
                    (DocumentRecord.state == DocumentState.PENDING)
                    | (DocumentRecord.target_build_id != "")
                    | (DocumentRecord.embedding_fingerprint == "")
                )
                .order_by(DocumentRecord.id)
            )
            return list(found)

    async def hidden_builds(self, collection: str) -> frozenset[str]:
        """Return the builds that may be in the index but must not be found."""
        return await self._database.kept(_TABLE, ("hidden", collection), lambda: self._hidden_builds(collection))

    async def _hidden_builds(self, collection: str) -> frozenset[str]:
        async with self._database.reading() as session:
            under_way = await session.scalars(
                select(DocumentRecord.target_build_id).where(
                    DocumentRecord.collection == collection, DocumentRecord.target_build_id != ""
                )
            )
            retired = await session.scalars(
                select(RetiredRecord.build_id).where(RetiredRecord.collection == collection)
            )
            return frozenset((*under_way, *retired)) - {""}

    async def visible_chunks(self, collection: str, embedding_fingerprint: str) -> VisibleChunks:
        """Return how many chunks of a collection the index must hold at least."""
        return await self._database.kept(
            _TABLE,
            ("chunks", collection, embedding_fingerprint),
            lambda: self._visible_chunks(collection, embedding_fingerprint),
        )

    async def _visible_chunks(self, collection: str, embedding_fingerprint: str) -> VisibleChunks:
        async with self._database.reading() as session:
            row = (
                await session.execute(
                    select(
                        func.coalesce(func.sum(DocumentRecord.chunk_count), 0),
                        func.coalesce(
                            func.sum(DocumentRecord.chunk_count).filter(
                                DocumentRecord.embedding_fingerprint == embedding_fingerprint
                            ),
                            0,
                        ),
                        func.count().filter(DocumentRecord.embedding_fingerprint == ""),
                    ).where(DocumentRecord.collection == collection, DocumentRecord.state == DocumentState.READY)
                )
            ).one()
            return VisibleChunks(*row)

    async def chunks_beside(self, collection: str, number: int) -> int:
        """Return the number of chunks of a collection's visible documents other than those under `number`."""
        async with self._database.reading() as session:
            found = await session.scalar(
                select(func.coalesce(func.sum(DocumentRecord.chunk_count), 0)).where(
                    DocumentRecord.collection == collection,
                    DocumentRecord.state == DocumentState.READY,
                    DocumentRecord.number != number,
                )
            )
            return found or 0

    async def size_beside(self, collection: str, name: str) -> int:
        """Return the bytes of a collection's originals that a new version of `name` would not replace."""
        async with self._database.reading() as session:
            return await self._size_beside(session, collection, name)

    async def has_newer(self, collection: str, name: str, document_id: int) -> bool:
        """Return whether a later document of the same name exists."""
        async with self._database.reading() as session:
            newer = select(DocumentRecord.id).where(
                DocumentRecord.collection == collection, DocumentRecord.name == name, DocumentRecord.id > document_id
            )
            return await session.scalar(newer.limit(1)) is not None

    async def collections(self) -> list[str]:
        """Return every knowledge base that has ever received a file."""
        async with self._database.reading() as session:
            return list(await session.scalars(select(CollectionRecord.name).order_by(CollectionRecord.name)))

    async def ready(self, collection: str) -> list[DocumentRecord]:
        """Return the visible documents of a collection."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(DocumentRecord)
                .where(DocumentRecord.collection == collection, DocumentRecord.state == DocumentState.READY)
                .order_by(DocumentRecord.id)
            )
            return list(found)

    async def retire_unknown(self, collection: str, builds: Collection[str]) -> int:
        """Retire those of `builds` that belong to no document and are not retired yet, and return their number."""
        async with self._database.writing(_TABLE) as session:
            of_documents = select(DocumentRecord.build_id, DocumentRecord.target_build_id).where(
                DocumentRecord.collection == collection
            )
            known = {build_id for row in await session.execute(of_documents) for build_id in row}
            retired = select(RetiredRecord.build_id).where(RetiredRecord.collection == collection)
            known.update(await session.scalars(retired))
            unknown = sorted(set(builds) - known)
            session.add_all(RetiredRecord(collection=collection, build_id=build_id) for build_id in unknown)
            return len(unknown)

    async def visible(self, collection: str, build_ids: Collection[str]) -> Mapping[str, DocumentRecord]:
        """Return the visible documents of this collection by build; nothing else may be shown to anyone."""
        found = {build_id: await self._visible(collection, build_id) for build_id in build_ids}
        return {build_id: document for build_id, document in found.items() if document is not None}

    async def _visible(self, collection: str, build_id: str) -> DocumentRecord | None:
        async def read() -> DocumentRecord | None:
            async with self._database.reading() as session:
                return await session.scalar(
                    select(DocumentRecord).where(
                        DocumentRecord.collection == collection,
                        DocumentRecord.state == DocumentState.READY,
                        DocumentRecord.build_id == build_id,
                    )
                )

        return await self._database.kept(_TABLE, ("visible", collection, build_id), read)

    async def page(self, collection: str, offset: int, limit: int) -> list[DocumentRecord]:
        """Return one page of documents, ordered by number, then version."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(DocumentRecord)
                .where(DocumentRecord.collection == collection)
                .order_by(DocumentRecord.number, DocumentRecord.version)
                .offset(offset)
                .limit(limit)
            )
            return list(found)

    async def listed(self, collection: str) -> list[DocumentRecord]:
        """Return all documents of a collection, ordered by number, then version."""

        async def read() -> list[DocumentRecord]:
            async with self._database.reading() as session:
                found = await session.scalars(
                    select(DocumentRecord)
                    .where(DocumentRecord.collection == collection)
                    .order_by(DocumentRecord.number, DocumentRecord.version)
                )
                return list(found)

        return await self._database.kept(_TABLE, ("listed", collection), read)

    async def set_in_group_files(self, document_ids: Collection[int]) -> None:
        """Record that documents are among the files of their group."""
        async with self._database.writing(_TABLE) as session:
            await session.execute(
                update(DocumentRecord).where(DocumentRecord.id.in_(document_ids)).values(in_group_files=True)
            )

    async def by_number(self, collection: str, number: int) -> list[DocumentRecord]:
        """Return all versions under one number, newest first."""
        async with self._database.reading() as session:
            found = await session.scalars(
                select(DocumentRecord)
                .where(DocumentRecord.collection == collection, DocumentRecord.number == number)
                .order_by(DocumentRecord.version.desc())
            )
            return list(found)

    async def get(self, document_id: int) -> DocumentRecord | None:
        """Return one document, or None if it is gone."""
        async with self._database.reading() as session:
            return await session.get(DocumentRecord, document_id)

    async def totals(self, collection: str, embedding_fingerprint: str) -> CollectionTotals:
        """Return the totals of a collection."""
        ready = DocumentRecord.state == DocumentState.READY
        async with self._database.reading() as session:
            row = (
                await session.execute(
                    select(
                        func.count().filter(ready),
                        func.coalesce(func.sum(DocumentRecord.chunk_count).filter(ready), 0),
                        func.coalesce(func.sum(DocumentRecord.size).filter(ready), 0),
                        func.count().filter(DocumentRecord.state == DocumentState.PENDING),
                        func.count().filter(
                            ready, DocumentRecord.embedding_fingerprint.not_in(("", embedding_fingerprint))
                        ),
                    ).where(DocumentRecord.collection == collection)
                )
            ).one()
            return CollectionTotals(*row)

    async def retired(self) -> list[RetiredRecord]:
        """Return what waits to be removed."""
        async with self._database.reading() as session:
            return list(await session.scalars(select(RetiredRecord).order_by(RetiredRecord.id)))

    async def forget_retired(self, retired_id: int) -> None:
        """Delete the row of chunks and a file that have been removed."""
        async with self._database.writing(_TABLE) as session:
            await session.execute(delete(RetiredRecord).where(RetiredRecord.id == retired_id))

    async def stored_names(self) -> set[str]:
        """Return every file that belongs to a document or still waits to be removed."""
        async with self._database.reading() as session:
            kept = await session.scalars(select(DocumentRecord.stored_name))
            retired = await session.scalars(select(RetiredRecord.stored_name))
            return {*kept, *retired} - {""}

    @staticmethod
    async def _size_beside(session: AsyncSession, collection: str, name: str) -> int:
        replaced = (DocumentRecord.name == name) & (DocumentRecord.state == DocumentState.READY)
        found = await session.scalar(
            select(func.coalesce(func.sum(DocumentRecord.size), 0)).where(
                DocumentRecord.collection == collection, ~replaced
            )
        )
        return found or 0

    @staticmethod
    async def _retire(session: AsyncSession, documents: Sequence[DocumentRecord]) -> None:
        await erase_documents(session, [document.id for document in documents])
        for document in documents:
            session.add(
                RetiredRecord(
                    collection=document.collection, build_id=document.build_id, stored_name=document.stored_name
                )
            )
            if document.target_build_id:
                session.add(RetiredRecord(collection=document.collection, build_id=document.target_build_id))
            await session.delete(document)

    @staticmethod
    async def _place(session: AsyncSession, collection: str, name: str) -> tuple[int, int]:
        """Return the number and version for a file of this name."""
        row = (
            await session.execute(
                select(DocumentRecord.number, func.max(DocumentRecord.version))
                .where(DocumentRecord.collection == collection, DocumentRecord.name == name)
                .group_by(DocumentRecord.number)
            )
        ).first()
        if row is not None:
            return row[0], row[1] + 1
        counter = await session.get(CollectionRecord, collection)
        if counter is None:
            counter = CollectionRecord(name=collection, next_number=1)
            session.add(counter)
        number = counter.next_number
        counter.next_number = number + 1
        await session.flush()
        return number, 1

    @staticmethod
    async def _latest(session: AsyncSession, collection: str, number: int) -> DocumentRecord | None:
        return await session.scalar(
            select(DocumentRecord)
            .where(DocumentRecord.collection == collection, DocumentRecord.number == number)
            .order_by(DocumentRecord.version.desc())
            .limit(1)
        )

    @staticmethod
    async def _note_upload(session: AsyncSession, upload_id: int | None, document_id: int | None) -> None:
        if upload_id is not None and document_id is not None:
            await session.execute(
                update(UploadRecord).where(UploadRecord.id == upload_id).values(document_id=document_id)
            )
