"""Tests of the limits on a long conversation."""

from simulator.recorder import Recorder
from simulator.recording import Said, SentFile
from simulator.transcript import StageChat, Transcript
from simulator.world import Message, SimulatedFile, World

LARGE = 100 << 20


def _world() -> World:
    world = World(1)
    world.add_member(777, 2, role="owner")
    return world


def test_the_oldest_files_go_with_their_steps() -> None:
    world = _world()
    recorder = Recorder(world)
    for number in range(4):
        content = bytes([number]) + bytes(LARGE)
        file = SimulatedFile(f"{number}.bin", content, 777, 2, f"notice{number}", f"segment{number}")
        world.add_file(file, file.segment_id)
        recorder.keep(file)
        recorder.record(SentFile, chat="g777", speaker=2, name=file.name, content=content, message=number)
        recorder.record(Said, chat="g777", speaker=2, text=f"第 {number} 份", message=10 + number)
    steps = recorder.recording().steps
    assert [step.name for step in steps if isinstance(step, SentFile)] == ["2.bin", "3.bin"]
    assert len([step for step in steps if isinstance(step, Said)]) == 4
    assert [file.name for file in world.files] == ["2.bin", "3.bin"]
    assert world.file("segment0") is None
    assert [step.at for step in steps] == sorted(step.at for step in steps)


def test_a_chat_keeps_its_last_thousand_messages() -> None:
    world = _world()
    transcript = Transcript(world)
    for number in range(1100):
        message = Message(number, 777, 2, 2, [{"type": "text", "data": {"text": str(number)}}], {})
        world.messages[number] = message
        transcript.add(message)
    kept = [entry.message.message_id for entry in transcript.entries(StageChat(True, 777))]
    assert kept == list(range(100, 1100))
    assert transcript.find(99) is None
    assert sorted(world.messages) == kept
