"""A loopback service with OpenAI's embeddings interface."""

import base64
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np


@dataclass
class EmbeddingService:
    """What the service answers and what it was asked.

    `behaviour`: ok, error, slow, html, short, ragged, zeros, or "redirect" and an address.
    """

    behaviour: str = "ok"
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    url: str = ""

    def answer(self, request: dict[str, Any]) -> tuple[int, str]:
        self.requests.append(request)
        if self.behaviour == "error":
            return 500, json.dumps({"error": {"message": "out of order"}})
        if self.behaviour.startswith("redirect "):
            return 307, "{}"
        if self.behaviour == "slow":
            time.sleep(1)
        if self.behaviour == "html":
            return 200, "<html>login</html>"
        vectors = [[float(len(text)), 2.0, 0.0] for text in request["input"]]
        if self.behaviour == "short":
            vectors.pop()
        if self.behaviour == "ragged":
            vectors[-1].append(1.0)
        if self.behaviour == "zeros":
            vectors[-1] = [0.0] * 3
        data = [
            {"object": "embedding", "index": i, "embedding": _encoded(vector, request.get("encoding_format"))}
            for i, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return 200, json.dumps({"object": "list", "data": data, "model": request["model"], "usage": usage})


def _encoded(vector: list[float], encoding: str | None) -> list[float] | str:
    return base64.b64encode(np.array(vector, "<f4").tobytes()).decode() if encoding == "base64" else vector


@contextmanager
def running_service(behaviour: str = "ok") -> Generator[EmbeddingService]:
    service = EmbeddingService(behaviour)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, text = service.answer(json.loads(body))
            content = text.encode()
            self.send_response(status)
            if status == 307:
                self.send_header("Location", service.behaviour.removeprefix("redirect "))
            self.send_header("Content-Type", "application/json" if text.startswith("{") else "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            try:
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                return  # the client's timeout passed

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
