"""Tests of the order, pace and fairness of an account's queue, with a clock that the tests move."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from qq.outbox.send_queue import AGED_S, MINUTE_S, Priority, QueuedMessage, SendQueue

ANSWER, NOTICE = Priority.ANSWER, Priority.NOTICE
Asked = tuple[str, Priority, float]
# A chat, a priority, and the second in which the message is queued.
MESSAGES = st.lists(
    st.tuples(st.sampled_from("甲乙丙"), st.sampled_from(Priority), st.integers(0, 90).map(float)), max_size=40
)


def _run(asked: Sequence[Asked], per_minute: int, interval_s: float = 1.5) -> list[tuple[float, QueuedMessage]]:
    """Return what is sent at which time if calls take no time."""
    return _play([QueuedMessage(lane, priority, at, interval_s) for lane, priority, at in asked], per_minute)


def _play(messages: Sequence[QueuedMessage], per_minute: int) -> list[tuple[float, QueuedMessage]]:
    queue = SendQueue(per_minute)
    coming = sorted(messages, key=lambda message: message.asked_at)
    sent: list[tuple[float, QueuedMessage]] = []
    now = 0.0
    while coming or len(queue):
        while coming and coming[0].asked_at <= now:
            queue.add(coming.pop(0))
        while (message := queue.take(now)) is not None:
            sent.append((now, message))
            queue.release(message)
        times = [coming[0].asked_at] if coming else []
        if (at := queue.next_at(now)) is not None:
            times.append(at)
        if len(queue) or coming:
            assert times, "something waits, and nothing would ever wake it"
            assert min(times) > now
            now = min(times)
    return sent


def _order(asked: Sequence[Asked], per_minute: int = 0) -> list[tuple[str, str]]:
    return [(str(message.lane), message.priority.name) for _, message in _run(asked, per_minute)]


def test_answers_of_every_chat_go_before_notices() -> None:
    asked = [("甲", NOTICE, 0.0), ("甲", NOTICE, 0.0), ("甲", ANSWER, 0.0), ("乙", ANSWER, 0.0)]
    # The third and later messages have to wait for the account's minute.
    assert _order(asked, per_minute=2)[:2] == [("甲", "ANSWER"), ("乙", "ANSWER")]


def test_a_question_does_not_wait_behind_the_notices_of_its_chat() -> None:
    sent = _run([*[("甲", NOTICE, 0.0)] * 39, ("甲", ANSWER, 2.0)], per_minute=20)
    assert [at for at, message in sent if message.priority is ANSWER] == [3.0]


@given(MESSAGES, st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_nothing_is_lost_doubled_or_too_fast(asked: list[Asked], per_minute: int) -> None:
    sent = _run(asked, per_minute)
    assert len(sent) == len({id(message) for _, message in sent}) == len(asked)
    times = [at for at, _ in sent]
    assert all(later - earlier >= MINUTE_S for earlier, later in zip(times, times[per_minute:], strict=False))
    for lane in "甲乙丙":
        assert all(
            later - earlier >= 1.5 for earlier, later in pairwise(at for at, message in sent if message.lane == lane)
        )
        for priority in Priority:
            same = [message.asked_at for _, message in sent if (message.lane, message.priority) == (lane, priority)]
            assert same == sorted(same), "one class of one chat keeps its order"


@given(st.integers(1, 20))
@settings(max_examples=20, deadline=None)
def test_notices_do_not_starve(per_minute: int) -> None:
    flood: list[Asked] = [("甲乙丙"[number % 3], ANSWER, float(number)) for number in range(400)]
    sent = _run([*flood, ("丁", NOTICE, 0.0)], per_minute)
    place = next(number for number, (_, message) in enumerate(sent) if message.priority is NOTICE)
    at, _ = sent[place]
    # The notice ages, then waits for three answers and for the account's minute.
    assert at <= AGED_S + 4 * MINUTE_S
    assert place <= AGED_S + per_minute + 4


def test_a_first_question_does_not_wait_for_those_who_flood() -> None:
    flood = [
        QueuedMessage(f"群{who % 3}", ANSWER, float(number), 1.5, asker=who) for who in range(14) for number in range(5)
    ]
    first = QueuedMessage("群0", ANSWER, 12.0, 1.5, asker="新人")
    elsewhere = QueuedMessage("群9", ANSWER, 30.0, 1.5, asker="别群的人")
    sent = {id(message): at for at, message in _play([*flood, first, elsewhere], per_minute=20)}
    assert sent[id(first)] <= 15
    assert sent[id(elsewhere)] == 30


@given(st.lists(st.tuples(st.sampled_from("甲乙"), st.integers(1, 4), st.integers(0, 90).map(float)), max_size=40))
@settings(max_examples=40, deadline=None)
def test_messages_to_one_person_keep_their_order(asked: list[tuple[str, int, float]]) -> None:
    sent = _play([QueuedMessage(lane, ANSWER, at, 1.5, asker=who) for lane, who, at in asked], per_minute=8)
    assert len(sent) == len(asked)
    for who in range(1, 5):
        for lane in "甲乙":
            times = [message.asked_at for _, message in sent if (message.asker, message.lane) == (who, lane)]
            assert times == sorted(times)


def test_a_message_of_several_calls_keeps_its_chat() -> None:
    queue = SendQueue(0)
    forward, other = QueuedMessage("甲", NOTICE, 0.0), QueuedMessage("甲", ANSWER, 0.0)
    queue.add(forward)
    assert queue.take(0.0) is forward
    queue.add(other)
    assert queue.take(1.0) is None
    queue.add(forward)
    assert queue.take(2.0) is forward
    queue.release(forward)
    assert queue.take(3.0) is other


def test_idle_chats_are_forgotten() -> None:
    queue = SendQueue(0)
    for number in range(1000):
        message = QueuedMessage(number, ANSWER, float(number), 1.5)
        queue.add(message)
        assert queue.take(float(number)) is message
        queue.release(message)
    assert queue.lanes <= 2


def test_a_call_of_which_nothing_was_sent_does_not_count_against_somebody_else() -> None:
    queue = SendQueue(2)
    for who in (1, 2):
        message = QueuedMessage(who, ANSWER, 0.0, asker=who)
        queue.add(message)
        assert queue.take(0.0) is message
        queue.release(message)
    queue.take_back(QueuedMessage(1, ANSWER, 0.0, asker=1))
    again, other = QueuedMessage(1, ANSWER, 0.0, asker=1), QueuedMessage(2, ANSWER, 0.0, asker=2)
    for message in (other, again):
        queue.add(message)
    assert queue.take(0.0) is again
