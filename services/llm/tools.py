"""Checks of the calls of tools that a model writes."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from services.llm.failures import wrong_form

Tool = BaseTool | type[BaseModel]


def require_valid_calls(message: AIMessage, tools: Sequence[Tool]) -> None:
    """Raise `ModelError` unless every call of a tool names one of `tools` and gives it the arguments that it takes."""
    schemas = dict(map(_named_schema, tools))
    if message.invalid_tool_calls:
        raise wrong_form(f"invalid call: {message.invalid_tool_calls[0]}")
    for call in message.tool_calls:
        schema = schemas.get(call["name"])
        if schema is None:
            raise wrong_form(f"unknown tool {call['name']!r}")
        try:
            schema.model_validate(call["args"])
        except ValidationError as error:
            raise wrong_form(f"{call['name']}: {error}") from error


def _named_schema(tool: Tool) -> tuple[str, type[BaseModel]]:
    if not isinstance(tool, BaseTool):
        return tool.__name__, tool
    schema = tool.tool_call_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return tool.name, schema
    raise TypeError(f"the arguments of the tool {tool.name} are not described by a pydantic model")
