"""The player of recordings, which compares the bot's answers with the recorded ones."""

import asyncio
import re
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from simulator.recording import (
    Answered,
    ConnectionCut,
    DialectChanged,
    Reacted,
    Recalled,
    Recording,
    Said,
    SentFile,
    Step,
    StormStarted,
    TroubleSwitched,
)
from simulator.stage import Frame, Rejected, Stage
from simulator.transcript import StageChat

# A replay need not wait through the long pauses of a recorded conversation.
_LONGEST_PAUSE_S = 5.0
_ANSWER_WAIT_S = 45.0
_CONNECT_WAIT_S = 30.0
_EXTRA_WAIT_S = 3.0


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome of one replayed step.

    `said` is what the bot answers now if the step is an answer, or None if no answer came. `problem` is the reason why
    a person's step could not be performed, or empty.
    """

    step: Step
    said: str | None = None
    problem: str = ""

    @property
    def as_recorded(self) -> bool:
        """Whether the outcome is as recorded. Times and sizes may differ in a message without a quote, as in 已入库."""
        if not isinstance(self.step, Answered) or self.said is None:
            return not self.problem and not isinstance(self.step, Answered)
        if self.step.reply_to is None:
            return _without_figures(self.step.text) == _without_figures(self.said)
        return self.step.text == self.said


class Player:
    """Plays one recording on a stage, once.

    Recorded message ids are mapped to the ids that the messages get in this replay. `answer_wait_s` is how many seconds
    to wait for an answer.
    """

    def __init__(self, stage: Stage, recording: Recording, answer_wait_s: float = _ANSWER_WAIT_S) -> None:
        self._stage = stage
        self._recording = recording
        self._answer_wait_s = answer_wait_s
        self._ids: dict[int, int] = {}
        self._answers: dict[str, deque[Frame]] = defaultdict(deque)
        self._seen = {
            str(entry.message.message_id) for chat in stage.transcript for entry in stage.transcript.entries(chat)
        }
        self._heard = asyncio.Event()

    def admit(self) -> None:
        """Add the recording's groups and people to the stage, before `play`. Raise `Rejected` if one may be real."""
        self._stage.admit(self._recording)

    async def play(self, report: Callable[[int, Replayed], None]) -> None:
        """Play all steps in order. Call `report` with the number of each step, from 1, and its outcome."""
        self._stage.listeners.add(self._listen)
        before = 0.0
        try:
            for number, step in enumerate(self._recording.steps, start=1):
                if isinstance(step, Answered):
                    report(number, await self._wait_for_answer(step))
                else:
                    await asyncio.sleep(min(max(0.0, step.at - before), _LONGEST_PAUSE_S))
                    report(number, await self._act(step))
                before = step.at
            await self._report_extra(report)
        finally:
            self._stage.listeners.discard(self._listen)

    async def _report_extra(self, report: Callable[[int, Replayed], None]) -> None:
        """Report answers of the bot that are not in the recording."""
        await asyncio.sleep(_EXTRA_WAIT_S)
        number = len(self._recording.steps)
        for chat, frames in self._answers.items():
            for frame in frames:
                nothing = Answered(at=0.0, chat=chat, text="", message=int(frame["id"]))
                report(number, Replayed(nothing, said=text_of(frame["parts"])))

    async def _act(self, step: Step) -> Replayed:
        try:
            await self._connected()
            await self._perform(step)
        except Rejected as rejected:
            return Replayed(step, problem=str(rejected))
        return Replayed(step)

    async def _perform(self, step: Step) -> None:
        stage = self._stage
        match step:
            case Said():
                self._ids[step.message] = await stage.say(
                    StageChat.parse(step.chat),
                    step.speaker,
                    step.text,
                    at_bot=step.at_bot,
                    reply_to=None if step.reply_to is None else self._current_id(step.reply_to),
                    image=(step.image.name, step.image.content) if step.image else None,
                )
            case SentFile():
                self._ids[step.message] = await stage.send_file(
                    StageChat.parse(step.chat), step.speaker, step.name, step.content
                )
            case Recalled():
                await stage.recall(self._current_id(step.message), step.operator)
            case Reacted():
                await stage.react(self._current_id(step.message), step.speaker, step.emoji, on=step.on)
            case TroubleSwitched():
                stage.set_trouble(step.name, on=step.on)
            case DialectChanged():
                await stage.change_dialect(step.name)
            case ConnectionCut():
                await stage.cut_connection()
            case StormStarted():
                stage.start_storm(StageChat.parse(step.chat))
            case Answered():
                raise AssertionError("answers are waited for")

    async def _wait_for_answer(self, step: Answered) -> Replayed:
        # Accept a different text as the answer only after waiting a third of the time for the recorded one.
        first_s = self._answer_wait_s / 3
        for wait_s, matches in (
            (first_s, self._is_the_answer),
            (self._answer_wait_s - first_s, self._may_be_the_answer),
        ):
            try:
                async with asyncio.timeout(wait_s):
                    while (answer := self._take(step, matches)) is None:
                        self._heard.clear()
                        await self._heard.wait()
            except TimeoutError:
                continue
            self._ids[step.message] = int(answer["id"])
            return Replayed(step, said=text_of(answer["parts"]))
        return Replayed(step)

    def _take(self, step: Answered, matches: Callable[[Answered, Frame], bool]) -> Frame | None:
        answers = self._answers[step.chat]
        answer = next((answer for answer in answers if matches(step, answer)), None)
        if answer is not None:
            answers.remove(answer)
        return answer

    def _is_the_answer(self, step: Answered, answer: Frame) -> bool:
        """Return whether the answer quotes the same message or, without a quote, has the same text but for numbers."""
        quoted = _quoted(answer)
        if step.reply_to is not None:
            return quoted == self._ids.get(step.reply_to)
        return quoted is None and _without_figures(text_of(answer["parts"])) == _without_figures(step.text)

    def _may_be_the_answer(self, step: Answered, answer: Frame) -> bool:
        return self._is_the_answer(step, answer) or (step.reply_to is None and _quoted(answer) is None)

    async def _connected(self) -> None:
        try:
            async with asyncio.timeout(_CONNECT_WAIT_S):
                while not self._stage.client.connected:  # noqa: ASYNC110 - nothing signals the end of a cut
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            raise Rejected("not_connected") from error

    def _current_id(self, recorded: int) -> int:
        if recorded not in self._ids:
            raise Rejected("unknown_message")
        return self._ids[recorded]

    def _listen(self, frame: Frame) -> None:
        if frame["type"] != "message":
            return
        message = frame["message"]
        if message["sender"] != str(self._stage.client.self_id) or message["id"] in self._seen:
            return
        self._seen.add(message["id"])
        self._answers[message["chat"]].append(message)
        self._heard.set()


def _quoted(answer: Frame) -> int | None:
    quoted = next((part["id"] for part in answer["parts"] if part["kind"] == "reply"), None)
    return None if quoted is None else int(quoted)


def _without_figures(text: str) -> str:
    return re.sub(r"[0-9]+(?:\.[0-9]+)?", "#", text)


def text_of(parts: list[Frame]) -> str:
    """Return the text of a message as in recordings: for a forward that of all nodes, for a file the file name."""
    lines = ["\n".join(text_of(node["parts"]) for node in part["nodes"]) for part in parts if part["kind"] == "forward"]
    texts = [part["text"] for part in parts if part["kind"] == "text"]
    names = [part["name"] for part in parts if part["kind"] == "file"]
    return "".join([*lines, *texts, *names])
