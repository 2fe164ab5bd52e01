"""Budgets of members and groups: never exceeded, refusals sent once, groups separate, nothing kept for long."""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.budgets.day import beginning_of
from services.budgets.fair_queue import FairQueue
from services.budgets.questions import MINUTE_S, Admission, QuestionBudget, Refusal
from services.database import Database, open_database, sqlite_url
from services.records.conversations import ConversationRecords
from services.records.groups import GroupRecords, UnaskedAnswer
from services.records.tables import TurnRecord
from services.records.usage import UsageRecords
from services.session import Session
from services.settings import BudgetSettings

SUPERUSER = 1
ASKER = Session(777, 10002)
OTHER = Session(777, 10003)


@dataclass
class World:
    """A budget with a clock that the test sets."""

    settings: dict[str, int] = field(default_factory=dict[str, int])
    seconds: float = 1000.0
    day: date = date(2026, 11, 21)

    def __post_init__(self) -> None:
        self.budget = QuestionBudget(
            BudgetSettings.model_validate(self.settings),
            {SUPERUSER},
            FairQueue(8),
            clock=lambda: self.seconds,
            day=lambda: self.day,
        )

    def ask(self, session: Session, text: str = "怎么报销") -> Admission:
        """Ask a question that is answered at once."""
        with self.budget.asking(session, text) as admission:
            return admission


def test_a_minute_slides_and_is_told_once() -> None:
    world = World({"member_questions_per_minute": 2})
    assert world.ask(ASKER) == Admission()
    world.seconds += 20.5
    assert world.ask(ASKER) == Admission()
    refused = [world.ask(ASKER) for _ in range(3)]
    sentence = "一分钟内问得太多了，过 40 秒再问我。"
    assert refused == [Admission(Refusal.MINUTE, sentence), *[Admission(Refusal.MINUTE)] * 2]
    # Refused questions do not count: after the announced number of seconds there is room again.
    world.seconds += 40
    assert world.ask(ASKER) == Admission()
    assert world.ask(ASKER) == Admission(Refusal.MINUTE)
    assert world.ask(OTHER) == Admission()
    # All chats share the account's pace, so the minute is the person's and not the chat's.
    elsewhere = (Session(778, ASKER.user_id), Session(None, ASKER.user_id))
    assert [world.ask(session) for session in elsewhere] == [Admission(Refusal.MINUTE)] * 2
    world.seconds += MINUTE_S
    assert [world.ask(ASKER).refusal for _ in range(3)] == [None, None, Refusal.MINUTE]


def test_questions_and_commands_share_a_minute() -> None:
    world = World({"member_questions_per_minute": 3, "member_questions_per_day": 1})
    assert world.ask(ASKER) == world.budget.command(ASKER) == world.budget.command(ASKER) == Admission()
    assert world.budget.command(ASKER).refusal is Refusal.MINUTE
    assert world.budget.command(OTHER) == Admission()
    # Commands do not count for the day.
    assert world.ask(OTHER) == Admission()
    assert world.ask(OTHER).refusal is Refusal.MEMBER_DAY


def test_waiting_questions_are_bounded_and_told_once() -> None:
    world = World({"waiting_questions": 3, "member_questions_per_minute": 6})
    with ExitStack() as stack:
        taken = [stack.enter_context(world.budget.asking(ASKER, f"问题{number}")) for number in range(6)]
        assert [admission.refusal for admission in taken] == [None] * 4 + [Refusal.WAITING] * 2
        assert [admission.sentence for admission in taken[4:]] == ["你有 3 个问题在等，等我答完再问。", ""]
        assert world.ask(OTHER) == Admission()
    assert [world.ask(ASKER).refusal for _ in range(3)] == [None, None, Refusal.MINUTE]


def test_one_flood_hears_one_sentence() -> None:
    world = World({"waiting_questions": 1, "member_questions_per_minute": 3})
    with ExitStack() as first, ExitStack() as others:
        first.enter_context(world.budget.asking(ASKER, "甲"))
        others.enter_context(world.budget.asking(ASKER, "乙"))
        assert world.ask(ASKER, "丙").sentence
        first.close()
        others.enter_context(world.budget.asking(ASKER, "丁"))
        for text in ("甲", "乙", "戊"):
            assert world.ask(ASKER, text).sentence == "", "the first sentence still holds"
    # All questions are answered, so the next refusal has a new reason and is sent.
    assert "一分钟" in world.ask(ASKER, "己").sentence


