"""Tests of the list of a group's files as each client gives it: fields, folders, limits and failures."""

from datetime import UTC, datetime
from typing import Any

import pytest
from nonebot.adapters.onebot.v11 import Bot
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError

from qq.group_files import LIST_FAILED, NO_LIST, list_group_files
from services.knowledge.group_files import GroupFile, GroupFileList
from services.records.stored_values import UploadSource

MAY = 1_777_622_400
GO_CQHTTP = {
    "group_id": 777,
    "file_id": "/id",
    "file_name": "规章.pdf",
    "busid": 102,
    "file_size": 1234,
    "upload_time": MAY,
    "dead_time": 0,
    "modify_time": MAY,
    "download_times": 3,
    "uploader": 10002,
    "uploader_name": "小王",
}


class Client:
    """A client with the content of each folder, or a failure. `limit` is the most entries it lists when unasked."""

    def __init__(self, folders: dict[str, Any], limit: int | None = None) -> None:
        self.folders = folders
        self.limit = limit
        self.calls: list[tuple[str, str]] = []

    async def call_api(self, api: str, **params: Any) -> Any:
        assert params["group_id"] == 777
        folder = params.get("folder_id", "/")
        assert api == ("get_group_root_files" if folder == "/" else "get_group_files_by_folder")
        self.calls.append((api, folder))
        content = self.folders[folder]
        if isinstance(content, Exception):
            raise content
        if self.limit is not None:
            return {key: (value or [])[: params["file_count"]] for key, value in content.items()}
        return content


async def listed(client: Client) -> GroupFileList | str:
    bot: Any = client
    assert isinstance(bot, Client)
    typed: Bot = bot  # pyright: ignore[reportAssignmentType]
    return await list_group_files(typed, 777)


def entry(name: str, **fields: Any) -> dict[str, Any]:
    return GO_CQHTTP | {"file_name": name, "file_id": f"/{name}"} | fields


async def names(client: Client) -> list[tuple[str, str]]:
    listing = await listed(client)
    assert isinstance(listing, GroupFileList)
    return sorted((file.folder, file.name) for file in listing.files)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (GO_CQHTTP, GroupFile("规章.pdf", "", 1234, datetime.fromtimestamp(MAY, UTC), 10002, UploadSource(
            file_id="/id", busid=102, url="", via=777))),
        # NapCat writes some numbers as text.
        ({"file_id": "/id", "file_name": "规章.pdf", "file_size": "1234", "upload_time": str(MAY), "uploader": "10002"},
         GroupFile("规章.pdf", "", 1234, datetime.fromtimestamp(MAY, UTC), 10002, UploadSource(
            file_id="/id", busid=0, url="", via=777))),
        ({"id": "x", "name": "../规章\n.pdf", "size": 7, "modify_time": MAY, "upload_time": 0},
         GroupFile("规章 .pdf", "", 7, datetime.fromtimestamp(MAY, UTC), None, UploadSource(
            file_id="x", busid=0, url="", via=777))),
        ({"file_name": None, "file_size": "x", "upload_time": 17, "uploader": [], "busid": -1},
         GroupFile("未命名", "", 0, None, None, UploadSource(file_id="", busid=0, url="", via=777))),
    ],
)  # fmt: skip
async def test_fields(given: dict[str, Any], expected: GroupFile) -> None:
    assert await listed(Client({"/": {"files": [given], "folders": None}})) == GroupFileList((expected,))


async def test_folders_inside_folders_are_listed_once() -> None:
    client = Client(
        {
            "/": {
                "files": [entry("根.md")],
                "folders": [{"folder_id": "/f1", "folder_name": "章程"}, {"folder_id": "/f1", "folder_name": "又来"}],
            },
            "/f1": {"files": [entry("章.md")], "folders": [{"folder_id": "/f2", "folder_name": "旧\n版/x"}]},
            "/f2": {"files": None, "folders": [{"folder_id": "/f1"}, {"folder_id": "/"}, "x", {}]},
        }
    )
    assert await names(client) == [("", "根.md"), ("章程", "章.md")]
    assert len(client.calls) == 3


async def test_a_folder_that_fails_is_named_and_the_others_are_listed() -> None:
    folders = [{"folder_id": "/f1", "folder_name": "坏"}, {"folder_id": "/f2", "folder_name": "好"}]
    listing = await listed(
        Client(
            {
                "/": {"files": [], "folders": folders},
                "/f1": ActionFailed(status="failed", retcode=1200, message="Timeout"),
                "/f2": {"files": [entry("好.md")]},
            }
        )
    )
    assert isinstance(listing, GroupFileList)
    assert [file.name for file in listing.files] == ["好.md"]
    assert listing.unread_folders == ("坏",)
    assert not listing.is_complete


async def test_a_full_list_is_asked_for_again_and_a_longer_one_is_cut() -> None:
    client = Client({"/": {"files": [entry(f"{number}.md") for number in range(700)], "folders": []}}, limit=50)
    listing = await listed(client)
    assert isinstance(listing, GroupFileList)
    assert (len(listing.files), listing.is_complete, len(client.calls)) == (700, True, 2)
    client = Client({"/": {"files": [entry(f"{number}.md") for number in range(4000)], "folders": []}}, limit=50)
    listing = await listed(client)
    assert isinstance(listing, GroupFileList)
    assert (len(listing.files), listing.is_complete) == (3000, False)


async def test_temporary_files_that_ended_are_left_out() -> None:
    files = [entry("没了.md", dead_time=MAY), entry("还在.md", dead_time=4_000_000_000), entry("一直.md")]
    assert await names(Client({"/": {"files": files}})) == [("", "一直.md"), ("", "还在.md")]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (ActionFailed(status="failed", retcode=1404, message="不支持的Api get_group_root_files"), NO_LIST),
        (ActionFailed(status="failed", retcode=404), NO_LIST),
        (ApiNotAvailable(), NO_LIST),
        (ActionFailed(status="failed", retcode=1200, message="Timeout"), LIST_FAILED),
        (NetworkError("WebSocket call api timeout"), LIST_FAILED),
        (None, LIST_FAILED),
        (["x"], LIST_FAILED),
    ],
)
async def test_a_client_without_a_list_says_so(answer: Any, sentence: str) -> None:
    assert await listed(Client({"/": answer})) == sentence
