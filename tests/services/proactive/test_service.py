"""The proactive mode: what is answered, what is not and why, its cost, and what survives a restart."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.database import Database, open_database, sqlite_url
from services.errors import SearchIndexError
from services.proactive.models import Approval, GroupMessage, OpinionSource, Reason, UnaskedOutcome
from services.proactive.service import ProactiveService
from services.records.groups import GateFeedbackRecords, GroupRecords
from services.retrieval.models import Question, RetrievalStatus, Strictness
from services.session import KnowledgeScope
from services.settings import ProactiveSettings
from tests.services.proactive.messages import GROUP, said
from tests.services.proactive.retriever import Clock, ScriptedRetriever, rejected, usable

A, B, C = 1, 2, 3
QUESTION, OTHER = "mmdeploy 怎么安装", "报销要交哪些单据"
PER_HOUR = 3


@dataclass
class Bot:
    """A service with all its dependencies."""

    service: ProactiveService
    retriever: ScriptedRetriever
    clock: Clock
    database: Database

    async def says(self, user_id: int, text: str = QUESTION, **values: Any) -> Approval | None:
        """Let the service hear and consider a message."""
        return await self.service.consider(self.heard(user_id, text, **values))

    def heard(self, user_id: int, text: str, **values: Any) -> GroupMessage:
        """Let the service hear a message."""
        message = said(user_id, text, at=self.clock.present, **values)
        self.service.hear(message)
        return message

    async def answers(self, user_id: int, text: str = QUESTION, **values: Any) -> bool:
        """Return whether a message was answered."""
        approval = await self.says(user_id, text, **values)
        if approval is None or not await self.service.still_wanted(approval):
            return False
        await self.service.settle(approval, UnaskedOutcome.SENT)
        return True

    def reason(self, group_id: int = GROUP) -> Reason:
        """Return why the last message was answered or not."""
        return self.service.status(group_id).decisions[-1].reason

    async def restarted(self) -> "Bot":
        """Return the bot of another process on the same records, at the same time."""
        return await start(self.database, self.clock)


async def start(database: Database, clock: Clock, **values: Any) -> Bot:
    retriever = ScriptedRetriever()
    retriever.found = {QUESTION: usable(), OTHER: usable("other")}
    service = ProactiveService(
        GroupRecords(database),
        GateFeedbackRecords(database),
        retriever,
        ProactiveSettings(**{"per_hour": PER_HOUR, **values}),
        KnowledgeScope.GROUP,
        clock=clock,
        sleep=clock.sleep,
    )
    await service.resume()
    return Bot(service, retriever, clock, database)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


@pytest.fixture
async def bot(database: Database) -> Bot:
    bot = await start(database, Clock())
    await bot.service.switch(GROUP, on=True)
    return bot


# -- switches ---------------------------------------------------------------------------------------------------------


async def test_it_is_off_until_a_group_switches_it_on(database: Database) -> None:
    bot = await start(database, Clock())
    assert not bot.service.is_on(GROUP)
    assert not await bot.answers(A)
    assert (bot.retriever.asked, bot.clock.waits, bot.service.status(GROUP).decisions) == ([], [], ())
    await bot.service.switch(GROUP, on=True)
    assert await bot.answers(A)
    assert not await bot.answers(A, group_id=778)
    await bot.service.switch(GROUP, on=False)
    assert not await bot.answers(A, OTHER)


async def test_switches_and_quiet_survive_a_restart(bot: Bot) -> None:
    until = await bot.service.quiet(GROUP, timedelta(hours=2))
    again = await bot.restarted()
    assert again.service.is_on(GROUP)
    assert again.service.status(GROUP).quiet_until == until
    assert not await again.answers(A)
    assert again.reason() is Reason.QUIET
    await again.service.switch(GROUP, on=False)
    assert not (await bot.restarted()).service.is_on(GROUP)


async def test_quiet_ends_by_itself_and_by_word(bot: Bot) -> None:
    await bot.service.quiet(GROUP, timedelta(minutes=30))
    bot.clock.advance(minutes=29)
    assert not await bot.answers(A)
    bot.clock.advance(minutes=1)
    assert bot.service.status(GROUP).quiet_until is None
    assert await bot.answers(A)
    await bot.service.quiet(GROUP, timedelta(days=7))
    assert await bot.service.quiet(GROUP, timedelta(0)) is None
    assert await bot.answers(A, OTHER)
    assert not (await bot.restarted()).service.status(GROUP).quiet_until


async def test_where_it_is_off_nothing_can_be_made_quiet(database: Database) -> None:
    bot = await start(database, Clock())
    assert await bot.service.quiet(GROUP, timedelta(hours=1)) is None


# -- the gate ---------------------------------------------------------------------------------------------------------


async def test_only_the_groups_own_documents_are_asked_and_strictly(bot: Bot) -> None:
    approval = await bot.says(A, quoted="上次的报错")
    assert approval is not None
    assert bot.retriever.asked == [("group_777", Question(QUESTION, "上次的报错"), Strictness.UNASKED)]
    assert approval.collection.name == "group_777"
    assert approval.retrieval.status is RetrievalStatus.USABLE


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (RetrievalStatus.LOW_CONFIDENCE, Reason.LOW_CONFIDENCE),
        (RetrievalStatus.NO_RECALL, Reason.NO_RECALL),
        (RetrievalStatus.RERANK_FAILED, Reason.RERANK_FAILED),
    ],
)
async def test_what_the_gate_rejects_is_not_answered(bot: Bot, status: RetrievalStatus, reason: Reason) -> None:
    bot.retriever.found[QUESTION] = rejected(status)
    assert not await bot.answers(A)
    decision = bot.service.status(GROUP).decisions[-1]
    assert (decision.reason, decision.score, decision.text) == (reason, 0.3, QUESTION)
    assert bot.service.status(GROUP).answered == 0


async def test_usable_without_a_passage_is_not_usable(bot: Bot) -> None:
    bot.retriever.found[QUESTION] = rejected(RetrievalStatus.USABLE)
    assert not await bot.answers(A)


async def test_a_failing_index_is_told_to_the_caller_and_counts_for_nothing(bot: Bot) -> None:
    bot.retriever.error = SearchIndexError("检索出错。")
    with pytest.raises(SearchIndexError):
        await bot.says(A)
    assert bot.reason() is Reason.FAILED
    bot.retriever.error = None
    assert await bot.answers(A)


# -- what is not looked up --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"text": "哈哈"}, Reason.TOO_SHORT),
        ({"text": f"{QUESTION}？" * 30}, Reason.TOO_LONG),
        ({"text_only": False}, Reason.NOT_TEXT),
        ({"text": "我下周要去上海出差"}, Reason.NO_QUESTION),
        ({"addressed": [B]}, Reason.ADDRESSED),
        ({"addresses_somebody": True}, Reason.ADDRESSED),
    ],
    ids=["short", "long", "picture", "statement", "at", "unknown reply"],
)
async def test_cheap_reasons_cost_nothing(bot: Bot, values: dict[str, Any], reason: Reason) -> None:
    assert not await bot.answers(A, **values)
    assert bot.reason() is reason
    assert (bot.retriever.asked, bot.clock.waits) == ([], [])


async def test_what_asks_the_bot_is_left_to_it(bot: Bot) -> None:
    assert not await bot.answers(A, asks_bot=True)
    assert (bot.retriever.asked, bot.service.status(GROUP).decisions) == ([], ())


async def test_never_inside_a_conversation_of_two(bot: Bot) -> None:
    bot.heard(A, "昨天的会开得怎么样")
    bot.heard(B, "还行，定了两件事")
    assert not await bot.answers(A)
    assert bot.reason() is Reason.CONVERSATION
    assert not await bot.answers(C)
    assert bot.retriever.asked == []
    bot.clock.advance(seconds=120)
    assert await bot.answers(C)


# -- while it waits ---------------------------------------------------------------------------------------------------


async def test_it_waits_a_while_that_is_never_the_same(bot: Bot) -> None:
    for _ in range(20):
        await bot.says(A, "大家觉得这个方案如何呢")
    assert all(6 <= seconds <= 10 for seconds in bot.clock.waits)
    assert len(set(bot.clock.waits)) > 10


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        ({"user_id": B, "text": "看文档的第三节就行", "reply_to": 42}, Reason.TAKEN_UP),
        ({"user_id": B, "text": "嗯", "addressed": [A]}, Reason.TAKEN_UP),
        ({"user_id": A, "text": "解决了"}, Reason.SETTLED),
        ({"user_id": A, "text": "怎么安装", "asks_bot": True}, Reason.ASKED_DIRECTLY),
    ],
    ids=["reply", "at", "settled", "asked directly"],
)
async def test_what_people_answer_is_left_to_them(bot: Bot, later: dict[str, Any], reason: Reason) -> None:
    bot.clock.meanwhile = lambda: bot.service.hear(said(at=bot.clock.present, **later))
    assert not await bot.answers(A, message_id=42)
    assert bot.reason() is reason
    assert bot.retriever.asked == []


async def test_a_conversation_that_began_meanwhile_is_left_alone(bot: Bot) -> None:
    def talk() -> None:
        for user, text in ((B, "你装过没有"), (A, "装过一次没成"), (B, "那跟我上次一样")):
            bot.service.hear(said(user, text, at=bot.clock.present))

    bot.clock.meanwhile = talk
    assert not await bot.answers(A)
    assert bot.reason() is Reason.CONVERSATION
    assert bot.retriever.asked == []


async def test_a_conversation_that_began_and_was_interrupted_meanwhile_is_left_alone(bot: Bot) -> None:
    def talk() -> None:
        for user, text in ((B, "你装过没有"), (A, "装过一次没成"), (C, "今天食堂的红烧肉不错")):
            bot.service.hear(said(user, text, at=bot.clock.present))

    bot.clock.meanwhile = talk
    assert not await bot.answers(A)
    assert bot.reason() is Reason.CONVERSATION


async def test_who_just_goes_on_talking_answers_nothing(bot: Bot) -> None:
    bot.clock.meanwhile = lambda: bot.service.hear(said(B, "今天食堂的红烧肉不错", at=bot.clock.present))
    assert await bot.answers(A)


async def test_a_question_that_was_taken_back_is_not_answered(bot: Bot) -> None:
    message = bot.heard(A, QUESTION)
    bot.clock.meanwhile = lambda: bot.service.recall(GROUP, message.message_id)
    assert await bot.service.consider(message) is None
    assert bot.reason() is Reason.RECALLED


async def test_switched_off_or_quiet_while_it_waited(bot: Bot) -> None:
    message, waiting, go_on = bot.heard(A, QUESTION), asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await go_on.wait()

    bot.service._sleep = sleep  # pyright: ignore[reportPrivateUsage]
    considering = asyncio.create_task(bot.service.consider(message))
    await waiting.wait()
    await bot.service.switch(GROUP, on=False)
    await bot.service.switch(GROUP, on=True)
    go_on.set()
    assert await considering is None, "it is another beginning"
    assert bot.retriever.asked == []


async def test_what_happens_while_the_answer_is_written(bot: Bot) -> None:
    approval = await bot.says(A)
    assert approval is not None
    bot.heard(B, "看文档的第三节就行", addressed=[A])
    assert not await bot.service.still_wanted(approval)
    assert bot.reason() is Reason.TAKEN_UP
    assert bot.service.status(GROUP).answered == 0
    assert await (await bot.restarted()).answers(C), "it counts as never answered"


async def test_quiet_while_the_answer_is_written(bot: Bot) -> None:
    approval = await bot.says(A)
    assert approval is not None
    await bot.service.quiet(GROUP, timedelta(hours=1))
    assert not await bot.service.still_wanted(approval)


async def test_switched_off_while_the_answer_is_written(bot: Bot) -> None:
    approval = await bot.says(A)
    assert approval is not None
    await bot.service.switch(GROUP, on=False)
    assert not await bot.service.still_wanted(approval)


# -- limits -----------------------------------------------------------------------------------------------------------


async def numbered(bot: Bot, number: int) -> bool:
    """Return whether a question unlike any other was answered."""
    text = f"第{number}号{chr(0x4E00 + 37 * number)}{chr(0x5E00 + 53 * number)}设备在哪里领取"
    bot.retriever.found[text] = usable(f"build{number}")
    return await bot.answers(A, text)


async def test_so_many_an_hour_and_no_more_across_a_restart(bot: Bot) -> None:
    assert [await numbered(bot, number) for number in range(5)] == [True] * PER_HOUR + [False] * 2
    assert bot.reason() is Reason.HOURLY_LIMIT
    assert bot.service.status(GROUP).answered == PER_HOUR
    again = await bot.restarted()
    assert not await numbered(again, 6)
    assert again.retriever.asked == [], "not even looked up"
    again.clock.advance(hours=1)
    assert await numbered(again, 7)
    assert again.service.status(GROUP).answered == 1


async def test_every_group_has_its_own_hour(bot: Bot) -> None:
    await bot.service.switch(778, on=True)
    for number in range(PER_HOUR):
        assert await numbered(bot, number)
    assert await bot.answers(A, group_id=778)


async def test_two_at_a_time_do_not_exceed_the_limit(bot: Bot) -> None:
    results = await asyncio.gather(*(numbered(bot, number) for number in range(12)))
    assert sum(results) == PER_HOUR


async def test_two_who_ask_the_same_at_a_time_get_one_answer(bot: Bot) -> None:
    messages = [bot.heard(A, QUESTION), bot.heard(A, "请问如何安装 mmdeploy")]
    bot.retriever.found[messages[1].text] = usable()
    approvals = await asyncio.gather(*(bot.service.consider(message) for message in messages))
    assert sum(approval is not None for approval in approvals) == 1
    assert bot.reason() is Reason.REPEATED


async def test_never_twice_the_same_within_a_day_across_a_restart(bot: Bot) -> None:
    assert await bot.answers(A)
    bot.clock.advance(hours=2)
    assert not await bot.answers(B, "请问 MMDeploy　怎么安装？？")
    assert bot.reason() is Reason.REPEATED
    assert len(bot.retriever.asked) == 1, "the same words need no search"
    again = await bot.restarted()
    near = "如何安装 mmdeploy 呀"
    again.retriever.found[near] = usable(first=1)
    assert not await again.answers(B, near)
    assert again.reason() is Reason.REPEATED
    again.clock.advance(hours=22)
    assert await again.answers(B, near)


async def test_what_was_fruitless_is_not_tried_again_but_is_no_answer(bot: Bot) -> None:
    approval = await bot.says(A)
    assert approval is not None
    await bot.service.settle(approval, UnaskedOutcome.NOTHING_TO_SAY)
    assert bot.reason() is Reason.NOTHING_TO_SAY
    assert bot.service.status(GROUP).answered == 0
    assert not await bot.answers(B)
    assert bot.reason() is Reason.REPEATED


async def test_fruitless_attempts_are_limited_too(bot: Bot) -> None:
    """Each attempt costs a call of the model."""
    for number in range(PER_HOUR):
        bot.retriever.found[f"第{number}样东西{chr(0x4E00 + 41 * number)}放在哪里"] = usable(f"build{number}")
    for text in list(bot.retriever.found)[2:]:
        approval = await bot.says(A, text)
        assert approval is not None
        await bot.service.settle(approval, UnaskedOutcome.NOTHING_TO_SAY)
    assert not await bot.answers(A)
    assert bot.reason() is Reason.HOURLY_LIMIT


async def test_what_failed_may_be_asked_again(bot: Bot) -> None:
    approval = await bot.says(A)
    assert approval is not None
    await bot.service.settle(approval, UnaskedOutcome.FAILED)
    assert bot.reason() is Reason.FAILED
    assert await bot.answers(B)


async def test_an_answer_counts_from_when_it_was_sent(bot: Bot) -> None:
    approval = await bot.says(A)
    assert approval is not None
    bot.clock.advance(minutes=5)
    await bot.service.settle(approval, UnaskedOutcome.SENT)
    bot.clock.advance(minutes=58)
    assert bot.service.status(GROUP).answered == 1
    assert (await bot.restarted()).service.status(GROUP).answered == 1


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps=st.lists(st.integers(1, 3000), min_size=1, max_size=15), restarts=st.sets(st.integers(0, 14)))
async def test_no_hour_ever_holds_more_answers_than_the_limit(
    tmp_path: Path, gaps: list[int], restarts: set[int]
) -> None:
    database = await open_database(sqlite_url(tmp_path / f"{abs(hash((tuple(gaps), frozenset(restarts))))}.sqlite3"))
    bot = await start(database, Clock())
    await bot.service.switch(GROUP, on=True)
    sent: list[float] = []
    for number, gap in enumerate(gaps):
        bot.clock.advance(seconds=gap)
        if number in restarts:
            bot = await bot.restarted()
        if await numbered(bot, number):
            sent.append(bot.clock.present.timestamp())
    await database.close()
    for first in sent:
        assert sum(first <= other < first + 3600 for other in sent) <= PER_HOUR


# -- objections -------------------------------------------------------------------------------------------------------


async def opinions(bot: Bot) -> list[tuple[float, bool, str]]:
    found = await GateFeedbackRecords(bot.database).all("group_777")
    return [(item.rerank_score, item.helpful, item.source) for item in found]


async def test_an_objection_makes_it_quiet_for_an_hour_and_is_kept(bot: Bot) -> None:
    assert await bot.answers(A, message_id=-42)
    assert await bot.service.object(GROUP, -42, OpinionSource.REACTION) is True
    assert bot.service.status(GROUP).quiet_until == bot.clock.present + timedelta(hours=1)
    assert await opinions(bot) == [(0.9, False, "reaction")]
    assert await bot.service.object(GROUP, -42, OpinionSource.REPLY) is False
    assert len(await opinions(bot)) == 1, "one opinion on one answer"
    again = await bot.restarted()
    assert not await again.answers(A, OTHER)
    await again.service.object(GROUP, -42, OpinionSource.REPLY)
    assert len(await opinions(bot)) == 1


async def test_many_who_mind_at_once_are_told_once(bot: Bot) -> None:
    assert await bot.answers(A, message_id=42)
    told = await asyncio.gather(*(bot.service.object(GROUP, 42, OpinionSource.REACTION) for _ in range(5)))
    assert sorted(map(bool, told)) == [False] * 4 + [True]
    assert len(await opinions(bot)) == 1


async def test_an_objection_without_the_question_is_to_the_newest_answer(bot: Bot) -> None:
    bot.retriever.found[OTHER] = usable("other", score=0.8)
    assert await bot.answers(A)
    assert await bot.answers(B, OTHER)
    assert await bot.service.object(GROUP, None, OpinionSource.REPLY) is True
    assert await opinions(bot) == [(0.8, False, "reply")]


async def test_who_likes_an_answer_is_heard_once_and_nothing_becomes_quiet(bot: Bot) -> None:
    assert await bot.answers(A, message_id=42)
    await bot.service.welcome(GROUP, 42)
    await bot.service.welcome(GROUP, None)
    assert await opinions(bot) == [(0.9, True, "reaction")]
    assert bot.service.status(GROUP).quiet_until is None
    for group_id, message_id in ((GROUP, 43), (778, 42)):
        await bot.service.welcome(group_id, message_id)
    assert await bot.service.object(GROUP, 42, OpinionSource.REACTION) is True
    assert [helpful for _, helpful, _ in await opinions(bot)] == [False, True]


async def test_what_was_not_answered_unasked_cannot_be_objected_to(bot: Bot) -> None:
    assert await bot.service.object(GROUP, None, OpinionSource.REACTION) is None
    assert await bot.answers(A, message_id=42)
    assert await bot.service.object(GROUP, 43, OpinionSource.REACTION) is None
    assert await bot.service.object(778, 42, OpinionSource.REACTION) is None
    assert bot.service.status(GROUP).quiet_until is None
    assert await opinions(bot) == []


async def test_an_objection_never_shortens_a_quiet(bot: Bot) -> None:
    assert await bot.answers(A, message_id=42)
    until = await bot.service.quiet(GROUP, timedelta(days=1))
    assert await bot.service.object(GROUP, 42, OpinionSource.REACTION) is False
    assert bot.service.status(GROUP).quiet_until == until


async def test_an_objection_makes_a_short_quiet_an_hour(bot: Bot) -> None:
    assert await bot.answers(A, message_id=42)
    await bot.service.quiet(GROUP, timedelta(minutes=10))
    assert await bot.service.object(GROUP, 42, OpinionSource.REACTION) is False
    assert bot.service.status(GROUP).quiet_until == bot.clock.present + timedelta(hours=1)


# -- status -----------------------------------------------------------------------------------------------------------


async def test_the_last_five_decisions_of_this_group_only(bot: Bot) -> None:
    await bot.service.switch(778, on=True)
    for number in range(7):
        await bot.says(A, f"这是第{number}句闲聊的话")
    await bot.says(A, "另一个群里说的话", group_id=778)
    texts = [decision.text for decision in bot.service.status(GROUP).decisions]
    assert texts == [f"这是第{number}句闲聊的话" for number in range(2, 7)]
    assert [decision.text for decision in bot.service.status(778).decisions] == ["另一个群里说的话"]


async def test_decisions_are_kept_in_memory_only(bot: Bot) -> None:
    await bot.says(A, "只是闲聊一句话")
    assert (await bot.restarted()).service.status(GROUP).decisions == ()


async def test_chatter_never_touches_the_records(bot: Bot) -> None:
    bot.service._records = GroupRecords(_Unusable())  # pyright: ignore[reportPrivateUsage]
    for text in ("哈哈哈", "今天天气不错啊", "大家吃了吗大家"):
        assert not await bot.answers(A, text)
    assert not await bot.answers(A, group_id=778)


class _Unusable(Database):
    def __init__(self) -> None:
        pass

    def reading(self) -> Any:
        raise AssertionError("the database was read")

    def writing(self, table: str = "") -> Any:
        raise AssertionError("the database was written")
