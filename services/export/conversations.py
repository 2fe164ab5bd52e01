"""The sections of an export that tell what was said and rated."""

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from services.budgets.model import estimated_tokens
from services.export.models import DialogueSession, ExportedRow, MessageRecord, UserFeedback
from services.memory.dialogues import Dialogues
from services.records.conversations import details_of
from services.records.dialogues import DialogueRecords
from services.records.exports import ExportedTurn, ExportRecords
from services.records.tables import ContentType, TurnState

# Few enough rows that turning them into text does not stop the event loop.
_PAGE = 100


class ConversationExport:
    """The dialogues, messages and ratings of all chats."""

    def __init__(self, dialogues: Dialogues, records: DialogueRecords, exports: ExportRecords) -> None:
        self._dialogues = dialogues
        self._records = records
        self._exports = exports

    async def sessions(self, since: datetime) -> AsyncIterator[ExportedRow]:
        """Yield the dialogues that went on since a moment."""
        await self._dialogues.settle()
        last = 0
        while page := await self._records.page(last, since, _PAGE):
            last = page[-1].id
            for dialogue in page:
                yield DialogueSession(
                    session_id=dialogue.uuid,
                    user_id=str(dialogue.user_id),
                    created_at=dialogue.started_at,
                    last_updated=dialogue.updated_at,
                    turn_count=dialogue.turns,
                    total_tokens=dialogue.tokens,
                    status=dialogue.status,
                    summary=dialogue.summary or None,
                    feedback_score=dialogue.score,
                    is_resolved=dialogue.resolved,
                )

    async def messages(self, since: datetime) -> AsyncIterator[ExportedRow]:
        """Yield the questions since a moment, each followed by its answer if it has one."""
        last = 0
        while page := await self._exports.turns(last, since, _PAGE):
            last = page[-1].turn.id
            for exported in page:
                for message in _messages(exported):
                    yield message

    async def feedback(self, since: datetime) -> AsyncIterator[ExportedRow]:
        """Yield the ratings since a moment."""
        last = 0
        while page := await self._exports.ratings(last, since, _PAGE):
            last = page[-1].rating.id
            for exported in page:
                rating = exported.rating
                yield UserFeedback(
                    feedback_id=rating.uuid,
                    message_id=answer_id(exported.dialogue, rating.turn_id),
                    session_id=exported.dialogue,
                    helpful_score=rating.score,
                    resolution_status=rating.resolution,
                    comment=rating.comment,
                    submitted_at=rating.submitted_at,
                )


def answer_id(dialogue: str, turn_id: int) -> str:
    """Return the UUID of the answer of a turn, the same in every export."""
    return str(uuid5(_namespace(dialogue), f"answer/{turn_id}"))


def _question_id(dialogue: str, turn_id: int) -> str:
    return str(uuid5(_namespace(dialogue), f"question/{turn_id}"))


def _namespace(dialogue: str) -> UUID:
    return uuid5(NAMESPACE_URL, dialogue)


def _messages(exported: ExportedTurn) -> list[MessageRecord]:
    turn, details = exported.turn, details_of(exported.turn)
    messages = [
        MessageRecord(
            message_id=_question_id(exported.dialogue, turn.id),
            session_id=exported.dialogue,
            role="user",
            content_type=details.content_type,
            content=turn.question,
            timestamp=turn.asked_at,
            token_count=estimated_tokens(turn.question),
        )
    ]
    if turn.state == TurnState.ANSWERED:
        messages.append(
            MessageRecord(
                message_id=answer_id(exported.dialogue, turn.id),
                session_id=exported.dialogue,
                role="assistant",
                content_type=ContentType.TEXT,
                content=turn.answer,
                timestamp=turn.ended_at or turn.asked_at,
                token_count=exported.completion_tokens,
                retrieved_doc_ids=tuple(
                    f"{passage.build_id}:{passage.first_ordinal}-{passage.last_ordinal}"
                    for passage in details.retrieved
                ),
                tool_calls=details.tool_calls,
                confidence_score=details.confidence,
            )
        )
    return messages
