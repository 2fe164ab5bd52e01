"""A real OpenAI-compatible HTTP server on loopback whose answers and failures are set by the test."""

import asyncio
import base64
import hashlib
import itertools
import json
import math
import random
import re
import struct
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import isawaitable
from typing import Any

from tests.e2e.http_server import Exchange, LoopbackServer


class Mode(StrEnum):
    """How the server answers calls. Every mode except OK can be limited to a number of calls."""

    OK = "ok"
    DOWN = "down"  # 503, or the status given
    SLOW = "slow"  # the true answer after `seconds`
    HANG = "hang"  # no answer at all
    MALFORMED = "malformed"  # 200 with a body that is not JSON
    EMPTY = "empty"  # an answer without text
    NO_FINISH_REASON = "no_finish_reason"
    LENGTH = "length"  # half of the answer, finish_reason "length"
    CUT = "cut"  # half of the answer, then the connection is cut
    UNAUTHORIZED = "unauthorized"  # 401
    RATE_LIMITED = "rate_limited"  # 429


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A call. `body` is the posted JSON. `time` is `time.perf_counter()` in seconds."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    time: float = field(default_factory=time.perf_counter)

    @property
    def prompt(self) -> str:
        """The text of all messages, separated by blank lines."""
        return "\n\n".join(_message_text(message) for message in self.body.get("messages", []))

    @property
    def question(self) -> str:
        """The text of the last user message."""
        texts = [_message_text(message) for message in self.body.get("messages", []) if message["role"] == "user"]
        return texts[-1] if texts else ""


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer with tool calls in OpenAI's format or with another finish_reason."""

    text: str = ""
    tool_calls: tuple[dict[str, Any], ...] = ()
    finish_reason: str | None = "stop"


Reply = str | Completion | Callable[[ModelRequest], str | Completion | Awaitable[str | Completion]]


