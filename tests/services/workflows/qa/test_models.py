"""The models of the specification: what fits, what is mended, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from services.workflows.qa.models import (
    MAX_QUESTION_CHARS,
    MainCategory,
    QuestionAnalysis,
    TechnicalAnswer,
    UserQuery,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("question", ["几点关门", "退费？", "为啥", "E1042"])
def test_a_chinese_question_needs_no_spaces(question: str) -> None:
    query = UserQuery(question=question)
    assert (query.question, query.include_code, query.max_results) == (question, True, 3)


@pytest.mark.parametrize("question", ["", "   ", "？？！", "字" * (MAX_QUESTION_CHARS + 1)])
def test_what_is_no_question_is_refused(question: str) -> None:
    with pytest.raises(ValidationError):
        UserQuery(question=question)


@pytest.mark.parametrize("results", [0, 11])
def test_the_number_of_results_has_bounds(results: int) -> None:
    with pytest.raises(ValidationError):
        UserQuery(question="几点关门", max_results=results)


def test_code_is_fenced_and_blanks_are_dropped() -> None:
    answer = TechnicalAnswer(
        problem_analysis=" 端口被占用 ",
        solutions=["改端口", " "],
        code_examples=["docker ps", "```sh\nls\n```", ""],
    )
    assert answer.problem_analysis == "端口被占用"
    assert answer.solutions == ["改端口"]
    assert answer.code_examples == ["```\ndocker ps\n```", "```sh\nls\n```"]


@pytest.mark.parametrize(
    "content", [{}, {"problem_analysis": "x"}, {"problem_analysis": "", "solutions": ["x"]}, {"solutions": ["x"]}]
)
def test_an_answer_needs_a_conclusion_and_a_step(content: object) -> None:
    with pytest.raises(ValidationError):
        TechnicalAnswer.model_validate(content)


@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("main_category", "sub_category", "confidence", "keywords", "standalone_question", "other_words", "x"),
            json_values,
        ),
    )
)
def test_an_analysis_keeps_what_fits(content: dict[str, object]) -> None:
    analysis = QuestionAnalysis.model_validate_json(json.dumps(content))
    category = analysis.category
    assert category.main_category in set(MainCategory)
    assert 0 <= category.confidence <= 1
    assert all(0 < len(word) <= 40 for word in (*analysis.keywords, *analysis.other_words))
    assert len(analysis.other_words) <= 8
