"""A minimal bot with a real reverse WebSocket that repeats messages addressed to it."""

import asyncio
import itertools
import json
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve


class EchoBot:
    """Answers an @ or a private message with `prefix` and its text, and a file with its name."""

    def __init__(self) -> None:
        self.prefix = "你说"
        self.events: list[dict[str, Any]] = []
        self.responses: list[dict[str, Any]] = []
        self.silent = False
        self._echoes = itertools.count()
        self._server: Server | None = None
        self._socket: ServerConnection | None = None

    async def __aenter__(self) -> Self:
        self._server = await serve(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/onebot/v11/ws"

    async def call(self, action: str, **params: Any) -> None:
        """Call an action. The response is added to `responses`."""
        assert self._socket is not None
        await self._socket.send(json.dumps({"action": action, "params": params, "echo": next(self._echoes)}))

    async def heard(self, count: int) -> None:
        """Wait until `count` events other than meta events have arrived."""
        async with asyncio.timeout(5):
            while len(self.events) < count:  # noqa: ASYNC110 - another task appends
                await asyncio.sleep(0.01)

    async def _serve(self, socket: ServerConnection) -> None:
        self._socket = socket
        async for frame in socket:
            data = json.loads(frame)
            if "post_type" not in data:
                self.responses.append(data)
            elif data["post_type"] != "meta_event":
                self.events.append(data)
                await self._answer(data)

    async def _answer(self, event: dict[str, Any]) -> None:
        if self.silent:
            return
        target = {"group_id": event["group_id"]} if event.get("group_id") else {"user_id": event["user_id"]}
        action = "send_group_msg" if "group_id" in target else "send_private_msg"
        if event.get("notice_type") == "group_upload":
            text = {
                "type": "text",
                "data": {"text": f"「{event['file']['name']}」已入库，用时 {next(self._echoes)} 秒。"},
            }
            await self.call(action, message=[text], **target)
        elif event["post_type"] == "message" and (
            event["message_type"] == "private" or any(part["type"] == "at" for part in event["message"])
        ):
            said = "".join(part["data"]["text"] for part in event["message"] if part["type"] == "text").strip()
            reply = {"type": "reply", "data": {"id": str(event["message_id"])}}
            text = {"type": "text", "data": {"text": f"{self.prefix}{said}"}}
            await self.call(action, message=[reply, text], **target)
