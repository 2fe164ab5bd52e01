"""Benchmark of the local page while a 10 MB file is taken in: `python -m benchmarks.sandbox_page`.

It prints two times, when idle and during the ingest, and their ratio: from sending a message on the page until it is
shown (through the page's WebSocket, the simulated QQ and back), and from asking the bot until its answer is shown.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import aiohttp

from tests.e2e.bot_process import BotProcess

GROUP, ELSEWHERE, OWNER, MEMBER = "g900000000101", "g900000000102", "900000000001", "900000000003"
ROUNDS = 40
PAUSE_S = 0.25
FACT = "宿舍每晚十一点熄灯，周末推迟到十二点。"
FILE_BYTES = 10 << 20


class Page:
    """Client of the page's WebSocket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.progress = ""

    async def until(self, kind: str, text: str) -> None:
        """Read frames until one of type `kind` contains `text`."""
        async with asyncio.timeout(120):
            while True:
                frame = await self._socket.receive_json()
                if frame["type"] == "knowledge" and frame["knowledge"]["progress"]:
                    item = frame["knowledge"]["progress"][0]
                    self.progress = f"{item['done']} of {item['total']} chunks"
                if frame["type"] == kind and text in str(frame):
                    return

    async def say(self, text: str, chat: str, *, at: bool) -> None:
        """Send a message."""
        await self._socket.send_json({"type": "say", "chat": chat, "speaker": MEMBER, "text": text, "at": at})

    async def watch(self, chat: str) -> None:
        """Open a chat."""
        await self._socket.send_json({"type": "watch", "chat": chat})


async def measure(page: Page, label: str) -> tuple[list[float], list[float]]:
    """Return the milliseconds until messages were shown, and until questions were answered."""
    shown: list[float] = []
    answered: list[float] = []
    for number in range(ROUNDS):
        start = time.perf_counter()
        await page.say(f"{label} {number}", ELSEWHERE, at=False)
        await page.until("message", f"{label} {number}")
        shown.append((time.perf_counter() - start) * 1000)
        if number % 4 == 0:
            start = time.perf_counter()
            await page.say("宿舍几点熄灯？", ELSEWHERE, at=True)
            await page.until("message", "〔1〕")
            answered.append((time.perf_counter() - start) * 1000)
        await asyncio.sleep(PAUSE_S)
    return shown, answered


def report(name: str, idle: list[float], busy: list[float]) -> None:
    """Print one line: medians, 95th percentiles, maxima, and the ratio of the medians."""

    def row(times: list[float]) -> str:
        p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
        return f"p50 {statistics.median(times):6.1f}  p95 {p95:6.1f}  max {max(times):6.1f}"

    ratio = statistics.median(busy) / statistics.median(idle)
    print(f"{name:10} idle {row(idle)} ms   meanwhile {row(busy)} ms   ratio {ratio:.2f}")


async def main() -> None:
    """Start a bot, measure it idle and busy, and print the figures."""
    settings = {
        "SEND__GROUP_INTERVAL_S": "0",
        "SEND__PER_MINUTE": "0",
        "LLM__API_KEY": "",
        "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": "0",
        "BUDGET__MEMBER_QUESTIONS_PER_DAY": "0",
    }
    paragraph = "".join(f"第{number}条规定了第{number}号仓库的第{number}种货物怎样存放。" for number in range(400))
    large = (paragraph * (FILE_BYTES // len(paragraph.encode()) + 1)).encode()[:FILE_BYTES]
    with tempfile.TemporaryDirectory() as directory:
        async with BotProcess(Path(directory), settings) as bot:
            address = f"http://127.0.0.1:{bot.port}"
            async with (
                aiohttp.ClientSession(headers={"Origin": address}) as session,
                session.ws_connect(f"{address}/sandbox/ws") as socket,
            ):
                page = Page(socket)
                await asyncio.sleep(2)
                place = f"chat={ELSEWHERE}&speaker={OWNER}&name=规定.txt"
                await session.post(f"{address}/sandbox/files?{place}", data=FACT.encode())
                await page.until("message", "已入库")
                idle = await measure(page, "闲时")
                await page.watch(GROUP)
                place = f"chat={GROUP}&speaker={OWNER}&name=仓库.txt"
                await session.post(f"{address}/sandbox/files?{place}", data=large)
                await page.until("knowledge", "仓库.txt")
                busy = await measure(page, "忙时")
                print(f"file of {FILE_BYTES >> 20} MB at the end of the measurement: {page.progress}")
                report("shown", idle[0], busy[0])
                report("answered", idle[1], busy[1])


if __name__ == "__main__":
    asyncio.run(main())
