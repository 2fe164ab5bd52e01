"""Fixture of a stage that is connected to a small bot."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from simulator.stage import Cast, Frame, Stage
from simulator.world import Member
from tests.simulator.echo_bot import EchoBot

OWNER, ADMIN, MEMBER = 10001, 10002, 10003
GROUP, OTHER_GROUP = 777, 888
CAST = Cast(
    lowest_id=50,
    bot=Member(20001, "群知"),
    people=(
        Member(OWNER, "周老师", role="owner"),
        Member(ADMIN, "陈助教", role="admin"),
        Member(MEMBER, "小林", role="member"),
    ),
    groups=((GROUP, "一群"), (OTHER_GROUP, "二群")),
)


@dataclass(frozen=True)
class Hosted:
    url: str


class AddressBook:
    """A file host that only assigns addresses."""

    def __init__(self) -> None:
        self.hosted: list[tuple[str, bytes]] = []
        self.expired = False

    def host(self, name: str, content: bytes) -> Hosted:
        self.hosted.append((name, content))
        return Hosted(f"http://127.0.0.1:1/files/{len(self.hosted)}?fname=")

    def expire(self, expired: bool) -> None:
        self.expired = expired


class Playground:
    """A stage, its bot, and the frames that a page would receive."""

    def __init__(self, bot: EchoBot) -> None:
        self.bot = bot
        self.files = AddressBook()
        self.stage = Stage(bot.url, CAST, token=None, file_host=self.files, expire_links=self.files.expire)
        self.frames: list[Frame] = []
        self.stage.listeners.add(self.frames.append)

    async def connected(self) -> None:
        async with asyncio.timeout(5):
            while not self.stage.client.connected:  # noqa: ASYNC110 - another task connects
                await asyncio.sleep(0.01)

    async def frame(self, kind: str, text: str = "") -> Frame:
        """Wait for the first frame of a kind that contains `text` and return it. Each frame is returned once."""
        async with asyncio.timeout(5):
            while True:
                for frame in self.frames:
                    if frame["type"] == kind and text in str(frame):
                        self.frames.remove(frame)
                        return frame
                await asyncio.sleep(0.01)


@pytest.fixture
async def playground() -> AsyncIterator[Playground]:
    async with EchoBot() as bot:
        playground = Playground(bot)
        running = asyncio.create_task(playground.stage.run())
        await playground.connected()
        yield playground
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
