"""The turn that an agent works on: its knowledge base, what it found, and how much it may still do."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from services.agent.findings import Findings


@dataclass(slots=True)
class AgentTurn:
    """One turn. `system` is the system message of its prompts; `fence` stands around everything that is data."""

    collection: str
    fence: str
    system: str
    findings: Findings
    model_calls_left: int
    tool_calls_left: int


# Tools and limits are shared by all turns, because making them takes ten times as long as using them. What belongs to a
# turn reaches them by the task that they run in, where nothing that a model writes can change it.
_present: ContextVar[AgentTurn] = ContextVar("agent_turn")


@contextmanager
def working_on(turn: AgentTurn) -> Generator[None]:
    """Let the tools and limits in the block, and in the tasks that it starts, work on `turn`."""
    token = _present.set(turn)
    try:
        yield
    finally:
        _present.reset(token)


def present_turn() -> AgentTurn:
    """Return the turn of the current task. Raise `LookupError` outside of `working_on`."""
    return _present.get()
