"""Offers of approved questions: they hold for the next message of the same session about the same files."""

from datetime import UTC, datetime

import pytest

from services.faq.models import Approver, FaqEntry, FaqOrigin
from services.retrieval.models import Question
from services.workflows.qa.choices import Choice, PendingChoices

ASKED = Question("饭卡丢了咋补")
NOW = datetime(2026, 11, 22, tzinfo=UTC)
ENTRIES = [FaqEntry(number, 1, f"问题{number}", "答", (), FaqOrigin.IMPORT, Approver(1), NOW) for number in (7, 9)]


@pytest.mark.parametrize(
    ("said", "choice"),
    [
        ("2", Choice(9, ASKED)),
        ("第一个", Choice(7, ASKED)),
        ("都不是", Choice(0, ASKED)),
        ("3", None),
        ("宿舍几点熄灯", None),
    ],
)
def test_the_next_message_may_choose(said: str, choice: Choice | None) -> None:
    pending = PendingChoices()
    pending.offer("group_1_2", "group_1", ASKED, ENTRIES)
    assert pending.take("group_1_3", "group_1", said) is None, "another member was offered nothing"
    assert pending.take("group_1_2", "group_1", said) == choice
    assert pending.take("group_1_2", "group_1", said) is None, "an offer holds for one message"


def test_an_offer_belongs_to_one_knowledge_base() -> None:
    pending = PendingChoices()
    pending.offer("private_2", "group_1", ASKED, ENTRIES)
    assert pending.take("private_2", "group_2", "1") is None
