"""The graph of a question, as the specification draws it.

classify ─┬─(says nothing)─► clarify ─► answer
          ├─(small talk)─► answer
          ├─(about files)─► generate
          ├─(stands alone)─► look up ◄─┐
          └─(goes on)─► rewrite ───────┘
look up ──┬─(approved before)─► answer
          └─► retrieve ─┬─(not enough)─► expand ─► retrieve, once more
                        └─► generate ─┬─(low confidence)─► review ─► answer
                                      └─► answer ─► collect feedback
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from services.retrieval.retriever import is_near_miss
from services.workflows.qa import nodes
from services.workflows.qa.nodes import MOST_ROUNDS, QAContext
from services.workflows.qa.state import ConversationState

QAGraph = CompiledStateGraph[ConversationState, QAContext, ConversationState, ConversationState]


class Node(Protocol):
    """One step of the graph: it returns what changes in the state."""

    async def __call__(self, state: ConversationState, runtime: Runtime[QAContext]) -> dict[str, Any]:
        """Run the step."""
        ...


STEPS: Mapping[str, Node] = {
    "classify": nodes.classify,
    "clarify": nodes.clarify,
    "rewrite": nodes.rewrite,
    "look_up": nodes.look_up,
    "retrieve": nodes.retrieve,
    "expand": nodes.expand,
    "generate": nodes.generate,
    "review": nodes.review,
    "answer": nodes.answer,
    "collect_feedback": nodes.collect_feedback,
}

# More steps than any path through the graph has.
RECURSION_LIMIT = 25


def build_graph(checkpointer: BaseCheckpointSaver[str] | None = None, steps: Mapping[str, Node] = STEPS) -> QAGraph:
    """Return the compiled graph. Without a `checkpointer` no turn can wait for a person."""
    graph = StateGraph(ConversationState, QAContext)
    for name, step in steps.items():
        graph.add_node(name, step)
    graph.add_edge(START, "classify")
    graph.add_conditional_edges("classify", _after_classify)
    graph.add_edge("clarify", "answer")
    graph.add_edge("rewrite", "look_up")
    graph.add_conditional_edges("look_up", _after_look_up)
    graph.add_conditional_edges("retrieve", _after_retrieve)
    graph.add_conditional_edges("expand", _after_expand)
    graph.add_conditional_edges("generate", _after_generate)
    graph.add_edge("review", "answer")
    graph.add_edge("answer", "collect_feedback")
    graph.add_edge("collect_feedback", END)
    return graph.compile(checkpointer=checkpointer)


async def _after_classify(
    state: ConversationState, runtime: Runtime[QAContext]
) -> Literal["answer", "generate", "clarify", "rewrite", "look_up"]:
    work = runtime.context.work
    if work.answer is not None:
        return "answer"
    if work.file_reply is not None and work.file_reply.certain:
        return "generate"
    if not state.get("question_category"):
        return "clarify"
    return "rewrite" if nodes.goes_on(work) else "look_up"


async def _after_look_up(state: ConversationState, runtime: Runtime[QAContext]) -> Literal["answer", "retrieve"]:
    return "retrieve" if runtime.context.work.answer is None else "answer"


async def _after_retrieve(
    state: ConversationState, runtime: Runtime[QAContext]
) -> Literal["answer", "expand", "generate"]:
    work = runtime.context.work
    if work.answer is not None:
        return "answer"
    can_repeat = state.get("rounds", 0) < MOST_ROUNDS and not work.question.remark
    insufficient = work.retrieval is not None and is_near_miss(work.retrieval)
    return "expand" if can_repeat and insufficient else "generate"


async def _after_expand(
    state: ConversationState, runtime: Runtime[QAContext]
) -> Literal["answer", "retrieve", "generate"]:
    work = runtime.context.work
    if work.answer is not None:
        return "answer"
    return "retrieve" if work.words else "generate"


async def _after_generate(state: ConversationState, runtime: Runtime[QAContext]) -> Literal["review", "answer"]:
    context, sure = runtime.context, state.get("confidence")
    low = sure is not None and sure < context.services.review_below
    return "review" if low and context.work.can_wait else "answer"


def thread_config(thread_id: str) -> RunnableConfig:
    """Return the configuration of one turn's thread."""
    return {"configurable": {"thread_id": thread_id}, "recursion_limit": RECURSION_LIMIT}
