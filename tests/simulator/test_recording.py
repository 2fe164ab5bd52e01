"""Tests of the file format of recordings and of replaying them."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.player import Player, Replayed
from simulator.recording import Answered, BadRecording, Person, RecordedGroup, Recording, Said, SentFile
from simulator.stage import Rejected
from simulator.transcript import StageChat
from tests.simulator.conftest import GROUP, MEMBER, OTHER_GROUP, OWNER, Playground

HERE, ELSEWHERE = StageChat(True, GROUP), StageChat(True, OTHER_GROUP)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.lists(st.tuples(TEXT, st.binary(max_size=40), st.integers(-(2**31), 2**31)), max_size=5))
def test_what_is_written_is_read_again(said: list[tuple[str, bytes, int]]) -> None:
    steps = [
        step
        for text, content, message in said
        for step in (
            Said(at=0.5, chat="g1", speaker=1, text=text, message=message),
            SentFile(at=1, chat="p1", speaker=1, name="名.txt", content=content, message=message),
        )
    ]
    group = RecordedGroup(id=1, name="群", members=[Person(id=1, name="甲", role="owner")])
    recording = Recording(groups=[group], friends=[], steps=list(steps))
    assert Recording.read(recording.write()) == recording
    assert [step.kind for step in recording.of_chat("g1").steps] == ["say"] * len(said)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"format":"other","version":1,"groups":[],"friends":[],"steps":[]}',
        b'{"format":"qunzhi-conversation","version":2,"groups":[],"friends":[],"steps":[]}',
        b'{"format":"qunzhi-conversation","version":1,"groups":[],"friends":[],"steps":[{"kind":"shell","at":0}]}',
        b'{"format":"qunzhi-conversation","version":1,"groups":[],"friends":[],'
        b'"steps":[{"kind":"say","at":0,"chat":"../x","speaker":1,"text":"","message":1}]}',
    ],
)
def test_what_is_no_recording_is_refused(content: bytes) -> None:
    with pytest.raises(BadRecording):
        Recording.read(content)


async def _recorded(playground: Playground) -> Recording:
    stage = playground.stage
    await stage.send_file(HERE, OWNER, "手册.pdf", b"%PDF")
    await playground.frame("message", "已入库")
    said = await stage.say(HERE, MEMBER, "几点熄灯", at_bot=True)
    answer = (await playground.frame("message", "你说几点熄灯"))["message"]
    await stage.say(HERE, MEMBER, "那周末呢", at_bot=True, reply_to=int(answer["id"]))
    await playground.frame("message", "你说那周末呢")
    await stage.recall(said, MEMBER)
    await stage.say(ELSEWHERE, MEMBER, "别处", at_bot=True)
    await playground.frame("message", "你说别处")
    return Recording.read(stage.recording().write())


async def _play(playground: Playground, recording: Recording, wait_s: float = 1.0) -> list[Replayed]:
    outcomes: list[Replayed] = []
    player = Player(playground.stage, recording, wait_s)
    player.admit()
    await player.play(lambda _, outcome: outcomes.append(outcome))
    return outcomes


async def test_played_again_it_goes_as_recorded(playground: Playground) -> None:
    recording = await _recorded(playground)
    assert {step.kind for step in recording.of_chat(ELSEWHERE.id).steps} == {"say", "bot"}
    heard = len(playground.bot.events)
    outcomes = await _play(playground, recording)
    assert [outcome.step for outcome in outcomes] == recording.steps
    assert all(outcome.as_recorded for outcome in outcomes), outcomes
    # Quotes and recalls refer to the messages of this replay, not to the recorded ones.
    again = playground.bot.events[heard:]
    quoted = next(
        part["data"]["id"]
        for event in again
        if event["post_type"] == "message"
        for part in event["message"]
        if part["type"] == "reply"
    )
    assert int(quoted) in playground.stage.client.world.messages
    recalled = next(event["message_id"] for event in again if event.get("notice_type") == "group_recall")
    assert recalled == next(event["message_id"] for event in again if "几点熄灯" in str(event))


async def test_what_differs_is_told(playground: Playground) -> None:
    recording = await _recorded(playground)
    playground.bot.prefix = "我说"
    changed = [outcome for outcome in await _play(playground, recording) if not outcome.as_recorded]
    assert [outcome.said for outcome in changed] == ["我说几点熄灯", "我说那周末呢", "我说别处"]
    playground.bot.silent = True
    outcomes = await _play(playground, recording, 0.2)
    assert [outcome.said for outcome in outcomes if isinstance(outcome.step, Answered)] == [None] * 4
    # A message that quotes an answer which never came cannot be sent.
    assert [outcome.problem for outcome in outcomes if outcome.problem] == ["unknown_message"]


async def test_one_answer_too_many_is_told(playground: Playground) -> None:
    await playground.stage.say(HERE, MEMBER, "一遍", at_bot=True)
    await playground.frame("message", "你说一遍")
    recording = playground.stage.recording()
    playing = asyncio.create_task(_play(playground, recording))
    await playground.frame("message", "你说一遍")
    await playground.bot.call(
        "send_group_msg", group_id=GROUP, message=[{"type": "text", "data": {"text": "再说一遍"}}]
    )
    extra = (await playing)[-1]
    assert (extra.said, extra.as_recorded) == ("再说一遍", False)


async def test_a_recording_brings_its_people(playground: Playground, tmp_path: Path) -> None:
    group = RecordedGroup(id=999, name="外来群", members=[Person(id=55, name="外人", role="admin")])
    said = Said(at=0, chat="g999", speaker=55, text="在吗", at_bot=True, message=1)
    answer = Answered(at=1, chat="g999", text="你说在吗", reply_to=1, message=2)
    file = tmp_path / "conversation.json"
    file.write_bytes(Recording(groups=[group], friends=[], steps=[said, answer]).write())
    outcomes = await _play(playground, Recording.read(file.read_bytes()))
    assert all(outcome.as_recorded for outcome in outcomes)
    assert playground.stage.client.world.groups[999].members[55].role == "admin"


@pytest.mark.parametrize(
    "recording",
    [
        Recording(groups=[RecordedGroup(id=49, name="真的群", members=[])], friends=[], steps=[]),
        Recording(
            groups=[RecordedGroup(id=999, name="群", members=[Person(id=49, name="真人", role="owner")])],
            friends=[],
            steps=[],
        ),
        Recording(groups=[], friends=[Person(id=49, name="真人", role="member")], steps=[]),
    ],
)
async def test_who_may_be_real_is_not_let_in(playground: Playground, recording: Recording) -> None:
    with pytest.raises(Rejected, match="bad_recording"):
        Player(playground.stage, recording).admit()
    assert set(playground.stage.client.world.groups) == {GROUP, OTHER_GROUP}
