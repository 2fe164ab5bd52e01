"""Test with a disk that is really full: a file system of a few megabytes in a separate mount namespace."""

import asyncio
import json
import os
import shutil
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MOUNT = 'mount -t tmpfs -o size=40m none "$0"'


async def _run(script: str, *arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        script,
        *arguments,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        async with asyncio.timeout(120):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, output.decode(), errors.decode()


async def test_nothing_is_lost_while_the_disk_is_full(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or (await _run(MOUNT, str(tmp_path)))[0]:
        pytest.skip("this system lets nobody mount a file system in a namespace")
    script = f'{MOUNT} && exec "$1" -m tests.services.knowledge.full_disk "$0"'
    code, output, errors = await _run(script, str(tmp_path), sys.executable)
    assert code == 0, errors[-3000:]
    steps = json.loads(output.splitlines()[-1])
    assert steps["first"] == "indexed"
    assert steps["open"] == "DataDirectoryError: 机器人的磁盘满了，请管理员清理磁盘。"
    assert steps["copy"].startswith("StorageError: 文件没能存下来，可能是机器人的磁盘满了")
    assert steps["text"].startswith("StorageError: ")
    assert steps["record"].startswith(("RecordsError: 机器人的数据库读写不了，可能是磁盘满了", "StorageError: "))
    assert steps["build"].startswith(("deferred: 机器人的磁盘满了", "deferred: 机器人的数据库读写不了，可能是磁盘满了"))
    assert "QZ-R03" not in steps["build"]
    # Once there is space again, the build continues by itself.
    assert steps["later"] == "indexed"
    assert steps["names"] == ["一.txt", "四.txt"]
    assert len(set(steps["chunks"])) == 1
    assert steps["stray"] == steps["incoming"] == []
