"""Objects of a schema from a model: how one is requested, and how it is read from the reply."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from langchain_core.messages import AIMessage
from langchain_core.utils.function_calling import convert_to_openai_function, convert_to_openai_tool
from pydantic import BaseModel, ValidationError

from services.llm.providers import StructuredMethod
from services.llm.thoughts import without_surrogates

Structured = TypeVar("Structured", bound=BaseModel)

_MAX_ERROR_CHARS = 1_000


class Misfit(Exception):
    """Raised when a reply is no object of the schema: `text` is what came instead, `reason` what is wrong with it."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(reason)
        self.text = text
        self.reason = reason[:_MAX_ERROR_CHARS]


def demands(schema: type[BaseModel], method: StructuredMethod, *, forced: bool) -> Mapping[str, Any]:
    """Return what a call sends along to get an object of `schema`; `forced` demands a tool for function_calling."""
    match method:
        case "json_mode":
            return {"response_format": {"type": "json_object"}}
        case "json_schema":
            function = convert_to_openai_function(schema, strict=True)
            form = {"name": function["name"], "schema": function["parameters"], "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": form}}
        case "function_calling":
            tool = convert_to_openai_tool(schema)
            choice = {"type": "function", "function": {"name": tool["function"]["name"]}}
            return {"tools": [tool]} | ({"tool_choice": choice} if forced else {})


def read(message: AIMessage, schema: type[Structured], max_chars: int) -> Structured:
    """Return the object in a reply: the arguments of its call of a tool, or its text.

    Raise `Misfit` for anything else, and for more than `max_chars` characters.
    """
    text = _object_text(message)
    if len(text) > max_chars:
        raise Misfit(text[:max_chars], f"{len(text)} characters")
    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        raise Misfit(text, _reason(error)) from error


def _object_text(message: AIMessage) -> str:
    if message.tool_calls:
        try:
            text = json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
        except RecursionError as error:
            raise Misfit("", f"unreadable arguments: {error}") from error
    elif message.invalid_tool_calls:
        text = message.invalid_tool_calls[0]["args"] or ""
    else:
        text = message.text.strip()
    # Some models put the object into a Markdown fence.
    return without_surrogates(text).removeprefix("```json").removeprefix("```").removesuffix("```").strip()


def _reason(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'JSON'}: {each['msg']}" for each in problems)
