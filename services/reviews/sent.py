"""Reviews of answers that were already sent: by a member, by a low rating, or by somebody who knows better."""

from enum import StrEnum

from services.records.conversations import ConversationRecords
from services.records.reviews import Review, ReviewReason, ReviewRecords, ReviewRequest
from services.records.sent_answers import SentAnswerRecords
from services.records.tables import AnswerKind
from services.reviews.models import Reviewer
from services.reviews.queue import ReviewQueue
from services.session import KnowledgeCollection, KnowledgeScope, Session, chat_of, group_of

# What one member may leave open, and how many reviews a group's admins can be expected to look through.
MOST_OF_MEMBER, MOST_OF_GROUP = 3, 50


class Refusal(StrEnum):
    """Why an answer is not put into the queue.

    SUGGESTED means that the admins are looking at what a member answered instead.
    """

    NO_TURN = "no_turn"
    REVIEWED = "reviewed"
    SUGGESTED = "suggested"
    MEMBER_FULL = "member_full"
    GROUP_FULL = "group_full"


class SentReviews:
    """Puts answers that were sent in a group into its queue."""

    def __init__(
        self,
        queue: ReviewQueue,
        records: ReviewRecords,
        conversations: ConversationRecords,
        sent_answers: SentAnswerRecords,
        scope: KnowledgeScope,
    ) -> None:
        self._queue = queue
        self._records = records
        self._conversations = conversations
        self._sent_answers = sent_answers
        self._scope = scope

    async def ask(
        self,
        turn_id: int,
        member: Session,
        reason: ReviewReason,
        *,
        self_id: str,
        answer_id: int | None = None,
        question_id: int | None = None,
        note: str = "",
        proposal: str = "",
    ) -> Review | Refusal:
        """Ask the admins to look at the answer of a turn. An open review of it is returned as it is.

        `member` is who asks for it. `answer_id` and `question_id` are messages in QQ. `proposal` is the text that
        should have been the answer.
        """
        request = await self._request(turn_id, member, reason, self_id, answer_id, question_id, note, proposal)
        if request is None:
            return Refusal.NO_TURN
        present = await self._records.of_turn(turn_id)
        if present is not None:
            if not present.is_open:
                return Refusal.REVIEWED
            return Refusal.SUGGESTED if present.request.reason is ReviewReason.SUGGESTED else present
        if await self._records.count_open(request.chat, member.user_id) >= MOST_OF_MEMBER:
            return Refusal.MEMBER_FULL
        if await self._records.count_open(request.chat) >= MOST_OF_GROUP:
            return Refusal.GROUP_FULL
        return await self._queue.open(request)

    async def doubt(self, turn_id: int, user_id: int, comment: str = "") -> None:
        """Ask the admins to look at an answer that a member rated low, unless they did or have too much to look at."""
        sent = await self._sent_answers.of_turn(turn_id)
        turn = await self._conversations.turn(turn_id)
        if sent is not None and turn is not None:
            member, reason = Session(group_of(turn.session_id), user_id), ReviewReason.LOW_RATING
            await self.ask(turn_id, member, reason, self_id=sent.self_id, answer_id=sent.message_id, note=comment)

    async def correct(
        self,
        turn_id: int,
        text: str,
        by: Reviewer,
        group_id: int,
        *,
        self_id: str,
        answer_id: int,
        question_id: int | None = None,
    ) -> Review | None:
        """Replace the answer of a turn by the right one. Return None if no such turn belongs to the group."""
        request = await self._request(
            turn_id, Session(group_id, by.user_id), ReviewReason.CORRECTION, self_id, answer_id, question_id
        )
        return None if request is None else await self._queue.correct(request, text, by)

    async def _request(
        self,
        turn_id: int,
        member: Session,
        reason: ReviewReason,
        self_id: str,
        answer_id: int | None,
        question_id: int | None,
        note: str = "",
        proposal: str = "",
    ) -> ReviewRequest | None:
        turn = await self._conversations.turn(turn_id)
        # A recalled question has no text left.
        if turn is None or member.group_id is None or chat_of(turn.session_id) != member.chat or not turn.question:
            return None
        found_something = turn.outcome != AnswerKind.NOTHING_FOUND
        sources = turn.sources.sources if turn.sources and not proposal else ()
        return ReviewRequest(
            chat=member.chat,
            collection=KnowledgeCollection.of_group(member.group_id, self._scope).name,
            self_id=self_id,
            group_id=member.group_id,
            session_id=turn.session_id,
            asker_id=turn.user_id,
            question=turn.question,
            draft=proposal or (turn.answer if found_something else ""),
            reason=reason,
            question_id=question_id,
            answer_id=answer_id,
            turn_id=turn.id,
            sources=sources,
            passages=sources,
            confidence=turn.confidence,
            note=note,
            requested_by=member.user_id,
        )
