"""A rerank service on loopback: one real HTTP server with all four formats and every kind of failure."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web

KEY = "sk-rerank-0123456789"
PATHS = {
    "jina": "/v1/rerank",
    "cohere": "/v2/rerank",
    "siliconflow": "/v1/rerank",
    "dashscope": "/api/v1/services/rerank/text-rerank/text-rerank",
}
COMPATIBLE_PATH = "/compatible-api/v1/reranks"
_ENDLESS_BLOCK = b" " * 65536


class Fault(StrEnum):
    """What the server does instead of a correct answer."""

    NONE = "none"
    STATUS = "status"  # `status`, with the key repeated in the body
    REDIRECT = "redirect"
    SLOW = "slow"  # the correct answer, after `seconds`
    DRIBBLE = "dribble"  # a byte every 50 ms
    CUT = "cut"  # half of the body
    DROPPED = "dropped"  # the connection closes before a response; `times` counts
    MALFORMED = "malformed"  # not JSON
    NESTED_DEEPLY = "nested deeply"  # JSON that is too deep for any parser
    WRONG = "wrong"  # JSON with other content
    EMPTY = "empty"  # an empty body
    NO_RESULTS = "no results"
    MISSING_INDEX = "missing index"  # one passage without a score
    DUPLICATE_INDEX = "duplicate index"
    INDEX_OUT_OF_RANGE = "index out of range"
    INDEX_IS_TEXT = "index is text"
    NOT_A_NUMBER = "NaN"
    INFINITE = "infinite"
    SCORE_IS_TEXT = "score is text"
    LOGITS = "logits"
    ENDLESS = "endless"  # a body that never ends
    PACKED = "packed"  # gzip, although the client does not accept it


@dataclass
class RerankServer:
    """The requests that the server received, and how it answers."""

    address: str = ""
    fault: Fault = Fault.NONE
    status: int = 500
    seconds: float = 1.0
    times: int = 1
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def url(self, provider: str) -> str:
        """Return the full address of a provider's format."""
        return self.address + PATHS[provider]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one call according to the fault."""
        asked = json.loads(await request.read())
        self.requests.append(asked)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"message": f"invalid api key {request.headers.get('Authorization')}"}, status=401)
        nested = request.path == PATHS["dashscope"]
        if problem := _problem(asked, nested=nested, cohere=request.path == PATHS["cohere"]):
            return web.json_response({"code": "InvalidParameter", "message": problem}, status=400)
        match self.fault:
            case Fault.STATUS:
                return web.json_response({"message": f"no, {KEY}"}, status=self.status)
            case Fault.REDIRECT:
                raise web.HTTPTemporaryRedirect(f"{self.address}{PATHS['jina']}?moved")
            case Fault.SLOW:
                await asyncio.sleep(self.seconds)
            case Fault.DROPPED if self.times > 0:
                self.times -= 1
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case _:
                pass
        return await self._answer(request, asked, nested=nested)

    async def _answer(self, request: web.Request, asked: dict[str, Any], *, nested: bool) -> web.StreamResponse:
        if (raw := _RAW.get(self.fault)) is not None:
            return web.Response(body=raw, content_type="application/json")
        source = asked["input"] if nested else asked
        results = self._results(source["query"], source["documents"])
        body = json.dumps({"request_id": "1", "output": {"results": results}} if nested else {"results": results})
        if self.fault in (Fault.NONE, Fault.SLOW, Fault.DROPPED):
            return web.json_response(text=body)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        match self.fault:
            case Fault.DRIBBLE:
                await response.prepare(request)
                for byte in body.encode():
                    await response.write(bytes([byte]))
                    await asyncio.sleep(0.05)
            case Fault.CUT:
                response.content_length = len(body)
                await response.prepare(request)
                await response.write(body.encode()[: len(body) // 2])
                assert request.transport is not None
                request.transport.close()
            case Fault.ENDLESS:
                await response.prepare(request)
                while True:
                    await response.write(_ENDLESS_BLOCK)
            case Fault.PACKED:
                response.enable_compression(web.ContentCoding.gzip)
                await response.prepare(request)
                await response.write(body.encode())
            case _:
                return web.json_response(text=body)
        return response

    def _results(self, question: str, passages: list[str]) -> list[dict[str, Any]]:
        """Return the results best first, as all of the services do."""
        results: list[dict[str, Any]] = [
            {"index": index, "relevance_score": relevance(question, passage)} for index, passage in enumerate(passages)
        ]
        results.sort(key=lambda result: -float(result["relevance_score"]))
        match self.fault:
            case Fault.NO_RESULTS:
                return []
            case Fault.MISSING_INDEX:
                return results[:-1]
            case Fault.DUPLICATE_INDEX:
                results[-1]["index"] = results[0]["index"]
            case Fault.INDEX_OUT_OF_RANGE:
                results[-1]["index"] = len(passages)
            case Fault.INDEX_IS_TEXT:
                results[-1]["index"] = str(results[-1]["index"])
            case Fault.NOT_A_NUMBER:
                results[-1]["relevance_score"] = float("nan")
            case Fault.INFINITE:
                results[0]["relevance_score"] = float("inf")
            case Fault.SCORE_IS_TEXT:
                results[0]["relevance_score"] = "0.9"
            case Fault.LOGITS:
                results[0]["relevance_score"] = 4.2
            case _:
                pass
        return results


_RAW: Mapping[Fault, bytes] = {
    Fault.MALFORMED: b"<html>login</html>",
    Fault.NESTED_DEEPLY: b'{"results":' + b"[" * 200_000,
    Fault.WRONG: b'{"data": ["something else"]}',
    Fault.EMPTY: b"",
}


def _problem(asked: Mapping[str, Any], *, nested: bool, cohere: bool) -> str:
    """Return what a strict service would reject in a request."""
    source, wanted = (asked.get("input", {}), asked.get("parameters", {})) if nested else (asked, asked)
    if not asked.get("model") or not source.get("query") or not source.get("documents"):
        return "model, query and documents are required"
    if wanted.get("top_n") != len(source["documents"]):
        return "the client did not ask for all"
    if cohere and "return_documents" in wanted:
        return "unknown parameter return_documents"
    return "" if cohere or wanted.get("return_documents") is False else "the client asked for texts"


def relevance(question: str, passage: str) -> float:
    """Return the share of the question's characters that the passage contains."""
    return len(set(question) & set(passage)) / len(set(question))


@asynccontextmanager
async def running_rerank_server() -> AsyncGenerator[RerankServer]:
    """Run the server on a free port."""
    server = RerankServer()
    application = web.Application()
    for path in {*PATHS.values(), COMPATIBLE_PATH}:
        application.router.add_post(path, server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()
