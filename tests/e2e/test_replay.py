"""Tests of `make replay`, which replays a saved conversation to a bot of its own."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from pathlib import Path

import pytest

from simulator.recording import Answered, Person, RecordedGroup, Recording, Said, SentFile, Step
from tests.e2e.bot_process import ROOT

GROUP, PERSON = 900_000_000_101, 900_000_000_003
CHAT = f"g{GROUP}"


async def _replay(path: Path, **environment: str) -> Process:
    own = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LLM__API_KEY": "", **environment}
    script = str(ROOT / "scripts" / "replay.py")
    return await asyncio.create_subprocess_exec(sys.executable, script, str(path), env=own, stdout=PIPE, stderr=STDOUT)


async def _ended(process: Process) -> tuple[int, str]:
    output, _ = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode or 0, output.decode()


def _conversation(path: Path, answer: str = "今天的暗号是蓝鲸") -> Path:
    rules = "值班规定：今天的暗号是蓝鲸七号，明天的暗号是海燕二号。"
    steps: list[Step] = [
        SentFile(at=0, chat=CHAT, speaker=PERSON, name="值班.txt", content=rules.encode(), message=1),
        Answered(at=1, chat=CHAT, text="「值班.txt」已入库，1 块，用时 0.8 秒。", message=2),
        Said(at=2, chat=CHAT, speaker=PERSON, text="今天的暗号是什么？", at_bot=True, message=3),
        Answered(at=3, chat=CHAT, text=answer, reply_to=3, message=4),
        Said(at=4, chat=CHAT, speaker=PERSON, text="这句引用了不存在的消息", reply_to=99, message=5),
    ]
    group = RecordedGroup(id=GROUP, name="群", members=[Person(id=PERSON, name="小林", role="member")])
    path.write_bytes(Recording(groups=[group], friends=[], steps=steps).write())
    return path


async def test_then_and_now_stand_side_by_side(tmp_path: Path) -> None:
    code, output = await _ended(await _replay(_conversation(tmp_path / "a.json")))
    assert "小林：值班.txt" in output
    assert "机器人（和当时一样）：「值班.txt」已入库" in output
    assert "〔1〕值班.txt\n  当时是：今天的暗号是蓝鲸" in output
    assert "第 5 步没做成：它要用到的那条消息这次没有出现" in output
    # A slow machine also says that it is still taking the file in.
    assert re.search("[23] 条回复，1 条和当时一样，0 条没有来，1 步没做成", output)
    assert code == 1


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
async def test_what_is_none_is_said_at_once(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    code, output = await _ended(await _replay(path))
    assert (code, "启动" in output) == (2, False)
    assert "不是试用网页存下来的对话" in output or "用法：make replay" in output


async def test_real_groups_are_not_replayed(tmp_path: Path) -> None:
    path = _conversation(tmp_path / "a.json")
    path.write_text(path.read_text("utf-8").replace(str(GROUP), "777"), "utf-8")
    code, output = await _ended(await _replay(path))
    assert code == 2
    assert "可能是真实的群或人" in output


@pytest.mark.parametrize("moment", ["启动一个临时的机器人", "小林：值班.txt"])
async def test_broken_off_it_leaves_nothing_running(tmp_path: Path, moment: str) -> None:
    mark = f"QUNZHI_TEST_{os.getpid()}_{len(moment)}"
    process = await _replay(_conversation(tmp_path / "a.json"), GIT__MARK=mark)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        while moment not in (await process.stdout.readline()).decode():
            pass
    await asyncio.sleep(1)
    process.send_signal(signal.SIGTERM)
    code, output = await _ended(process)
    assert code == 130
    assert "已中断" in output
    assert "Traceback" not in output
    assert _running(mark) == []


def _running(mark: str) -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text("utf-8", "replace"))
        except OSError:
            continue
    return found
