"""The order of an account's messages: answers before notices, people by turns, within the account's pace."""

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

MINUTE_S = 60.0
# A notice that has waited this long goes before answers, but at most one message in four is such a notice. At 20
# messages a minute, a question waits for at most one additional message because of this.
AGED_S = 30.0
_ANSWERS_BEFORE_AGED = 3
# A quarter of a minute's messages is kept for people who were not answered within it, so that a first question does not
# wait for the minute to pass, even if many people flood.
_KEPT_SHARE = 4


class Priority(IntEnum):
    """The urgency of a message. An ANSWER is for a person who asked and waits, and a NOTICE is everything else."""

    ANSWER = 1
    NOTICE = 2


@dataclass(eq=False, slots=True)
class QueuedMessage:
    """A message in the queue of its account.

    `asker` is the person whom it answers, None for a notice. `asked_at` is in seconds of the queue's clock.
    `interval_s` is how long its lane rests after each call. A message that takes several calls queues for each of them
    and keeps its lane in between.
    """

    lane: Hashable
    priority: Priority
    asked_at: float
    interval_s: float = 0.0
    asker: Hashable = None


@dataclass(slots=True)
class _Lane:
    """A chat, with the message that is being sent to it, and the time from which the next call is allowed."""

    holder: QueuedMessage | None = None
    free_at: float = 0.0


@dataclass(slots=True)
class SendQueue:
    """The queue of one account. `per_minute` limits its calls in any 60 seconds, and 0 means no limit.

    The queue has no clock. Methods that depend on the time take it as an argument, in seconds that never decrease.
    """

    per_minute: int
    _waiting: list[QueuedMessage] = field(default_factory=list[QueuedMessage])
    _lanes: dict[Hashable, _Lane] = field(default_factory=dict[Hashable, _Lane])
    _sent: deque[tuple[float, Hashable]] = field(default_factory=deque[tuple[float, Hashable]])
    _answers_in_a_row: int = 0

    def __len__(self) -> int:
        """Return the number of waiting messages."""
        return len(self._waiting)

    def __iter__(self) -> Iterator[QueuedMessage]:
        """Iterate over a copy of the waiting messages, oldest first."""
        return iter(tuple(self._waiting))

    @property
    def lanes(self) -> int:
        """The number of chats that are remembered: those in use, and those that have not rested long enough."""
        return len(self._lanes)

    def add(self, message: QueuedMessage) -> None:
        """Queue a message for its next call."""
        self._waiting.append(message)

    def discard(self, message: QueuedMessage) -> None:
        """Remove a message from the queue."""
        if message in self._waiting:
            self._waiting.remove(message)

    def release(self, message: QueuedMessage) -> None:
        """End a message, which frees its lane for the next one."""
        self.discard(message)
        lane = self._lanes.get(message.lane)
        if lane is not None and lane.holder is message:
            lane.holder = None

    def take_back(self, message: QueuedMessage) -> None:
        """Undo the count of the last call for the same person, because nothing of it was sent."""
        for place in reversed(range(len(self._sent))):
            if self._sent[place][1] == message.asker:
                del self._sent[place]
                return

    def take(self, now: float) -> QueuedMessage | None:
        """Remove the message that goes now from the queue, count its call and return it.

        Return None if all messages have to wait.
        """
        self._forget(now)
        ready = [message for message in self._waiting if self._ready_at(message) <= now and self._has_room(message)]
        if not ready:
            return None
        message = self._most_urgent(ready, now)
        if message.priority is Priority.NOTICE:
            self._answers_in_a_row = 0
        else:
            self._answers_in_a_row += 1
        self._waiting.remove(message)
        lane = self._lanes.setdefault(message.lane, _Lane())
        lane.holder, lane.free_at = message, now + message.interval_s
        self._sent.append((now, message.asker))
        return message

    def next_at(self, now: float) -> float | None:
        """Return when the next message may go if nothing else happens until then, or None if that is unknown."""
        times = [
            at if self._has_room(message) else max(at, self._sent[0][0] + MINUTE_S)
            for message in self._waiting
            if (at := self._ready_at(message)) != float("inf")
        ]
        return max(now, min(times)) if times else None

    def _most_urgent(self, ready: list[QueuedMessage], now: float) -> QueuedMessage:
        # The list is in the order in which messages were queued, and `min` returns the first of equal elements.
        aged = [
            message for message in ready if message.priority is Priority.NOTICE and now - message.asked_at >= AGED_S
        ]
        if aged and self._answers_in_a_row >= _ANSWERS_BEFORE_AGED:
            return aged[0]
        return min(
            ready, key=lambda message: (not self._holds_lane(message), message.priority, self._answers_to(message))
        )

    def _answers_to(self, message: QueuedMessage) -> int:
        """Return how many messages of the last minute answered the same person."""
        return 0 if message.asker is None else sum(asker == message.asker for _, asker in self._sent)

    def _has_room(self, message: QueuedMessage) -> bool:
        """Return whether the minute has room for a message. A message that has begun may use what is kept."""
        if not self.per_minute:
            return True
        is_first = message.asker is not None and not self._answers_to(message)
        kept = 0 if is_first or self._holds_lane(message) else self.per_minute // _KEPT_SHARE
        return len(self._sent) < self.per_minute - kept

    def _ready_at(self, message: QueuedMessage) -> float:
        lane = self._lanes.get(message.lane)
        if lane is None:
            return 0.0
        return lane.free_at if lane.holder in (None, message) else float("inf")

    def _holds_lane(self, message: QueuedMessage) -> bool:
        lane = self._lanes.get(message.lane)
        return lane is not None and lane.holder is message

    def _forget(self, now: float) -> None:
        while self._sent and self._sent[0][0] <= now - MINUTE_S:
            self._sent.popleft()
        for key in [key for key, lane in self._lanes.items() if lane.holder is None and lane.free_at <= now]:
            del self._lanes[key]