class ModelServer(LoopbackServer):
    """Serves `/v1/chat/completions` (plain and streamed), `/v1/embeddings` and `/v1/models`.

    The first rule of `when` whose fragment is in the prompt provides the answer, otherwise `reply`. A reply is a text,
    a `Completion`, or a function of the request, by default `answer_from_references`. Without a mode or `chunk_delay`
    (seconds between the pieces of a stream) the server never waits, so that a benchmark measures the bot.

    If `api_key` is set, calls with another key get a 401. `dimensions` is the length of the embedding vectors.
    """

    def __init__(self, *, api_key: str | None = None, dimensions: int = 64) -> None:
        super().__init__()
        self.api_key = api_key
        self.dimensions = dimensions
        self.reply: Reply = answer_from_references
        self.chunk_delay = 0.0
        self.requests: list[ModelRequest] = []
        self.in_flight = 0
        self.peak_in_flight = 0
        self._rules: list[tuple[str, Reply]] = []
        self._mode = Mode.OK
        self._seconds = 0.0
        self._status = 503
        self._remaining: int | None = None
        self._fail_share = 0.0
        self._chance = random.Random(1)
        self._ids = itertools.count(1)

    @property
    def base_url(self) -> str:
        """The value for LLM__BASE_URL."""
        return f"{self.address}/v1"

    @property
    def chats(self) -> list[ModelRequest]:
        """The requests that are chat calls."""
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    def prompts(self) -> list[str]:
        """Return the text of all messages of each chat call."""
        return [request.prompt for request in self.chats]

    def when(self, fragment: str, reply: Reply) -> None:
        """Answer prompts that contain `fragment` with `reply`. The first matching rule applies."""
        self._rules.append((fragment, reply))

    def switch(self, mode: Mode, *, seconds: float = 0.0, status: int | None = None, times: int | None = None) -> None:
        """Set the mode for `times` calls or until the next switch. `status` applies to DOWN, `seconds` to SLOW."""
        self._mode, self._seconds, self._remaining = mode, seconds, times
        self._status = 503 if status is None else status

    def fail_share(self, share: float) -> None:
        """Answer a share (0 to 1) of the calls with 503, chosen at random but identical in every run."""
        self._fail_share = share

    async def handle(self, exchange: Exchange) -> None:
        """Answer one call."""
        path = exchange.request.path
        body = json.loads(exchange.request.body) if exchange.request.body else {}
        request = ModelRequest(path, body, exchange.request.headers)
        self.requests.append(request)
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            mode = self._take_mode()
            if await self._refused(exchange, mode):
                return
            match path:
                case "/v1/chat/completions":
                    await self._chat(exchange, request, mode)
                case "/v1/embeddings":
                    await exchange.send_json(200, self._embeddings(request.body))
                case "/v1/models":
                    models = [{"id": "test-model", "object": "model", "created": 0, "owned_by": "tests"}]
                    await exchange.send_json(200, {"object": "list", "data": models})
                case _:
                    await exchange.send_json(404, _error(f"no such path: {path}", "invalid_request_error"))
        finally:
            self.in_flight -= 1

    def _take_mode(self) -> Mode:
        mode = self._mode
        if self._remaining is not None:
            self._remaining -= 1
            if self._remaining <= 0:
                self._mode, self._remaining = Mode.OK, None
        if mode is Mode.OK and self._chance.random() < self._fail_share:
            return Mode.DOWN
        return mode

    async def _refused(self, exchange: Exchange, mode: Mode) -> bool:
        key = exchange.request.headers.get("authorization", "").removeprefix("Bearer ")
        if mode is Mode.UNAUTHORIZED or (self.api_key is not None and key != self.api_key):
            await exchange.send_json(401, _error("Incorrect API key provided", "invalid_request_error"))
        elif mode is Mode.RATE_LIMITED:
            await exchange.send_json(429, _error("Rate limit reached", "rate_limit_error"), retry_after="1")
        elif mode is Mode.DOWN:
            await exchange.send_json(self._status, _error("The server is overloaded", "server_error"))
        elif mode is Mode.MALFORMED:
            await exchange.send(200, b'{"id": "chatcmpl-1", "choices": [', content_type="application/json")
        elif mode is Mode.HANG:
            await asyncio.Event().wait()
        else:
            if mode is Mode.SLOW:
                await asyncio.sleep(self._seconds)
            return False
        return True

    async def _completion(self, request: ModelRequest, mode: Mode) -> Completion:
        reply = next((reply for fragment, reply in self._rules if fragment in request.prompt), self.reply)
        answer = reply(request) if callable(reply) else reply
        completion = await answer if isawaitable(answer) else answer
        if isinstance(completion, str):
            completion = Completion(completion)
        half = completion.text[: len(completion.text) // 2]
        match mode:
            case Mode.EMPTY:
                return Completion("")
            case Mode.NO_FINISH_REASON:
                return Completion(completion.text, completion.tool_calls, None)
            case Mode.LENGTH:
                return Completion(half, finish_reason="length")
            case Mode.CUT:
                return Completion(half, finish_reason=None)
            case _:
                return completion

    async def _chat(self, exchange: Exchange, request: ModelRequest, mode: Mode) -> None:
        completion = await self._completion(request, mode)
        head = {
            "id": f"chatcmpl-{next(self._ids)}",
            "created": int(time.time()),
            "model": request.body.get("model", "test-model"),
        }
        # One token a character: an honest upper bound for Chinese, and easy to check in a test.
        prompt_tokens, answer_tokens = len(request.prompt), len(completion.text)
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": answer_tokens,
            "total_tokens": prompt_tokens + answer_tokens,
        }
        if request.body.get("stream"):
            include_usage = (request.body.get("stream_options") or {}).get("include_usage", False)
            await self._stream(exchange, head, completion, usage if include_usage else None, cut=mode is Mode.CUT)
            return
        message: dict[str, Any] = {"role": "assistant", "content": completion.text}
        if completion.tool_calls:
            message["tool_calls"] = list(completion.tool_calls)
        choice = {"index": 0, "message": message, "finish_reason": completion.finish_reason, "logprobs": None}
        answer = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        if mode is Mode.CUT:
            data = json.dumps(answer).encode()
            await exchange.start(200, length=len(data), content_type="application/json")
            await exchange.write(data[: len(data) // 2])
            exchange.close()
        else:
            await exchange.send_json(200, answer)

    async def _stream(
        self,
        exchange: Exchange,
        head: dict[str, Any],
        completion: Completion,
        usage: dict[str, int] | None,
        *,
        cut: bool,
    ) -> None:
        async def chunk(choices: list[dict[str, Any]], **extra: Any) -> None:
            value = {**head, "object": "chat.completion.chunk", "choices": choices, **extra}
            await exchange.write(f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode())

        await exchange.start(200, length=None, content_type="text/event-stream")
        await chunk([_delta({"role": "assistant", "content": ""})])
        for piece in _pieces(completion.text, 8):
            if self.chunk_delay:
                await asyncio.sleep(self.chunk_delay)
            await chunk([_delta({"content": piece})])
        for index, call in enumerate(completion.tool_calls):
            await chunk([_delta({"tool_calls": [{"index": index, **call}]})])
        if cut:
            exchange.close()
            return
        if completion.finish_reason is not None:
            await chunk([_delta({}, completion.finish_reason)])
        if usage is not None:
            await chunk([], usage=usage)
        await exchange.write(b"data: [DONE]\n\n")
        await exchange.finish()

    def _embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        given = body["input"]
        texts: list[str] = [given] if isinstance(given, str) else [str(text) for text in given]
        as_base64 = body.get("encoding_format") == "base64"
        data: list[dict[str, Any]] = []
        for index, text in enumerate(texts):
            vector = embed(text, body.get("dimensions") or self.dimensions)
            packed = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if as_base64 else vector
            data.append({"object": "embedding", "index": index, "embedding": packed})
        tokens = sum(map(len, texts))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": body.get("model", "test-model"), "usage": usage}


# No punctuation before the number: an example in an instruction or a citation in an answer is no reference.
_REFERENCE = re.compile(r"^[^\n。，；,;]*[\[〔【](\d{1,3})[\]〕】](.*)$", re.MULTILINE)


def answer_from_references(request: ModelRequest) -> str:
    """Return the sentence of the prompt's references that shares most character pairs with the question.

    A reference begins with a line that has its number in brackets ([1], 〔1〕 or 【1】) and ends at the next number or
    at a line of `====`. Without references the answer is a refusal.
    """
    asked = _bigrams(request.question)
    best, best_score = "资料里没有相关内容。", 0.0
    for number, passage in _references(request):
        for sentence in re.split(r"(?<=[。！？!?])|\n", passage):
            pairs = _bigrams(sentence)
            score = len(pairs & asked) / math.sqrt(len(pairs) or 1)
            if score > best_score:
                best, best_score = f"{sentence.strip()}〔{number}〕", score
    return best


def _references(request: ModelRequest) -> Iterator[tuple[str, str]]:
    for message in request.body.get("messages", []):
        text = _message_text(message)
        marks = list(_REFERENCE.finditer(text))
        for mark, following in itertools.zip_longest(marks, marks[1:]):
            passage = text[mark.end() : following.start() if following else None].split("\n====")[0].strip()
            # The rest of the numbered line is the document's title where the passage has lines of its own.
            yield mark[1], passage or mark[2]


def embed(text: str, dimensions: int) -> list[float]:
    """Return a unit vector of hashed characters and character pairs, close to those of texts that share words."""
    vector = [0.0] * dimensions
    for feature in (*text, *_bigrams(text)):
        digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        vector[int.from_bytes(digest[:4], "big") % dimensions] += 1.0 if digest[4] & 1 else -1.0
    norm = math.sqrt(sum(value * value for value in vector))
    return [value / norm for value in vector] if norm else [1.0, *vector[1:]]


def _bigrams(text: str) -> set[str]:
    return {a + b for a, b in itertools.pairwise(text) if (a + b).isalnum()}


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _message_text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _delta(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
