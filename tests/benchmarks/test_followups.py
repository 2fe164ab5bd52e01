"""Tests of the measure of follow-up questions, and that few of our own questions are changed."""

import doctest
from itertools import pairwise

from benchmarks.quality import followups
from benchmarks.quality.datasets import read_member_questions
from benchmarks.quality.followups import restored
from benchmarks.quality.train_dependence import FollowUp
from services.workflows.qa.rewriting import Exchange, rewritten


def test_the_examples() -> None:
    assert doctest.testmod(followups).failed == 0


def test_only_what_a_person_restores_counts() -> None:
    item = FollowUp(("茶叶", "什么茶叶"), "我问你买嘛", "我问你买茶叶嘛")
    assert restored(item, "") == (2, 0)
    assert restored(item, "茶水 我问你买嘛") == (2, 1)
    # What the question itself has is not restored.
    assert restored(item, "我问你买嘛") == (2, 0)


def test_few_of_our_own_questions_are_changed() -> None:
    pairs = [pair for paragraph in read_member_questions()[::5] for pair in pairwise(paragraph.questions)]
    changed = [
        asked.text for before, asked in pairs if rewritten(asked.text, [Exchange(before.text, "资料里没有找到。")])
    ]
    assert len(changed) <= 0.04 * len(pairs), changed
