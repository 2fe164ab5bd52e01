"""Tests of the model that tells whether a question stands alone."""

import doctest

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality.datasets import read_member_questions
from services.workflows.qa import dependence
from services.workflows.qa.dependence import features, load_dependence


def test_the_examples() -> None:
    assert doctest.testmod(dependence).failed == 0


def test_content_is_not_seen() -> None:
    letters = frozenset("她是谁啊")
    assert features("张欣是谁啊", "", letters) == features("食堂是谁啊", "", letters)
    assert features("张欣是谁啊", "", letters) != features("她是谁啊", "", letters)
    assert features("MC-12 是谁", "", letters) == features("AB99 是谁？", "", letters)


def test_a_question_back_is_seen() -> None:
    assert "asked back" in features("财务", "你说的是哪个部门？", frozenset())
    assert "asked back" not in features("财务", "二十元。", frozenset())


def test_what_goes_on() -> None:
    model = load_dependence()
    for text in ("他是谁", "那我怎么办", "你去过吗", "为什么", "她是我的同学"):
        assert model.depends(text, ""), text
    for text in ("宿舍周五几点关门", "差旅费住宿标准是多少", "how much memory for 500 clients", "E1042 是什么意思"):
        assert not model.depends(text, ""), text


def test_few_of_our_own_questions_seem_to_go_on() -> None:
    model = load_dependence()
    texts = [question.text for paragraph in read_member_questions() for question in paragraph.questions]
    assert sum(model.depends(text, "") for text in texts) <= 0.025 * len(texts)


def test_the_model_carries_its_provenance() -> None:
    assert load_dependence().provenance["by"] == "python -m benchmarks.quality.train_dependence"


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_has_features(question: str, answer: str) -> None:
    assert all(features(question, answer, frozenset("她吗呢")))
