"""What a request uses, recorded where it happens: calls of models, and tools with their settings."""

from collections.abc import Iterable, Mapping
from typing import Any

from services.tracing.current import current_record
from services.tracing.models import ModelCallTrace


def record_model_call(call: ModelCallTrace, messages: Iterable[tuple[str, str]]) -> None:
    """Add a call to the current record, with the role and text of each message of its prompt.

    Of the messages only roles and lengths are kept: a prompt contains instructions of the operator, texts of documents
    and what one member said earlier, and the record is shown to the admins of the group. Do nothing if there is no
    record.
    """
    record = current_record()
    if record is None:
        return
    record.trace.model_calls.append(call)
    record.prompts += [{"role": role, "content": f"（{len(text)} 字）"} for role, text in messages]


def record_tool(name: str, config: Mapping[str, Any]) -> None:
    """Note that the current request uses a tool, with its settings as JSON values. Do nothing if there is no record."""
    record = current_record()
    if record is not None:
        record.tool_name, record.tool_config = name, dict(config)
