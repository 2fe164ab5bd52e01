"""The list of a group's files, as the various OneBot clients give it.

The calls are extensions by go-cqhttp, so a client may lack them, and the fields differ.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from nonebot import logger
from nonebot.adapters.onebot.v11 import Bot
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError

from qq.uploaded_file import UploadedFile, whole_number
from services.knowledge.group_files import GroupFile, GroupFileList, with_distinct_names
from services.knowledge.service import clean_name

NO_LIST = "这个 QQ 客户端没有列出群文件的接口，要入库的文件请重新发到群里；换 NapCat、LLOneBot 或 Lagrange 可以用。"
LIST_FAILED = "QQ 客户端没能列出群文件，过一会儿再试；一直这样就重启一下客户端。"

# NapCat lists 50 files unless it is asked for more. It has no pages: when a folder is full, the whole is asked for.
_FIRST_COUNT, _MOST_FILES = 500, 3000
_MOST_FOLDERS = 200
_TIMEOUT_S = 60
_UNKNOWN_ACTION = (404, 1404)
_TIMES = range(946_684_800, 4_102_444_800)  # 2000 to 2099


async def list_group_files(bot: Bot, group_id: int) -> GroupFileList | str:
    """Return all files of a group, those in folders included, or a sentence that says why there is no list.

    A folder that cannot be listed is left out and named in the result.
    """
    root = await _folder(bot, "get_group_root_files", group_id)
    if isinstance(root, str):
        return root
    found: list[tuple[str, _Folder]] = []
    unread: list[str] = []
    pending = deque([("", root)])
    seen = {"/", ""}
    is_cut = False
    while pending:
        path, content = pending.popleft()
        found.append((path, content))
        is_cut = is_cut or content.is_cut
        for entry in content.folders:
            folder_id = str(entry.get("folder_id") or "")
            if folder_id in seen:
                continue
            if len(seen) > _MOST_FOLDERS or sum(len(folder.files) for _, folder in found) > _MOST_FILES:
                is_cut = True
                break
            seen.add(folder_id)
            below = "/".join(part for part in (path, _folder_name(entry)) if part)
            inner = await _folder(bot, "get_group_files_by_folder", group_id, folder_id)
            if isinstance(inner, str):
                unread.append(below)
            else:
                pending.append((below, inner))
    # Thousands of names take longer to clean than the event loop may stall.
    files = await asyncio.to_thread(_files, found, group_id)
    return GroupFileList(
        tuple(files[:_MOST_FILES]), tuple(unread), is_cut or len(files) > _MOST_FILES, folders=len(found) - 1
    )


def _files(folders: Sequence[tuple[str, "_Folder"]], group_id: int) -> list[GroupFile]:
    entries = [(entry, path) for path, folder in folders for entry in folder.files if not _is_expired(entry)]
    return with_distinct_names([_file(entry, path, group_id) for entry, path in entries])


class _Folder:
    """The raw entries of one folder. `is_cut` means that the client may have more of them than the asked `limit`."""

    def __init__(self, data: Mapping[str, Any], limit: int) -> None:
        self.files = _entries(data.get("files"))
        self.folders = _entries(data.get("folders"))
        self.is_cut = len(self.files) + len(self.folders) >= limit


async def _folder(bot: Bot, action: str, group_id: int, folder_id: str = "") -> _Folder | str:
    """Return the content of one folder, or why it cannot be listed."""
    named = {"folder_id": folder_id} if folder_id else {}
    folder = _Folder({}, _FIRST_COUNT)
    for limit in (_FIRST_COUNT, _MOST_FILES):
        try:
            data = await bot.call_api(action, group_id=group_id, **named, file_count=limit, _timeout=_TIMEOUT_S)
        except (ActionFailed, NetworkError, ApiNotAvailable) as error:
            logger.warning(f"the files of group {group_id} cannot be listed: {error!r}")
            return NO_LIST if _is_missing(error) else LIST_FAILED
        if not isinstance(data, dict):
            logger.warning(f"the list of the files of group {group_id} is of type {type(data).__name__}")
            return LIST_FAILED
        folder = _Folder(cast("dict[str, Any]", data), limit)
        if not folder.is_cut:
            break
    return folder


def _is_missing(error: Exception) -> bool:
    if isinstance(error, ActionFailed):
        return error.info.get("retcode") in _UNKNOWN_ACTION
    return isinstance(error, ApiNotAvailable)


def _entries(value: object) -> list[dict[str, Any]]:
    """Return the entries of a list. Clients write null for an empty one."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _folder_name(entry: Mapping[str, Any]) -> str:
    return clean_name(str(entry.get("folder_name") or entry.get("name") or ""))


def _file(entry: Mapping[str, Any], folder: str, group_id: int) -> GroupFile:
    file = UploadedFile.read(entry)
    uploaded = whole_number(entry.get("upload_time") or entry.get("modify_time"))
    return GroupFile(
        name=file.name,
        folder=folder,
        size=file.size,
        uploaded_at=datetime.fromtimestamp(uploaded, UTC) if uploaded in _TIMES else None,
        uploader_id=whole_number(entry.get("uploader")) or None,
        source=file.source(group_id),
    )


def _is_expired(entry: Mapping[str, Any]) -> bool:
    """Return whether a temporary file has ended, which QQ lists for some time but does not send any more."""
    ends = whole_number(entry.get("dead_time"))
    return ends in _TIMES and ends < datetime.now(UTC).timestamp()
