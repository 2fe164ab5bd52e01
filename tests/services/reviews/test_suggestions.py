"""What members answer each other, and what a group asks in vain."""

import doctest
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.database import Database, open_database, sqlite_url
from services.records.conversations import ConversationRecords
from services.records.reviews import ReviewReason
from services.records.tables import AnswerKind
from services.records.unanswered import UnansweredQuestion, UnansweredRecords
from services.reviews import suggestions
from services.reviews.models import Approved, Reviewer
from services.reviews.suggestions import Suggestions, agrees, is_complete
from services.reviews.unanswered import Unanswered, by_topic
from services.session import KnowledgeScope, Session
from tests.services.reviews.world import ASKER, CHAT, GROUP, SELF_ID, SESSION, Chat, Process, started

HELPER, OTHER, ANOTHER = 10005, 10006, 10007
QUESTION, ANSWER = "校园卡丢了去哪补办", "在行政楼 203 补办，周一到周五"
ASKED = 41


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    yield opened
    await opened.close()


async def asked(process: Process, question: str = QUESTION, session: str = SESSION) -> int:
    """Ask a question that nothing is found for, and return its turn."""
    async with process.turns.begin(session, ASKER, question) as turn:
        turn.details = type(turn.details)(outcome=AnswerKind.NOTHING_FOUND)
        await turn.complete("没有找到相关的资料。")
    assert turn.id is not None
    return turn.id


def listening(database: Database, process: Process) -> Suggestions:
    return Suggestions(process.queue, process.records, ConversationRecords(database), KnowledgeScope.GROUP)


async def test_an_answer_that_the_asker_agrees_with_is_suggested_to_the_admins(database: Database) -> None:
    process = started(database, chat := Chat())
    heard = listening(database, process)
    heard.note_question(Session(GROUP, ASKER), SELF_ID, ASKED, await asked(process))
    assert heard.concerns(GROUP, ASKED)
    assert not heard.concerns(GROUP + 1, ASKED)
    await heard.hear(GROUP, HELPER, 42, ASKED, ANSWER)
    # Neither silence, nor the author, nor a question about it is agreement.
    assert await heard.hear(GROUP, HELPER, 43, 42, "对的") is None
    assert await heard.hear(GROUP, OTHER, 44, 42, "周末也开吗") is None
    assert (await process.queue.listed(CHAT, 1))[1] == 0
    suggested = await heard.hear(GROUP, ASKER, 45, 42, "好的，谢谢大佬！")
    assert suggested is not None
    request = suggested.request
    assert (request.question, request.draft, request.reason) == (QUESTION, ANSWER, ReviewReason.SUGGESTED)
    # It is an entry only after an admin says so, and nobody is answered again.
    learnt: list[str] = []

    async def learn(review: object) -> None:
        learnt.append(ANSWER)

    process.queue.teach(learn)
    assert not learnt
    await process.queue.decide(CHAT, suggested.number, Approved(), Reviewer(1))
    assert (learnt, chat.answers) == ([ANSWER], [])


async def test_two_others_may_agree_by_an_emoji(database: Database) -> None:
    process = started(database, Chat())
    heard = listening(database, process)
    heard.note_question(Session(GROUP, ASKER), SELF_ID, ASKED, await asked(process))
    await heard.hear(GROUP, HELPER, 42, ASKED, ANSWER)
    assert await heard.support(GROUP, 42, OTHER) is None
    assert await heard.support(GROUP, 42, OTHER) is None
    assert await heard.support(GROUP + 1, 42, ANOTHER) is None
    assert await heard.support(GROUP, 42, ANOTHER) is not None


async def test_the_same_question_and_answer_are_suggested_once(database: Database) -> None:
    process = started(database, Chat())
    heard = listening(database, process)
    suggested: list[int] = []
    for number, answer in enumerate((ANSWER, ANSWER.replace("，", ","), "去图书馆一楼服务台补办")):
        question_id, answer_id = 100 + number, 200 + number
        turn_id = await asked(process, QUESTION.upper())
        heard.note_question(Session(GROUP, ASKER), SELF_ID, question_id, turn_id)
        await heard.hear(GROUP, HELPER, answer_id, question_id, answer)
        review = await heard.support(GROUP, answer_id, ASKER)
        suggested += [review.number] if review else []
    assert suggested == [1, 2]


