"""A structured answer to a technical question as people read it in QQ."""

import re

from services.records.conversations import Source
from services.workflows.qa.models import MainCategory, QuestionCategory, TechnicalAnswer

# A model numbers its steps although it was told not to.
_NUMBER = re.compile(
    r"^\s*(?:\d{1,2}\s*[.、)）:：]|[-*•]|步骤\s*\d{1,2}\s*[:：.、]?|第[一二三四五六七八九十]步\s*[:：,，]?)\s*"
)
_MOST_STEPS, _MOST_NOTES = 8, 4


def wants_structure(category: QuestionCategory | None) -> bool:
    """Return whether a question is answered in the structure of `TechnicalAnswer`.

    A question of another kind, or one that merely mentions something technical, gets a simple answer.
    """
    return (
        category is not None and category.main_category is MainCategory.TECHNICAL and category.sub_category is not None
    )


def technical_text(answer: TechnicalAnswer, *, include_code: bool = True) -> str:
    """Return the conclusion, numbered steps, code, notes and warnings, each only if there is something to say.

    Lines that repeat the conclusion or a step are left out. Code is fenced, so that the outbox draws a long one.

    >>> print(technical_text(TechnicalAnswer(problem_analysis="端口被占用。", solutions=["1. 改端口", "2. 重启"])))
    端口被占用。
    1. 改端口
    2. 重启
    """
    steps = [_plain(step) for step in answer.solutions][:_MOST_STEPS]
    steps = [step for step in dict.fromkeys(steps) if step and step != answer.problem_analysis]
    lines = [answer.problem_analysis]
    lines += [f"{number}. {step}" for number, step in enumerate(steps, start=1)] if len(steps) > 1 else steps
    if include_code:
        lines += answer.code_examples
    for title, items in (("配置：", answer.configuration_notes), ("注意：", answer.warnings)):
        said = [item for item in dict.fromkeys(_plain(item) for item in items) if item and item not in steps]
        lines += [f"{title}{said[0]}", *said[1:_MOST_NOTES]] if said else []
    return "\n".join(lines)


def completed(answer: TechnicalAnswer, sources: tuple[Source, ...], confidence: float | None) -> TechnicalAnswer:
    """Return the structured answer with the sources and the confidence that the code vouches for."""
    return answer.model_copy(
        update={"references": [source.place for source in sources], "confidence_score": confidence or 0.0}
    )


def _plain(item: str) -> str:
    return " ".join(_NUMBER.sub("", item).split())
