"""Limits on the questions of one member and one group, and the sentence for a refusal.

The questions of a member's last minute and of their day count over all chats, because all chats share the account's
pace; those that wait count in each chat separately, those of a group's day over all its members. Times of the
last minute are seconds of a monotonic clock; days are calendar days in Shanghai.
"""

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Set
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from services.budgets.day import beginning_of, today
from services.budgets.fair_queue import FairQueue
from services.records.usage import UsageRecords
from services.session import Session, chat_of
from services.settings import BudgetSettings
from services.text.cleaning import compatible

MINUTE_S = 60.0
_DUPLICATE = "这个问题正在答，稍等。"


class Refusal(StrEnum):
    """The reason why a question or a command is refused."""

    DUPLICATE = "duplicate"
    WAITING = "waiting"
    MINUTE = "minute"
    MEMBER_DAY = "member_day"
    GROUP_DAY = "group_day"


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision about a question or a command. `sentence` is the reply, empty if it was already sent."""

    refusal: Refusal | None = None
    sentence: str = ""


@dataclass(slots=True)
class _Minute:
    """What one person asked within the last minute in any chat. Until `silent_until` the last refusal still holds."""

    asked: deque[float] = field(default_factory=deque[float])
    told_at: float = -math.inf
    silent_until: float = -math.inf

    def forget_before(self, moment: float) -> None:
        """Drop everything older than `moment`."""
        while self.asked and self.asked[0] <= moment:
            self.asked.popleft()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left that could affect a decision about the next question."""
        return not self.asked


