"""Answer questions about the files themselves, without a search for the words of the question."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Protocol

from services.budgets.day import today
from services.grounding.models import Answer
from services.knowledge.catalogue import Catalogue, DocumentView
from services.knowledge.models import DocumentEntry
from services.knowledge.names import best_named, nearest_named, plain_name, plain_stem, shared
from services.knowledge.outlines import page_of
from services.memory.service import MemoryService
from services.memory.turns import Turn
from services.retrieval.models import Question, Reference, Retrieval, RetrievalStatus
from services.retrieval.retriever import Retriever
from services.workflows.qa.file_answers import (
    WHICH,
    extreme_answer,
    found_answer,
    kind_answer,
    list_answer,
    outline_answer,
    overview_answer,
    period_answer,
    recent_answer,
    senders_answer,
    total_size_answer,
    unknown_answer,
    unread_answer,
    uploader_answer,
    which_answer,
)
from services.workflows.qa.file_asks import Extreme, FileAsk, FileKind, FileQuestion, Pointing
from services.workflows.qa.file_questions import recognise

# A model reads so many characters of a document in so many passages, which is one ordinary prompt.
_SUMMARY_CHARS = 8000
_SUMMARY_PASSAGES = 16
# A document is about a topic if it has this share of its words in its name, a heading or a passage.
_ABOUT = 0.6
# Being named after the topic outweighs any mention of it.
_TITLED = 2.0
_SEARCHED = 30
_FOUND = 5
# An overview tells what so many documents are about, by so many of their first chunks.
_OVERVIEW, _OVERVIEW_CHUNKS = 8, 20
_SENDERS = 3
_SUFFIXES = {
    FileKind.PDF: (".pdf",),
    FileKind.WORD: (".docx", ".doc"),
    FileKind.SLIDES: (".pptx", ".ppt"),
    FileKind.SHEET: (".xlsx", ".xls", ".csv"),
    FileKind.MARKDOWN: (".md",),
    FileKind.WEB: (".html", ".htm"),
    FileKind.TEXT: (".txt",),
}
_ORDERS: dict[Extreme, Callable[[DocumentEntry], float]] = {
    Extreme.LARGEST: lambda entry: -entry.size,
    Extreme.SMALLEST: lambda entry: entry.size,
    Extreme.LONGEST: lambda entry: -entry.chunks,
    Extreme.SHORTEST: lambda entry: entry.chunks,
    Extreme.OLDEST: lambda entry: entry.uploaded_at.timestamp(),
}
# A shorter name may occur in any text.
_NAMED_CHARS = 3


class UploaderNames(Protocol):
    """Looks up the names by which the uploaders of files are known in the chat that asks."""

    async def __call__(self, entry: DocumentEntry) -> str:
        """Return the name of the person who sent a file, or their number."""
        ...


async def by_number(entry: DocumentEntry) -> str:
    """Return the number of the person who sent a file."""
    return str(entry.uploader_id)


@dataclass(frozen=True, slots=True)
class FileReply:
    """The answer to a question about files. `passages` is what a model may write a better summary from, if any.

    A reply that is not `certain` is only given if the text of the files does not answer the question.
    """

    answer: Answer
    passages: Retrieval | None = None
    certain: bool = True


class AboutFiles:
    """Answers questions about the files of one collection at a time."""

    def __init__(self, catalogue: Catalogue, retriever: Retriever, memory: MemoryService) -> None:
        self._catalogue = catalogue
        self._retriever = retriever
        self._memory = memory

    async def reply(self, collection: str, question: Question, turn: Turn, names: UploaderNames) -> FileReply | None:
        """Return the reply to a question about the files, or None for any other message.

        Raise `SearchIndexError` if the index fails.
        """
        documents = await self._catalogue.documents(collection)
        if not documents:
            return None
        # The forms are tried against every name.
        asked = await asyncio.to_thread(recognise, question, documents) or await self._chosen(question, turn, documents)
        if asked is None:
            return None
        match asked.ask:
            case FileAsk.LIST:
                return FileReply(_listed(asked, documents), certain=asked.certain)
            case FileAsk.KIND:
                return FileReply(_of_kind(asked, documents), certain=asked.certain)
            case FileAsk.RECENT:
                answer = period_answer(documents, asked.period, today()) if asked.period else recent_answer(documents)
                return FileReply(answer)
            case FileAsk.TOTAL_SIZE:
                return FileReply(total_size_answer(documents))
            case FileAsk.EXTREME:
                return FileReply(_extreme(asked, documents))
            case FileAsk.SENDERS:
                return FileReply(await _senders(documents, names))
            case FileAsk.OVERVIEW:
                return await self._overview(collection, documents)
            case FileAsk.FIND:
                return FileReply(found_answer(asked.words[0], await self._find(collection, asked.words[0], documents)))
            case FileAsk.SUMMARY | FileAsk.UPLOADER:
                return await self._of_one(collection, asked, question, turn, documents, names)

    async def _overview(self, collection: str, documents: Sequence[DocumentEntry]) -> FileReply:
        """Return what each of the newest documents is about, in the order of their numbers."""
        newest = sorted(documents, key=lambda entry: entry.uploaded_at, reverse=True)[:_OVERVIEW]
        found = [
            await self._catalogue.view(collection, entry.number, _OVERVIEW_CHUNKS)
            for entry in sorted(newest, key=lambda entry: entry.number)
        ]
        views = [view for view in found if view is not None and view.chunks]
        references = tuple(
            _reference(view, number, view.chunks[0].ordinal) for number, view in enumerate(views, start=1)
        )
        passages = Retrieval(RetrievalStatus.USABLE, references, chunk_count=len(references)) if references else None
        shown = {view.entry.number for view in views}
        others = [entry for entry in documents if entry.number not in shown]
        return FileReply(overview_answer(views, others), passages)

    async def _of_one(
        self,
        collection: str,
        asked: FileQuestion,
        question: Question,
        turn: Turn,
        documents: Sequence[DocumentEntry],
        names: UploaderNames,
    ) -> FileReply | None:
        meant = await self._meant(collection, asked, question, turn, documents)
        if not meant:
            if not asked.certain and not asked.words:
                return None
            unknown = unknown_answer(asked.words, nearest_named(asked.words, documents))
            return FileReply(unknown, certain=asked.certain)
        if len(meant) > 1:
            return FileReply(which_answer(meant))
        (entry,) = meant
        if asked.ask is FileAsk.UPLOADER:
            return FileReply(uploader_answer(entry, await names(entry)))
        view = await self._catalogue.view(collection, entry.number)
        if view is None or not view.chunks:
            return FileReply(unread_answer(entry))
        return FileReply(outline_answer(view), _passages(view))

    async def _meant(
        self,
        collection: str,
        asked: FileQuestion,
        question: Question,
        turn: Turn,
        documents: Sequence[DocumentEntry],
    ) -> Sequence[DocumentEntry]:
        """Return the documents that a question can mean, best first."""
        if asked.position:
            return documents[asked.position - 1 : asked.position]
        if asked.number:
            return [entry for entry in documents if entry.number == asked.number]
        if asked.words:
            return best_named(asked.words, documents)[1]
        latest = sorted(documents, key=lambda entry: entry.uploaded_at)[-1:]
        if asked.pointing is Pointing.TO_LATEST:
            return latest
        if quoted := _named_in(question.quoted, documents):
            return quoted
        if question.quoted and not asked.certain:
            return []
        shown = await turn.history.aget_messages()
        if len(named := _named_in(shown[-1].text if shown else "", documents)) == 1:
            return named
        for source in await self._memory.sources(turn.session_id):
            number = await self._catalogue.number_of(collection, source.build_id)
            if cited := [entry for entry in documents if entry.number == number]:
                return cited
        return latest if asked.certain else []

    @staticmethod
    async def _chosen(question: Question, turn: Turn, documents: Sequence[DocumentEntry]) -> FileQuestion | None:
        """Return the question that was asked before, about the file whose number answers which one is meant."""
        text = question.text.strip().rstrip("。.号")
        if not (text.isdecimal() and len(text) <= len(str(documents[-1].number))):
            return None
        shown = await turn.history.aget_messages()
        if not shown or not shown[-1].text.startswith(WHICH):
            return None
        for earlier in await turn.history.last_questions(1):
            if asked := await asyncio.to_thread(recognise, Question(earlier.split("\n")[0]), documents):
                return replace(asked, words=(), number=int(text), pointing=None, certain=True)
        return None

    async def _find(self, collection: str, topic: str, documents: Sequence[DocumentEntry]) -> list[Reference]:
        """Return the best passage of each document that is about a topic, best document first."""
        found: dict[int, tuple[float, Reference]] = {}
        for reference in await self._retriever.search(collection, topic, _SEARCHED):
            titled = shared(topic, f"{reference.name} {reference.heading}")
            mentioned = shared(topic, reference.text)
            rate = mentioned + (_TITLED if titled >= _ABOUT else 0.0) + shared(topic, reference.name)
            if max(titled, mentioned) >= _ABOUT and rate > found.get(reference.document_number, (0.0, reference))[0]:
                found[reference.document_number] = (rate, reference)
        for entry in documents:
            if entry.number not in found and shared(topic, entry.name) >= _ABOUT:
                view = await self._catalogue.view(collection, entry.number)
                if view and view.chunks:
                    found[entry.number] = (_TITLED + 1.0, _reference(view, 1, 0))
        rated = sorted(found.values(), key=lambda pair: pair[0], reverse=True)
        # Where one is named after the topic, others only mention it.
        least = _TITLED if rated and rated[0][0] >= _TITLED else 0.0
        return [reference for rate, reference in rated[:_FOUND] if rate >= least]


def _listed(asked: FileQuestion, documents: Sequence[DocumentEntry]) -> Answer:
    sort = "".join(asked.words)
    named = [entry for entry in documents if sort and plain_name(sort) in plain_name(entry.name)]
    return list_answer(named, len(documents), sort) if named else list_answer(documents, len(documents))


def _of_kind(asked: FileQuestion, documents: Sequence[DocumentEntry]) -> Answer:
    kind = asked.kind or FileKind.TEXT
    word = plain_name("".join(asked.words))
    found = [
        entry
        for entry in documents
        if PurePath(entry.name).suffix.lower() in _SUFFIXES[kind] or word in plain_stem(entry.name)
    ]
    return kind_answer(found, len(documents), kind)


def _extreme(asked: FileQuestion, documents: Sequence[DocumentEntry]) -> Answer:
    extreme = asked.extreme or Extreme.LARGEST
    return extreme_answer(min(documents, key=_ORDERS[extreme]), extreme)


async def _senders(documents: Sequence[DocumentEntry], names: UploaderNames) -> Answer:
    counts = Counter(entry.uploader_id for entry in documents)
    sent = {entry.uploader_id: entry for entry in documents}
    return senders_answer([(await names(sent[sender]), count) for sender, count in counts.most_common(_SENDERS)])


def _named_in(text: str, documents: Sequence[DocumentEntry]) -> list[DocumentEntry]:
    """Return the documents whose names a text contains. A name within a longer one that it contains does not count."""
    plain = plain_name(text)
    stems = {entry.number: plain_stem(entry.name) for entry in documents}
    named = [entry for entry in documents if len(stems[entry.number]) >= _NAMED_CHARS and stems[entry.number] in plain]
    return [
        entry
        for entry in named
        if not any(
            stems[entry.number] != stems[other.number] and stems[entry.number] in stems[other.number] for other in named
        )
    ]


def _passages(view: DocumentView) -> Retrieval:
    """Return what a model reads of a document: all of it, or else beginnings of its parts, spread evenly."""
    chunks = view.chunks
    length = sum(len(chunk.text) for chunk in chunks)
    if length > _SUMMARY_CHARS or len(chunks) > _SUMMARY_PASSAGES:
        parts = view.outline.parts
        starts = [part.ordinal for part in parts] if len(parts) >= _SUMMARY_PASSAGES else range(len(chunks))
        count = max(1, min(_SUMMARY_PASSAGES, _SUMMARY_CHARS * len(chunks) // length, len(starts)))
        wanted = {starts[place * len(starts) // count] for place in range(count)}
        chunks = [chunk for chunk in chunks if chunk.ordinal in wanted]
    references = tuple(_reference(view, number, chunk.ordinal) for number, chunk in enumerate(chunks, start=1))
    return Retrieval(RetrievalStatus.USABLE, references, chunk_count=len(view.chunks))


def _reference(view: DocumentView, number: int, ordinal: int) -> Reference:
    chunk = next(chunk for chunk in view.chunks if chunk.ordinal == ordinal)
    return Reference(
        number=number,
        document_number=view.entry.number,
        name=view.entry.name,
        version=view.entry.version,
        page=page_of(chunk),
        heading=str(chunk.metadata.get("heading", "")),
        text=chunk.text,
        score=1.0,
        build_id=view.build_id,
        first_ordinal=ordinal,
        last_ordinal=ordinal,
    )
