"""Soak test of a busy bot over half an hour, with a model that fails now and then.

    python -m benchmarks.soak [--minutes 30] [--megabytes 10]

The load consists of chatter, questions, a flooding member and five 10 MB files. Everything is real: bot.py as a process
with its default pace and budgets, a reverse WebSocket, HTTP servers on loopback. The exit code is 1 if an answer was
lost, sent twice or contained another group's words, or if a file was lost.
"""

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from websockets.asyncio.client import connect

from benchmarks.measurement import machine, memory, open_files, percentile
from benchmarks.prepared import passage
from tests.e2e.bot_process import BotProcess
from tests.e2e.file_server import FileServer
from tests.e2e.model_server import ModelServer
from tests.e2e.observed_client import ObservedClient, Sent

GROUPS = tuple(range(7001, 7006))
MEMBERS = tuple(range(20001, 20021))
FLOODER, UPLOADER = 20091, 20092
MESSAGES_A_SECOND = 20
FLOOD_A_SECOND = 4
FAILING_SHARE = 0.1
FILES = 5
# All answers must arrive within this time after the last question: the pace of QQ plus the model's timeout.
LAST_ANSWERS_S = 150
SAMPLE_S = 30
SMALL_FILE_S = 120
# The subjects of all questions; each group's file names other rooms for them.
SUBJECTS = ("报销", "请假", "选课", "借书", "体检", "缓考", "停车", "宿舍", "奖学金", "实验室")


@dataclass(slots=True)
class Asked:
    """A question of a member who does not flood. Times are values of `time.perf_counter()`."""

    group: int
    subject: str
    at: float
    replies: list[Sent] = field(default_factory=list[Sent])

    @property
    def seconds(self) -> float:
        """The time from the question to its first reply."""
        return self.replies[0].time - self.at


@dataclass(slots=True)
class Sample:
    """The state of the bot and all its child processes at one moment.

    `size` is the proportional set size in MB. `files` is the number of open files.
    """

    at: float
    size: int
    files: int


