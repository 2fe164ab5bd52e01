"""Frames that show the page what the bot knows and what an answer is based on."""

from typing import Any

from qq.depends import services
from qq.reports.retrieval import place
from services.answering.models import Answer
from services.answering.trace import AnswerTrace
from services.knowledge.models import DocumentEntry
from services.retrieval.models import Candidate, Question, Reference
from services.retrieval.query import build_query
from services.session import KnowledgeCollection, KnowledgeScope, Session
from services.tracing.stages import StageTime
from simulator.stage import Frame
from simulator.transcript import StageChat
from simulator.world import World

_SHOWN_CANDIDATES = 12
_SHOWN_DOCUMENTS = 200


def collection_of(chat: StageChat) -> KnowledgeCollection:
    """Return the chat's own knowledge base."""
    scope = services().settings.knowledge.scope
    return (
        KnowledgeCollection.of_group(chat.number, scope)
        if chat.is_group
        else KnowledgeCollection.of_private(chat.number, scope)
    )


async def knowledge_frame(chat: StageChat, world: World) -> Frame:
    """Return the documents of a chat and the state of its knowledge base. `world` has the names of people and groups.

    In the frame, `asked_group` is the name of the group whose files a private chat uses instead of its own, or empty.
    """
    knowledge = services().knowledge
    collection = collection_of(chat).name
    status = await knowledge.status(collection)
    entries, total = await knowledge.documents(collection, 1, _SHOWN_DOCUMENTS)
    return {
        "type": "knowledge",
        "chat": chat.id,
        "knowledge": {
            "documents": [_document(entry, world) for entry in entries],
            "total": total,
            "chunks": status.chunks,
            "size": status.size,
            "indexed_chunks": status.indexed_chunks,
            "indexed_vectors": status.indexed_vectors,
            "stale": status.stale,
            "progress": progress(chat),
            "embedding": status.embedding,
            "degraded": status.degraded,
            "asked_group": await _asked_group(chat, world),
            "shared": services().settings.knowledge.scope is KnowledgeScope.GLOBAL,
        },
    }


def progress(chat: StageChat) -> list[dict[str, Any]]:
    """Return the progress of the files that are being ingested for a chat."""
    found = services().knowledge.progress(collection_of(chat).name)
    return [{"name": item.name, "done": item.done, "total": item.total} for item in found]


async def _asked_group(chat: StageChat, world: World) -> str:
    session_id = Session(None, chat.number).session_id(services().settings.session.scope)
    group_id = None if chat.is_group else await services().conversations.knowledge_group(session_id)
    if group_id is None:
        return ""
    return world.groups[group_id].name if group_id in world.groups else str(group_id)


def _document(entry: DocumentEntry, world: World) -> dict[str, Any]:
    uploader = world.friends.get(entry.uploader_id)
    return {
        "number": entry.number,
        "name": entry.name,
        "version": entry.version,
        "chunks": entry.chunks,
        "size": entry.size,
        "uploader": uploader.nickname if uploader else str(entry.uploader_id),
        "time": int(entry.uploaded_at.timestamp()),
        "state": "ready" if entry.ready else "building",
    }


def answer_frame(chat_id: str, message_id: str, trace: AnswerTrace, reply_s: float) -> Frame:
    """Return everything that an answer is based on.

    `reply_s` is the time from question to reply in seconds, including the wait for the session's turn.
    """
    retrieval = trace.retrieval
    asked = trace.question
    times = [*trace.times, StageTime("reply", reply_s)]
    return {
        "type": "answer",
        "chat": chat_id,
        "message": message_id,
        "answer": {
            "question": asked.text,
            "previous": asked.previous,
            "quoted": asked.quoted,
            "searched": build_query(Question(asked.text, asked.quoted)).text,
            "expansions": list(retrieval.expansions) if retrieval else [],
            "kind": trace.answer.kind.value,
            "status": retrieval.status.value if retrieval else "failed",
            "threshold": retrieval.threshold if retrieval else 0.0,
            "chunk_count": retrieval.chunk_count if retrieval else 0,
            "warning": trace.answer.notice or (retrieval.warning if retrieval else trace.answer.text),
            "counts": {
                "recall": retrieval.metrics.recall_count if retrieval else 0,
                "rerank": retrieval.metrics.rerank_count if retrieval else 0,
                "approved": retrieval.metrics.approved_count if retrieval else 0,
            },
            "candidates": [_candidate(item) for item in retrieval.candidates[:_SHOWN_CANDIDATES]] if retrieval else [],
            "references": [_reference(item, trace.answer) for item in retrieval.references] if retrieval else [],
            "model": trace.model,
            "timings": [{"stage": time.stage, "milliseconds": round(time.seconds * 1000, 1)} for time in times],
        },
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "place": place(candidate),
        "text": candidate.hit.chunk.text,
        "matched": sorted(candidate.hit.matched),
        "cosine": candidate.hit.cosine,
        "coverage": candidate.coverage,
        "fused": candidate.fused,
        "score": candidate.rerank_score,
        "verdict": candidate.verdict.value,
    }


def _reference(reference: Reference, answer: Answer) -> dict[str, Any]:
    passage = (reference.build_id, reference.first_ordinal, reference.last_ordinal)
    cited = (
        source.number
        for source in answer.sources
        if (source.build_id, source.first_ordinal, source.last_ordinal) == passage
    )
    return {
        # The number in the answer, which renumbers the references that it cites. None if it does not cite this one.
        "cited_as": next(cited, None),
        "number": reference.number,
        "place": reference.place,
        "version": reference.version,
        "text": reference.text,
        "score": reference.score,
    }
