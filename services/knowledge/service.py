"""The interface to the knowledge bases: ingest, list, show, delete and rebuild documents."""

import asyncio
import logging
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from services.errors import DocumentRejected, SearchIndexError, ServiceError, StorageError
from services.index.models import IndexedChunk, IndexGap, SearchIndex
from services.knowledge.builder import IndexBuilder, chat_key, chat_of
from services.knowledge.catalogue import current, entry_of
from services.knowledge.download import too_large
from services.knowledge.entries import stored_document_profile
from services.knowledge.inspection import OLD_OFFICE
from services.knowledge.models import (
    Chunk,
    DocumentEntry,
    DocumentType,
    IncomingFile,
    IngestResult,
    IngestStatus,
    KnowledgeStatus,
    Progress,
)
from services.knowledge.outlines import page_of, path_of
from services.knowledge.profiles import tags_of
from services.knowledge.rejections import MESSAGES, Rejection
from services.knowledge.scheduling import JobGate, Places
from services.knowledge.storage import FileStore
from services.records.documents import DocumentRecords, NewDocument, NoRoom
from services.records.stored_values import StoredTags
from services.records.tables import DocumentRecord, DocumentState, now
from services.settings import KnowledgeSettings
from services.text.cleaning import clean

log = logging.getLogger(__name__)

# Sizes are bytes. A build holds all chunks of its document in memory until their words are stored, about 100 MB for the
# largest file.
_BUILDS = Places(total=6, of_chat=4, large=3, large_of_chat=2, small=1 << 20)
_DOWNLOADS = Places(total=6, of_chat=3, large=4, large_of_chat=2, small=1 << 20)
_MAKE_ROOM = "请管理员发 /kb list 看有哪些文件，用 /kb delete 删掉不用的再发。"
_TELL_OPERATOR = "要重新入库，把文件放进数据目录的 import/知识库名 再发 /kb load。"
# Seconds between attempts while the embedding service or the index is down: short at first, then every minute.
_RETRY_AFTER_S = (5.0, 15.0, 60.0)
# Seconds for which the sender of a file that can be found by its words waits to hear that it is complete. A small file
# is complete by then on two cores; a large one shows within this time how long it will take.
_SMALL_CHUNKS = 1_500
_EMBEDDED_WITHIN_S = 2.0
_SMALL_EMBEDDED_WITHIN_S = 60.0
_MAX_NAME_CHARS = 120
_OUT_OF_RESOURCES = "机器人的磁盘或内存不够用，请管理员查看日志。"


@dataclass(slots=True)
class _Build:
    """A running build. `trouble` is set, and `reason` filled, while the build waits for a failed service.

    `by_words` is completed when the document can be found by its words while its vectors are still being made.
    `build_id` is then the visible build. `embedding_since` (seconds of the event loop's clock) is when that began, with
    `embedded_before` chunks that had a vector. `planned` counts the chunks of a new document from their admission until
    they are visible.
    """

    progress: Progress
    by_words: asyncio.Future[DocumentRecord]
    trouble: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[IngestResult] = field(init=False)
    build_id: str = ""
    reason: str = ""
    planned: int = 0
    hidden_text: bool = False
    pictures: int = 0
    embedding_since: float = 0.0
    embedded_before: int = 0


