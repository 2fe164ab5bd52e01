"""Pulls: files that a group already has are taken in together and reported once, whatever stops in between."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Protocol

from services.knowledge.group_files import Comparison, GroupFile, GroupFileList, compare
from services.knowledge.intake import RETRY_AFTER_S, Arrival, Connection, Intake, Messenger
from services.knowledge.models import IngestResult, IngestStatus
from services.knowledge.service import KnowledgeService
from services.records.documents import DocumentRecords
from services.records.pulls import PulledFile, PullRecords
from services.records.tables import PullRecord, UploadRecord, now
from services.session import KnowledgeCollection, KnowledgeScope, Session

log = logging.getLogger(__name__)

# Files of one pull that are fetched at a time. QQ limits accounts that ask for many links at once, and the uploads of
# other members must not wait.
_AT_ONCE = 2
# Seconds that a stopped pull waits for a file whose content is already here.
_LAST_FILE_S = 30.0
# The outcome of a file that was not taken in because the pull was stopped.
_STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class PullReport:
    """What became of the files of a pull.

    `indexed` were taken in, `present` were already there, `left` were not taken in because the pull was stopped, and
    `failures` are names with reasons in Chinese.
    """

    indexed: int
    present: int
    left: int
    failures: tuple[tuple[str, str], ...]
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class PullProgress:
    """A running pull: `done` of `total` files have an outcome."""

    done: int
    total: int


class PullMessenger(Messenger, Protocol):
    """A chat program that files can be fetched from and pulls are reported in."""

    async def report(self, account: str, group_id: int, report: PullReport) -> bool:
        """Report a pull in its group. Return whether it was sent; if not, it is reported again after a restart."""
        ...


@dataclass(slots=True)
class _Run:
    """The task that works on a pull. `stopping` is set when somebody stops the pull."""

    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    is_reported: bool = False
    task: asyncio.Task[None] = field(init=False)


@dataclass(frozen=True, slots=True)
class _Recorder:
    """A messenger that records the outcome of one file instead of reporting it."""

    messenger: Messenger
    records: PullRecords
    upload_id: int

    def connection(self, account: str) -> Connection | None:
        return self.messenger.connection(account)

    def reading(self, arrival: Arrival, *, is_announced: bool) -> AbstractContextManager[None]:
        return nullcontext()

    async def tell(self, arrival: Arrival, result: IngestResult) -> bool:
        """Record an outcome. It counts as not sent, so that the file stays on the list until the pull is reported."""
        if result.status is not IngestStatus.DEFERRED:
            await self.records.set_outcome(self.upload_id, result.status, result.reason)
        return False


class Pulls:
    """The pulls of all groups, at most one for each. A pull that is interrupted goes on with `resume`."""

    def __init__(
        self,
        records: PullRecords,
        documents: DocumentRecords,
        knowledge: KnowledgeService,
        intake: Intake,
        scope: KnowledgeScope,
        *,
        retry_after_s: Sequence[float] = RETRY_AFTER_S,
    ) -> None:
        self._records = records
        self._documents = documents
        self._knowledge = knowledge
        self._intake = intake
        self._scope = scope
        self._retry_after_s = tuple(retry_after_s)
        self._runs: dict[int, _Run] = {}

    async def compare(self, group_id: int, listing: GroupFileList) -> Comparison:
        """Compare the files of a group with its knowledge base, and remember which documents are among them."""
        documents = await self._documents.listed(KnowledgeCollection.of_group(group_id, self._scope).name)
        comparison = await asyncio.to_thread(compare, listing, documents, group_id, self._knowledge.refusal)
        unknown = [row.id for row in comparison.held_documents if row.group_id == group_id and not row.in_group_files]
        if unknown:
            await self._documents.set_in_group_files(unknown)
        return comparison

    async def start(
        self, account: str, session: Session, files: Sequence[GroupFile], present: int, messenger: PullMessenger
    ) -> bool:
        """Begin to take in files of a group, the oldest first, and return at once.

        Return False if the group has a pull already, which then goes on. The person of `session` counts as the uploader
        of files without one. `present` is the number of files that need not be taken in.
        """
        if session.group_id is None:
            return False
        moment = now()
        pulled = [
            PulledFile(
                file.name, file.size, file.uploader_id or session.user_id, file.uploaded_at or moment, file.source
            )
            for file in sorted(files, key=lambda file: file.uploaded_at or moment)
        ]
        pull = await self._records.add(account, session.group_id, pulled, present)
        if pull is None:
            await self._revive(session.group_id, account, messenger)
            return False
        self._begin(pull, messenger)
        return True

    async def stop(self, account: str, group_id: int, messenger: PullMessenger) -> bool:
        """Take in no more files of a group's pull, which is then reported. Return False if there is no pull."""
        pull = await self._records.of_group(group_id)
        if pull is None:
            return False
        await self._records.stop(pull.id)
        await self._revive(group_id, account, messenger)
        if (run := self._runs.get(pull.id)) is not None:
            run.stopping.set()
        return True

    async def progress(self, group_id: int) -> PullProgress | None:
        """Return how far the pull of a group is, or None if it has none."""
        pull = await self._records.of_group(group_id)
        if pull is None:
            return None
        files = await self._records.files(pull.id)
        return PullProgress(sum(file.outcome is not None for file in files), len(files))

    async def resume(self, account: str, messenger: PullMessenger) -> None:
        """Continue the unfinished pulls of an account that connected. Return when they are finished or interrupted.

        Give up if they cannot be read until the account is away again.
        """
        pulls: list[PullRecord] = []
        for wait_s in (*self._retry_after_s, None):
            try:
                pulls = await self._records.of_account(account)
                break
            except Exception:  # any failure of the database is retried
                log.exception("the pulls of account %s could not be looked up", account)
            if wait_s is None or messenger.connection(account) is None:
                return
            await asyncio.sleep(wait_s)
        await asyncio.gather(*(asyncio.shield(self._begin(pull, messenger).task) for pull in pulls))

    async def close(self) -> None:
        """Interrupt all pulls, which continue when their account connects again."""
        tasks = [run.task for run in self._runs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- internals ----------------------------------------------------------------------------------------------------

    async def _revive(self, group_id: int, account: str, messenger: PullMessenger) -> None:
        """Continue a group's pull on which no task works, through `account` if its own account is away."""
        pull = await self._records.of_group(group_id)
        if pull is None or pull.id in self._runs:
            return
        if messenger.connection(pull.self_id) is None:
            await self._records.hand_over(pull.id, account)
            pull = await self._records.get(pull.id) or pull
        self._begin(pull, messenger)

    def _begin(self, pull: PullRecord, messenger: PullMessenger) -> _Run:
        run = self._runs.get(pull.id)
        if run is None:
            run = self._runs[pull.id] = _Run()
            run.task = asyncio.create_task(self._run(pull, run, messenger), name=f"pull-{pull.id}")
            run.task.add_done_callback(lambda _: self._runs.pop(pull.id, None))
        return run

    async def _run(self, pull: PullRecord, run: _Run, messenger: PullMessenger) -> None:
        """Work on a pull until it is reported or its account is away. Retry while the database fails."""
        for wait_s in chain(self._retry_after_s, repeat(self._retry_after_s[-1])):
            try:
                if await self._is_over(pull.id, run, messenger):
                    return
            except Exception:  # every failure is retried, so that no file is lost
                log.exception("pull %s is put off for %s s", pull.id, wait_s)
            # The account may have gone away and come back while the last files were taken in.
            if not run.is_reported and messenger.connection(pull.self_id) is None:
                return
            await asyncio.sleep(wait_s)

    async def _is_over(self, pull_id: int, run: _Run, messenger: PullMessenger) -> bool:
        """Take in the files without an outcome, and report. Return False if files are left because of the account."""
        pull = await self._records.get(pull_id)
        if pull is None:
            return True
        if not run.is_reported:
            if pull.stopped:
                run.stopping.set()
            waiting = iter([file for file in await self._records.files(pull_id) if file.outcome is None])
            async with asyncio.TaskGroup() as workers:
                for _ in range(_AT_ONCE):
                    workers.create_task(self._take_each(waiting, run, messenger))
            files = await self._records.files(pull_id)
            if any(file.outcome is None for file in files):
                return False
            report = _report(pull.present, files, is_stopped=run.stopping.is_set())
            run.is_reported = await messenger.report(pull.self_id, pull.group_id, report)
        if run.is_reported:
            await self._records.finish(pull_id)
        return True

    async def _take_each(self, waiting: Iterator[UploadRecord], run: _Run, messenger: PullMessenger) -> None:
        for file in waiting:
            if not run.stopping.is_set():
                recorder = _Recorder(messenger, self._records, file.id)
                taking = asyncio.create_task(self._intake.continue_upload(file, recorder), name=f"pulled-{file.id}")
                stopping = asyncio.create_task(run.stopping.wait())
                try:
                    await asyncio.wait({taking, stopping}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    is_taken = taking.done()
                    taking.cancel()
                    stopping.cancel()
                    await asyncio.wait({taking, stopping})
                if is_taken:
                    taking.result()
                    continue
            await self._leave(file)

    async def _leave(self, file: UploadRecord) -> None:
        """Record the outcome of a file whose pull is stopped. If its content is already here, that is its own."""
        present = await self._records.file(file.id)
        if present is None or present.outcome is not None:
            return
        status, reason = _STOPPED, ""
        if present.document_id is not None:
            collection = Session(present.group_id, present.user_id).collection(self._scope).name
            try:
                async with asyncio.timeout(_LAST_FILE_S):
                    result = await self._knowledge.resumed_outcome(collection, present.name, present.document_id)
            except TimeoutError:
                status = IngestStatus.IN_PROGRESS
            else:
                status, reason = (result.status, result.reason) if result else (IngestStatus.REMOVED, "")
        await self._records.set_outcome(file.id, status, reason)


_INDEXED = (IngestStatus.INDEXED, IngestStatus.UPDATED)
_PRESENT = (IngestStatus.DUPLICATE, IngestStatus.IN_PROGRESS, IngestStatus.REPLACED)


def _report(present: int, files: Sequence[UploadRecord], *, is_stopped: bool) -> PullReport:
    return PullReport(
        indexed=sum(file.outcome in _INDEXED for file in files),
        present=present + sum(file.outcome in _PRESENT for file in files),
        left=sum(file.outcome == _STOPPED for file in files),
        failures=tuple(
            (file.name, file.reason or "收的时候被删除了。")
            for file in files
            if file.outcome in (IngestStatus.REJECTED, IngestStatus.REMOVED)
        ),
        is_stopped=is_stopped,
    )
