"""Replay a saved conversation to a temporary bot, and print its answers next to the recorded ones.

The bot starts with an empty data directory and the settings of `.env`. The real data is not touched.

Exit codes:
    0: Every answer came, though its text may differ.
    1: An answer did not come, or a step could not be performed.
    2: The conversation could not be replayed at all.
    130: The replay was interrupted.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT, Process
from pathlib import Path
from typing import Any

import aiohttp

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from simulator.recording import BadRecording, Recording  # noqa: E402 - needs the path from the line above

_START_S = 120.0
_STOP_S = 20.0
_MAX_FRAME_BYTES = 64 << 20
_PROBLEMS = {
    "not_connected": "连不上临时的机器人",
    "unknown_message": "它要用到的那条消息这次没有出现",
    "recall_not_allowed": "这个人不能撤回这条消息",
    "bad_request": "没有这个群，或者这个人不在里面",
    "bad_recording": "里面的号码可能是真实的群或人，不在试用网页的范围里",
    "empty_message": "消息是空的",
}


def main() -> int:
    """Parse the command line, replay the conversation and return the exit code."""
    parser = argparse.ArgumentParser(prog="make replay FILE=…", description="把存下来的对话重放给一个临时的机器人")
    parser.add_argument("recording", type=Path, help="试用网页里保存的 JSON 文件")
    recording: Path = parser.parse_args().recording
    try:
        content = recording.read_bytes()
    except OSError as error:
        _print(f"读不了 {recording}（{error}）。用法：make replay FILE=对话.json")
        return 2
    try:
        Recording.read(content)
    except BadRecording as error:
        _print(f"{recording} 不是试用网页存下来的对话，放不了（{error}）。")
        return 2
    # Handle SIGTERM like Ctrl+C, so that the bot is stopped too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return asyncio.run(_replay(content))
    except KeyboardInterrupt:
        _print("已中断，临时的机器人也停了。")
        return 130


async def _replay(content: bytes) -> int:
    with tempfile.TemporaryDirectory(prefix="qunzhi-replay-", ignore_cleanup_errors=True) as directory:
        port = _free_port()
        environment = os.environ | {
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "DATA_DIR": directory,
            "SANDBOX__ENABLED": "true",
            "SANDBOX__TOKEN": "",
            # Long pauses are played shorter than they were.
            "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": "0",
        }
        bot = await asyncio.create_subprocess_exec(
            sys.executable, str(ROOT / "bot.py"), env=environment, stdout=PIPE, stderr=STDOUT
        )
        log: list[str] = []
        reading = asyncio.create_task(_collect(bot, log))
        try:
            return await _play(f"http://127.0.0.1:{port}", bot, content, log)
        finally:
            if bot.returncode is None:
                bot.send_signal(signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(bot.wait(), _STOP_S)
            if bot.returncode is None:
                bot.kill()
                await bot.wait()
            await reading


async def _play(address: str, bot: Process, content: bytes, log: list[str]) -> int:
    _print("启动一个临时的机器人……")
    async with aiohttp.ClientSession(headers={"Origin": address}) as session:
        page = await _open(session, address, bot)
        if page is None:
            _print("机器人没能启动，它说：\n" + "\n".join(log[-20:]))
            return 2
        stage = await page.receive_json()
        names = {person["id"]: person["name"] for person in stage["people"]}
        while not stage["bot"]["connected"]:
            frame = await page.receive_json()
            stage["bot"] = frame.get("bot", stage["bot"])
        async with session.post(f"{address}/sandbox/replay", data=content) as response:
            if response.status != 202:
                reason = await response.json()
                _print(f"放不了：{_PROBLEMS.get(reason['code'], reason['code'])}（{reason['detail']}）。")
                return 2
        return await _follow(page, names, stage["bot"]["id"])


async def _open(session: aiohttp.ClientSession, address: str, bot: Process) -> aiohttp.ClientWebSocketResponse | None:
    deadline = asyncio.get_running_loop().time() + _START_S
    while bot.returncode is None and asyncio.get_running_loop().time() < deadline:
        try:
            return await session.ws_connect(f"{address}/sandbox/ws", max_msg_size=_MAX_FRAME_BYTES)
        except aiohttp.ClientError:
            await asyncio.sleep(0.2)
    return None


async def _follow(page: aiohttp.ClientWebSocketResponse, names: dict[str, str], bot_id: str) -> int:
    outcomes: list[dict[str, Any]] = []
    while True:
        frame = await page.receive_json()
        if frame["type"] == "stage":
            members = [member for chat in frame["chats"] for member in chat["members"]]
            names |= {member["id"]: member["name"] for member in members}
        elif frame["type"] == "message" and not frame["message"]["recalled"]:
            if frame["message"]["sender"] != bot_id:
                sender = names.get(frame["message"]["sender"], frame["message"]["sender"])
                _print(f"{frame['message']['chat']} {sender}：{_plain(frame['message']['parts'])}")
        elif frame["type"] == "replay" and not frame["running"]:
            break
        elif frame["type"] == "replay":
            outcomes.append(frame)
            _print_outcome(frame)
    answers = [outcome for outcome in outcomes if outcome["kind"] == "bot"]
    same = sum(outcome["as_recorded"] for outcome in answers)
    missing = sum(outcome["said"] is None for outcome in answers)
    problems = sum(bool(outcome["problem"]) for outcome in outcomes)
    _print(f"\n重放完了：{len(answers)} 条回复，{same} 条和当时一样，{missing} 条没有来，{problems} 步没做成。")
    return 1 if missing or problems else 0


def _print_outcome(outcome: dict[str, Any]) -> None:
    if outcome["problem"]:
        code, _, detail = outcome["problem"].partition(" ")
        _print(f"  第 {outcome['step']} 步没做成：{_PROBLEMS.get(code, code)}{f'（{detail}）' if detail else ''}")
    elif outcome["kind"] != "bot":
        return
    elif outcome["said"] is None:
        _print(f"  没有等到回复。当时是：{outcome['recorded']}")
    elif outcome["as_recorded"]:
        _print(f"  机器人（和当时一样）：{outcome['said']}")
    elif not outcome["recorded"]:
        _print(f"  机器人（当时没有这条）：{outcome['said']}")
    else:
        _print(f"  机器人：{outcome['said']}\n  当时是：{outcome['recorded']}")


def _plain(parts: list[dict[str, Any]]) -> str:
    texts = {"text": "text", "at": "name", "file": "name", "image": "name"}
    return " ".join(str(part.get(texts.get(part["kind"], ""), "")) for part in parts).strip()


async def _collect(bot: Process, log: list[str]) -> None:
    assert bot.stdout is not None  # noqa: S101 - stdout is a pipe
    async for line in bot.stdout:
        log.append(line.decode("utf-8", "replace").rstrip())
        del log[:-200]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command line program


if __name__ == "__main__":
    sys.exit(main())
