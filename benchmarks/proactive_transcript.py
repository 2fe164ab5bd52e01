"""Transcript of the proactive mode on real group messages: each with its decision, the reason and its human label.

The rules, the gate and the retriever are the product's. The clock is simulated, and no model is called.
"""

import argparse
import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.quality.collection import open_shelf
from benchmarks.quality.datasets import Message, Passage, passages_of_corpus, read_messages
from benchmarks.quality.vectors import Vectors
from services.database import Database, open_database, sqlite_url
from services.proactive.models import Decision, GroupMessage, Reason, UnaskedOutcome
from services.proactive.service import ProactiveService
from services.records.groups import GateFeedbackRecords, GroupRecords
from services.session import KnowledgeCollection, KnowledgeScope
from services.settings import ProactiveSettings

GROUP, AUTHORS, EVERY_S = 777, 30, 40.0
_COLLECTION = KnowledgeCollection.of_group(GROUP, KnowledgeScope.GROUP).name
_FILLED = "filled"
_TEXT_CHARS = 60


@dataclass(slots=True)
class Clock:
    """A clock that advances only when it is told to."""

    present: datetime = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the simulated time."""
        return self.present

    async def sleep(self, seconds: float) -> None:
        """Advance the clock without waiting."""
        self.present += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the transcript.

    `place` is the location of the first reference, or empty if nothing was approved.
    """

    message: Message
    decision: Decision
    place: str = ""


@dataclass(slots=True)
class Transcript:
    """All decisions, in order."""

    lines: list[Line] = field(default_factory=list[Line])

    def show(self) -> None:
        """Print the messages, then the number of messages by decision and label."""
        for number, line in enumerate(self.lines, start=1):
            score = "     " if line.decision.score is None else f"{line.decision.score:.3f}"
            label = "answerable" if line.message.answerable else "chatter"
            text = " ".join(line.message.text.split())
            shown = text if len(text) <= _TEXT_CHARS else f"{text[: _TEXT_CHARS - 1]}…"
            print(f"{number:4} {line.decision.at:%H:%M:%S} {line.decision.reason:15} {score} {label:10} {shown}")
            if line.place:
                print(f"{'':36}→ {line.place}")
        print(f"\n{'reason':15} {'answerable':>10} {'chatter':>10}")
        counts = Counter((line.decision.reason, line.message.answerable) for line in self.lines)
        for reason in Reason:
            if counts[reason, True] or counts[reason, False]:
                print(f"{reason:15} {counts[reason, True]:10} {counts[reason, False]:10}")
        right, wrong = counts[Reason.ANSWERED, True], counts[Reason.ANSWERED, False]
        answerable = sum(line.message.answerable for line in self.lines)
        print(
            f"\n{len(self.lines)} messages, {answerable} answerable; answered {right + wrong}, of which {right} rightly"
        )
        print("calls of a language model: 0")


async def hold(proactive: ProactiveService, clock: Clock, messages: Iterable[Message]) -> Transcript:
    """Let the members of one group write these messages in turn, one every 40 s, with proactive answers on."""
    await proactive.switch(GROUP, on=True)
    transcript, begun = Transcript(), clock.present
    for number, message in enumerate(messages):
        clock.present = max(clock.present, begun + timedelta(seconds=EVERY_S * number))
        said = GroupMessage(GROUP, 10_000 + number % AUTHORS, number + 1, message.text.strip(), clock.present)
        proactive.hear(said)
        approval = await proactive.consider(said)
        place = ""
        if approval is not None and await proactive.still_wanted(approval):
            await proactive.settle(approval, UnaskedOutcome.SENT)
            place = approval.retrieval.references[0].place
        transcript.lines.append(Line(message, proactive.status(GROUP).decisions[-1], place))
    return transcript


@asynccontextmanager
async def fresh_records() -> AsyncGenerator[Database]:
    """Open an empty database that is deleted when the block ends."""
    with tempfile.TemporaryDirectory() as directory:
        database = await open_database(sqlite_url(Path(directory) / "app.sqlite3"))
        try:
            yield database
        finally:
            await database.close()


async def run(
    directory: Path, vectors: Vectors, corpus: Path, messages: Sequence[Message], settings: ProactiveSettings
) -> Transcript:
    """Fill `directory` from the corpus unless an earlier run did, then hold the conversation."""
    async with open_shelf(vectors, None, directory) as shelf:
        filled = directory / _FILLED
        if not filled.exists():
            passages: list[Passage] = await asyncio.to_thread(passages_of_corpus, corpus)
            await shelf.fill(_COLLECTION, passages)
            filled.write_text(f"{len(passages)} chunks of {corpus.name}\n", encoding="utf-8")
        print(f"{filled.read_text(encoding='utf-8').strip()}; at most {settings.per_hour} answers an hour\n")
        # Every run simulates the same day, so what an earlier run answered must not count as already answered.
        async with fresh_records() as database:
            clock = Clock()
            proactive = ProactiveService(
                GroupRecords(database),
                GateFeedbackRecords(database),
                shelf.retriever,
                settings,
                KnowledgeScope.GROUP,
                clock=clock.now,
                sleep=clock.sleep,
            )
            return await hold(proactive, clock, messages)


def main() -> None:
    """Read the options, hold the conversation and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=Path, required=True, help='lines of {"query", "answerable"}')
    parser.add_argument("--corpus", type=Path, required=True, help="the group's documents, a directory or a tar file")
    parser.add_argument("--count", type=int, default=200, help="how many messages, from the beginning of the file")
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="draw the messages instead; labels may be sorted")
    parser.add_argument("--cache", type=Path, required=True, help="keeps vectors between runs")
    parser.add_argument("--keep", type=Path, help="keeps the filled knowledge base between runs; default: in the cache")
    parser.add_argument("--per-hour", type=int, default=ProactiveSettings.model_construct().per_hour)
    chosen = parser.parse_args()
    messages = read_messages(chosen.labels)
    if chosen.shuffle is not None:
        random.Random(chosen.shuffle).shuffle(messages)
    settings = ProactiveSettings.model_construct(per_hour=chosen.per_hour)
    keep = chosen.keep or chosen.cache / "proactive-transcript"
    asyncio.run(run(keep, Vectors(chosen.cache), chosen.corpus, messages[: chosen.count], settings)).show()


if __name__ == "__main__":
    main()