@dataclass(slots=True)
class _Member:
    """One member in one chat: the questions that are not answered yet, and which refusals they were told when.

    `minute` is shared by all chats of the person. While `waits`, the last refusal still holds and no further sentence
    is sent.
    """

    minute: _Minute
    pending: list[str] = field(default_factory=list[str])
    told: dict[Refusal, float] = field(default_factory=dict[Refusal, float])
    waits: bool = False

    def forget_before(self, moment: float) -> None:
        """Drop everything older than `moment`."""
        self.told = {kind: at for kind, at in self.told.items() if at > moment}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left that could affect a decision about the next question."""
        return not (self.pending or self.told)


@dataclass(slots=True)
class _Day:
    """The questions of one day, and who was told that a limit is reached."""

    day: date
    members: Counter[int] = field(default_factory=Counter[int])
    groups: Counter[int] = field(default_factory=Counter[int])
    told: set[tuple[Refusal, int, int]] = field(default_factory=set[tuple[Refusal, int, int]])


class QuestionBudget:
    """Decides about each question and command in the order of arrival, from memory.

    Superusers are never refused; their questions count for their group. The counts of the day survive a restart through
    `resume`. Data about the last minute is dropped after a minute, data about the day at midnight.
    """

    def __init__(
        self,
        settings: BudgetSettings,
        superusers: Set[int],
        queue: FairQueue,
        *,
        clock: Callable[[], float] = time.monotonic,
        day: Callable[[], date] = today,
    ) -> None:
        self._settings = settings
        self._superusers = superusers
        self._queue = queue
        self._clock = clock
        self._today = day
        self._members: dict[Session, _Member] = {}
        self._minutes: dict[int, _Minute] = {}
        self._day = _Day(day())
        self._swept_at = clock()

    async def resume(self, records: UsageRecords) -> None:
        """Count what was asked earlier today, before this process started."""
        day = self._present_day()
        since = beginning_of(day.day)
        for session_id, user_id, count in await records.questions_since(since):
            day.members[user_id] += count
            kind, number = chat_of(session_id).split("_")
            if kind == "group":
                day.groups[int(number)] += count
        for group_id, count in await records.unasked_answers_since(since):
            day.groups[group_id] += count

    @property
    def remembered(self) -> int:
        """The number of members and people about whom anything is kept for the current minute."""
        return max(len(self._members), len(self._minutes))

    @contextmanager
    def asking(self, session: Session, text: str) -> Generator[Admission]:
        """Decide about a question; an accepted one counts as waiting until the block ends.

        The same question of the same member, compared without case, width, spaces and punctuation, is refused while the
        first one waits or is being answered.
        """
        key = _comparable(text)
        admission = self._question(session, key)
        if admission.refusal is not None:
            yield admission
            return
        member = self._member(session)
        member.pending.append(key)
        try:
            yield admission
        finally:
            member.pending.remove(key)
            if not member.pending:
                member.waits = False

    def place(self, session: Session) -> AbstractAsyncContextManager[None]:
        """Wait for the place of an accepted question; see `FairQueue`."""
        return self._queue.place(session)

    def command(self, session: Session) -> Admission:
        """Decide about a command.

        Questions and commands count together for the minute; commands count for no day.
        """
        if session.user_id in self._superusers:
            return Admission()
        member = self._member(session)
        if admission := self._refused_for_minute(member):
            return admission
        member.minute.asked.append(self._clock())
        return Admission()

    def has_room_for_unasked(self, group_id: int) -> bool:
        """Return whether the group's day has room for an unasked answer."""
        limit = self._settings.group_questions_per_day
        return not limit or self._present_day().groups[group_id] < limit

    def count_unasked(self, group_id: int) -> bool:
        """Count an unasked answer against the group's day.

        Return False, and count nothing, if there is no room.
        """
        if not self.has_room_for_unasked(group_id):
            return False
        self._present_day().groups[group_id] += 1
        return True

    # -- internals ----------------------------------------------------------------------------------------------------

    def _question(self, session: Session, key: str) -> Admission:
        member, day = self._member(session), self._present_day()
        if session.user_id not in self._superusers:
            refused = self._refused_for_day(session, day)
            refused = refused or self._refused_for_waiting(member, key) or self._refused_for_minute(member)
            if refused is not None:
                return refused
            member.minute.asked.append(self._clock())
        day.members[session.user_id] += 1
        if session.group_id is not None:
            day.groups[session.group_id] += 1
        return Admission()

    def _refused_for_day(self, session: Session, day: _Day) -> Admission | None:
        limit = self._settings.member_questions_per_day
        if limit and day.members[session.user_id] >= limit:
            return self._for_today(Refusal.MEMBER_DAY, session, day, f"你今天的 {limit} 个问题用完了，明天再问我。")
        limit = self._settings.group_questions_per_day
        if limit and session.group_id is not None and day.groups[session.group_id] >= limit:
            return self._for_today(Refusal.GROUP_DAY, session, day, f"本群今天的 {limit} 个问题用完了，明天再问我。")
        return None

    def _for_today(self, refusal: Refusal, session: Session, day: _Day, sentence: str) -> Admission:
        group_id = (session.group_id or 0) if refusal is Refusal.GROUP_DAY else 0
        told = (refusal, group_id, session.user_id)
        if told in day.told:
            return Admission(refusal)
        day.told.add(told)
        return Admission(refusal, sentence)

    def _refused_for_waiting(self, member: _Member, key: str) -> Admission | None:
        limit = self._settings.waiting_questions
        if key in member.pending:
            sentence = self._said_once(member, Refusal.DUPLICATE, _DUPLICATE)
            refused = Admission(Refusal.DUPLICATE, sentence)
        # The question that is being answered does not wait.
        elif len(member.pending) > limit:
            sentence = f"你有 {limit} 个问题在等，等我答完再问。"
            refused = Admission(Refusal.WAITING, self._said_once(member, Refusal.WAITING, sentence))
        else:
            return None
        member.waits = member.waits or bool(refused.sentence)
        return refused

    def _refused_for_minute(self, member: _Member) -> Admission | None:
        limit, minute, present = self._settings.member_questions_per_minute, member.minute, self._clock()
        if not limit or len(minute.asked) < limit:
            return None
        if member.waits or present < minute.silent_until or present - minute.told_at < MINUTE_S:
            return Admission(Refusal.MINUTE)
        minute.told_at, minute.silent_until = present, minute.asked[-limit] + MINUTE_S
        seconds = math.ceil(minute.silent_until - present)
        return Admission(Refusal.MINUTE, f"一分钟内问得太多了，过 {seconds} 秒再问我。")

    def _said_once(self, member: _Member, refusal: Refusal, sentence: str) -> str:
        present = self._clock()
        if member.waits or present < member.minute.silent_until or refusal in member.told:
            return ""
        member.told[refusal] = present
        return sentence

    def _member(self, session: Session) -> _Member:
        present = self._clock()
        if present - self._swept_at >= MINUTE_S:
            self._swept_at = present
            for kept in (*self._members.values(), *self._minutes.values()):
                kept.forget_before(present - MINUTE_S)
            self._members = {key: member for key, member in self._members.items() if not member.is_idle}
            self._minutes = {key: minute for key, minute in self._minutes.items() if not minute.is_idle}
        minute = self._minutes.setdefault(session.user_id, _Minute())
        member = self._members.setdefault(session, _Member(minute))
        member.minute = minute
        member.forget_before(present - MINUTE_S)
        minute.forget_before(present - MINUTE_S)
        return member

    def _present_day(self) -> _Day:
        day = self._today()
        if day != self._day.day:
            self._day = _Day(day)
        return self._day


def _comparable(text: str) -> str:
    """Return `text` without case, width, spaces and punctuation, or unchanged if nothing would be left."""
    letters = "".join(each for each in compatible(text).casefold() if each.isalnum())
    return letters or text