class Soak:
    """One run against one bot."""

    def __init__(self, bot: BotProcess, client: ObservedClient, model: ModelServer, seconds: float) -> None:
        self.bot = bot
        self.client = client
        self.model = model
        self.asked: dict[int, Asked] = {}
        self.flooded: set[int] = set()
        self.samples: list[Sample] = []
        self.pings: list[float] = []
        self.receipts: list[float] = []
        self.chatter = 0
        self._began = time.perf_counter()
        self._end = self._began + seconds
        self._chance = random.Random(7)

    async def run(self, megabytes: int) -> None:
        """Take in each group's file, then run all loads at the same time until the time is over."""
        for group in GROUPS:
            await self.client.upload_group_file(group, UPLOADER, f"手册{group}.md", _handbook(group).encode())
            await self.client.wait_sent(f"「手册{group}.md」已入库", timeout=120)
        await asyncio.gather(
            self._chat(),
            self._ask(),
            self._flood(),
            self._upload(megabytes),
            self._drop_small_files(),
            self._sample(),
            self._ping(),
        )
        await self._wait_for_answers()

    async def _chat(self) -> None:
        while self._running():
            group, member = self._chance.choice(GROUPS), self._chance.choice(MEMBERS)
            await self.client.group_message(group, member, f"今天的第 {self.chatter} 句闲话")
            self.chatter += 1
            await asyncio.sleep(1 / (MESSAGES_A_SECOND - FLOOD_A_SECOND))

    async def _ask(self) -> None:
        """Ask in turn, eight questions a minute in total.

        Together with the flooder's questions, that is below the pace of QQ.
        """
        for number, member in enumerate(itertools.cycle(MEMBERS)):
            if not self._running():
                return
            group, subject = GROUPS[number % len(GROUPS)], SUBJECTS[number % len(SUBJECTS)]
            at = time.perf_counter()
            asked = await self.client.group_message(group, member, f"{subject}在哪个房间办理？", at_bot=True)
            self.asked[asked] = Asked(group, subject, at)
            await asyncio.sleep(60 / 8)

    async def _flood(self) -> None:
        for number in itertools.count():
            if not self._running():
                return
            text = f"{self._chance.choice(SUBJECTS)}怎么办理，第 {number} 次问"
            self.flooded.add(await self.client.group_message(GROUPS[0], FLOODER, text, at_bot=True))
            await asyncio.sleep(1 / FLOOD_A_SECOND)

    async def _upload(self, megabytes: int) -> None:
        await asyncio.sleep(10)
        for number in range(FILES):
            text = await asyncio.to_thread(_large_text, number, megabytes << 20)
            await self.client.upload_group_file(GROUPS[1], UPLOADER, f"大文件{number}.txt", text)

    async def _drop_small_files(self) -> None:
        """Send a file of one line to another group every two minutes, and time its receipt."""
        for number in itertools.count():
            await asyncio.sleep(SMALL_FILE_S)
            if not self._running():
                return
            began, name = time.perf_counter(), f"一句话{number}.txt"
            await self.client.upload_group_file(GROUPS[2], UPLOADER, name, f"第 {number} 条通知没有内容。".encode())
            sent = await self.client.wait_sent(f"「{name}」已入库", timeout=LAST_ANSWERS_S)
            self.receipts.append(sent.time - began)

    async def _sample(self) -> None:
        while self._running():
            size, _ = await asyncio.to_thread(memory, self.bot.pid)
            self.samples.append(Sample(time.perf_counter() - self._began, size, open_files(self.bot.pid)))
            await asyncio.sleep(SAMPLE_S)

    async def _ping(self) -> None:
        """Measure WebSocket pings over a separate connection, which the event loop itself answers."""
        headers = {"X-Self-ID": "1", "Authorization": f"Bearer {self.bot.token}"}
        async with connect(self.bot.url, additional_headers=headers, ping_interval=None) as socket:
            while self._running():
                began = time.perf_counter()
                await (await socket.ping())
                self.pings.append(time.perf_counter() - began)
                await asyncio.sleep(0.02)

    def _running(self) -> bool:
        return time.perf_counter() < self._end

    async def _wait_for_answers(self) -> None:
        deadline = time.perf_counter() + LAST_ANSWERS_S
        while time.perf_counter() < deadline:
            self._match()
            if all(asked.replies for asked in self.asked.values()):
                break
            await asyncio.sleep(1)
        # A second answer would come soon after the first.
        await asyncio.sleep(5)
        self._match()

    def _match(self) -> None:
        for asked in self.asked.values():
            asked.replies.clear()
        for sent in self.client.sent:
            if sent.reply_id in self.asked:
                self.asked[sent.reply_id].replies.append(sent)

    # -- the result
    # ------------------------------------------------------------------------------------------------------

    async def report(self) -> list[str]:
        """Print the figures and return the faults."""
        faults: list[str] = []
        lost = [asked for asked in self.asked.values() if not asked.replies]
        doubled = [asked for asked in self.asked.values() if len(asked.replies) > 1]
        right = [asked for asked in self.asked.values() if any(_room(asked) in sent.text for sent in asked.replies)]
        foreign = [sent for sent in self.client.sent if _is_foreign(sent)]
        foreign_prompts = sum(_names_two_groups(prompt) for prompt in self.model.prompts())
        print(
            f"{self.chatter} chatter messages, {len(self.flooded)} of the flooding member, {len(self.asked)} questions"
        )
        print(f"questions: {len(right)} with the right room, {len(lost)} lost, {len(doubled)} doubled")
        for title, is_flooded in (("in the flooded group", True), ("in other groups", False)):
            answered = [asked for asked in self.asked.values() if asked.replies]
            times = [asked.seconds for asked in answered if (asked.group == GROUPS[0]) is is_flooded]
            print(_seconds_row(f"answers to the others {title}", times))
        print(_seconds_row("receipts for files of one line in another group", self.receipts))
        to_flooder = Counter(_kind(sent) for sent in self.client.sent if sent.reply_id in self.flooded)
        print(f"to the flooding member: {dict(to_flooder)}")
        print(f"model calls: {len(self.model.chats)}, at most {self.model.peak_in_flight} at once")
        print(f"foreign words: {len(foreign)} replies, {foreign_prompts} prompts")
        print(f"longest ping: {1000 * max(self.pings):.0f} ms, p99 {1000 * percentile(self.pings, 0.99):.0f} ms")
        for sample in self.samples[:: max(1, len(self.samples) // 12)]:
            print(f"  {sample.at / 60:5.1f} min: {sample.size} MB, {sample.files} files open")
        faults += [f"no answer to {asked}" for asked in lost] + [f"two answers to {asked}" for asked in doubled]
        faults += [f"foreign words: {sent}" for sent in foreign]
        if foreign_prompts:
            faults.append(f"{foreign_prompts} prompts with two groups' words")
        return faults + await self._missing_files()

    async def _missing_files(self) -> list[str]:
        """Ask the bot for its files and return the faults.

        Every large file must be listed, and must have been announced as taken in at most once.
        """
        told = "\n".join(sent.text for sent in self.client.sent)
        await self.client.group_message(GROUPS[1], UPLOADER, "/kb list")
        listed = (await self.client.wait_sent("共 ", timeout=60)).text
        await self.client.group_message(GROUPS[1], UPLOADER, "/kb status")
        print((await self.client.wait_sent("知识库：", timeout=60)).text)
        names = [f"大文件{number}.txt" for number in range(FILES)]
        return [f"{name} is lost" for name in names if name not in listed] + [
            f"{name} was told {count} times" for name in names if (count := told.count(f"「{name}」已入库")) > 1
        ]


def _seconds_row(title: str, times: Sequence[float]) -> str:
    if not times:
        return f"{title}: none"
    middle, high = percentile(times, 0.5), percentile(times, 0.95)
    return f"{title}: n={len(times)}, p50 {middle:.2f} s, p95 {high:.2f} s, max {max(times):.2f} s"


def _handbook(group: int) -> str:
    lines = [f"{subject}请到 {_number(group, subject)} 房间办理，请带好证件。" for subject in SUBJECTS]
    return f"# 办事手册\n\n本手册只用于群 {_mark(group)}。\n\n" + "\n\n".join(lines)


def _mark(group: int) -> str:
    return f"MARK-{group}"


def _number(group: int, subject: str) -> str:
    return f"{group}-{SUBJECTS.index(subject)}"


def _room(asked: Asked) -> str:
    return _number(asked.group, asked.subject)


def _is_foreign(sent: Sent) -> bool:
    return any(str(group) in sent.text for group in GROUPS if group != sent.group_id)


def _names_two_groups(prompt: str) -> bool:
    return sum(any(_number(group, subject) in prompt for subject in SUBJECTS) for group in GROUPS) > 1


def _kind(sent: Sent) -> str:
    return "answer" if "办理" in sent.text or "模型" in sent.text else sent.text[:40]


def _large_text(number: int, size: int) -> bytes:
    pieces: list[str] = []
    written = 0
    for seed in itertools.count(number * 1_000_000):
        pieces.append(passage(seed, 480))
        written += len(pieces[-1].encode()) + 2
        if written >= size:
            return "\n\n".join(pieces).encode()
    raise AssertionError("there is always another passage")


async def soak(minutes: float, megabytes: int) -> int:
    """Run the soak test and return the exit code."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="qunzhi-soak-")))
        model = await stack.enter_async_context(ModelServer())
        files = await stack.enter_async_context(FileServer())
        model.fail_share(FAILING_SHARE)
        environment: dict[str, str | None] = {
            "LLM__BASE_URL": model.base_url,
            "LLM__API_KEY": "k",
            "LLM__MODEL": "m",
            "LOG_LEVEL": "WARNING",
        }
        bot = await stack.enter_async_context(BotProcess(folder / "bot", environment))
        client = await stack.enter_async_context(ObservedClient(bot.url, token=bot.token, file_host=files))
        run = Soak(bot, client, model, 60 * minutes)
        await run.run(megabytes)
        faults = await run.report()
        print("\n".join(f"FAULT: {fault}" for fault in faults[:20]) or "nothing lost, nothing doubled")
        errors = [line for line in bot.output().splitlines() if "ERROR" in line]
        print(f"{len(errors)} error lines in the log", *errors[:5], sep="\n  ")
    return 1 if faults else 0


def main(arguments: Sequence[str]) -> int:
    """Read the command line and run the soak test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--megabytes", type=int, default=10, help="size of each of the five files")
    given = parser.parse_args(arguments)
    print(machine(), flush=True)
    return asyncio.run(soak(given.minutes, given.megabytes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
