"""A structured answer as text: conclusion, steps, code, notes."""

import pytest

from services.records.conversations import Source
from services.workflows.qa.models import MainCategory, QuestionCategory, TechnicalAnswer
from services.workflows.qa.technical import completed, technical_text, wants_structure

FULL = TechnicalAnswer(
    problem_analysis="端口被占用〔1〕。",
    solutions=["1. 停掉旧容器", "步骤2：改端口〔1〕", "端口被占用〔1〕。"],
    code_examples=["docker stop old"],
    configuration_notes=["默认端口 8080〔1〕"],
    warnings=["- 先备份", "- 先备份"],
)


def test_each_part_has_its_place() -> None:
    assert technical_text(FULL).splitlines() == [
        "端口被占用〔1〕。",
        "1. 停掉旧容器",
        "2. 改端口〔1〕",
        "```",
        "docker stop old",
        "```",
        "配置：默认端口 8080〔1〕",
        "注意：先备份",
    ]
    assert "docker" not in technical_text(FULL, include_code=False)


def test_one_step_is_not_numbered() -> None:
    assert technical_text(TechnicalAnswer(problem_analysis="缺依赖。", solutions=["重装一次"])) == "缺依赖。\n重装一次"


def test_sources_and_confidence_are_ours() -> None:
    mended = completed(FULL, (Source(1, "手册.md 第2页"),), 0.8)
    assert (mended.references, mended.confidence_score) == (["手册.md 第2页"], 0.8)


@pytest.mark.parametrize(
    ("main", "sub", "structured"),
    [("technical", "debugging", True), ("technical", None, False), ("other", None, False), ("platform", "x", False)],
)
def test_a_simple_question_gets_a_simple_answer(main: str, sub: str | None, *, structured: bool) -> None:
    category = QuestionCategory(main_category=MainCategory(main), sub_category=sub, confidence=0.9)
    assert wants_structure(category) is structured
    assert not wants_structure(None)
