"""Approved questions in memory: which of them a question surely means, and which it may mean."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from services.faq.question_index import ApprovedQuestion, Nearest, QuestionIndex, Vector
from services.faq.wording import read_wording

UNRELATED = 0.2
# A question is this far from the one that lies on the first axis: 0.8 is the unit of a small collection.
_UNIT = 1 - UNRELATED


def _at(distance: float, axis: int = 1, dimensions: int = 8) -> Vector:
    """Return a unit vector at a distance, in units, from the first axis, turned towards another one."""
    vector = np.zeros(dimensions, np.float32)
    vector[0] = 1 - distance * _UNIT
    vector[axis] += np.sqrt(max(0.0, 1 - float(vector[0]) ** 2))
    return vector


def _question(number: int, text: str, vector: Vector | None, answer: str = "") -> ApprovedQuestion:
    return ApprovedQuestion(number, read_wording(text), answer or f"回答{number}", vector)


def _index(*questions: ApprovedQuestion) -> QuestionIndex:
    return QuestionIndex(questions, UNRELATED)


def test_the_bands() -> None:
    index = _index(_question(1, "宿舍几点熄灯", _at(0.0)))
    asked = read_wording("寝室晚上什么时候关灯")
    assert index.nearest(asked, _at(0.03)) == Nearest(1)
    assert index.nearest(asked, _at(0.05)) == Nearest(candidates=(1,))
    assert index.nearest(asked, _at(0.43)) == Nearest(candidates=(1,))
    assert index.nearest(asked, _at(0.45)) == Nearest()
    # Without a vector, the words decide alone.
    assert index.nearest(asked, None) == Nearest()
    assert index.nearest(read_wording("请问宿舍几点熄灯？？"), None) == Nearest(1)


def test_without_entries_or_vectors() -> None:
    assert _index().nearest(read_wording("你好"), _at(0.0)) == Nearest()
    index = _index(_question(1, "宿舍几点熄灯", None))
    assert not index.compares_vectors
    assert index.nearest(read_wording("宿舍几点熄灯"), _at(0.0)) == Nearest(1)


def test_entries_that_resemble_each_other_need_more() -> None:
    near = _question(2, "教学楼几点熄灯", _at(0.02))
    asked = read_wording("寝室晚上什么时候关灯")
    assert _index(_question(1, "宿舍几点熄灯", _at(0.0)), near).nearest(asked, _at(0.011, 2)) == Nearest(
        candidates=(1, 2)
    )
    # With the same answer, it does not matter which of the two is meant.
    same = _question(2, "教学楼几点熄灯", _at(0.02), "回答1")
    assert _index(_question(1, "宿舍几点熄灯", _at(0.0)), same).nearest(asked, _at(0.011, 2)).direct == 1


def test_a_collection_of_similar_questions_has_a_smaller_unit() -> None:
    generator = np.random.default_rng(1)
    vectors = generator.normal(0, 0.05, (60, 8)).astype(np.float32)
    vectors[:, 0] = 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    questions = [
        _question(number, f"问题{'甲乙丙丁'[number % 4]}{number}", each) for number, each in enumerate(vectors)
    ]
    asked, vector = read_wording("完全不同的说法"), _at(0.3, 7)
    assert _index(questions[0]).nearest(asked, vector).candidates
    assert not _index(*questions).nearest(asked, vector).candidates


def test_two_entries_that_only_particles_tell_apart_are_both_offered() -> None:
    index = _index(_question(1, "宿舍怎么报修", _at(0.0)), _question(2, "宿舍如何报修啊", _at(0.01)))
    assert index.nearest(read_wording("宿舍怎样报修"), _at(0.2, 2)).candidates == (1, 2)
    assert index.nearest(read_wording("宿舍如何报修啊"), None) == Nearest(2)


def test_one_choice_for_each_answer() -> None:
    index = _index(
        _question(1, "宿舍几点熄灯", _at(0.1), "十一点"),
        _question(2, "寝室几点关灯", _at(0.12), "十一点"),
        _question(3, "教室几点熄灯", _at(0.2), "十点"),
    )
    assert index.nearest(read_wording("晚上灯什么时候灭"), _at(0.0)).candidates == (1, 3)


CHINESE = st.text(st.sampled_from("宿舍楼报销食堂开门时间学号办理教室会议考试安排工资补贴"), min_size=1, max_size=8)
WORDS = st.text(st.sampled_from("abcdexyz"), min_size=1, max_size=6)


def _never_direct(one: str, other: str) -> None:
    vector = _at(0.0)
    found = _index(_question(1, one, vector)).nearest(read_wording(other), vector)
    assert found == Nearest(candidates=(1,)), (one, other)


@given(CHINESE, CHINESE, st.integers(0, 10**6), st.integers(0, 10**6))
def test_other_numbers_are_never_answered_directly(before: str, behind: str, one: int, other: int) -> None:
    assume(one != other)
    _never_direct(f"{before}{one}{behind}", f"{before}{other}{behind}")


@given(CHINESE, CHINESE, WORDS, WORDS)
def test_other_latin_words_are_never_answered_directly(before: str, behind: str, one: str, other: str) -> None:
    assume(one != other)
    _never_direct(f"{before}{one}{behind}", f"{before}{other}{behind}")


@given(CHINESE, CHINESE, st.sampled_from(["不", "没", "未", "别"]))
def test_a_denial_is_never_answered_directly(before: str, behind: str, denial: str) -> None:
    # 开不开 asks, and denies nothing.
    assume(before[-1] != behind[0])
    _never_direct(f"{before}{behind}", f"{before}{denial}{behind}")


@pytest.mark.parametrize("count", [1, 3])
def test_equal_vectors_break_nothing(count: int) -> None:
    index = _index(*(_question(number, f"问题{'甲乙丙'[number]}", _at(0.0)) for number in range(count)))
    found = index.nearest(read_wording("别的说法吧"), _at(0.0))
    assert found.direct is None or count == 1
