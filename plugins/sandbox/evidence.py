"""Frames that show the page what the bot knows and what an answer is based on."""

from functools import partial
from typing import Any

from plugins.sandbox.library import document_json
from qq.depends import services
from services.grounding.models import AnswerKind
from services.session import KnowledgeCollection, KnowledgeScope, Session
from services.tracing.models import CandidateTrace, GateTrace, ModelContext, PassageTrace, StageTime
from simulator.stage import Frame
from simulator.transcript import StageChat
from simulator.world import World

_SHOWN_DOCUMENTS = 200
_BY_MODEL = (AnswerKind.WRITTEN, AnswerKind.GENERAL)


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
            "documents": [document_json(entry, partial(uploader_name, world)) for entry in entries],
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


def uploader_name(world: World, user_id: int) -> str:
    """Return what a person of the page is called, or the number of anybody else."""
    person = world.friends.get(user_id)
    return person.nickname if person else str(user_id)


async def _asked_group(chat: StageChat, world: World) -> str:
    session_id = Session(None, chat.number).session_id(services().settings.session.scope)
    group_id = None if chat.is_group else await services().conversations.knowledge_group(session_id)
    if group_id is None:
        return ""
    return world.groups[group_id].name if group_id in world.groups else str(group_id)


def answer_frame(chat_id: str, message_id: str, record: ModelContext, reply_s: float) -> Frame:
    """Return everything that an answer is based on.

    `reply_s` is the time from question to reply in seconds, including the wait for the session's turn.
    """
    trace, gate = record.trace, record.trace.gate or GateTrace(status="failed", warning=record.response)
    times = [*trace.stages, StageTime(stage="reply", milliseconds=reply_s * 1000)]
    return {
        "type": "answer",
        "chat": chat_id,
        "message": message_id,
        "answer": {
            "question": record.raw_question,
            "rewritten": trace.question.rewritten,
            "quoted": trace.question.quoted,
            "searched": trace.question.searched,
            "expansions": trace.question.expansions,
            "kind": trace.outcome,
            "status": gate.status,
            "threshold": gate.threshold,
            "chunk_count": gate.chunk_count,
            "warning": trace.notice or gate.warning,
            "counts": {"recall": gate.recall, "rerank": gate.rerank, "approved": gate.approved},
            "candidates": [_candidate(item) for item in gate.candidates],
            "references": [_reference(item) for item in gate.passages],
            "model": trace.model_calls[-1].model if trace.model_calls and trace.outcome in _BY_MODEL else "",
            "timings": [{"stage": time.stage, "milliseconds": round(time.milliseconds, 1)} for time in times],
        },
    }


def _candidate(candidate: CandidateTrace) -> dict[str, Any]:
    shown = candidate.model_dump(include={"text", "matched", "cosine", "coverage", "fused", "score", "verdict"})
    return {"place": candidate.label, **shown}


def _reference(passage: PassageTrace) -> dict[str, Any]:
    shown = passage.model_dump(include={"cited_as", "number", "version", "text", "score"})
    return {"place": passage.label, **shown}