async def test_a_recalled_answer_is_not_suggested(database: Database) -> None:
    process = started(database, Chat())
    heard = listening(database, process)
    heard.note_question(Session(GROUP, ASKER), SELF_ID, ASKED, await asked(process))
    await heard.hear(GROUP, HELPER, 42, ASKED, ANSWER)
    heard.forget(GROUP, 42)
    assert await heard.support(GROUP, 42, ASKER) is None


@pytest.mark.parametrize(
    "text", ["不知道啊，你去问问", "同问", "好像是在行政楼那边吧", "你看看群公告？", "谢谢谢谢谢谢谢谢"]
)
def test_what_is_no_answer(text: str) -> None:
    assert not is_complete(text)


@pytest.mark.parametrize("text", ["谢谢", "对", "嗯嗯，解决了", "👍👍", "OK", "没错！"])
def test_agreement(text: str) -> None:
    assert agrees(text)


@given(st.text(alphabet="对谢好的，了牛ok", max_size=2000))
def test_agreement_is_read_at_once(text: str) -> None:
    agrees(text)


def test_examples() -> None:
    assert doctest.testmod(suggestions).failed == 0


async def test_what_was_asked_in_vain_is_listed_by_topic_for_its_group_alone(database: Database) -> None:
    process = started(database, Chat())
    await asked(process, "班车几点发车")
    await asked(process, QUESTION)
    await asked(process, f"请问{QUESTION}？", f"group_{GROUP}_10008")
    # Another group, whose number only begins the same, and a private chat.
    await asked(process, QUESTION, f"group_{GROUP}0_10002")
    await asked(process, QUESTION, "private_10002")
    page = await Unanswered(UnansweredRecords(database)).page(CHAT, 1)
    assert [(topic.question, topic.count) for topic in page.topics] == [(f"请问{QUESTION}？", 2), ("班车几点发车", 1)]
    assert page.total == 2
    assert (await Unanswered(UnansweredRecords(database)).page(f"group_{GROUP}0", 1)).total == 1


async def test_what_was_answered_or_forgotten_since_is_not_listed(database: Database) -> None:
    process = started(database, Chat())
    heard = listening(database, process)
    turn_id = await asked(process)
    await asked(process, "别的会话里的问题", f"group_{GROUP}_10008")
    await ConversationRecords(database).forget(f"group_{GROUP}_10008")
    unanswered = Unanswered(UnansweredRecords(database))
    assert [topic.question for topic in (await unanswered.page(CHAT, 1)).topics] == [QUESTION]
    heard.note_question(Session(GROUP, ASKER), SELF_ID, ASKED, turn_id)
    await heard.hear(GROUP, HELPER, 42, ASKED, ANSWER)
    review = await heard.support(GROUP, 42, ASKER)
    assert review is not None
    assert (await unanswered.page(CHAT, 1)).total == 1, "not while it is only suggested"
    await process.queue.decide(CHAT, review.number, Approved(), Reviewer(1))
    assert (await unanswered.page(CHAT, 1)).total == 0


def test_other_numbers_and_other_subjects_are_other_topics() -> None:
    at = datetime(2026, 11, 22, tzinfo=UTC)
    texts = ["E1042 怎么修", "E1043 怎么修", "北京住宿标准是多少", "上海住宿标准是多少", "北京的住宿标准"]
    questions = [
        UnansweredQuestion(number, 1, text, at - timedelta(minutes=number)) for number, text in enumerate(texts)
    ]
    topics = {topic.question: topic.count for topic in by_topic(questions)}
    assert topics == {"E1042 怎么修": 1, "E1043 怎么修": 1, "北京住宿标准是多少": 2, "上海住宿标准是多少": 1}
