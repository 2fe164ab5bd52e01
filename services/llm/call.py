"""One call of a model in progress, as the meter sees it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from services.llm.prices import Price


@dataclass(slots=True)
class ModelCall:
    """One call: who is asked what, and what has arrived so far.

    `provider` is the name of the provider, `price` None if it is unknown. `demands` are the tools and the format that
    go with the prompt. `usage` is what the service reports, `pieces` the text that has arrived, thoughts included.
    """

    model: str
    prompt: Sequence[BaseMessage]
    provider: str = ""
    price: Price | None = None
    demands: Mapping[str, Any] = field(default_factory=dict[str, Any])
    usage: UsageMetadata | None = None
    pieces: list[str] = field(default_factory=list[str])
    answered: bool = False

    @property
    def prompt_text(self) -> str:
        """All the text that is sent: the messages, the calls of tools among them, the tools and the format."""
        parts: list[str] = []
        for message in self.prompt:
            parts.append(message.text)
            if isinstance(message, AIMessage) and message.tool_calls:
                parts.append(_json([call["args"] for call in message.tool_calls]))
        if self.demands:
            parts.append(_json(self.demands))
        return "\n".join(parts)

    @property
    def image_count(self) -> int:
        """The number of images in the prompt."""
        return sum(
            isinstance(part, dict) and part.get("type") == "image_url"
            for message in self.prompt
            if isinstance(message.content, list)
            for part in message.content
        )

    @property
    def reply_text(self) -> str:
        """The text that has arrived."""
        return "".join(self.pieces)

    def receive(self, message: AIMessage) -> None:
        """Note a reply, or a part of one that is streamed."""
        self.answered = True
        self.pieces.append(message.text)
        if isinstance(message, AIMessageChunk):
            self.pieces += [call["args"] or "" for call in message.tool_call_chunks]
        else:
            self.pieces += [_json(call["args"]) for call in message.tool_calls]
            self.pieces += [call["args"] or "" for call in message.invalid_tool_calls]
        if message.usage_metadata is not None:
            self.usage = message.usage_metadata


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        # Only the length matters, and a service that sends such arguments does not report it either.
        return ""


class ModelMeter(Protocol):
    """Counts and limits the calls of models."""

    def metered(self, call: ModelCall) -> AbstractAsyncContextManager[None]:
        """Let the block make `call` once it is allowed, and count it. Raise `ModelBudgetSpent` before the block."""
        ...
