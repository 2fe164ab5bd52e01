"""The bot as an operator runs it: a separate process, configured by environment variables and stopped by signals."""

# ruff: noqa: ASYNC109 - a timeout here is how long a test waits before it fails and shows the output of the bot

import asyncio
import os
import signal
import socket
import sys
import uuid
from asyncio.subprocess import STDOUT, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
# The variables that a process needs to run. The rest of the developer's environment, above all proxies, is left out.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
ACCESS_TOKEN = "e2e-token"
_MARK = "E2E_PROCESS_MARK"


def free_port() -> int:
    """Return a TCP port on loopback that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class BotProcess:
    """Runs `script` (default: the real bot.py) in `directory` and ensures that no process outlives it.

    `environment` is added to HOST, PORT, DATA_DIR and ONEBOT_ACCESS_TOKEN; a value of None removes a variable. The
    settings file given by `--env-file` is empty. The port stays the same after a restart, and the output of all runs
    goes to one file. As a context manager it fails if the process ended without being stopped.
    """

    def __init__(
        self,
        directory: Path,
        environment: Mapping[str, str | None] | None = None,
        *,
        script: Path | None = None,
        arguments: Sequence[str] | None = None,
        token: str = ACCESS_TOKEN,
        working_directory: Path | None = None,
    ) -> None:
        self.directory = directory
        self.data_directory = directory / "data"
        self.log_file = directory / "bot.log"
        self.token = token
        self.port = free_port()
        self.script = script or ROOT / "bot.py"
        self.arguments = arguments
        self.working_directory = working_directory or directory
        self.environment: dict[str, str | None] = {
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "DATA_DIR": str(self.data_directory),
            "ONEBOT_ACCESS_TOKEN": token,
            **(environment or {}),
        }
        self._process: Process | None = None
        self._mark = uuid.uuid4().hex

    @property
    def url(self) -> str:
        """The address that an OneBot implementation connects to."""
        return f"ws://127.0.0.1:{self.port}/onebot/v11/ws"

    @property
    def pid(self) -> int:
        """The id of the running process."""
        return self._running().pid

    @property
    def alive(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    def output(self) -> str:
        """Return everything that all runs wrote to stdout and stderr."""
        return self.log_file.read_text("utf-8", "replace") if self.log_file.exists() else ""

    async def wait_output(self, fragment: str, timeout: float = 10.0) -> str:
        """Wait until the output contains `fragment`, and return the whole output."""
        try:
            async with asyncio.timeout(timeout):
                while fragment not in self.output():  # noqa: ASYNC110 - another process writes it
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{fragment!r} was not written within {timeout} s\n{self._tail()}") from None
        return self.output()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self._end_everything()
            raise
        return self

    async def __aexit__(self, error_type: object, *_: object) -> None:
        died = None if self._process is None or self.alive else self._process.returncode
        await self._end_everything()
        # Do not hide an exception that is already being raised.
        if died is not None and error_type is None:
            raise AssertionError(f"the bot ended by itself with code {died}\n{self._tail()}")

    async def start(self, timeout: float = 60.0) -> None:
        """Start the process and wait at most `timeout` seconds until it accepts connections."""
        process = await self._spawn()
        try:
            async with asyncio.timeout(timeout):
                while not await self._accepts():
                    if process.returncode is not None:
                        self._process = None
                        raise AssertionError(f"the bot did not start, code {process.returncode}\n{self._tail()}")
                    await asyncio.sleep(0.05)
        except TimeoutError:
            await self._end_everything()
            raise AssertionError(f"no connection accepted after {timeout} s\n{self._tail()}") from None

    async def start_refused(self, timeout: float = 60.0) -> int:
        """Start a bot that must refuse to run, wait until it has ended and return the exit code."""
        await self._spawn()
        return await self.wait_exit(timeout)

    async def wait_exit(self, timeout: float = 20.0) -> int:
        """Wait for an expected end of the process and return the exit code (negative for a signal)."""
        process = self._running()
        try:
            async with asyncio.timeout(timeout):
                code = await process.wait()
        except TimeoutError:
            await self._end_everything()
            raise AssertionError(f"the bot was still running after {timeout} s\n{self._tail()}") from None
        self._process = None
        return code

    async def stop(self, by: signal.Signals = signal.SIGTERM, timeout: float = 20.0) -> int:
        """Stop the process with a signal. Fail unless it ends in time, cleanly and without leaving a child behind.

        A clean exit code is 0, or the signal itself: uvicorn raises the signal again after the shutdown.
        """
        process = self._running()
        process.send_signal(by)
        code = await self.wait_exit(timeout)
        assert code in {0, -by}, f"ended with code {code} after {by.name}\n{self._tail()}"
        children = await self._survivors_after(2.0, process.pid)
        await self._end_group(process.pid)
        assert not children, f"processes {children} outlived the bot\n{self._tail()}"
        return code

    async def kill(self) -> None:
        """Kill the bot and its children without warning (SIGKILL), as a power loss or the OOM killer would."""
        process = self._running()
        await self._end_everything()
        assert process.returncode == -signal.SIGKILL, f"it had already ended with code {process.returncode}"

    async def restart(self, timeout: float = 60.0) -> None:
        """Stop the process if it is running, and start it again on the same port with the same data."""
        if self.alive:
            await self.stop()
        await self.start(timeout)

    async def _spawn(self) -> Process:
        assert not self.alive, "the bot is already running"
        self.directory.mkdir(parents=True, exist_ok=True)
        self.data_directory.mkdir(exist_ok=True)
        env_file = self.directory / "empty.env"
        env_file.touch()
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        given = {name: value for name, value in self.environment.items() if value is not None}
        fixed = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", "NO_PROXY": "*", _MARK: self._mark}
        arguments = ["--env-file", str(env_file)] if self.arguments is None else list(self.arguments)
        with self.log_file.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(self.script),
                *arguments,
                cwd=self.working_directory,
                env=inherited | fixed | given,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=STDOUT,
                start_new_session=True,
            )
        return self._process

    async def _accepts(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True

    def _running(self) -> Process:
        assert self._process is not None, "the bot is not running"
        return self._process

    def _tail(self) -> str:
        return "\n".join(self.output().splitlines()[-60:])

    async def _end_everything(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        await self._end_group(process.pid)
        await process.wait()

    async def _end_group(self, group: int) -> None:
        # The group id stays valid as long as a member is alive, even after the leader has been reaped.
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        for pid in self._survivors(group):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        left = await self._survivors_after(5.0, group)
        assert not left, f"processes {left} survived SIGKILL"

    async def _survivors_after(self, seconds: float, group: int) -> list[int]:
        for _ in range(int(seconds / 0.05)):
            if not self._survivors(group):
                break
            await asyncio.sleep(0.05)
        return self._survivors(group)

    def _survivors(self, group: int) -> list[int]:
        """Return the live processes of the bot's group, on Linux also those that left the group but have the mark."""
        processes = Path("/proc")
        if not (processes / "self" / "environ").exists():
            with suppress(ProcessLookupError):
                os.killpg(group, 0)
                return [group]
            return []
        found: list[int] = []
        mark = f"{_MARK}={self._mark}".encode()
        for entry in processes.iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found