def test_a_duplicate_is_dropped_with_one_word() -> None:
    world = World()
    with world.budget.asking(ASKER, "怎么报销？") as first:
        assert first == Admission()
        assert world.ask(ASKER, " 怎么 报销!") == Admission(Refusal.DUPLICATE, "这个问题正在答，稍等。")
        assert world.ask(ASKER, "怎么报销") == Admission(Refusal.DUPLICATE)
        assert world.ask(OTHER, "怎么报销") == world.ask(Session(778, 10002), "怎么报销") == Admission()
        assert world.ask(ASKER, "怎么请假") == Admission()
    assert world.ask(ASKER, "怎么报销") == Admission(), "it is answered: now it may be asked again"
    with world.budget.asking(ASKER, "？"):
        assert world.ask(ASKER, "！") == Admission(), "without a letter the text itself counts"


def test_days_of_members_and_groups() -> None:
    limits = {"member_questions_per_minute": 0, "member_questions_per_day": 3, "group_questions_per_day": 4}
    world = World(limits)
    assert [world.ask(Session(group, 10002)).refusal for group in (777, 778, None)] == [None] * 3
    assert world.ask(Session(779, 10002)).sentence == "你今天的 3 个问题用完了，明天再问我。"
    assert world.ask(ASKER) == Admission(Refusal.MEMBER_DAY), "over all groups, said once"
    assert [world.ask(Session(777, 20000 + number)).refusal for number in range(3)] == [None] * 3
    assert world.ask(OTHER).sentence == "本群今天的 4 个问题用完了，明天再问我。"
    assert world.ask(OTHER) == Admission(Refusal.GROUP_DAY)
    assert not world.budget.count_unasked(777)
    assert world.ask(Session(778, 10003)) == world.ask(Session(None, 10003)) == Admission()
    world.day += timedelta(days=1)
    assert world.budget.has_room_for_unasked(777)
    assert world.ask(ASKER) == world.ask(OTHER) == Admission()


def test_unasked_answers_count_for_the_group_only() -> None:
    world = World({"group_questions_per_day": 2, "member_questions_per_day": 1})
    assert world.budget.count_unasked(777)
    assert world.ask(ASKER) == Admission()
    assert not world.budget.count_unasked(777)
    assert world.ask(OTHER).refusal is Refusal.GROUP_DAY
    assert world.budget.count_unasked(778)


def test_superusers_are_never_refused() -> None:
    world = World({"member_questions_per_minute": 1, "member_questions_per_day": 1, "group_questions_per_day": 1})
    superuser = Session(777, SUPERUSER)
    with ExitStack() as stack:
        for _ in range(20):
            assert stack.enter_context(world.budget.asking(superuser, "一样")) == Admission()
            assert world.budget.command(superuser) == Admission()
    assert world.ask(ASKER).refusal is Refusal.GROUP_DAY


def test_zero_is_unlimited() -> None:
    names = ("member_questions_per_minute", "member_questions_per_day", "group_questions_per_day")
    world = World(dict.fromkeys(names, 0))
    assert {world.ask(ASKER, f"问题{number}").refusal for number in range(2000)} == {None}


def test_sixty_fresh_members_a_minute_are_not_refused_by_default() -> None:
    world = World()
    for number in range(600):
        assert world.ask(Session(777, 10000 + number)) == Admission()
        world.seconds += 1


def test_nothing_about_a_member_is_kept_for_longer_than_a_minute() -> None:
    world = World()
    with world.budget.asking(ASKER, "还在答"):
        for number in range(10_000):
            world.ask(Session(number, 20000 + number))
        world.seconds += MINUTE_S
        world.ask(OTHER)
        assert world.budget.remembered == 2
    world.seconds += 2 * MINUTE_S
    world.ask(OTHER)
    assert world.budget.remembered == 1


# -- any sequence of events -------------------------------------------------------------------------------------------

_SESSIONS = (Session(1, 11), Session(1, 12), Session(2, 11), Session(2, 13), Session(None, 12))
_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("ask", "ask", "ask", "finish", "command", "wait", "midnight")),
        st.sampled_from(_SESSIONS),
        st.integers(0, 8),
    ),
    max_size=120,
)


@dataclass
class Course:
    """The results of one sequence of events, for each member in one chat."""

    admissions: list[tuple[Session, Admission]] = field(default_factory=list[tuple[Session, Admission]])
    moments: dict[Session, list[float]] = field(default_factory=lambda: defaultdict(list))
    said: dict[tuple[Session, Refusal], list[float]] = field(default_factory=lambda: defaultdict(list))
    days: dict[tuple[date, object], int] = field(default_factory=lambda: defaultdict(int))
    most_pending: int = 0


