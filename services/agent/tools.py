"""The tools of the agent layer. They read nothing but the knowledge base of the present turn.

To add one: a factory and its row in `TOOLS`, and its name in `AGENT_TOOLS` of the settings.
"""

from collections.abc import Callable, Mapping

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from services.agent.arithmetic import NotComputable, calculate
from services.agent.turn import present_turn
from services.budgets.day import ZONE
from services.rag import format_references
from services.records.tables import now
from services.retrieval.models import Question, Strictness
from services.retrieval.retriever import Retriever

_WEEKDAYS = "一二三四五六日"
_NOT_FOUND = "资料里没有找到。可以换个说法再查一次；还没有就说没有。"


class _Arguments(BaseModel):
    # An argument that a tool does not have, such as the name of another collection, is an error and not ignored.
    model_config = ConfigDict(extra="forbid")


class SearchArguments(_Arguments):
    """The arguments of the search."""

    query: str = Field(min_length=1, max_length=500, description="要查什么，写成一句完整的问题或几个关键词")


class CalculatorArguments(_Arguments):
    """The arguments of the calculator."""

    expression: str = Field(min_length=1, max_length=400, description="只有数字和运算符的算式，例如 350*3+20")


class TimeArguments(_Arguments):
    """The time takes none."""


def knowledge_search(retriever: Retriever) -> BaseTool:
    """Return the search in this chat's knowledge base, through the same retriever and gate as every question."""

    async def search(query: str) -> str:
        turn = present_turn()
        # The model rewords a question by itself, so no other model expands it.
        retrieval = await retriever.retrieve(turn.collection, Question(query), strictness=Strictness.WRITTEN)
        references = turn.findings.add(retrieval)
        if not references:
            return f"{_NOT_FOUND}{retrieval.warning}"
        return f"{turn.fence}\n{format_references(references, turn.fence)}\n{turn.fence}"

    return StructuredTool.from_function(
        coroutine=search,
        name="knowledge_search",
        description="在这个群的资料里查原文，返回带编号的段落。一次查一件事。",
        args_schema=SearchArguments,
    )


def present_time(_retriever: Retriever) -> BaseTool:
    """Return the clock, in the time zone of the users."""

    async def time() -> str:
        moment = now().astimezone(ZONE)
        text = (
            f"{moment:%Y-%m-%d %H:%M}，{moment.year}年{moment.month}月{moment.day}日，星期{_WEEKDAYS[moment.weekday()]}"
        )
        present_turn().findings.add_result(text)
        return text

    return StructuredTool.from_function(
        coroutine=time, name="time", description="现在的日期、时间和星期（北京时间）。", args_schema=TimeArguments
    )


def calculator(_retriever: Retriever) -> BaseTool:
    """Return the calculator."""

    async def compute(expression: str) -> str:
        try:
            calculation = calculate(expression)
        except NotComputable as refusal:
            return f"没有算：{refusal}。"
        present_turn().findings.add_calculation(calculation)
        return calculation.text

    return StructuredTool.from_function(
        coroutine=compute,
        name="calculator",
        description="算一个算式。凡是要算的数都用它，不要心算。",
        args_schema=CalculatorArguments,
    )


TOOLS: Mapping[str, Callable[[Retriever], BaseTool]] = {
    "knowledge_search": knowledge_search,
    "time": present_time,
    "calculator": calculator,
}
