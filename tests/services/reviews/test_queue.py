"""The queue of reviews: one decision, one answer, and what happens when QQ is away, slow or forgetful."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from services.database import Database, open_database, sqlite_url
from services.export.models import ExportedReview
from services.export.reviews import ReviewExport
from services.grounding.models import Answer, AnswerKind
from services.memory.turns import Turn
from services.records.conversations import ConversationRecords, Source
from services.records.reviews import Decided, Review, ReviewReason
from services.records.tables import ReviewState, TurnState
from services.reviews.answers import WAITING, reviewed_answer, waiting_text
from services.reviews.models import Approved, DecisionStatus, Edited, Rejected, Reviewer
from tests.services.reviews.world import CHAT, SELF_ID, SESSION, Chat, request, started, waiting_review

ADMIN, OTHER_ADMIN = Reviewer(10003, "小李"), Reviewer(10004, "老张")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


async def test_one_of_two_admins_decides_and_the_other_is_told_who_did(database: Database) -> None:
    process = started(database, chat := Chat())
    opened = await waiting_review(process)
    outcomes = await asyncio.gather(
        process.queue.decide(CHAT, opened.number, Approved(), ADMIN),
        process.queue.decide(CHAT, opened.number, Edited("十天内"), OTHER_ADMIN),
    )
    assert sorted(outcome.status for outcome in outcomes) == [DecisionStatus.DECIDED, DecisionStatus.TAKEN]
    assert len(chat.answers) == 1
    winners = {outcome.review.decided_by_name for outcome in outcomes if outcome.review}
    assert len(winners) == 1


async def test_an_approved_turn_ends_in_the_log_and_in_the_history(database: Database) -> None:
    process = started(database, chat := Chat())
    opened = await waiting_review(process, "能退款吗", "七天内可以退。")
    outcome = await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
    assert outcome.review is not None
    assert (outcome.review.state, outcome.review.sent_id) == (ReviewState.ANSWERED, 1)
    assert chat.answers == [(opened.id, "七天内可以退。")]
    turn = (await ConversationRecords(database).recent(SESSION, 1))[0]
    assert (turn.state, turn.answer, turn.outcome) == (TurnState.ANSWERED, "七天内可以退。", AnswerKind.REVIEWED)
    history = [entry.message.text for entry in await ConversationRecords(database).history(SESSION)]
    assert history == ["能退款吗", "七天内可以退。"]


async def test_a_turn_has_one_review_however_often_it_is_asked_for(database: Database) -> None:
    process = started(database, Chat())
    first = await process.queue.open(request(turn_id=1))
    assert await process.queue.open(request(draft="别的", turn_id=1)) == first
    # Other turns have their own, and groups count for themselves.
    assert (await process.queue.open(request(turn_id=2))).number == 2
    assert (await process.queue.open(request(turn_id=3, group_id=778))).number == 1
    assert await process.queue.find("group_778", 2) is None


async def test_the_workflow_continues_and_its_answer_is_sent(database: Database) -> None:
    process = started(database, chat := Chat())

    async def continued(review: Review, turn: Turn) -> Answer:
        assert turn.checkpoint_id == f"thread-{turn.id}"
        return Answer(AnswerKind.WRITTEN, f"{review.answer}（排好版）")

    process.queue.continue_with(continued)
    opened = await waiting_review(process)
    await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
    assert [text for _, text in chat.answers] == ["七天内可以退。（排好版）"]


async def test_a_workflow_that_cannot_go_on_loses_nothing(database: Database) -> None:
    process = started(database, chat := Chat())

    async def renamed(review: Review, turn: Turn) -> Answer:
        raise KeyError("human_review")

    process.queue.continue_with(renamed)
    opened = await waiting_review(process)
    await process.queue.decide(CHAT, opened.number, Edited("十天内可以退。"), ADMIN)
    assert [text for _, text in chat.answers] == ["十天内可以退。"]


async def test_an_answer_waits_for_the_account(database: Database) -> None:
    process = started(database, chat := Chat(is_connected=False))
    opened = await waiting_review(process)
    outcome = await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
    assert outcome.review is not None
    assert (outcome.status, outcome.review.state) == (DecisionStatus.DECIDED, ReviewState.DECIDED)
    # Days later, after a restart.
    again = started(database, chat)
    await again.turns.restore()
    chat.is_connected = True
    await again.queue.resume("another account")
    assert not chat.answers
    await asyncio.gather(again.queue.resume(SELF_ID), again.queue.resume(SELF_ID))
    assert len(chat.answers) == 1


async def test_an_unconfirmed_answer_is_looked_for_and_sent_again_only_if_it_is_absent(database: Database) -> None:
    for has_history, arrived, expected in ((True, True, 1), (True, False, 2), (False, False, 1)):
        process = started(database, chat := Chat(confirms=False, has_history=has_history))
        opened = await waiting_review(process)
        await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
        handed_over = len(chat.answers)
        if not arrived:
            chat.answers.clear()
        chat.confirms = True
        await asyncio.sleep(0.3)
        review = await process.records.get(opened.id)
        assert review is not None
        assert (review.state, handed_over, review.attempts) == (ReviewState.ANSWERED, 1, expected)


async def test_after_a_crash_a_chat_that_cannot_be_looked_through_gets_the_answer_again(database: Database) -> None:
    process = started(database, chat := Chat(has_history=False))
    opened = await waiting_review(process)
    chat.is_connected = False
    await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
    chat.is_connected = True
    for crashes in range(1, 4):
        # The process dies each time between the intent and the confirmation.
        await process.records.sending(opened.id)
        await started(database, chat).queue.resume(SELF_ID)
        review = await process.records.get(opened.id)
        assert review is not None
        assert review.state is (ReviewState.ANSWERED if crashes < 2 else ReviewState.UNDELIVERED)
    assert len(chat.answers) == 1, "but not without end"


async def test_a_rejected_question_is_answered_with_the_reason(database: Database) -> None:
    process = started(database, chat := Chat())
    opened = await waiting_review(process)
    await process.queue.decide(CHAT, opened.number, Rejected("规定正在改"), ADMIN)
    assert [text for _, text in chat.answers] == ["管理员看过了，这个问题现在没有可靠的答案。原因：规定正在改"]


async def test_what_is_approved_is_passed_on_once_and_what_is_rejected_is_not(database: Database) -> None:
    process = started(database, chat := Chat(is_connected=False))
    learnt: list[tuple[str, str, str]] = []

    async def learn(review: Review) -> None:
        learnt.append((review.request.question, review.answer, review.decided_by_name))

    process.queue.teach(learn)
    edited, rejected = await waiting_review(process, "问一"), await waiting_review(process, "问二")
    await process.queue.decide(CHAT, edited.number, Edited("答一"), ADMIN)
    await process.queue.decide(CHAT, rejected.number, Rejected(), ADMIN)
    chat.is_connected = True
    await process.queue.resume(SELF_ID)
    assert learnt == [("问一", "答一", "小李")]


async def test_what_cannot_be_passed_on_is_answered_all_the_same(database: Database) -> None:
    process = started(database, chat := Chat())

    async def full(review: Review) -> None:
        raise OSError("disk full")

    process.queue.teach(full)
    opened = await waiting_review(process)
    await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
    assert len(chat.answers) == 1


async def test_a_suggestion_is_learnt_and_told_to_nobody(database: Database) -> None:
    process = started(database, chat := Chat())
    learnt: list[int] = []

    async def learn(review: Review) -> None:
        learnt.append(review.number)

    process.queue.teach(learn)
    opened = await process.queue.open(request(turn_id=1, reason=ReviewReason.SUGGESTED))
    await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
    assert (learnt, chat.answers) == ([1], [])


async def test_an_empty_draft_cannot_be_approved(database: Database) -> None:
    process = started(database, chat := Chat())
    opened = await waiting_review(process, draft="")
    outcome = await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
    assert outcome.status is DecisionStatus.EMPTY
    assert (await process.queue.decide(CHAT, 99, Approved(), ADMIN)).status is DecisionStatus.UNKNOWN
    assert not chat.answers


async def test_a_correction_decides_the_open_review_of_its_turn(database: Database) -> None:
    process = started(database, chat := Chat())
    opened = await waiting_review(process)
    correction = request(turn_id=opened.request.turn_id, reason=ReviewReason.CORRECTION)
    assert (await process.queue.correct(correction, "十天", ADMIN)).id == opened.id
    again = await process.queue.correct(correction, "十一天", OTHER_ADMIN)
    assert again.id != opened.id
    assert [text for _, text in chat.answers] == ["十天", "十一天"]
    assert (await process.queue.listed(CHAT, 1)) == ([], 0)


async def test_a_correction_is_told_although_a_suggestion_waits(database: Database) -> None:
    process = started(database, chat := Chat())
    suggested = await process.queue.open(request(turn_id=1, reason=ReviewReason.SUGGESTED))
    await process.queue.correct(request(turn_id=1, reason=ReviewReason.CORRECTION), "十天", ADMIN)
    assert [text for _, text in chat.answers] == ["十天"]
    assert (await process.queue.listed(CHAT, 1))[0] == [suggested]


async def test_admins_are_told_once_and_further_reviews_together(database: Database) -> None:
    process = started(database, Chat(), first_s=0.2)
    for turn_id in (1, 2):
        await process.queue.open(request(turn_id=turn_id))
    await _until(lambda: len(process.messenger.announced) == 1)
    for turn_id in (3, 4, 5):
        await process.queue.open(request(turn_id=turn_id))
    await _until(lambda: len(process.messenger.announced) == 2)
    assert process.messenger.announced == [[1, 2], [3, 4, 5]]
    await asyncio.sleep(0.1)
    told = await process.queue.told_by(SELF_ID, 102, 777, 1)
    assert [review.number for review in told] == [3, 4, 5]
    # The same number names another message in another chat.
    assert not await process.queue.told_by(SELF_ID, 102, 778, 1)
    assert not await process.queue.told_by(SELF_ID, 102, None, 10003)
    await process.queue.close()


async def test_admins_who_could_not_be_told_are_told_after_a_restart(database: Database) -> None:
    process = started(database, chat := Chat(is_connected=False), first_s=0.01)
    await process.queue.open(request(turn_id=1))
    await asyncio.sleep(0.1)
    await process.queue.close()
    chat.is_connected = True
    again = started(database, chat, first_s=0.01)
    await again.queue.resume(SELF_ID)
    await _until(lambda: bool(again.messenger.announced))
    assert again.messenger.announced == [[1]]
    await again.queue.close()


async def test_a_recalled_question_is_neither_answered_nor_shown(database: Database) -> None:
    process = started(database, chat := Chat())
    opened = await waiting_review(process)
    await process.queue.withdraw("group_778", 5)
    assert (await process.queue.listed(CHAT, 1))[1] == 1
    await process.queue.withdraw(CHAT, 5)
    outcome = await process.queue.decide(CHAT, opened.number, Approved(), ADMIN)
    assert outcome.status is DecisionStatus.TAKEN
    assert outcome.review is not None
    assert (outcome.review.request.question, outcome.review.request.draft) == ("", "")
    assert not chat.answers


async def test_reviews_are_exported_page_by_page(database: Database) -> None:
    process = started(database, Chat())
    withdrawn = await process.queue.open(replace(request(turn_id=1), question_id=6))
    await process.queue.withdraw(CHAT, 6)
    for turn_id in range(2, 203):
        await process.queue.open(request(turn_id=turn_id))
    await process.queue.decide(CHAT, 202, Edited("十天"), ADMIN)
    rows = [row async for row in ReviewExport(process.records).reviews(withdrawn.opened_at)]
    assert len(rows) == 201
    last = rows[-1]
    assert isinstance(last, ExportedReview)
    assert (last.number, last.decision, last.answer, last.decided_by) == (202, Decided.EDITED, "十天", "10003")
    assert not [row async for row in ReviewExport(process.records).reviews(last.opened_at + timedelta(seconds=1))]


async def test_only_sources_that_the_text_still_cites_stay(database: Database) -> None:
    process = started(database, Chat())
    sources = (Source(1, "规定.pdf 第1页"), Source(2, "规定.pdf 第2页"))
    opened = await process.queue.open(replace(request(draft="七天〔1〕，凭单〔2〕。", turn_id=1), sources=sources))
    await process.queue.decide(CHAT, opened.number, Edited("十天〔2〕〔7〕。"), ADMIN)
    review = await process.records.get(opened.id)
    assert review is not None
    answer = reviewed_answer(review)
    assert (answer.text, answer.sources) == ("十天〔2〕。", sources[1:])


def test_the_asker_is_told_first() -> None:
    assert waiting_text("草稿", shows_draft=False) == WAITING
    assert waiting_text("七天", shows_draft=True).endswith("还没审核的草稿：\n七天")
    assert waiting_text("", shows_draft=True) == WAITING


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - a task of the queue changes it
            await asyncio.sleep(0.01)