def _run(events: list[tuple[str, Session, int]], limits: dict[str, int]) -> Course:
    world, course = World(limits), Course()
    pending: dict[Session, list[ExitStack]] = defaultdict(list)
    for what, session, number in events:
        admission = None
        if what == "ask":
            stack = ExitStack()
            admission = stack.enter_context(world.budget.asking(session, f"问题{number}"))
            if admission.refusal is None:
                pending[session].append(stack)
                course.days[world.day, session.user_id] += 1
                course.days[world.day, f"group {session.group_id}"] += session.group_id is not None
            else:
                stack.close()
        elif what == "command":
            admission = world.budget.command(session)
        elif what == "finish" and pending[session]:
            pending[session].pop(0).close()
        elif what == "wait":
            world.seconds += number * 7
        elif what == "midnight":
            world.day += timedelta(days=1)
        course.most_pending = max(course.most_pending, *map(len, pending.values()), 0)
        if admission is not None:
            course.admissions.append((session, admission))
            if admission.refusal is None:
                course.moments[session].append(world.seconds)
            if admission.sentence and admission.refusal is not None:
                course.said[session, admission.refusal].append(world.seconds)
    return course


@given(_EVENTS)
def test_no_course_of_events_exceeds_a_budget(events: list[tuple[str, Session, int]]) -> None:
    minute, day, group, waiting = 3, 6, 8, 2
    course = _run(
        events,
        {
            "member_questions_per_minute": minute,
            "member_questions_per_day": day,
            "group_questions_per_day": group,
            "waiting_questions": waiting,
        },
    )
    for moments in course.moments.values():
        for index, moment in enumerate(moments[minute:]):
            assert moment - moments[index] >= MINUTE_S
    for (_, whom), count in course.days.items():
        assert count <= (group if str(whom).startswith("group") else day)
    assert course.most_pending <= waiting + 1
    for (_, refusal), times in course.said.items():
        if refusal in (Refusal.MINUTE, Refusal.WAITING, Refusal.DUPLICATE):
            assert all(later - earlier >= MINUTE_S for earlier, later in pairwise(times))


@given(_EVENTS)
def test_no_group_notices_what_is_asked_in_another(events: list[tuple[str, Session, int]]) -> None:
    limits = {"member_questions_per_minute": 0, "member_questions_per_day": 0, "group_questions_per_day": 3}
    alone = [event for event in events if event[0] in ("wait", "midnight") or event[1].group_id == 1]
    together = [admission for session, admission in _run(events, limits).admissions if session.group_id == 1]
    assert together == [admission for _, admission in _run(alone, limits).admissions]


# -- restarts ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


async def test_the_day_survives_a_restart(database: Database) -> None:
    today = date(2026, 11, 21)
    midnight = beginning_of(today)
    conversations = ConversationRecords(database)
    asked = [
        (midnight - timedelta(seconds=1), "group_777_10002", 10002),
        (midnight, "group_777_10002", 10002),
        (midnight + timedelta(hours=5), "group_777_10003", 10003),
        (midnight + timedelta(hours=5), "private_10002", 10002),
        (midnight + timedelta(hours=6), "group_778", 10002),
    ]
    for at, session_id, user_id in asked:
        turn_id = await conversations.begin(session_id, user_id, "问")
        async with database.writing() as session:
            (await session.get_one(TurnRecord, turn_id)).asked_at = at.astimezone(UTC)
    await GroupRecords(database).add_answer(
        UnaskedAnswer(777, 5, "group_777", "问", "build", 0, 0, 0.9, midnight + timedelta(hours=1))
    )
    world = World({"member_questions_per_day": 4, "group_questions_per_day": 4})
    await world.budget.resume(UsageRecords(database))
    # Group 777 has two questions and one unasked answer; member 10002 has three questions.
    assert world.ask(Session(779, 10002)) == Admission()
    assert world.ask(Session(779, 10002)).refusal is Refusal.MEMBER_DAY
    assert world.ask(OTHER) == Admission()
    assert world.ask(OTHER).refusal is Refusal.GROUP_DAY


def test_a_day_begins_at_midnight_in_shanghai() -> None:
    assert beginning_of(date(2026, 11, 21)) == datetime(2026, 11, 20, 16, tzinfo=UTC)
