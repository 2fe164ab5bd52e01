"""A model service that answers in any way a test wants."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.e2e.http_server import Exchange, LoopbackServer


class OddServer(LoopbackServer):
    """Answers each call with `answer`; keeps the bodies of the requests, and counts the bytes it could send."""

    def __init__(self, answer: Callable[["OddServer", Exchange], Awaitable[None]]) -> None:
        super().__init__()
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.sent = 0

    @property
    def base_url(self) -> str:
        """The value for LLM__BASE_URL."""
        return f"{self.address}/v1"

    async def handle(self, exchange: Exchange) -> None:
        """Answer one call."""
        self.bodies.append(json.loads(exchange.request.body))
        self.headers.append(exchange.request.headers)
        await self.answer(self, exchange)


def completion(text: str) -> dict[str, Any]:
    """Return an answer in the format of the API."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def frame(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    """Return one piece of a stream in the format of the API."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    value = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(value)}\n\n".encode()
