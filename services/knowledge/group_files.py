"""The files of a group, compared with the documents of its knowledge base."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import PurePath

from services.knowledge.service import clean_name
from services.records.stored_values import UploadSource
from services.records.tables import DocumentRecord

# How far apart the clocks of QQ and of the bot may be. A file that is sent again with the same name and size within
# this time reaches the bot as an upload anyway.
_CLOCKS = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class GroupFile:
    """A file in the list of a group's files.

    `name` is unique within the list, see `with_distinct_names`. `folder` is the path of its folder, or empty at the
    top. `size` is in bytes, 0 if it is unknown. `uploaded_at` and `uploader_id` are None if the client omits them.
    """

    name: str
    folder: str
    size: int
    uploaded_at: datetime | None
    uploader_id: int | None
    source: UploadSource


@dataclass(frozen=True, slots=True)
class GroupFileList:
    """The files of a group, in the top folder and in `folders` others that were listed.

    `unread_folders` could not be listed; `is_cut` means that there are more files.
    """

    files: tuple[GroupFile, ...]
    unread_folders: tuple[str, ...] = ()
    is_cut: bool = False
    folders: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether a file that is not in the list is not in the group.

        A client that lists nothing at all may have failed without saying so.
        """
        return not self.unread_folders and not self.is_cut and bool(self.files or self.folders)


class FileState(StrEnum):
    """How a file of the group relates to the knowledge base.

    NEW and CHANGED files are not in it; CHANGED ones, and possibly OLDER ones, have the name of a document. OLDER files
    are older than the document of their name. REFUSED ones would not be accepted.
    """

    NEW = "new"
    CHANGED = "changed"
    HELD = "held"
    OLDER = "older"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the group with its state. `reason` says in Chinese why it is REFUSED."""

    file: GroupFile
    state: FileState
    reason: str = ""

    @property
    def is_wanted(self) -> bool:
        """Whether taking in everything includes this file."""
        return self.state in (FileState.NEW, FileState.CHANGED)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The files of a group: those that are wanted first, the newest of each kind first.

    `gone` are documents whose files are not in the group any more. It is empty if the list was not complete.
    """

    files: tuple[ListedFile, ...]
    gone: tuple[DocumentRecord, ...]
    held_documents: tuple[DocumentRecord, ...]
    unread_folders: tuple[str, ...]
    is_cut: bool

    def count(self, *states: FileState) -> int:
        """Return the number of files in one of these states."""
        return sum(listed.state in states for listed in self.files)


def with_distinct_names(files: Sequence[GroupFile]) -> list[GroupFile]:
    """Name the folder in all but the newest of the files that share a name.

    A document replaces the one of the same name, so that files of different folders would replace each other. The
    newest one keeps its name, because that is what an upload would have done.
    """
    named: dict[str, GroupFile] = {}
    for file in sorted(files, key=_age):
        path = PurePath(file.name)
        name, number = file.name, 1
        while name in named:
            place = "，".join(part for part in (file.folder, str(number) if number > 1 else "") if part)
            name = clean_name(f"{path.stem}（{(place or '旧').replace('/', '·')}）{path.suffix}")
            number += 1
        named[name] = replace(file, name=name)
    return list(named.values())


def compare(
    listing: GroupFileList, documents: Sequence[DocumentRecord], group_id: int, refusal: Callable[[str, int], str]
) -> Comparison:
    """Compare the files of a group with all documents of its knowledge base.

    A file is held if a document has its name and size and is not older, or its size and exactly its time, which stays
    the same when a file is renamed or moved. Whatever else might be held is decided by the content. `refusal` is
    `KnowledgeService.refusal`.
    """
    by_name, by_time = _grouped(documents, _name), _grouped(documents, _time)
    free = {document.id: document for document in documents}
    held: dict[GroupFile, DocumentRecord] = {}
    for file in listing.files:
        if found := next((row for row in by_name[file.name] if row.id in free and _is_same(file, row)), None):
            held[file] = free.pop(found.id)
    for file in listing.files:
        if file not in held and (
            found := next((row for row in by_time[file.size, file.uploaded_at] if row.id in free), None)
        ):
            held[file] = free.pop(found.id)
    unmatched = [file for file in listing.files if file not in held]
    listed = [ListedFile(file, FileState.HELD) for file in held]
    listed += [_unmatched(file, by_name[file.name], refusal(file.name, file.size)) for file in unmatched]
    names, sizes = {file.name for file in unmatched}, {file.size for file in unmatched}
    gone = (
        # A document with the size of a file that is not held is probably that file under another name.
        [
            row
            for row in free.values()
            if row.in_group_files and row.group_id == group_id and row.name not in names and row.size not in sizes
        ]
        if listing.is_complete
        else []
    )
    listed.sort(key=lambda entry: (_ORDER[entry.state], _age(entry.file)))
    return Comparison(tuple(listed), tuple(gone), tuple(held.values()), listing.unread_folders, listing.is_cut)


_ORDER = {FileState.NEW: 0, FileState.CHANGED: 0, FileState.OLDER: 1, FileState.HELD: 2, FileState.REFUSED: 3}


def _age(file: GroupFile) -> float:
    return -file.uploaded_at.timestamp() if file.uploaded_at else 0.0


def _grouped(
    documents: Sequence[DocumentRecord], key: Callable[[DocumentRecord], object]
) -> defaultdict[object, list[DocumentRecord]]:
    grouped: defaultdict[object, list[DocumentRecord]] = defaultdict(list)
    for document in documents:
        grouped[key(document)].append(document)
    return grouped


def _name(document: DocumentRecord) -> str:
    return document.name


def _time(document: DocumentRecord) -> tuple[int, datetime]:
    return document.size, document.uploaded_at


def _is_same(file: GroupFile, namesake: DocumentRecord) -> bool:
    uploaded_at = file.uploaded_at
    return namesake.size == file.size and uploaded_at is not None and namesake.uploaded_at >= uploaded_at - _CLOCKS


def _unmatched(file: GroupFile, namesakes: Sequence[DocumentRecord], refused: str) -> ListedFile:
    if refused:
        return ListedFile(file, FileState.REFUSED, refused)
    if not namesakes:
        return ListedFile(file, FileState.NEW)
    uploaded_at = file.uploaded_at
    is_older = uploaded_at is not None and any(row.uploaded_at > uploaded_at + _CLOCKS for row in namesakes)
    return ListedFile(file, FileState.OLDER if is_older else FileState.CHANGED)
