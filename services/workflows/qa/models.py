"""The models of the specification that a question passes through: what was asked, its category, a technical answer."""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

# The specification allows 1,000, but members paste whole error logs. The search reads the beginning.
MAX_QUESTION_CHARS = 4000
MOST_RESULTS = 10
_MOST_KEYWORDS, _KEYWORD_CHARS = 8, 40
_MOST_ITEMS, _ITEM_CHARS = 12, 4000
_CONTENT = re.compile(r"\w")
_FENCED = re.compile(r"^(```|~~~)")


class MainCategory(StrEnum):
    """What a question is about. OTHER is ours: the specification's four do not fit a class or a residents' group."""

    MODEL_USAGE = "model_usage"
    TECHNICAL = "technical"
    PLATFORM = "platform"
    PROJECT = "project"
    OTHER = "other"


class TechnicalSubCategory(StrEnum):
    """What a technical question is about."""

    ENVIRONMENT = "environment"
    DEBUGGING = "debugging"
    OPTIMIZATION = "optimization"
    DEPLOYMENT = "deployment"


class QuestionCategory(BaseModel):
    """The category of a question, with the confidence (0 to 1) that it is the right one."""

    model_config = ConfigDict(frozen=True)

    main_category: MainCategory
    sub_category: str | None = None
    confidence: float = Field(ge=0, le=1)
    keywords: list[str] = []


class UserQuery(BaseModel):
    """A question with the preferences of its session.

    The specification counts words by spaces, which a Chinese question does not have, so one letter, digit or ideograph
    is enough here; whether a question says enough is decided by its classification.
    """

    model_config = ConfigDict(frozen=True)

    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS)
    thread_id: str | None = Field(default=None, max_length=100)
    include_code: bool = True
    max_results: int = Field(default=3, ge=1, le=MOST_RESULTS)

    @field_validator("question")
    @classmethod
    def _has_content(cls, question: str) -> str:
        if not _CONTENT.search(question):
            raise ValueError("问题不能为空")
        return question.strip()


def _shortened(value: object) -> object:
    return value[:_ITEM_CHARS] if isinstance(value, str) else value


def _items(value: object) -> object:
    """Accept one text for a list of one, and null for none, as models write them."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value] if value.strip() else []
    return value[:_MOST_ITEMS] if isinstance(value, list) else value


Text = Annotated[str, BeforeValidator(_shortened)]
Items = Annotated[list[Text], BeforeValidator(_items)]


def _in_unit(value: object) -> object:
    # The bounds come first: an integer may be too large for a float. NaN is within none.
    return float(min(1.0, max(0.0, value))) if isinstance(value, int | float) else 0.0


class TechnicalAnswer(BaseModel):
    """A structured answer to a technical question.

    `references` and `confidence_score` are filled in by the code: what a model says about them is not believed.
    """

    problem_analysis: Text
    solutions: Items = Field(min_length=1)
    code_examples: Items = []
    configuration_notes: Items = []
    warnings: Items = []
    references: Items = []
    confidence_score: Annotated[float, BeforeValidator(_in_unit)] = 0.0

    @field_validator("problem_analysis")
    @classmethod
    def _is_said(cls, analysis: str) -> str:
        if not analysis.strip():
            raise ValueError("problem_analysis 不能为空")
        return analysis.strip()

    @field_validator("solutions")
    @classmethod
    def _are_said(cls, solutions: list[str]) -> list[str]:
        said = [solution.strip() for solution in solutions if solution.strip()]
        if not said:
            raise ValueError("solutions 至少要有一步")
        return said

    @field_validator("code_examples")
    @classmethod
    def _are_fenced(cls, examples: list[str]) -> list[str]:
        """Fence what a model did not: the specification demands a Markdown code block."""
        said = [example.strip() for example in examples if example.strip()]
        return [example if _FENCED.match(example) else f"```\n{example}\n```" for example in said]


def _words(value: object) -> object:
    if not isinstance(value, list):
        return []
    said = (" ".join(item.split())[:_KEYWORD_CHARS] for item in value if isinstance(item, str))
    return [word for word in dict.fromkeys(said) if word][:_MOST_KEYWORDS]


def _category(value: object) -> object:
    return value if isinstance(value, str) and value in set(MainCategory) else MainCategory.OTHER


Words = Annotated[list[str], BeforeValidator(_words)]


class QuestionAnalysis(BaseModel):
    """What the fast model says about a question in one call: its category, the whole question, other words for it.

    `standalone_question` is empty if the question stands alone. `other_words` are what documents may call the same
    things. A field that does not fit gets its default, because each is useful without the others.
    """

    main_category: Annotated[MainCategory, BeforeValidator(_category)] = MainCategory.OTHER
    sub_category: str | None = None
    confidence: Annotated[float, BeforeValidator(_in_unit)] = 0.0
    keywords: Words = []
    standalone_question: str = ""
    other_words: Words = []

    @field_validator("sub_category", mode="before")
    @classmethod
    def _known(cls, value: object) -> object:
        return value if isinstance(value, str) and value in set(TechnicalSubCategory) else None

    @field_validator("standalone_question", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        return value if isinstance(value, str) else ""

    @property
    def category(self) -> QuestionCategory:
        """The category as the specification has it."""
        return QuestionCategory(
            main_category=self.main_category,
            sub_category=self.sub_category,
            confidence=self.confidence,
            keywords=self.keywords,
        )
