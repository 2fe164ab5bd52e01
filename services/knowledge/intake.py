"""Intake of uploaded files: written down, fetched, ingested, and their outcome reported exactly once.

A file is on the list of uploads from its arrival until its outcome was reported, so that a restart continues it. Where
the file came from, how its bytes are fetched and how its outcome is said is up to the `Messenger`.
"""

import asyncio
import errno
import logging
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from services.access import Access, MemberLookup
from services.errors import DocumentRejected, DownloadFailed, ServiceError, code_suffix
from services.knowledge.models import IncomingFile, IngestResult, IngestStatus
from services.knowledge.service import KnowledgeService
from services.records.stored_values import UploadSource
from services.records.tables import UploadRecord
from services.records.uploads import UploadRecords
from services.session import KnowledgeScope, Session
from services.tracing.current import request_number

log = logging.getLogger(__name__)

# Seconds between attempts when the disk or the database fails: short at first, about two hours in total.
RETRY_AFTER_S = (5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
_LOOK_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file that arrived.

    `account` is the bot's own account that received it. `size` is in bytes, or 0 if it is unknown. `source` is what
    the messenger needs to fetch the file again and to report.
    """

    account: str
    session: Session
    name: str
    size: int
    source: UploadSource


class Connection(Protocol):
    """One connected account. Two connections of the same account are unequal."""

    @property
    def members(self) -> MemberLookup:
        """The look-up of group members through this account."""
        ...

    async def fetch(self, arrival: Arrival, target: Path, *, max_bytes: int, min_bytes_per_s: int) -> None:
        """Fetch the bytes of a file into the new file `target`.

        Raise `DownloadFailed` if there is no way to them, and `DocumentRejected` if they are more than `max_bytes`.
        """
        ...


class Messenger(Protocol):
    """The chat program that files come from and outcomes are told in."""

    def connection(self, account: str) -> Connection | None:
        """Return the present connection of an account, or None while it is away."""
        ...

    def reading(self, arrival: Arrival, *, is_announced: bool) -> AbstractContextManager[None]:
        """Count a file as in progress while the block runs. `is_announced` tells that its chat knows about it."""
        ...

    async def tell(self, arrival: Arrival, result: IngestResult) -> bool:
        """Report an outcome. Return whether it was sent; if not, it is reported again after a restart."""
        ...


class _ConnectionEnded(Exception):
    """Signals that the account's connection ended during the download."""


@dataclass(slots=True)
class _Reception:
    """A file that is being received. `upload` is its row, or None until the row could be written."""

    arrival: Arrival
    upload: UploadRecord | None = None


class Intake:
    """Receives files, one `receive` for each, and continues with `resume` what a stop or a lost account interrupted.

    A failure that is not the file's own fault is reported once and retried after each of the seconds of
    `retry_after_s`.
    """

    def __init__(
        self,
        knowledge: KnowledgeService,
        uploads: UploadRecords,
        access: Access,
        scope: KnowledgeScope,
        *,
        retry_after_s: Sequence[float] = RETRY_AFTER_S,
    ) -> None:
        self._knowledge = knowledge
        self._uploads = uploads
        self._access = access
        self._scope = scope
        self._retry_after_s = tuple(retry_after_s)
        # The ids of the uploads that a task is working on.
        self._in_hand: set[int] = set()
        # Those of them that are being fetched and ingested, by collection and name.
        self._attempts: dict[tuple[str, str], set[int]] = {}

    async def receive(self, arrival: Arrival, messenger: Messenger) -> None:
        """Fetch and ingest a file that just arrived, and report the outcome."""
        await self._take(_Reception(arrival), messenger)

    async def resume(self, account: str, messenger: Messenger) -> None:
        """Continue the unfinished files of an account that connected. Return when all of them are finished.

        Give up if the list cannot be read until the account is away again.
        """
        uploads = await self._waiting(account, messenger)
        receptions: list[_Reception] = []
        for upload in uploads:
            if upload.id not in self._in_hand:
                self._in_hand.add(upload.id)
                receptions.append(_Reception(_arrival(upload), upload))
        outcomes = await asyncio.gather(
            *(self._take(reception, messenger) for reception in receptions), return_exceptions=True
        )
        for reception, outcome in zip(receptions, outcomes, strict=True):
            if isinstance(outcome, Exception):
                log.error("%r could not be continued", reception.arrival.name, exc_info=outcome)

    async def continue_upload(self, upload: UploadRecord, messenger: Messenger) -> None:
        """Fetch and ingest a file that is on the list, and report the outcome.

        Do nothing while another task works on it. Return without an outcome when its account is away.
        """
        if upload.id in self._in_hand:
            return
        self._in_hand.add(upload.id)
        await self._take(_Reception(_arrival(upload), upload), messenger)

    async def _waiting(self, account: str, messenger: Messenger) -> list[UploadRecord]:
        for wait_s in (*self._retry_after_s, None):
            try:
                return await self._uploads.waiting(account)
            except Exception:  # any failure of the database is retried
                log.exception("the unfinished files of account %s could not be looked up", account)
            if wait_s is None or messenger.connection(account) is None:
                break
            await asyncio.sleep(wait_s)
        return []

    async def _take(self, reception: _Reception, messenger: Messenger) -> None:
        """Fetch and ingest one file, and report the outcome. Only then is the file removed from the list.

        A file whose account went away stays on the list, which is processed when the account comes back.
        """
        try:
            result = await self._settled(reception, messenger)
            if result is None:
                return
            is_sent = await messenger.tell(reception.arrival, result)
            if result.status is IngestStatus.DEFERRED:
                final = await self._knowledge.outcome(result.document_id)
                removed = IngestResult(IngestStatus.REMOVED, result.name)
                is_sent = await messenger.tell(reception.arrival, final or removed)
            if is_sent and reception.upload is not None:
                await self._finish(reception.upload)
        finally:
            if reception.upload is not None:
                self._in_hand.discard(reception.upload.id)

    async def _settled(self, reception: _Reception, messenger: Messenger) -> IngestResult | None:
        """Return the outcome after as many attempts as it takes, or None if the file has to wait for its account."""
        arrival, number = reception.arrival, request_number()
        failure = ServiceError("机器人这边出了问题。")
        failures = 0
        while True:
            connection = messenger.connection(arrival.account)
            if connection is not None:
                try:
                    with messenger.reading(arrival, is_announced=failures > 0):
                        return await self._attempt(connection, reception, messenger)
                except _ConnectionEnded:
                    continue
                except Exception as error:  # every failure is reported and retried, so that no file is lost
                    log.exception("failure %s: %r could not be taken in", number, arrival.name)
                    if isinstance(error, ServiceError):
                        failure = error
            elif reception.upload is not None:
                return None
            if failures == len(self._retry_after_s):
                gave_up = "试了多次都没成功，请稍后重新发一次；一直这样就把编号告诉管理员。"
                reason = gave_up + code_suffix(failure.code, number)
                return IngestResult(IngestStatus.REJECTED, arrival.name, reason=reason)
            pause = asyncio.sleep(self._retry_after_s[failures])
            if failures == 0:
                reason = failure.told(number)
                if reception.upload is None:
                    reason += "还没能记下来，机器人重启的话要重新发。"
                told = messenger.tell(arrival, IngestResult(IngestStatus.DEFERRED, arrival.name, reason=reason))
                await asyncio.gather(told, pause)
            else:
                await pause
            failures += 1

    async def _attempt(self, connection: Connection, reception: _Reception, messenger: Messenger) -> IngestResult:
        """Ingest one file. Raise the failure unless it is the file's own fault or sending the file again helps."""
        arrival, upload = reception.arrival, reception.upload
        if upload is None:
            if reason := await self._refusal(arrival, connection.members):
                return IngestResult(IngestStatus.REJECTED, arrival.name, reason=reason)
            session = arrival.session
            upload = await self._uploads.add(
                arrival.account, session.group_id, session.user_id, arrival.name, arrival.size, arrival.source
            )
            reception.upload = upload
            self._in_hand.add(upload.id)
        else:
            # A previous attempt may have registered the document.
            upload = await self._uploads.get(upload.id) or upload
        if upload.document_id is not None:
            collection = arrival.session.collection(self._scope).name
            result = await self._knowledge.resumed_outcome(collection, upload.name, upload.document_id)
            if result is not None:
                return result
        path = self._knowledge.new_incoming()
        try:
            return await self._fetched_and_ingested(connection, arrival, upload, path)
        except DocumentRejected as error:
            return IngestResult(IngestStatus.REJECTED, upload.name, reason=error.told())
        except DownloadFailed as error:
            if messenger.connection(arrival.account) != connection:
                raise _ConnectionEnded from error
            if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ENOSPC:
                raise
            log.warning("upload %s failed: %s", upload.id, error)
            return IngestResult(IngestStatus.REJECTED, upload.name, reason=error.told())
        finally:
            path.unlink(missing_ok=True)

    async def _refusal(self, arrival: Arrival, members: MemberLookup) -> str:
        """Return why a file should not be fetched, or an empty string if it should."""
        refused = await self._access.upload_refusal(arrival.session, members)
        return refused or self._knowledge.refusal(arrival.name, arrival.size)

    async def _fetched_and_ingested(
        self, connection: Connection, arrival: Arrival, upload: UploadRecord, path: Path
    ) -> IngestResult:
        knowledge = self._knowledge
        collection = arrival.session.collection(self._scope).name
        with self._attempting(collection, upload):
            async with knowledge.receiving(collection, upload.name, upload.size, upload.group_id, upload.user_id):
                await connection.fetch(
                    arrival, path, max_bytes=knowledge.max_bytes, min_bytes_per_s=knowledge.min_bytes_per_s
                )
            await self._after_older_ones(collection, upload)
            return await knowledge.ingest(
                IncomingFile(
                    collection=collection,
                    path=path,
                    name=upload.name,
                    group_id=upload.group_id,
                    uploader_id=upload.user_id,
                    received_at=upload.received_at,
                    upload_id=upload.id,
                )
            )

    @contextmanager
    def _attempting(self, collection: str, upload: UploadRecord) -> Generator[None]:
        key = collection, upload.name
        self._attempts.setdefault(key, set()).add(upload.id)
        try:
            yield
        finally:
            self._attempts[key].discard(upload.id)
            if not self._attempts[key]:
                del self._attempts[key]

    async def _after_older_ones(self, collection: str, upload: UploadRecord) -> None:
        """Wait until files of the same name that arrived earlier, and are being fetched too, have become documents.

        Otherwise a slow download of an old version would make it the newest one.
        """
        attempts = self._attempts[collection, upload.name]
        for older in sorted(number for number in attempts if number < upload.id):
            while older in attempts:
                row = await self._uploads.get(older)
                if row is None or row.document_id is not None:
                    break
                await asyncio.sleep(_LOOK_AGAIN_S)

    async def _finish(self, upload: UploadRecord) -> None:
        """Remove a file from the list, and retry while the database fails.

        A file that stays on the list would be reported again after a restart.
        """
        for wait_s in (*self._retry_after_s, None):
            try:
                await self._uploads.finish(upload.id)
            except Exception:  # any failure of the database is retried
                log.exception("upload %s could not be taken off the list", upload.id)
            else:
                return
            if wait_s is not None:
                await asyncio.sleep(wait_s)


def _arrival(upload: UploadRecord) -> Arrival:
    session = Session(upload.group_id, upload.user_id)
    # If the source is damaged, the name and size may still find the file.
    source = upload.source or UploadSource(file_id="", busid=0, url="", via=None)
    return Arrival(upload.self_id, session, upload.name, upload.size, source)
