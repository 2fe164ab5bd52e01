"""What the user is told when a turn ends at its limits."""

from services.errors import AgentLimitReached

_STOPPED = "这个问题要查的步骤太多，没能查完，请问得具体一点，或分几次问。"


def limit_reached(detail: str) -> AgentLimitReached:
    """Return the failure of a turn that could not be finished within its limits."""
    return AgentLimitReached(_STOPPED, detail)