class KnowledgeService:
    """All knowledge bases. Open it with `resume()`, which continues the work that a stopped process left unfinished."""

    def __init__(
        self,
        records: DocumentRecords,
        files: FileStore,
        index: SearchIndex,
        builder: IndexBuilder,
        settings: KnowledgeSettings,
        retry_after_s: Sequence[float] = _RETRY_AFTER_S,
        embedded_within_s: tuple[float, float] = (_SMALL_EMBEDDED_WITHIN_S, _EMBEDDED_WITHIN_S),
    ) -> None:
        """`embedded_within_s` is how long the outcomes of a small and of a large file wait for their vectors."""
        self._records = records
        self._files = files
        self._index = index
        self._builder = builder
        self._settings = settings
        self._retry_after_s = retry_after_s
        self._embedded_within_s = embedded_within_s
        self._closing = False
        self._places = JobGate(_BUILDS)
        self._downloads = JobGate(_DOWNLOADS)
        self._admitting = asyncio.Lock()
        # Documents whose chunks are lost and whose originals cannot be read: another attempt would not help.
        self._beyond_repair: set[int] = set()
        self._builds: dict[int, _Build] = {}
        self._purging = asyncio.Lock()
        self._background: set[asyncio.Task[None]] = set()

    # -- start and stop -----------------------------------------------------------------------------------------------

    async def resume(self) -> None:
        """Continue interrupted builds and removals, and set aside originals that have no record."""
        await self._files.open()
        await self._reconcile_originals()
        for document in await self._records.unfinished():
            self._start_build(document)
        self._run_later(self._inspect_all())

    async def close(self) -> None:
        """Stop all builds, which continue at the next start, and cancel the callers that wait for them."""
        self._closing = True
        tasks: list[asyncio.Task[Any]] = [*(build.task for build in self._builds.values()), *self._background]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- ingestion ----------------------------------------------------------------------------------------------------

    @property
    def max_bytes(self) -> int:
        """The size limit of a file, in bytes."""
        return self._settings.max_file_mb << 20

    def refusal(self, name: str, size: int) -> str:
        """Return why a file of this name and size (bytes) is not worth downloading, or "" if it is acceptable."""
        file_type = _file_type(name)
        if file_type not in self._settings.file_types:
            if file_type in OLD_OFFICE:
                return MESSAGES[Rejection.OLD_OFFICE].format(modern=OLD_OFFICE[file_type])
            kinds = "、".join(self._settings.file_types)
            kind = f" .{file_type} " if file_type else "没有扩展名的"
            return f"不支持{kind}文件，可以发 {kinds}。"
        if size > self.max_bytes:
            return too_large(self.max_bytes).user_message
        return ""

    @property
    def building_count(self) -> int:
        """The number of documents that are being built or waiting for it."""
        return len(self._builds)

    @property
    def min_bytes_per_s(self) -> int:
        """The minimum speed of a download; 0 accepts any speed."""
        return self._settings.min_download_kbps * 1000

    @asynccontextmanager
    async def receiving(
        self, collection: str, name: str, size: int, group_id: int | None, user_id: int
    ) -> AsyncGenerator[None]:
        """Wait for a place to download a file of `size` bytes (0 if unknown), and hold it while the block runs.

        Raise `DocumentRejected` when the knowledge base has no room for the file, and `StorageError` when the disk has
        none.
        """
        if limit := self._settings.max_total_mb << 20:
            used = await self._records.size_beside(collection, clean_name(name))
            if used + size > limit:
                raise DocumentRejected(self._no_room(used, size))
        await self._files.check_space(size)
        async with self._downloads.place(chat_key(group_id, user_id), size):
            yield

    def new_incoming(self) -> Path:
        """Return a path at which to put a file before handing it to `ingest`."""
        return self._files.new_incoming()

    async def ingest(self, file: IncomingFile) -> IngestResult:
        """Ingest one file, and wait until it is searchable by its words, rejected or deferred.

        The call waits some seconds longer if the vectors are then complete, too.

        `file.path` is gone afterwards in every case. Cancelling the call leaves the build running. Raise `StorageError`
        or `RecordsError` when the file could not even be stored.
        """
        name = clean_name(file.name)
        try:
            if reason := self.refusal(name, (await asyncio.to_thread(file.path.stat)).st_size):
                return IngestResult(IngestStatus.REJECTED, name, reason=reason)
            registered = await self._register(file, name)
        except OSError as error:
            raise StorageError("文件没能存下来，可能是机器人的磁盘满了，请联系管理员后再发。", str(error)) from error
        finally:
            await asyncio.to_thread(file.path.unlink, missing_ok=True)
        if isinstance(registered, IngestResult):
            return registered
        document, created = registered
        if not created:
            return await self._same_as(document)
        build = self._start_build(document)
        if not await _is_settled(build):
            return _result(IngestStatus.DEFERRED, document, build.reason)
        return await self._searchable(build, document)

    async def _same_as(self, document: DocumentRecord) -> IngestResult:
        """Return the result for a file with the content of a document, once that one is searchable or rejected.

        Otherwise the receipt of files that are sent together would say 正在入库 of one of them for good.
        """
        build = self._builds.get(document.id)
        if document.state == DocumentState.READY or build is None:
            is_ready = document.state == DocumentState.READY
            return _result(IngestStatus.DUPLICATE if is_ready else IngestStatus.IN_PROGRESS, document)
        if not await _is_settled(build):
            return _result(IngestStatus.IN_PROGRESS, document)
        result = await self._searchable(build, document)
        is_there = result.status in (IngestStatus.INDEXED, IngestStatus.UPDATED)
        return replace(result, status=IngestStatus.DUPLICATE) if is_there else result

    async def add_text(
        self, collection: str, title: str, text: str, group_id: int | None, user_id: int
    ) -> IngestResult:
        """Ingest a typed text under a title (the specification's upload_by_str)."""
        await self._files.check_space(len(text.encode("utf-8", "ignore")))
        path = await self._files.write_text(text)
        name = clean_name(title)
        name = name if _file_type(name) == "txt" else f"{name}.txt"
        return await self.ingest(IncomingFile(collection, path, name, group_id, user_id, now()))

    async def load_directory(
        self, collection: str, directory: Path, group_id: int | None, user_id: int
    ) -> AsyncIterator[IngestResult]:
        """Ingest every file below a local directory, ordered by name (the specification's load_document)."""
        paths = await asyncio.to_thread(lambda: sorted(path for path in directory.rglob("*") if path.is_file()))
        for path in paths:
            if reason := self.refusal(path.name, (await asyncio.to_thread(path.stat)).st_size):
                yield IngestResult(IngestStatus.REJECTED, clean_name(path.name), reason=reason)
                continue
            try:
                await self._files.check_space((await asyncio.to_thread(path.stat)).st_size)
                copy = await self._files.copy(path)
                result = await self.ingest(IncomingFile(collection, copy, path.name, group_id, user_id, now()))
            except ServiceError as error:
                log.warning("%s was not taken in: %s", path, error)
                result = IngestResult(IngestStatus.REJECTED, clean_name(path.name), reason=error.told())
            yield result

    async def resumed_outcome(self, collection: str, name: str, document_id: int) -> IngestResult | None:
        """Return the outcome of a document that was registered before a restart, or REPLACED if a newer one came.

        None means that the document is gone without a successor: it was rejected or deleted.
        """
        result = await self.outcome(document_id)
        if result is None and await self._records.has_newer(collection, clean_name(name), document_id):
            return IngestResult(IngestStatus.REPLACED, clean_name(name))
        return result

    async def outcome(self, document_id: int) -> IngestResult | None:
        """Wait until a registered document is searchable or rejected, like `ingest`; None if the document is gone."""
        document = await self._records.get(document_id)
        if document is None:
            return None
        build = self._builds.get(document_id)
        if build is None:
            return _result(_ready_status(document), document)
        await asyncio.wait({build.task, build.by_words}, return_when=asyncio.FIRST_COMPLETED)
        return await self._searchable(build, document)

    # -- queries ------------------------------------------------------------------------------------------------------

    async def status(self, collection: str) -> KnowledgeStatus:
        """Return totals, running work, and the counts of the index itself."""
        embedding = self._builder.embedding
        totals = await self._records.totals(collection, embedding.fingerprint)
        try:
            count = await self._index.count(collection, embedding.fingerprint)
        except SearchIndexError:
            log.exception("the index of %s could not be counted", collection)
            count = None
        return KnowledgeStatus(
            documents=totals.documents,
            chunks=totals.chunks,
            size=totals.size,
            progress=self.progress(collection),
            indexed_chunks=count.lexical if count else None,
            indexed_vectors=count.dense if count else None,
            stale=totals.stale,
            embedding=embedding.description,
            degraded=embedding.degraded,
        )

    def progress(self, collection: str) -> tuple[Progress, ...]:
        """Return the documents of a knowledge base that are being built or waiting for it, ordered by name."""
        found = [build.progress for build in self._builds.values() if build.progress.collection == collection]
        return tuple(sorted(found, key=lambda progress: progress.name))

    def reading(self, collection: str) -> int:
        """Return how many documents of a knowledge base are being built and cannot be found by their words yet."""
        return sum(
            build.progress.collection == collection and not build.by_words.done() for build in self._builds.values()
        )

    async def documents(self, collection: str, page: int, page_size: int) -> tuple[list[DocumentEntry], int]:
        """Return one page of the list of documents, and their total number; pages count from 1."""
        totals = await self._records.totals(collection, self._builder.embedding.fingerprint)
        rows = await self._records.page(collection, (page - 1) * page_size, page_size)
        return [entry_of(row) for row in rows], totals.documents + totals.pending

    async def document(self, collection: str, number: int) -> DocumentEntry | None:
        """Return one document, by the version that can be found; None if there is no such number."""
        rows = await self._records.by_number(collection, number)
        return entry_of(current(rows)) if rows else None

    async def collections(self) -> list[str]:
        """Return every knowledge base that has ever received a file."""
        return await self._records.collections()

    async def passages(self, collection: str, number: int, start: int, limit: int) -> list[Chunk]:
        """Return chunks of the visible version of a document, from ordinal `start` on; none if it has no such ones."""
        return await self._chunks(collection, _ready(await self._records.by_number(collection, number)), start, limit)

    # -- changes ------------------------------------------------------------------------------------------------------

    async def delete(self, collection: str, number: int) -> DocumentEntry | None:
        """Delete a document with all its versions.

        Nothing of it is found from then on. Its chunks, vectors and originals, which the records name, are removed in
        the background or after the next start.
        """
        rows = await self._records.by_number(collection, number)
        if not rows:
            return None
        await self._records.discard(rows)
        self._run_later(self._remove(rows))
        return entry_of(rows[0])

    async def choose_type(self, collection: str, number: int, document_type: DocumentType | None) -> bool:
        """Set the type of a document, also of its later versions; None for what the rules say.

        Return False if there is no such document.
        """
        return await self._records.choose_type(collection, number, document_type, now())

    async def choose_tags(self, collection: str, number: int, tags: Sequence[str] | None) -> bool:
        """Set the tags of a document, also of its later versions; None for those of the rules.

        Return False if there is no such document.
        """
        stored = None if tags is None else StoredTags(tags=tags_of(map(clean, tags)))
        return await self._records.choose_tags(collection, number, stored, now())

    async def clear(self, collection: str, at_most: int) -> int:
        """Delete every document of a collection, or none if there are more than `at_most`, and return their number.

        They are removed like a single one; see `delete`.
        """
        rows = await self._records.clear(collection, at_most)
        if len(rows) <= at_most:
            self._run_later(self._remove(rows))
        return len(rows)

    async def reindex(self, collection: str) -> int:
        """Rebuild every document from its original in the background; until then its old build stays searchable.

        A rebuild that is already running is not started again. Return the number of documents.
        """
        for row in await self._records.ask_rebuild(collection):
            self._start_build(row)
        return (await self._records.totals(collection, self._builder.embedding.fingerprint)).documents

    async def mend(self, collection: str) -> IndexGap | None:
        """Compare the index with the records, and rebuild in the background what the index has lost.

        Return None when nothing is lost. Raise `SearchIndexError` when the index does not answer.
        """
        embedding_fingerprint = self._builder.embedding.fingerprint
        rows = await self._records.ready(collection)
        stored = await self._index.builds(collection)
        without_words = {row.id for row in rows if stored.get(row.build_id, 0) < row.chunk_count}
        without_vectors = set[int]()
        comparable = [
            row for row in rows if row.embedding_fingerprint == embedding_fingerprint and row.id not in without_words
        ]
        vectors = (await self._index.count(collection, embedding_fingerprint)).dense
        # Builds in progress must not make up for what others have lost.
        unfinished = {row.build_id for row in rows if not row.embedding_fingerprint}
        unfinished.update(row.target_build_id for row in rows if row.target_build_id)
        for build_id in sorted(unfinished):
            vectors -= len(await self._index.chunk_ids(collection, embedding_fingerprint, build_id))
        if vectors < sum(row.chunk_count for row in comparable):
            for row in comparable:
                if len(await self._index.chunk_ids(collection, embedding_fingerprint, row.build_id)) < row.chunk_count:
                    without_vectors.add(row.id)
        lost = without_words | without_vectors
        if not lost:
            return None
        # A document that was rebuilt since the rows were read has a different build now and is complete.
        current = {row.id: row.build_id for row in await self._records.ready(collection)}
        lost = {row.id for row in rows if row.id in lost and current.get(row.id) == row.build_id}
        if not lost:
            return None
        started = await self._records.ask_rebuild(collection, lost - self._beyond_repair, without_words=without_words)
        if started:
            log.warning("the index has lost %s documents of %s; they are built again", len(started), collection)
        for row in started:
            self._start_build(row)
        return _gap(
            documents=len(rows),
            words=len(lost & without_words),
            vectors=len(lost & without_vectors),
            beyond_repair=len(lost & self._beyond_repair),
        )

    async def purge(self) -> None:
        """Remove retired chunks and originals; retry failed removals after the next change or start.

        A new version may retire a build whose vectors are still being made. It is stopped first, so that no vector
        comes after the removal.
        """
        async with self._purging:
            for row in await self._records.retired():
                try:
                    if row.build_id:
                        await self._stop([build for build in self._builds.values() if build.build_id == row.build_id])
                        await self._index.delete_build(row.collection, row.build_id)
                    if row.stored_name:
                        await self._files.remove(row.stored_name)
                except (SearchIndexError, OSError):
                    log.exception("removing build %s of %s failed, will be tried again", row.build_id, row.collection)
                    continue
                await self._records.forget_retired(row.id)

    # -- internals ----------------------------------------------------------------------------------------------------

    async def _reconcile_originals(self) -> None:
        """Make the stored originals match the records, without deleting any."""
        known = await self._records.stored_names()
        try:
            returned = await self._files.take_back(known)
            aside = await self._files.set_aside(known)
        except OSError:
            # Originals without a record do no harm where they are.
            log.exception("originals that no record knows could not be moved")
            return
        if returned:
            log.warning("%s 个原文件记录里又有了，已从 set-aside 移回。", returned)
        is_new = not await self._records.collections()
        indexed = await self._index.collections() if is_new else set[str]()
        if is_new and (aside or indexed):
            log.error(
                "数据库 app.sqlite3 里没有任何知识库，但数据目录里有 %s 个原文件和 %s 个知识库的索引，"
                "多半是 app.sqlite3 丢了：停掉机器人，从备份恢复 app.sqlite3 再启动，原文件会自动移回。"
                "没有备份时，%s原文件现在在 %s，索引没有动。",
                len(aside),
                len(indexed),
                _TELL_OPERATOR,
                aside[0].parent if aside else "files",
            )
        elif aside:
            log.warning("%s 个原文件不在记录里，已移到 %s，没有删除。%s", len(aside), aside[0].parent, _TELL_OPERATOR)

    async def _inspect_all(self) -> None:
        """Finish removals, then look in every knowledge base for builds that the index has lost or should not have.

        Only the word index is counted, because counting vectors would open every collection. Vectors are counted when a
        collection is first searched.
        """
        await self.purge()
        embedding_fingerprint = self._builder.embedding.fingerprint
        try:
            for collection in await self._records.collections():
                stored = await self._index.builds(collection)
                if unknown := await self._records.retire_unknown(collection, stored):
                    log.warning("%s builds of %s belong to no document and are removed", unknown, collection)
                rows = await self._records.ready(collection)
                needs_vectors = any(row.embedding_fingerprint == embedding_fingerprint for row in rows)
                if any(stored.get(row.build_id, 0) < row.chunk_count for row in rows) or (
                    needs_vectors and embedding_fingerprint not in await self._index.embedding_fingerprints(collection)
                ):
                    await self.mend(collection)
        except SearchIndexError:
            log.exception("the index could not be compared with the records")
        await self.purge()

    async def _chunks(self, collection: str, document: DocumentRecord | None, start: int, limit: int) -> list[Chunk]:
        if document is None:
            return []
        return [_chunk(found) for found in await self._index.chunks(collection, document.build_id, start, limit)]

    async def _register(self, file: IncomingFile, name: str) -> tuple[DocumentRecord, bool] | IngestResult:
        """Return the new or existing document of a file and whether it is new, or the rejection if there is no room."""
        stored_name, content_hash, size = await self._files.keep(file.path, _file_type(name))
        new = NewDocument(
            collection=file.collection,
            name=name,
            file_type=_file_type(name),
            size=size,
            content_hash=content_hash,
            stored_name=stored_name,
            group_id=file.group_id,
            uploader_id=file.uploader_id,
            uploaded_at=file.received_at,
            upload_id=file.upload_id,
        )
        try:
            registration = await self._records.register(new, self._settings.max_total_mb << 20)
        except ServiceError:
            # No record was written. The sender's file will be downloaded again, so nothing would refer to this copy.
            await self._files.remove(stored_name)
            raise
        if isinstance(registration, NoRoom):
            await self._files.remove(stored_name)
            return IngestResult(IngestStatus.REJECTED, name, reason=self._no_room(registration.used, size))
        if not registration.created:
            await self._files.remove(stored_name)
        return registration.document, registration.created

    def _no_room(self, used: int, size: int) -> str:
        limit = self._settings.max_total_mb
        return (
            f"知识库的文件合计最多 {limit} MB，已有 {used / (1 << 20):.1f} MB，"
            f"放不下这个 {size / (1 << 20):.1f} MB 的文件，{_MAKE_ROOM}"
        )

    async def _admit(self, document: DocumentRecord, count: int) -> None:
        """Reserve `count` chunks for a new document. Raise `DocumentRejected` when there is no room for them.

        A rebuild is always admitted, because its document is already there.
        """
        limit = self._settings.max_chunks
        if not limit or document.state == DocumentState.READY:
            return
        async with self._admitting:
            used = await self._records.chunks_beside(document.collection, document.number)
            used += sum(
                build.planned
                for document_id, build in self._builds.items()
                if build.progress.collection == document.collection and document_id != document.id
            )
            if used + count > limit:
                raise DocumentRejected(
                    f"知识库最多 {limit} 块，已有 {used} 块，放不下这个文件的 {count} 块，{_MAKE_ROOM}"
                )
            if build := self._builds.get(document.id):
                build.planned = count

    def _start_build(self, document: DocumentRecord) -> _Build:
        loop = asyncio.get_running_loop()
        build = _Build(Progress(document.collection, document.name, 0, 0), loop.create_future())
        build.task = asyncio.create_task(self._build(document, build), name=f"build-{document.id}")
        self._builds[document.id] = build

        def finished(done: asyncio.Task[IngestResult]) -> None:
            if self._builds.get(document.id) is build:
                del self._builds[document.id]
            if not done.cancelled() and (error := done.exception()) is not None:
                log.error("building document %s failed", document.id, exc_info=error)

        build.task.add_done_callback(finished)
        return build

    async def _build(self, document: DocumentRecord, build: _Build) -> IngestResult:
        for wait_s in chain(self._retry_after_s, repeat(self._retry_after_s[-1])):
            try:
                present = await self._records.get(document.id)
                if present is None:
                    return _result(IngestStatus.REMOVED, document)
                return await self._attempt(present, build)
            except (ServiceError, OSError) as error:
                log.exception("building document %s is put off for %s s", document.id, wait_s)
                build.reason = (error if isinstance(error, ServiceError) else StorageError(_OUT_OF_RESOURCES)).told()
                build.trouble.set()
            await asyncio.sleep(wait_s)
        raise AssertionError("the waiting times never end")

    async def _attempt(self, document: DocumentRecord, build: _Build) -> IngestResult:
        """Make what the document still lacks: its words, then its vectors."""
        if _waits_for_vectors(document) and await self._builder.has_words(document):
            return await self._embed(document, build)
        build_id = self._builder.build_id(document)
        if not await self._records.set_target(document.id, build_id):
            return _result(IngestStatus.REMOVED, document)

        async def admit(count: int) -> None:
            await self._admit(document, count)

        path = self._files.path(document.stored_name)
        async with self._places.place(chat_of(document), document.size):
            try:
                if not await asyncio.to_thread(path.exists):
                    raise DocumentRejected("原文件不在了，请重新发一次。", str(path))  # noqa: TRY301
                parsed = await self._builder.add_words(document, path, admit)
            except DocumentRejected as error:
                log.warning("document %s was rejected: %s", document.id, error)
                return await self._reject(document, error)
            count, build.hidden_text, build.pictures = len(parsed.chunks), parsed.hidden_text, parsed.pictures
            profile = stored_document_profile(parsed.profile)
            del parsed
        fingerprint = self._builder.embedding.fingerprint
        # A rebuild of what is found by its meaning stays hidden until it is found by its meaning, too. A new version
        # is the truth as soon as its words are there.
        is_hidden = document.embedding_fingerprint == fingerprint
        if is_hidden:
            await self._builder.add_vectors(document, build_id, count, self._report(document, build))
        async with self._admitting:
            published = await self._records.publish(
                document.collection, document.id, build_id, fingerprint if is_hidden else "", count, profile
            )
            build.planned = 0
        self._run_later(self.purge())
        if published is None:
            return _result(IngestStatus.REMOVED, document)
        return self._whole(published, build) if is_hidden else await self._embed(published, build)

    async def _embed(self, document: DocumentRecord, build: _Build) -> IngestResult:
        """Make the vectors of a visible build."""
        if not build.by_words.done():
            build.by_words.set_result(document)
            build.trouble.clear()
            build.embedding_since = asyncio.get_running_loop().time()
        build.build_id = document.build_id
        await self._builder.add_vectors(
            document, document.build_id, document.chunk_count, self._report(document, build)
        )
        fingerprint = self._builder.embedding.fingerprint
        embedded = await self._records.set_embedded(document.id, document.build_id, fingerprint)
        if embedded is None:
            return _result(IngestStatus.REMOVED, document)
        self._run_later(self._drop_unused_vectors(document.collection))
        return self._whole(embedded, build)

    @staticmethod
    def _report(document: DocumentRecord, build: _Build) -> Callable[[int, int], None]:
        def report(done: int, total: int) -> None:
            if not build.progress.total:
                build.embedded_before = done
            build.progress = Progress(document.collection, document.name, done, total)

        return report

    @staticmethod
    def _whole(document: DocumentRecord, build: _Build) -> IngestResult:
        result = _result(_ready_status(document), document)
        return replace(result, hidden_text=build.hidden_text, pictures=build.pictures)

    async def _searchable(self, build: _Build, document: DocumentRecord) -> IngestResult:
        """Return the result of a build that ended, or whose document can already be found by its words."""
        if not build.task.done():
            published = build.by_words.result()
            small_s, large_s = self._embedded_within_s
            trouble = asyncio.create_task(build.trouble.wait())
            try:
                await asyncio.wait(
                    {build.task, trouble},
                    timeout=small_s if published.chunk_count <= _SMALL_CHUNKS else large_s,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                trouble.cancel()
            if not build.task.done():
                return replace(
                    self._whole(published, build),
                    reason=build.reason if build.trouble.is_set() else "",
                    vectors_left=published.chunk_count - build.progress.done,
                    seconds_left=_seconds_left(build),
                )
        return await self._ended(build.task, document)

    async def _reject(self, document: DocumentRecord, error: DocumentRejected) -> IngestResult:
        if document.state == DocumentState.PENDING:
            await self._records.discard([document])
        else:
            # A visible document that can no longer be read keeps its current build.
            self._beyond_repair.add(document.id)
            await self._records.set_target(document.id, "")
        await self.purge()
        return _result(IngestStatus.REJECTED, document, error.told())

    async def _ended(self, task: asyncio.Task[IngestResult], document: DocumentRecord) -> IngestResult:
        """Return the result of a build that ended.

        The document of a cancelled build was deleted, is being rebuilt, or waits for the next start.
        """
        if not task.cancelled():
            return task.result()
        if self._closing:
            raise asyncio.CancelledError
        return await self.outcome(document.id) or _result(IngestStatus.REMOVED, document)

    async def _remove(self, documents: Sequence[DocumentRecord]) -> None:
        """Stop the builds of documents that the records no longer have, and remove what is stored of them."""
        await self._stop([build for row in documents if (build := self._builds.get(row.id)) is not None])
        await self.purge()

    @staticmethod
    async def _stop(builds: Sequence[_Build]) -> None:
        for build in builds:
            build.task.cancel()
        await asyncio.gather(*(build.task for build in builds), return_exceptions=True)

    async def _drop_unused_vectors(self, collection: str) -> None:
        """Delete the vectors of former embedding models once no document of the collection needs them."""
        fingerprint = self._builder.embedding.fingerprint
        if (await self._records.totals(collection, fingerprint)).stale:
            return
        for embedding_fingerprint in await self._index.embedding_fingerprints(collection) - {fingerprint}:
            await self._index.drop_vectors(collection, embedding_fingerprint)

    def _run_later(self, work: Coroutine[None, None, None]) -> None:
        def finished(done: asyncio.Task[None]) -> None:
            self._background.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                log.error("background work on the knowledge base failed", exc_info=error)

        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(finished)


def _waits_for_vectors(document: DocumentRecord) -> bool:
    """Return whether the words of a document are published and its vectors not complete."""
    published = document.state == DocumentState.READY and not document.target_build_id
    return published and not document.embedding_fingerprint


def _seconds_left(build: _Build) -> float | None:
    """Estimate how long the vectors of a build will take, by their speed so far; None if there are none yet."""
    embedded = build.progress.done - build.embedded_before
    if embedded <= 0:
        return None
    elapsed = asyncio.get_running_loop().time() - build.embedding_since
    return (build.progress.total - build.progress.done) * elapsed / embedded


def _gap(documents: int, words: int, vectors: int, beyond_repair: int) -> IndexGap:
    """Return the notice for a loss, given in numbers of documents."""
    if beyond_repair:
        notice = f"有 {beyond_repair} 个文件的索引丢了，原文件也读不出来，请管理员看 /kb list，重新发一次这些文件。"
    elif not words:
        notice = f"{vectors} 个文件的向量索引丢了，正在用原文件重建，好之前只按字词查找。"
    elif words == documents:
        notice = "资料的字词索引丢了，正在用原文件重建，好了再问，进度看 /kb status。"
    else:
        notice = f"{words} 个文件的字词索引丢了，正在用原文件重建，好之前查不到这些文件。"
    return IndexGap(notice, searchable=words < documents)


def clean_name(name: str) -> str:
    """Return a file name that is safe to show and compare: one line, NFC, without folders or invisible characters.

    Control characters are removed too. A long name is cut to 120 characters and keeps its extension.
    """
    text = clean(name).replace("\\", "/").rsplit("/", 1)[-1]
    text = "".join(" " if unicodedata.category(character)[0] in "CZ" else character for character in text)
    text = " ".join(text.split()) or "未命名"
    if len(text) <= _MAX_NAME_CHARS:
        return text
    suffix = Path(text).suffix[:12]
    return text[: _MAX_NAME_CHARS - len(suffix)] + suffix


def _file_type(name: str) -> str:
    return Path(name).suffix.lower().lstrip(".")


def _ready(rows: Sequence[DocumentRecord]) -> DocumentRecord | None:
    """Return the visible version of a document."""
    return next((row for row in rows if row.state == DocumentState.READY), None)


def _chunk(found: IndexedChunk) -> Chunk:
    return Chunk(found.ordinal, found.text, page_of(found), path_of(found))


def _ready_status(document: DocumentRecord) -> IngestStatus:
    return IngestStatus.UPDATED if document.version > 1 else IngestStatus.INDEXED


async def _is_settled(build: _Build) -> bool:
    """Wait until a build is searchable by words, has ended or is in trouble. Return whether it is not the last."""
    trouble = asyncio.create_task(build.trouble.wait())
    try:
        await asyncio.wait({build.task, build.by_words, trouble}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        trouble.cancel()
    return build.task.done() or build.by_words.done()


def _result(status: IngestStatus, document: DocumentRecord, reason: str = "") -> IngestResult:
    return IngestResult(
        status=status,
        name=document.name,
        document_id=document.id,
        number=document.number,
        version=document.version,
        chunks=document.chunk_count,
        seconds=(now() - document.uploaded_at).total_seconds(),
        reason=reason,
    )
