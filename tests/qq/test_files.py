"""Tests of a file as each client describes it, and of the paths on this machine that may be read for it."""

import os
from pathlib import Path
from typing import Any

import pytest
from nonebot.adapters.onebot.v11 import Bot

from qq.files import fetch
from qq.uploaded_file import UploadedFile
from services.errors import DownloadFailed

NAPCAT_NOTICE = {"id": "md5", "name": "制度.pdf", "size": 123, "busid": 102}
NAPCAT_SEGMENT = {"file": "制度.pdf", "file_id": "/uuid", "file_size": "123", "url": "https://host/ftn?fname="}
LLONEBOT_SEGMENT = {"file": "制度.pdf", "file_id": "uuid", "file_size": "123", "url": "file:///opt/QQ/制度.pdf"}
LAGRANGE_SEGMENT = {"file_name": "制度.pdf", "file_hash": "h", "file_id": "/id", "url": "http://host/f"}
GO_CQHTTP_SEGMENT = {"name": "制度.pdf", "path": "/id", "size": "123", "busid": 102}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (NAPCAT_NOTICE, UploadedFile("制度.pdf", "md5", 123, 102, "")),
        (NAPCAT_SEGMENT, UploadedFile("制度.pdf", "/uuid", 123, 0, "https://host/ftn?fname=")),
        (LLONEBOT_SEGMENT, UploadedFile("制度.pdf", "uuid", 123, 0, "")),
        (LAGRANGE_SEGMENT, UploadedFile("制度.pdf", "/id", 0, 0, "http://host/f")),
        (GO_CQHTTP_SEGMENT, UploadedFile("制度.pdf", "/id", 123, 102, "")),
        ({"name": "..\\..\\a/b.pdf\n", "size": "x"}, UploadedFile("b.pdf", "", 0, 0, "")),
        ({}, UploadedFile("未命名", "", 0, 0, "")),
    ],
)
def test_dialects(data: dict[str, object], expected: UploadedFile) -> None:
    assert UploadedFile.read(data) == expected
    assert UploadedFile.of(expected.name, expected.size, expected.source(777)) == expected


def test_half_characters_lose_no_file() -> None:
    file = UploadedFile.read({"name": "a\ud800.md", "id": "x\udc00y", "url": "http://h/\ud800", "size": 5})
    assert (file.name, file.file_id, file.url) == ("a.md", "xy", "http://h/")
    assert file.source(None).model_dump_json()


class PathClient:
    """A client that has no links, only a path on its machine."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def call_api(self, api: str, **_: Any) -> Any:
        return {"file": self._path} if api == "get_file" else {}


async def _fetched(path: str, size: int, target: Path, directories: list[str]) -> bytes:
    client: Any = PathClient(path)
    bot: Bot = client
    await fetch(bot, UploadedFile("a.md", "id", size, 0, ""), None, 10002, target, 1000, 0, directories)
    return target.read_bytes()


async def test_only_files_in_the_named_directories_are_read(tmp_path: Path) -> None:
    shared, elsewhere, link = tmp_path / "shared", tmp_path / "elsewhere", tmp_path / "link"
    for directory in (shared, shared / "deep", elsewhere):
        directory.mkdir()
        (directory / "a.md").write_bytes(b"secret")
    link.symlink_to(shared)
    (shared / "out.md").symlink_to(elsewhere / "a.md")
    (shared / "outside").symlink_to(elsewhere)
    (shared / "in.md").symlink_to(shared / "deep" / "a.md")
    named = [str(shared)]
    for number, good in enumerate((shared / "a.md", shared / "deep" / "a.md", shared / "in.md", link / "a.md")):
        assert await _fetched(str(good), 6, tmp_path / f"good{number}", named) == b"secret"
    assert await _fetched(f"file://{shared}/a.md", 6, tmp_path / "good", [str(link)]) == b"secret"
    for bad in (
        elsewhere / "a.md",
        shared / "out.md",
        shared / "outside" / "a.md",
        shared / ".." / "shared" / "a.md",
        shared / ".." / "elsewhere" / "a.md",
        Path(f"{shared}2") / "a.md",
        Path("/etc/passwd"),
        Path("a.md"),
    ):
        with pytest.raises(DownloadFailed) as refused:
            await _fetched(str(bad), 6, tmp_path / "bad", named)
        assert "KNOWLEDGE__CLIENT_FILE_DIRS" in refused.value.user_message
    with pytest.raises(DownloadFailed, match="KNOWLEDGE__CLIENT_FILE_DIRS"):
        await _fetched(str(shared / "a.md"), 6, tmp_path / "bad", [])
    assert not (tmp_path / "bad").exists()


async def test_what_lies_there_must_be_the_file_that_was_sent(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"secret")
    (tmp_path / "large.md").write_bytes(b"0" * 1001)
    os.mkfifo(tmp_path / "pipe")
    for name, size in (("a.md", 5), ("a.md", 0), ("large.md", 1001), ("pipe", 0), ("missing.md", 6), (".", 4096)):
        with pytest.raises(DownloadFailed, match="没能从 QQ 拿到"):
            await _fetched(str(tmp_path / name), size, tmp_path / "target", [str(tmp_path)])
    assert not (tmp_path / "target").exists()
