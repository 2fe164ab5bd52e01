"""The distribution of frames to all open pages: those of the stage, and the evidence for every answer."""

import asyncio
from collections import OrderedDict, deque

from plugins.sandbox.evidence import answer_frame
from plugins.sandbox.scenario import QUESTIONS, SAMPLES
from qq.depends import services
from services.session import Session
from services.tracing.models import ModelContext, Outcome
from simulator.stage import Frame, Stage
from simulator.transcript import Entry

_KEPT_ANSWERS = 50
_KEPT_CALLS = 100
# A page that lags this far behind should reconnect and get the whole stage again.
_QUEUED_FRAMES = 5000


class Hub:
    """Distributes frames to subscribers. A subscription is a queue that ends with None if its page is too slow."""

    def __init__(self, stage: Stage, max_file_bytes: int) -> None:
        self.stage = stage
        self._max_file_bytes = max_file_bytes
        self._calls: deque[Frame] = deque(maxlen=_KEPT_CALLS)
        self._queues: set[asyncio.Queue[Frame | None]] = set()
        self._answers: OrderedDict[str, Frame] = OrderedDict()
        self._shown: deque[str] = deque(maxlen=_KEPT_ANSWERS)
        stage.listeners.add(self._listen)

    def subscribe(self) -> asyncio.Queue[Frame | None]:
        """Return a new queue with the current state, to which all further frames are added."""
        queue: asyncio.Queue[Frame | None] = asyncio.Queue()
        queue.put_nowait(self._stage_frame())
        for frame in (*self._calls, *self._answers.values()):
            queue.put_nowait(frame)
        self._queues.add(queue)
        return queue

    def unsubscribe(self, queue: asyncio.Queue[Frame | None]) -> None:
        """Stop adding frames to a queue."""
        self._queues.discard(queue)

    def publish(self, frame: Frame) -> None:
        """Send a frame to every page."""
        for queue in list(self._queues):
            queue.put_nowait(frame)
            if queue.qsize() > _QUEUED_FRAMES:
                self._queues.discard(queue)
                queue.put_nowait(None)

    def publish_stage(self) -> None:
        """Send the whole stage to every page again, after groups or people were added."""
        self.publish(self._stage_frame())

    def _stage_frame(self) -> Frame:
        return {
            **self.stage.stage_frame(),
            "model": services().model_name,
            "samples": [{"name": path.name, "size": path.stat().st_size} for path in SAMPLES],
            "questions": list(QUESTIONS),
            "limits": {"file_bytes": self._max_file_bytes},
        }

    def _listen(self, frame: Frame) -> None:
        self.publish(frame)
        if frame["type"] == "call":
            self._calls.append(frame)
        if frame["type"] != "message" or frame["message"]["sender"] != str(self.stage.client.self_id):
            return
        message_id = frame["message"]["id"]
        reply = self.stage.transcript.find(int(message_id))
        asked = None if reply is None else self._quoted(reply)
        if message_id in self._answers or reply is None or asked is None or (record := self._record(asked)) is None:
            return
        self._shown.append(record.uuid)
        answer = answer_frame(reply.chat.id, message_id, record, reply.message.emitted - asked.message.emitted)
        self._answers[message_id] = answer
        if len(self._answers) > _KEPT_ANSWERS:
            self._answers.popitem(last=False)
        self.publish(answer)

    def _quoted(self, reply: Entry) -> Entry | None:
        ids = (segment["data"]["id"] for segment in reply.message.segments if segment["type"] == "reply")
        quoted = next(ids, None)
        return None if quoted is None else self.stage.transcript.find(int(quoted))

    def _record(self, asked: Entry) -> ModelContext | None:
        """Return the record of the answer to a message, unless there is no answer or it is already shown."""
        session = Session(asked.message.group_id, asked.message.user_id)
        record = services().traces.of_message(session.chat, asked.message.message_id)
        if record is None or record.trace.outcome == Outcome.ERROR or record.uuid in self._shown:
            return None
        return record
