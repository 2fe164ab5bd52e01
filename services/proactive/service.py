"""Unasked answers: decide about messages, call the retriever, and count the answers."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from services.proactive import rules
from services.proactive.models import (
    Approval,
    Decision,
    GroupMessage,
    GroupStatus,
    OpinionSource,
    Reason,
    UnaskedOutcome,
)
from services.records.groups import ANSWERS_KEPT, GateFeedbackRecords, GroupPreferences, GroupRecords, UnaskedAnswer
from services.records.tables import now
from services.retrieval.models import Question, Reference, Retrieval, RetrievalStatus, Strictness
from services.retrieval.retriever import Retriever
from services.retrieval.wording import asks_people, asks_something
from services.session import KnowledgeCollection, KnowledgeScope
from services.settings import ProactiveSettings

log = logging.getLogger(__name__)

OBJECTION_QUIET = timedelta(hours=1)
_DECISIONS = 5
# Enough for the longest wait and for a conversation of two; no rule looks further back.
_HEARD = 100
# The wait is shorter or longer than the setting by up to this share, so that it does not look mechanical.
_SPREAD = 0.25

_REASONS = {
    RetrievalStatus.NO_RECALL: Reason.NO_RECALL,
    RetrievalStatus.LOW_CONFIDENCE: Reason.LOW_CONFIDENCE,
    RetrievalStatus.RERANK_FAILED: Reason.RERANK_FAILED,
}


@dataclass(slots=True)
class _Group:
    """A group in which the mode is on. `answers` are those of the last day, oldest first."""

    preferences: GroupPreferences
    answers: list[UnaskedAnswer]
    heard: deque[GroupMessage] = field(default_factory=lambda: deque[GroupMessage](maxlen=_HEARD))
    recalled: deque[int] = field(default_factory=lambda: deque[int](maxlen=_HEARD))
    decisions: deque[Decision] = field(default_factory=lambda: deque[Decision](maxlen=_DECISIONS))
    counting: asyncio.Lock = field(default_factory=asyncio.Lock)


class ProactiveService:
    """The proactive mode of every group.

    Decisions about messages are made in memory; only changes reach the database. A message is reported to `hear`, then
    judged by `consider`, which waits a moment for people to answer first. The receiver of an approval writes the
    answer, asks `still_wanted`, and ends the approval with `settle`.
    """

    def __init__(
        self,
        groups: GroupRecords,
        feedback: GateFeedbackRecords,
        retriever: Retriever,
        settings: ProactiveSettings,
        scope: KnowledgeScope,
        *,
        clock: Callable[[], datetime] = now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._records = groups
        self._feedback = feedback
        self._retriever = retriever
        self._settings = settings
        self._scope = scope
        self._clock = clock
        self._sleep = sleep
        self._groups: dict[int, _Group] = {}

    async def resume(self) -> None:
        """Load the groups in which the mode is switched on."""
        for preferences in await self._records.switched_on():
            await self._open(preferences)

    # -- switches -----------------------------------------------------------------------------------------------------

    def is_on(self, group_id: int) -> bool:
        """Return whether the mode is on in this group, even if it is quiet now. This is answered from memory."""
        return group_id in self._groups

    async def switch(self, group_id: int, *, on: bool) -> None:
        """Switch the mode of a group on or off. Switching on a mode that was off also ends its quiet."""
        if on == self.is_on(group_id):
            return
        preferences = GroupPreferences(group_id, auto=on)
        await self._records.store(preferences)
        if on:
            await self._open(preferences)
        else:
            self._groups.pop(group_id, None)

    async def quiet(self, group_id: int, duration: timedelta) -> datetime | None:
        """Be quiet for `duration` from now, and return until when; 0 ends the quiet.

        Return None if the group is not quiet afterwards. There is no effect if the mode is off.
        """
        group = self._groups.get(group_id)
        if group is None:
            return None
        until = self._clock() + duration if duration > timedelta(0) else None
        await self._quiet_until(group, until)
        return until

    def status(self, group_id: int) -> GroupStatus:
        """Return the state of the mode in this group. This is answered from memory."""
        group = self._groups.get(group_id)
        if group is None:
            return GroupStatus(on=False, per_hour=self._settings.per_hour)
        return GroupStatus(
            on=True,
            quiet_until=group.preferences.quiet_until if self._is_quiet(group) else None,
            answered=self._answered(group),
            per_hour=self._settings.per_hour,
            decisions=tuple(group.decisions),
        )

    # -- messages -----------------------------------------------------------------------------------------------------

    def hear(self, message: GroupMessage) -> None:
        """Note a message, also one that is not for the bot. This costs next to nothing if the mode is off."""
        group = self._groups.get(message.group_id)
        if group is not None:
            group.heard.append(message)

    def recall(self, group_id: int, message_id: int) -> None:
        """Note that a message was recalled, so that it is not answered."""
        group = self._groups.get(group_id)
        if group is not None:
            group.recalled.append(message_id)

    async def consider(self, message: GroupMessage) -> Approval | None:
        """Decide about one message that was heard before and does not ask the bot, cheapest check first.

        Unless the decision is clear at once, return after a wait of several seconds. Raise `SearchIndexError` if the
        index fails.
        """
        group = self._groups.get(message.group_id)
        if group is None or message.asks_bot:
            return None
        reason = self._at_once(group, message)
        if reason is None:
            wait = self._settings.delay_s
            await self._sleep(wait * random.uniform(1 - _SPREAD, 1 + _SPREAD))  # noqa: S311 - a human pace, not a secret
            reason = self._since(group, message)
        if reason is not None:
            self._decide(group, message, reason)
            return None
        collection = KnowledgeCollection.of_group(message.group_id, self._scope)
        question = Question(message.text, message.quoted)
        try:
            retrieval = await self._retriever.retrieve(collection.name, question, strictness=Strictness.UNASKED)
        except Exception:
            self._decide(group, message, Reason.FAILED)
            raise
        if retrieval.status is not RetrievalStatus.USABLE or not retrieval.references:
            self._decide(group, message, _REASONS.get(retrieval.status, Reason.LOW_CONFIDENCE), _score(retrieval))
            return None
        async with group.counting:
            reason = self._meanwhile(group, message, retrieval)
            reason = reason or self._limit(group, message, retrieval.references[0])
            if reason is not None:
                self._decide(group, message, reason, _score(retrieval))
                return None
            answer = await self._count(group, message, collection, retrieval)
        return Approval(message, collection, question, retrieval, answer)

    async def still_wanted(self, approval: Approval) -> bool:
        """Return whether the answer is still wanted after it was written. False ends the approval."""
        group = self._groups.get(approval.message.group_id)
        retrieval = approval.retrieval
        reason = Reason.SWITCHED_OFF if group is None else self._meanwhile(group, approval.message, retrieval)
        if reason is None:
            return True
        await self._withdraw(approval, reason)
        return False

    async def settle(self, approval: Approval, outcome: UnaskedOutcome) -> None:
        """End an approval. A sent answer counts from now on, a failed one counts as never taken up."""
        if outcome is UnaskedOutcome.FAILED:
            await self._withdraw(approval, Reason.FAILED)
            return
        group = self._groups.get(approval.message.group_id)
        sent = outcome is UnaskedOutcome.SENT
        await self._change(group, replace(approval.answer, answered_at=self._clock(), fruitless=not sent))
        if group is not None:
            reason = Reason.ANSWERED if sent else Reason.NOTHING_TO_SAY
            self._decide(group, approval.message, reason, _score(approval.retrieval))

    async def object(self, group_id: int, message_id: int | None, source: OpinionSource) -> bool | None:
        """Note that somebody did not want the answer to `message_id` (None: the newest one).

        The bot is then quiet for at least an hour, and the first objection to an answer is kept as feedback on the
        gate. Return True if the quiet began now, False if the group already was quiet. Return None, and do nothing, if
        no unasked answer of the last day belongs to the message.
        """
        group = self._groups.get(group_id)
        if group is None:
            return None
        async with group.counting:
            answer = _sent_answer(group, message_id)
            if answer is None:
                return None
            becomes_quiet = not self._is_quiet(group)
            until, asked_for = self._clock() + OBJECTION_QUIET, group.preferences.quiet_until
            if asked_for is None or asked_for < until:
                await self._quiet_until(group, until)
            if not answer.objected:
                await self._change(group, replace(answer, objected=True))
                await self._feedback.add(answer.collection, answer.rerank_score, helpful=False, source=source)
        return becomes_quiet

    async def welcome(self, group_id: int, message_id: int | None) -> None:
        """Note that somebody liked the answer to `message_id` (None: the newest one).

        The first time is kept as feedback.
        """
        group = self._groups.get(group_id)
        if group is None:
            return
        async with group.counting:
            answer = _sent_answer(group, message_id)
            if answer is not None and not answer.welcomed:
                await self._change(group, replace(answer, welcomed=True))
                await self._feedback.add(
                    answer.collection, answer.rerank_score, helpful=True, source=OpinionSource.REACTION
                )

    # -- internals ----------------------------------------------------------------------------------------------------

    def _at_once(self, group: _Group, message: GroupMessage) -> Reason | None:
        """Return the reason that is known before anybody had time to answer, if any."""
        if not rules.says_something(message.text):
            return Reason.TOO_SHORT
        if rules.says_too_much(message.text):
            return Reason.TOO_LONG
        if not message.text_only:
            return Reason.NOT_TEXT
        if not asks_something(message.text) or asks_people(message.text):
            return Reason.NO_QUESTION
        if self._is_quiet(group):
            return Reason.QUIET
        if message.addresses_somebody:
            return Reason.ADDRESSED
        if rules.interrupts(message, self._before(group, message), self._settings.quiet_s):
            return Reason.CONVERSATION
        return self._limit(group, message)

    def _since(self, group: _Group, message: GroupMessage) -> Reason | None:
        """Return the reason from what happened after the message, if any."""
        if self._groups.get(message.group_id) is not group:
            return Reason.SWITCHED_OFF
        if self._is_quiet(group):
            return Reason.QUIET
        if message.message_id in group.recalled:
            return Reason.RECALLED
        since = self._after(group, message)
        if rules.asked_directly(message, since):
            return Reason.ASKED_DIRECTLY
        if rules.settled(message, since):
            return Reason.SETTLED
        if rules.taken_up(message, since):
            return Reason.TAKEN_UP
        # Two members may have started to talk in the meantime, without a reply or an @.
        heard = list(group.heard)
        talking = rules.conversation_since(heard, _place(heard, message) or 0, self._clock(), self._settings.quiet_s)
        return Reason.CONVERSATION if talking else None

    def _meanwhile(self, group: _Group, message: GroupMessage, retrieval: Retrieval) -> Reason | None:
        """Return the reason from what happened meanwhile, or that somebody said what the bot would say."""
        said = rules.answered(message, self._after(group, message), retrieval.references[0].text)
        return self._since(group, message) or (Reason.TAKEN_UP if said else None)

    def _limit(self, group: _Group, message: GroupMessage, reference: Reference | None = None) -> Reason | None:
        """Return the reason from earlier answers. The passage of the answer, if known, reveals near repetitions."""
        fruitless = (item.answered_at for item in group.answers if item.fruitless)
        # A model call that finds nothing to say has a cost, too.
        spent = max(self._answered(group), rules.in_last_hour(fruitless, self._clock()))
        if spent >= self._settings.per_hour:
            return Reason.HOURLY_LIMIT
        return Reason.REPEATED if rules.repeats(message.text, reference, group.answers, self._clock()) else None

    async def _count(
        self, group: _Group, message: GroupMessage, collection: KnowledgeCollection, retrieval: Retrieval
    ) -> UnaskedAnswer:
        """Count an answer before it is written, so that neither concurrency nor a restart exceeds the limits."""
        first, present = retrieval.references[0], self._clock()
        answer = UnaskedAnswer(
            group_id=message.group_id,
            message_id=message.message_id,
            collection=collection.name,
            text=rules.comparable(message.text),
            build_id=first.build_id,
            first_ordinal=first.first_ordinal,
            last_ordinal=first.last_ordinal,
            rerank_score=_score(retrieval) or 0.0,
            answered_at=present,
        )
        answer = replace(answer, id=await self._records.add_answer(answer))
        group.answers = [*(item for item in group.answers if item.answered_at > present - ANSWERS_KEPT), answer]
        return answer

    async def _withdraw(self, approval: Approval, reason: Reason) -> None:
        await self._records.withdraw_answer(approval.answer.id)
        group = self._groups.get(approval.message.group_id)
        if group is not None:
            group.answers = [item for item in group.answers if item.id != approval.answer.id]
            self._decide(group, approval.message, reason, _score(approval.retrieval))

    async def _change(self, group: _Group | None, answer: UnaskedAnswer) -> None:
        await self._records.change_answer(answer)
        if group is not None:
            group.answers = [answer if item.id == answer.id else item for item in group.answers]

    async def _quiet_until(self, group: _Group, until: datetime | None) -> None:
        preferences = replace(group.preferences, quiet_until=until)
        await self._records.store(preferences)
        group.preferences = preferences

    async def _open(self, preferences: GroupPreferences) -> None:
        answers = await self._records.answers(preferences.group_id, self._clock() - ANSWERS_KEPT)
        self._groups[preferences.group_id] = _Group(preferences, answers)

    def _is_quiet(self, group: _Group) -> bool:
        return group.preferences.quiet_until is not None and self._clock() < group.preferences.quiet_until

    def _answered(self, group: _Group) -> int:
        return rules.in_last_hour((item.answered_at for item in group.answers if not item.fruitless), self._clock())

    def _before(self, group: _Group, message: GroupMessage) -> Sequence[GroupMessage]:
        heard = list(group.heard)
        place = _place(heard, message)
        return heard if place is None else heard[:place]

    def _after(self, group: _Group, message: GroupMessage) -> Sequence[GroupMessage]:
        """Return what was heard since; if the message is already forgotten, everything remembered came later."""
        heard = list(group.heard)
        place = _place(heard, message)
        return heard if place is None else heard[place + 1 :]

    def _decide(self, group: _Group, message: GroupMessage, reason: Reason, score: float | None = None) -> None:
        group.decisions.append(Decision(message.message_id, message.text, reason, message.at, score))


def _place(heard: Sequence[GroupMessage], message: GroupMessage) -> int | None:
    places = (place for place, item in enumerate(heard) if item.message_id == message.message_id)
    return next(places, None)


def _sent_answer(group: _Group, message_id: int | None) -> UnaskedAnswer | None:
    sent = [item for item in group.answers if not item.fruitless]
    found = [item for item in sent if message_id is None or item.message_id == message_id]
    return found[-1] if found else None


def _score(retrieval: Retrieval) -> float | None:
    return retrieval.metrics.max_rerank_score
