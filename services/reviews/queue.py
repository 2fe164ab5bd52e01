"""The queue of reviews: decided once, answered once, whatever stops in between.

    open ──► OPEN ──decide (one SQL statement)──► DECIDED ──► SENDING ──► ANSWERED
              │                                      ▲           │ └─► UNCONFIRMED ──► ANSWERED
         (recalled)                                  └─(not sent)┘ └─► UNDELIVERED
              ▼
          WITHDRAWN

SENDING is written before the answer is handed to the chat program. After a crash it means that the answer may be in the
chat: it is looked for there, and sent again if it is certainly absent, or if the chat cannot be looked through. The
asker was promised an answer, so that a repetition in the last case is better than silence; `_MOST_ATTEMPTS` bounds it.
An answer that was handed over but not confirmed is the other way round: it is sent again only if certainly absent.
"""

import asyncio
import logging
from dataclasses import replace

from services.grounding.models import Answer
from services.memory.order import SessionOrder
from services.memory.turns import Turn, Turns
from services.records.reviews import Decided, Review, ReviewReason, ReviewRecords, ReviewRequest
from services.records.tables import AnswerKind, ReviewState
from services.reviews.answers import reviewed_answer
from services.reviews.models import (
    Approved,
    Continuation,
    Decision,
    DecisionOutcome,
    DecisionStatus,
    Edited,
    Missing,
    OnApproved,
    Rejected,
    Reviewer,
    ReviewMessenger,
    SendStatus,
)
from services.reviews.notices import Notices

log = logging.getLogger(__name__)

_MOST_ATTEMPTS = 3
PAGE_SIZE = 8
# Clients report a message that they have sent to their own history within seconds, or not at all.
RECHECK_S = 60.0


class ReviewQueue:
    """The reviews of all groups.

    `attach` gives it the chat program, `continue_with` the workflow that waits for decisions, and `teach` what becomes
    of approved answers. Without a workflow, or if its state is gone, an answer is made from the stored review.
    """

    def __init__(self, records: ReviewRecords, turns: Turns, notices: Notices, *, recheck_s: float = RECHECK_S) -> None:
        self._records = records
        self._turns = turns
        self._notices = notices
        self._recheck_s = recheck_s
        self._messenger: ReviewMessenger | None = None
        self._continuation: Continuation | None = None
        self._on_approved: OnApproved | None = None
        self._order = SessionOrder()
        self._tasks: set[asyncio.Task[None]] = set()

    def attach(self, messenger: ReviewMessenger) -> None:
        """Use a chat program from now on."""
        self._messenger = messenger
        self._notices.attach(messenger)

    def continue_with(self, continuation: Continuation) -> None:
        """Let a workflow answer the decided reviews of its waiting turns."""
        self._continuation = continuation

    def teach(self, on_approved: OnApproved) -> None:
        """Pass on what is approved from now on, unless the question means nothing without the one before it."""
        self._on_approved = on_approved

    async def open(self, request: ReviewRequest) -> Review:
        """Write down what has to be reviewed, and tell the admins soon. A turn has at most one review.

        Raise `RecordsError` if the database fails.
        """
        review, is_new = await self._records.open(request)
        if is_new:
            self._notices.schedule(request.self_id, request.group_id)
        return review

    async def find(self, chat: str, number: int) -> Review | None:
        """Return a review of a group, or None if there is none of that number."""
        return await self._records.find(chat, number)

    async def listed(self, chat: str, page: int) -> tuple[list[Review], int]:
        """Return one page of the open reviews of a group, oldest first and counted from 1, and how many there are."""
        skipped = (page - 1) * PAGE_SIZE
        return await self._records.opened(chat, PAGE_SIZE, skipped), await self._records.count_open(chat)

    async def told_by(self, self_id: str, message_id: int, group_id: int | None, user_id: int) -> list[Review]:
        """Return the reviews that a notice told about: one in a group, or, without `group_id`, one to `user_id`."""
        return await self._records.told_by(self_id, message_id, group_id, user_id)

    async def assign(self, chat: str, number: int, assignee_id: int) -> Review | None:
        """Give an open review to a person. Return None if there is no open review of that number."""
        review = await self._records.find(chat, number)
        return None if review is None else await self._records.assign(review.id, assignee_id)

    async def decide(self, chat: str, number: int, decision: Decision, by: Reviewer) -> DecisionOutcome:
        """Decide an open review and answer its asker.

        Of two people who decide at once, one does, and the other one is told who did. Return when the asker has been
        answered, or when it is certain that this has to wait for the account to come back.
        """
        review = await self._records.find(chat, number)
        if review is None:
            return DecisionOutcome(DecisionStatus.UNKNOWN)
        if review.is_open and isinstance(decision, Approved) and not review.request.draft:
            return DecisionOutcome(DecisionStatus.EMPTY, review)
        kind, text = _stored(decision, review)
        claimed = await self._records.decide(review.id, kind, text, by.user_id, by.name)
        if claimed is None:
            return DecisionOutcome(DecisionStatus.TAKEN, await self._records.get(review.id))
        await self.advance(claimed.id)
        return DecisionOutcome(DecisionStatus.DECIDED, await self._records.get(claimed.id))

    async def correct(self, request: ReviewRequest, text: str, by: Reviewer) -> Review:
        """Replace an answer by the right one and tell the group.

        An open review of the same turn is decided by this, unless it is a suggestion, of which the group is not told;
        otherwise there is a new one that is decided at once.
        """
        of_turn = None if request.turn_id is None else await self._records.of_turn(request.turn_id)
        review = None
        if of_turn is not None and of_turn.is_open and of_turn.request.reason is not ReviewReason.SUGGESTED:
            review = await self._records.decide(of_turn.id, Decided.EDITED, text, by.user_id, by.name)
        if review is None:
            review = await self._records.add_decided(request, Decided.EDITED, text, by.user_id, by.name)
        await self.advance(review.id)
        return await self._records.get(review.id) or review

    async def withdraw(self, chat: str, question_id: int) -> None:
        """Close the open reviews of a question that its author recalled, and erase what they say."""
        await self._records.withdraw(chat, question_id)

    async def resume(self, account: str) -> None:
        """Go on where a stop or a lost connection interrupted the reviews of an account. Call when it has connected."""
        for review_id in await self._records.on_their_way(account):
            try:
                await self.advance(review_id)
            except Exception:
                log.exception("review %s could not be continued", review_id)
        for group_id in {review.request.group_id for review in await self._records.unannounced(account)}:
            self._notices.schedule(account, group_id)

    async def close(self) -> None:
        """Stop what goes on in the background. `resume` takes it up again."""
        await self._notices.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def advance(self, review_id: int) -> None:
        """Bring a decided review as far as possible on its way to the asker. Nothing happens twice."""
        async with self._order.place(str(review_id)):
            review = await self._records.get(review_id)
            if review is None or not await self._has_to_be_sent(review):
                return
            await self._pass_on(review)
            if review.request.reason is ReviewReason.SUGGESTED:
                await self._records.settle(review.id, ReviewState.ANSWERED)
                return
            answer = await self._answer(review)
            if (messenger := self._connected(review)) is not None:
                await self._send(messenger, review, answer)

    async def _has_to_be_sent(self, review: Review) -> bool:
        """Return whether a review is decided and its answer is not in the chat, as far as that can be known now."""
        if review.state is ReviewState.DECIDED:
            return True
        messenger = self._connected(review)
        if messenger is None or review.state not in (ReviewState.SENDING, ReviewState.UNCONFIRMED):
            return False
        found = await messenger.find(review)
        if found is Missing.ABSENT or (found is Missing.UNKNOWN and review.state is ReviewState.SENDING):
            return True
        await self._records.settle(review.id, ReviewState.ANSWERED, found if isinstance(found, int) else None)
        return False

    async def _pass_on(self, review: Review) -> None:
        if self._on_approved is None or review.learnt or review.decision is Decided.REJECTED:
            return
        try:
            await self._on_approved(review)
        except Exception:
            # The asker gets the answer all the same.
            log.exception("the answer of review %s could not be passed on", review.id)
        else:
            await self._records.set_learnt(review.id)

    async def _answer(self, review: Review) -> Answer:
        """Return the answer to send. If the turn still waits, it ends with this answer."""
        answer = reviewed_answer(review)
        if review.request.turn_id is None:
            return answer
        async with self._turns.resume(review.request.turn_id) as turn:
            if turn is None:
                return answer
            continued = None if review.continued else await self._continued(review, turn)
            if continued is not None and review.decision is not Decided.REJECTED:
                answer = continued
                # After a crash the workflow does not run again, and the stored text is the same as in the log.
                await self._records.set_answer(review.id, answer.text, answer.sources)
            turn.details = replace(turn.details, outcome=AnswerKind.REVIEWED)
            await turn.complete(answer.text, answer.sources)
        return answer

    async def _continued(self, review: Review, turn: Turn) -> Answer | None:
        """Return what the workflow makes of a decision, or None if it cannot go on."""
        if self._continuation is None:
            return None
        try:
            return await self._continuation(review, turn)
        except Exception:
            # A renamed node, a lost checkpoint or a failing model must not lose what a person decided.
            log.exception("turn %s could not be resumed; its review is answered as it is stored", turn.id)
            return None

    async def _send(self, messenger: ReviewMessenger, review: Review, answer: Answer) -> None:
        if review.attempts >= _MOST_ATTEMPTS:
            log.error("the answer of review %s could not be delivered", review.id)
            await self._records.settle(review.id, ReviewState.UNDELIVERED)
            return
        await self._records.sending(review.id)
        sending = await messenger.answer(review, answer)
        match sending.status:
            case SendStatus.SENT:
                await self._records.settle(review.id, ReviewState.ANSWERED, sending.message_id)
            case SendStatus.UNCONFIRMED:
                await self._records.settle(review.id, ReviewState.UNCONFIRMED)
                self._recheck(review.id)
            case SendStatus.REFUSED:
                await self._records.settle(review.id, ReviewState.DECIDED)
            case SendStatus.AWAY:
                await self._records.not_sent(review.id)
            case SendStatus.RECALLED:
                await self._records.settle(review.id, ReviewState.WITHDRAWN)

    def _recheck(self, review_id: int) -> None:
        async def later() -> None:
            await asyncio.sleep(self._recheck_s)
            try:
                await self.advance(review_id)
            except Exception:
                log.exception("it is unknown whether the answer of review %s arrived", review_id)

        task = asyncio.create_task(later(), name="review-recheck")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _connected(self, review: Review) -> ReviewMessenger | None:
        """Return the chat program if the account of a review can send now."""
        messenger = self._messenger
        return messenger if messenger is not None and messenger.is_connected(review.request.self_id) else None


def _stored(decision: Decision, review: Review) -> tuple[Decided, str]:
    """Return a decision as it is stored: its kind, and the text that it sends, or the reason why there is none."""
    match decision:
        case Approved():
            return Decided.APPROVED, review.request.draft
        case Edited(text):
            return Decided.EDITED, text
        case Rejected(reason):
            return Decided.REJECTED, reason
